"""A HAR of ours in the browser's own tools: Chromium's DevTools import it and show its requests and their times."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, sync_playwright

from harness.system.program import find_program

pytestmark = [pytest.mark.lengthy, pytest.mark.side_by_side]

TOOLS = "devtools://devtools/bundled/devtools_app.html?panel=network"

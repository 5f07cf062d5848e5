"""Tests that draw pictures take seconds together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """All of this folder are thorough."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.thorough)

"""The notebook of the documents gives what it shows, executed by Jupyter's own kernel."""

from __future__ import annotations

from typing import Any

import nbformat
import pytest

from benchmarks.notebook import NOTEBOOK, made

pytestmark = pytest.mark.side_by_side


def shown(notebook: Any) -> list[list[str]]:
    """What each cell shows as text; figures are pictures, which differ with their library."""
    return [
        [output["data"]["text/plain"] for output in cell.get("outputs", ())] for cell in notebook["cells"]
    ]


def test_executed_anew_it_shows_the_same() -> None:
    stored = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(stored)
    assert shown(made()) == shown(stored)

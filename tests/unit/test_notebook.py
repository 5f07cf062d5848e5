"""The notebook of the documents has the cells of its command and was executed to its end, with the run that is there.

tests/system/test_notebook.py executes it anew.
"""

from __future__ import annotations

import json

from benchmarks.notebook import CELLS, CODE, NOTEBOOK, is_of_the_run

CELLS_THERE = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]


def test_its_cells_are_those_of_the_command() -> None:
    there = [(cell["cell_type"], "".join(cell["source"])) for cell in CELLS_THERE]
    assert there == list(CELLS), "renew it: .venv/bin/python -m benchmarks.notebook"


def test_it_was_executed_with_the_run_that_is_there() -> None:
    assert is_of_the_run(), "renew it: .venv/bin/python -m benchmarks.notebook"


def test_every_cell_was_executed_and_none_failed() -> None:
    code = [cell for cell in CELLS_THERE if cell["cell_type"] == CODE]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds == {"execute_result", "display_data"}

"""The benchmark of the statistics runs, and its file hides no module of Python's."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.simulation.benchmark import PARTS, SEED, tables

ROOT = Path(__file__).parents[4]


@pytest.mark.thorough
@pytest.mark.parametrize("part", PARTS)
def test_every_part_reaches_what_it_has_to(part: str) -> None:
    made = list(tables(part, SEED, quick=True))
    assert made
    for table in made:
        assert str(table).startswith("### ")
        assert table.failures == []


def test_programs_beside_it_get_pythons_own_module_of_its_name() -> None:
    code = (
        "import statistics, sys; print(statistics.median([3, 1, 2]), sys.modules['statistics'] is statistics)"
    )
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(ROOT / 'benchmarks')!r}); {code}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["2", "True"]


@pytest.mark.thorough
def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / "statistics.py"), "--quick", "--only", "plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All is reached."), done.stderr

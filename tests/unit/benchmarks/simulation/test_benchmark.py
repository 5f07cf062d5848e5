"""The benchmark of the statistics reaches what it has to."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.simulation.parts import PARTS, SEED, tables


@pytest.mark.thorough
@pytest.mark.parametrize("part", PARTS)
def test_every_part_reaches_what_it_has_to(part: str) -> None:
    made = list(tables(part, SEED, quick=True))
    assert made
    for table in made:
        assert str(table).startswith("### ")
        assert table.failures == []


@pytest.mark.thorough
def test_it_runs_as_a_program() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.simulation", "--quick", "--only", "plain"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "All is reached."), done.stderr

"""A run that is killed at any instant, again and again, ends whole. Its trials only wait; all else is real."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.hostile.runners import strike_all
from benchmarks.runkills import havoc

pytestmark = pytest.mark.side_by_side


@pytest.mark.parametrize(
    ("lanes", "kills"),
    [pytest.param(0, 5, marks=pytest.mark.lengthy), (2, 10), pytest.param(2, 200, marks=pytest.mark.lengthy)],
)
def test_a_run_ends_whole_whatever_is_killed(lanes: int, kills: int) -> None:
    told = havoc(kills, lanes, seed=36)
    assert sum(int(line.split()[0]) for line in told) == kills


@pytest.mark.lengthy
def test_a_run_that_is_killed_before_it_has_a_folder_begins_anew(tmp_path: Path) -> None:
    """The seed has this strike come while Python starts."""
    cases = list(strike_all(["runner/command/8"], tmp_path, 2012))
    assert [case.name for case in cases] == ["runner/command/8", "runner/completed/1"]
    assert cases[0].faults == {}
    assert all(
        "busy-machine" in fault for fault in cases[1].faults.values()
    )  # for which nobody here is to blame

"""A run that is killed at any instant, again and again, ends whole. Its trials only wait; all else is real."""

from __future__ import annotations

import pytest

from benchmarks.runkills import havoc

pytestmark = pytest.mark.side_by_side


@pytest.mark.parametrize(
    ("lanes", "kills"),
    [pytest.param(0, 5, marks=pytest.mark.lengthy), (2, 10), pytest.param(2, 200, marks=pytest.mark.lengthy)],
)
def test_a_run_ends_whole_whatever_is_killed(lanes: int, kills: int) -> None:
    told = havoc(kills, lanes, seed=36)
    assert sum(int(line.split()[0]) for line in told) == kills

"""A share that misses what it has to reach is told."""

from __future__ import annotations

import pytest

from benchmarks.simulation.shares import Share, Table
from tests.facts import tells


@pytest.mark.parametrize(
    ("share", "missed"),
    [
        (Share(950, 1000, 0.94, 0.97), False),
        (Share(930, 1000, 0.94, 0.97), False),  # within chance of 94 %
        (Share(9_300, 10_000, 0.94, 0.97), True),
        (Share(9_900, 10_000, 0.94, 0.97), True),
        (Share(0, 10, 0.0, 0.05), False),
        (Share(1000, 1000, 0.97), False),
    ],
)
def test_a_share_is_held_to_its_limits_but_for_chance(share: Share, missed: bool) -> None:
    assert share.missed is missed


def test_a_table_names_what_misses() -> None:
    table = Table("Coverage", ["n", "5", "6"])
    table.add("bursty", [Share(9_500, 10_000, 0.94, 0.97), Share(9_000, 10_000, 0.94, 0.97)])
    (failure,) = table.failures
    assert tells([failure], "FAILED Coverage: bursty, n 6", "90.00 %", "94 to 97 %")
    assert "| bursty | 95.0 | 90.0 ! |" in str(table)
    assert table.failures[0] in str(table)


def test_power_that_falls_is_told_wherever_it_was_best() -> None:
    table = Table("Power", ["n", "5", "6", "7"])
    table.never_falls("one", [Share(900, 1000), Share(890, 1000), Share(910, 1000)])
    assert table.failures == []
    table.never_falls("one", [Share(900, 1000), Share(890, 1000), Share(800, 1000)])
    (failure,) = table.failures
    assert tells([failure], "FAILED Power: one", "falls at n 7", "80.00 %")

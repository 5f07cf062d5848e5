"""A run waits for a machine that is calm, and for no longer than it may."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.lab import calm
from harness.lab.calm import Calm, Glance

QUIET, BUSY, LATE = Glance(0.05, 0.3), Glance(0.9, 0.3), Glance(0.05, 40.0)


class Machine:
    """A machine that is as the list says, second by second, and its clock."""

    def __init__(self, seconds: list[Glance], then: Glance = QUIET) -> None:
        self._seconds: Iterator[Glance] = iter(seconds)
        self._then = then
        self.now = 0.0
        self.said: list[float] = []

    def clock(self) -> float:
        return self.now

    def glance(self) -> Glance:
        self.now += 1.0
        return next(self._seconds, self._then)


@pytest.mark.parametrize(
    ("seconds", "waited"),
    [
        ([], 2),
        ([BUSY, BUSY, QUIET, BUSY], 6),
        ([LATE, QUIET, LATE, QUIET], 5),
    ],
)
def test_two_calm_seconds_in_a_row_are_enough(seconds: list[Glance], waited: int) -> None:
    machine = Machine(seconds)
    assert Calm(glance=machine.glance, clock=machine.clock).wait(machine.said.append)
    assert machine.now == waited
    assert machine.said == list(range(waited))


def test_a_wait_has_an_end_and_so_have_all_of_them_together() -> None:
    machine = Machine([], BUSY)
    limit = calm.WAIT_S * 1.5
    patience = Calm(left_s=limit, glance=machine.glance, clock=machine.clock)
    assert not patience.wait(machine.said.append)
    assert machine.now == calm.WAIT_S
    assert not patience.wait(machine.said.append)
    assert machine.now == limit
    assert not patience.wait(machine.said.append)
    assert machine.now == limit

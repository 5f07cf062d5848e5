"""A link that seems off is measured again, as long as that can help."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from harness.lab.calibration import AT_ONCE, PATIENCE_S, WHILE_CALM, CalibratedFigure, Calibration, Patience
from harness.lab.machine import Calm, Glance
from harness.model.link import Link

QUIET, BUSY = Glance(0.05, 0.3), Glance(0.9, 40.0)
LINK = Link.of(20, 10)


def reading(rtt_ms: float) -> Calibration:
    figure = CalibratedFigure("round-trip time", "ms", 20, rtt_ms, 20, 1)
    return Calibration(LINK, "veth", "fifo", "2026-01-01T00:00:00Z", {"rtt_ms": figure})


class Machine:
    """A machine that is busy for so many seconds and makes the link late while it is, and its clock."""

    def __init__(self, busy_s: float, off_ms: float = 0.0) -> None:
        self._busy_s = busy_s
        self._off_ms = off_ms
        self.now = 0.0
        self.said: list[float] = []

    def glance(self) -> Glance:
        self.now += 1.0
        return BUSY if self.now <= self._busy_s else QUIET

    def measure(self) -> Calibration:
        self.now += 1.0
        return reading(20 + self._off_ms + (5 if self.now <= self._busy_s else 0))

    def readings(self) -> Iterator[Calibration]:
        calm = Calm(left_s=PATIENCE_S, glance=self.glance, clock=lambda: self.now)
        return Patience(calm, self.said.append).until_right(self.measure)


def test_a_link_that_is_right_is_measured_once() -> None:
    machine = Machine(busy_s=0)
    assert len(list(machine.readings())) == 1
    assert not machine.said


@pytest.mark.parametrize("busy_s", [2, 20, 200])
def test_a_busy_machine_is_waited_for(busy_s: float) -> None:
    machine = Machine(busy_s)
    *earlier, last = machine.readings()
    assert not last.complaints
    assert all(each.complaints for each in earlier)
    assert machine.now >= busy_s
    assert bool(machine.said) == (busy_s > AT_ONCE)


def test_a_link_that_is_off_on_a_calm_machine_is_the_links_own_fault() -> None:
    machine = Machine(busy_s=0, off_ms=3)
    taken = list(machine.readings())
    assert len(taken) == AT_ONCE + WHILE_CALM
    assert taken[-1].complaints
    assert machine.now < PATIENCE_S / 10


def test_patience_has_an_end_on_a_machine_that_stays_busy() -> None:
    machine = Machine(busy_s=10 * PATIENCE_S)
    *_, last = machine.readings()
    assert last.complaints
    assert PATIENCE_S <= machine.now < 1.2 * PATIENCE_S

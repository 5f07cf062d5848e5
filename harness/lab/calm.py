"""Waiting until the machine is calm, after it disturbed a measurement: better to wait than to burn the next one."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from harness.model.soundness import FOREIGN_CPU_LIMIT
from harness.system.processtree import ForeignCpu

LOOK_S = 1.0
NAP_S = 0.02
CALM_LOOKS = 2  # in a row
WAIT_S = 30.0  # the longest single wait
RUN_S = 10 * 60.0  # the longest that a run waits between its attempts, in all

CALM_SHARE = FOREIGN_CPU_LIMIT  # what leaves an attempt out when the browser also waited for a core
# A nap that ends later has waited for a core that others had, or that the host of a virtual machine had taken away.
CALM_LATE_MS = 5.0


@dataclass(frozen=True)
class Glance:
    """A second of the machine: the share of its cores that others had, and how late our latest nap ended."""

    foreign_share: float
    late_ms: float

    @property
    def calm(self) -> bool:
        return self.foreign_share <= CALM_SHARE and self.late_ms <= CALM_LATE_MS


def glance() -> Glance:
    """Look at the machine for a second."""
    foreign = ForeignCpu()
    late = 0.0
    end = time.monotonic() + LOOK_S
    while (before := time.monotonic()) < end:
        time.sleep(NAP_S)
        late = max(late, time.monotonic() - before - NAP_S)
    return Glance(foreign.share(), late * 1000)


@dataclass
class Calm:
    """What a run still has of time to wait; `glance` looks at the machine and takes a while, by the `clock`."""

    left_s: float = RUN_S
    glance: Callable[[], Glance] = glance
    clock: Callable[[], float] = time.monotonic

    def wait(self, waiting: Callable[[float], None]) -> bool:
        """Wait until the machine is calm, telling every second how long that takes; False when it stayed busy."""
        started = self.clock()
        limit = min(WAIT_S, self.left_s)
        row, waited = 0, 0.0
        while row < CALM_LOOKS and waited < limit:
            waiting(waited)
            row = row + 1 if self.glance().calm else 0
            waited = self.clock() - started
        self.left_s -= waited
        return row >= CALM_LOOKS

"""The state of the machine: whether it is calm, waiting until it is, and how fast it is.

After a disturbed measurement it is better to wait than to burn the next one. The speed is that of a short piece of work
that is the same everywhere, done on one core: Brotli compresses a text made up of words. The library is a pinned
binary, so that equal machines do it in equal time whatever their Python and system are, and the work is like a
browser's: integers, branches and tables in memory.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types

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
RUNS = 5
QUALITY = 5
WORDS, LETTERS, TEXT_WORDS = 2_000, "etaoinshrdlu", 30_000


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


class MachineSpeed:
    """The speed of this machine, measured anew for each block of a run."""

    def __init__(self) -> None:
        self._block: int | None = None
        self._speed = 0.0

    def of_block(self, block: int) -> float:
        """That measured before the first trial of the block that was asked for."""
        if block != self._block:
            self._block, self._speed = block, measured_speed()
        return self._speed


def measured_speed() -> float:
    """How often the machine does the work in a second: by the quickest of some runs, which was disturbed the least."""
    text = _text()
    return round(1 / min(_seconds(text) for _ in range(RUNS)), 1)


def _seconds(text: bytes) -> float:
    before = time.perf_counter()
    brotli.compress(text, quality=QUALITY)
    return time.perf_counter() - before


@cache
def _text() -> bytes:
    source = random.Random(2012)  # noqa: S311  # the same text each time
    words = ["".join(source.choices(LETTERS, k=source.randint(2, 9))) for _ in range(WORDS)]
    return " ".join(source.choices(words, k=TEXT_WORDS)).encode()

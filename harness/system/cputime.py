"""CPU time of the machine, CPU by CPU, as the kernel counts it in ticks of 10 ms."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

FIRST_PROCESS = 1  # of the enclosure: inside it that is the whole testbed
TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class CpuTime:
    """Seconds since the start of the machine that programs ran, and that the host of a virtual machine kept (steal)."""

    programs_s: float
    steal_s: float

    @property
    def busy_s(self) -> float:
        return self.programs_s + self.steal_s


def own_cpus() -> frozenset[int]:
    """The CPUs that the enclosure may use: all of the machine's, or those of its lane.

    The first process keeps them for good. A thread of ours may be bound to some of them for a while.
    """
    return frozenset(os.sched_getaffinity(FIRST_PROCESS))


def time_of(cpus: Collection[int], stat: str | None = None) -> CpuTime:
    """That of some CPUs together; `stat` is the text of /proc/stat, None: as it is now."""
    text = Path("/proc/stat").read_text() if stat is None else stat
    rows = [ticks for cpu, ticks in _rows(text) if cpu in cpus]
    # user, nice, system, idle, iowait, irq, softirq, steal
    programs = sum(sum(ticks[:3]) for ticks in rows)
    return CpuTime(programs / TICKS_PER_S, sum(ticks[7] for ticks in rows) / TICKS_PER_S)


def _rows(stat: str) -> Iterator[tuple[int, list[int]]]:
    """Each CPU that is on, with its ticks."""
    for line in stat.splitlines():
        name, *ticks = line.split()
        if name.startswith("cpu") and name != "cpu":
            yield int(name.removeprefix("cpu")), list(map(int, ticks))

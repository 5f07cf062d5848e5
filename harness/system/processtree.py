"""Process trees: who descends from whom, who stands still, what they cost, and how to end them all.

All of /proc is read once for each question: a trial asks some ten of them. A process that is gone has no family.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from harness.system.enclosure import inside

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


ENDED = frozenset("ZX")  # states of proc(5)
STOPPED, TRACED = frozenset("Tt"), "t"  # by a signal or a debugger, by a debugger
_TRACER = re.compile(rb"^State:\s*t.*^TracerPid:\s*(\d+)", re.MULTILINE | re.DOTALL)


class _Process(NamedTuple):
    """A process as /proc/PID/stat tells of it. `ticks` are of user and system, its children waited for among them."""

    pid: int
    parent: int
    state: str
    ticks: int

    @classmethod
    def of(cls, pid: int) -> _Process | None:
        """None when it is gone."""
        try:
            with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123  # half the cost of Path
                text = file.read()
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = text[text.rindex(b")") + 2 :].split()
        return cls(pid, int(fields[1]), chr(fields[0][0]), sum(map(int, fields[11:15])))

    @property
    def is_stopped(self) -> bool:
        return is_held(self.pid, self.state)


def is_held(pid: int, state: str) -> bool:
    """Whether somebody holds a process that is in this state: by a signal, or as a debugger.

    What the testbed itself traces nobody holds: Chromium's crash handler does so while it writes a report.
    """
    return state in STOPPED and not (state == TRACED and _is_traced_within(pid))


def _is_traced_within(pid: int) -> bool:
    """Whether a process of the testbed traces it, or it goes on or is gone by now. The kernel names no tracer that is
    outside of the enclosure.
    """
    try:
        match = _TRACER.search(Path(f"/proc/{pid}/status").read_bytes())
    except (FileNotFoundError, ProcessLookupError):
        return True
    tracer = int(match[1]) if match else None
    return tracer is None or tracer in family(_testbed_root())


def _testbed_root() -> int:
    """Inside an enclosure process 1's family is the testbed, outside our own."""
    return FIRST_PROCESS if inside() else os.getpid()


def parent_of(pid: int) -> int | None:
    """The process that started it; None when it is gone."""
    seen = _Process.of(pid)
    return seen.parent if seen else None


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped (SIGSTOP, a debugger) and does nothing until it is continued."""
    seen = _Process.of(pid)
    return seen is not None and seen.is_stopped


def children(parent: int) -> list[int]:
    """The living processes that a process has started itself, or adopted."""
    return [process.pid for process in _all() if process.parent == parent]


def family(root: int) -> list[int]:
    """`root` and all its living descendants, parents first."""
    return [process.pid for process in _family(root)]


def living(root: int) -> list[int]:
    """`family` without those that have ended and are only waited for."""
    return [process.pid for process in _family(root) if process.state not in ENDED]


def stopped(root: int) -> list[int]:
    """Those of a process and its living descendants that a signal or a debugger holds."""
    return [process.pid for process in _family(root) if process.is_stopped]


def cpu_seconds(root: int) -> float | None:
    """User plus system CPU seconds of a process, its living descendants and its children waited for.

    Resolution is the kernel's clock tick (10 ms) per process. None when the root is gone.
    """
    processes = _family(root)
    return round(sum(process.ticks for process in processes) / TICKS_PER_S, 3) if processes else None


class ForeignCpu:
    """How much of our CPUs others have from now on: programs that are not of the testbed, and, on a virtual machine,
    its host (steal). Inside an enclosure process 1's family is the testbed, outside our own. Programs of the lowest
    priority count like all: they disturb, too (docs/methodology.md, "Proof").

    Ours are all of the machine's but in a lane: what other lanes do on their own CPUs takes nothing from this one.
    """

    def __init__(self) -> None:
        self._cpus = own_cpus()
        self._root = _testbed_root()
        self._since = time.monotonic()
        self._foreign_s, self._steal_s = self._seconds()

    def share(self) -> float:
        """Their share of the time of our CPUs, 0 to 1; below some 0.05 it is within the kernel's rounding."""
        return self._of_all(self._seconds()[0] - self._foreign_s)

    def steal_share(self) -> float:
        """That of the host of a virtual machine alone; 0 on a machine that is none."""
        return self._of_all(self._seconds()[1] - self._steal_s)

    def _seconds(self) -> tuple[float, float]:
        """What others had so far, and what of it the host had."""
        used = time_of(self._cpus)
        return used.busy_s - (cpu_seconds(self._root) or 0.0), used.steal_s

    def _of_all(self, seconds: float) -> float:
        share = seconds / (time.monotonic() - self._since) / len(self._cpus)
        return round(min(max(share, 0.0), 1.0), 3)


def ended_for_memory() -> int:
    """How many processes of this machine the kernel has ended so far for want of memory; 0 where it does not count."""
    match = re.search(r"^oom_kill (\d+)$", Path("/proc/vmstat").read_text(), re.MULTILINE)
    return int(match[1]) if match else 0


def kill_family(root: int) -> None:
    """KILL a process and all its descendants."""
    for process in _family(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def _all() -> list[_Process]:
    """All processes, those that started first before others."""
    numbers = sorted(int(name) for name in os.listdir("/proc") if name.isdigit())  # noqa: PTH208  # a third of the cost
    return [seen for seen in map(_Process.of, numbers) if seen]


def _family(root: int) -> list[_Process]:
    """A process and its descendants, generation by generation."""
    there = _all()
    by_parent = defaultdict(list)
    for process in there:
        by_parent[process.parent].append(process)
    processes = [process for process in there if process.pid == root]
    for process in processes:  # it grows meanwhile
        processes += by_parent[process.pid]
    return processes

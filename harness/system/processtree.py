"""Process trees by /proc: who descends from whom, who stands still, what they cost, and how to end them all."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
CORES = os.cpu_count() or 1
ENDED = frozenset("ZXx")
STOPPED = frozenset("Tt")  # states of proc(5): by a signal, by a debugger


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command name: state, ppid, ...; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def parent_of(pid: int) -> int | None:
    """The process that started it; None when it is gone."""
    fields = _stat_fields(pid)
    return int(fields[1]) if fields else None


def is_stopped(pid: int) -> bool:
    """Whether a process is stopped (SIGSTOP, a debugger) and does nothing until it is continued."""
    fields = _stat_fields(pid)
    return fields is not None and fields[0] in STOPPED


def _by_parent() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
            found.setdefault(int(fields[1]), []).append(int(entry.name))
    return found


def children(parent: int) -> list[int]:
    """The living processes that a process has started itself, or adopted."""
    return _by_parent().get(parent, [])


def family(root: int) -> list[int]:
    """`root` and all its living descendants, parents first."""
    by_parent = _by_parent()
    found = [root] if _stat_fields(root) else []
    for pid in found:
        found.extend(by_parent.get(pid, []))
    return found


def running(root: int) -> list[int]:
    """`family` without those that have ended and are only waited for."""
    return [pid for pid in family(root) if (fields := _stat_fields(pid)) and fields[0] not in ENDED]


def stopped(root: int) -> list[int]:
    """Those of a process and its living descendants that a signal or a debugger holds."""
    return [pid for pid in family(root) if (fields := _stat_fields(pid)) and fields[0] in STOPPED]


def cpu_seconds(root: int) -> float | None:
    """User plus system CPU seconds of a process, its living descendants and its children waited for.

    Resolution is the kernel's clock tick (10 ms) per process. None when the root is gone.
    """
    ticks = [
        sum(int(fields[index]) for index in (11, 12, 13, 14))
        for pid in family(root)
        if (fields := _stat_fields(pid)) is not None
    ]
    return sum(ticks) / TICKS_PER_SECOND if ticks else None


class ForeignCpu:
    """How much of the machine others have from now on: programs outside process 1's family, which inside the enclosure
    is the whole testbed, and, on a virtual machine, its host (steal). Programs of the lowest priority count like all:
    they disturb, too (docs/methodology.md, "Proof"). Source: /proc/stat, see proc(5).
    """

    def __init__(self) -> None:
        self._before = time.monotonic(), _foreign_cpu_seconds()

    def share(self) -> float:
        """Their share of the time of all cores, 0 to 1; below some 0.05 it is within the kernel's rounding."""
        seconds = time.monotonic() - self._before[0]
        used = _foreign_cpu_seconds() - self._before[1]
        return round(min(max(used / seconds / CORES, 0.0), 1.0), 3)


def _foreign_cpu_seconds() -> float:
    line = Path("/proc/stat").read_text().partition("\n")[0]
    user, nice, system, _idle, _iowait, _irq, _softirq, steal = map(int, line.split()[1:9])
    return (user + nice + system + steal) / TICKS_PER_SECOND - (cpu_seconds(1) or 0.0)


def kill_family(root: int) -> None:
    """KILL a process and all its descendants."""
    for pid in family(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

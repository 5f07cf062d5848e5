"""Process trees by /proc: who descends from whom, what they cost, and how to end them all."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def _stat_fields(pid: int) -> list[str] | None:
    """The fields of /proc/PID/stat after the command name: state, ppid, ...; None when it is gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return text[text.rindex(")") + 2 :].split()


def family(root: int) -> list[int]:
    """`root` and all its living descendants, parents first."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat_fields(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root] if _stat_fields(root) else []
    for pid in found:
        found.extend(children.get(pid, []))
    return found


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


def kill_family(root: int) -> None:
    """KILL a process and all its descendants."""
    for pid in family(root):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

"""How long the main threads of a page ran, step by step while it loaded: the kernel's own counts, in every trial.

The kernel does not tell when a thread ran, but how long it has run. Read every 20 ms, that is how long it ran within
each step. The command line of a process tells that it holds pages, at the end: it starts as a fork without a name.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

COUNTS_BYTES = 80  # three numbers
NS_PER_US = 1000

HoldsPages = Callable[[bytes, bytes], bool]  # asked of a process's command line and name


@dataclass(frozen=True)
class Stretch:
    """From one instant to another, in us of CLOCK_MONOTONIC, and for how many us of it a thread ran or was ready to."""

    began_us: int
    ended_us: int
    ran_us: int


@dataclass
class _Counted:
    """A process whose /proc/PID/schedstat is open: that of its main thread."""

    counts: int
    at_us: int
    ran_us: int
    stretches: list[Stretch] = field(default_factory=list)

    def read(self, now_us: int) -> None:
        ran_us = _ran_us(self.counts)
        if ran_us is not None and ran_us > self.ran_us:
            self.stretches.append(Stretch(self.at_us, now_us, ran_us - self.ran_us))
            self.ran_us = ran_us
        self.at_us = now_us


class Runs:
    """The processes of one program, `root` and what descends from it; the files are closed by the stack.

    `holds_pages` tells by a process's command line and name whether pages are in it.
    """

    def __init__(self, root: int, files: contextlib.ExitStack, holds_pages: HoldsPages) -> None:
        self._root = root
        self._holds_pages = holds_pages
        self._files = files
        self._counted: dict[int, _Counted] = {}

    def add(self, pid: int, now_us: int, began_us: int | None = None) -> None:
        """Take in a process: one that was there, or one that was not at `began_us`."""
        try:
            counts = os.open(f"/proc/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # it was a short one, or this kernel does not count
            return
        self._files.callback(os.close, counts)
        there = began_us is None
        self._counted[pid] = _Counted(counts, now_us if began_us is None else began_us, 0)
        if there:
            self._counted[pid].ran_us = _ran_us(counts) or 0

    def sample(self, now_us: int) -> None:
        for each in self._counted.values():
            each.read(now_us)

    def of_pages(self) -> tuple[Stretch, ...]:
        """Of the processes that hold pages; of a program that has none for them, of itself."""
        pages = [each for pid, each in self._counted.items() if self._holds_pages(*_shown(pid))]
        own = [each for pid, each in self._counted.items() if pid == self._root]
        found = [stretch for each in pages or own for stretch in each.stretches]
        return tuple(sorted(found, key=lambda stretch: stretch.began_us))


def _ran_us(counts: int) -> int | None:
    """How long a main thread has run or waited for a core; None when it has ended."""
    try:
        ran, waited, _ = os.pread(counts, COUNTS_BYTES, 0).split()
    except (ProcessLookupError, ValueError):
        return None
    return (int(ran) + int(waited)) // NS_PER_US


def _shown(pid: int) -> tuple[bytes, bytes]:
    """The command line and the name of a process."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes(), Path(f"/proc/{pid}/comm").read_bytes()
    except OSError:
        return b"", b""

"""How long the threads that run pages had a core, and waited for one, between any two instants: the kernel's counts.

Read every few ms from outside, of each thread of a renderer that runs scripts. In between it is a straight line.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

LOOK_S = 0.004
LOOKS_PER_SEARCH = 10
MAIN, WORKER = "main", "DedicatedWorker"  # the latter as the kernel cuts the thread's name
RENDERER = b"--type=renderer"


@dataclass
class Thread:
    """A thread, what it does, and at which ms of CLOCK_MONOTONIC it had run and waited for how many ms."""

    pid: int
    kind: str
    counts: int
    at_ms: list[float] = field(default_factory=list)
    had_ms: list[tuple[float, float]] = field(default_factory=list)

    def read(self) -> None:
        try:
            ran, waited, _ = os.pread(self.counts, 80, 0).split()
        except (ProcessLookupError, ValueError):  # it has ended
            return
        self.at_ms.append(time.monotonic() * 1e3)
        self.had_ms.append((int(ran) / 1e6, int(waited) / 1e6))

    def between(self, begun_ms: float, ended_ms: float) -> tuple[float, float]:
        """For how many ms it ran, and waited for a core."""
        (ran, waited), (more_ran, more_waited) = self._at(begun_ms), self._at(ended_ms)
        return more_ran - ran, more_waited - waited

    def _at(self, ms: float) -> tuple[float, float]:
        after = bisect.bisect(self.at_ms, ms)
        if after in (0, len(self.at_ms)):
            return self.had_ms[max(0, after - 1)]
        (begun, ended), (before, then) = self.at_ms[after - 1 : after + 1], self.had_ms[after - 1 : after + 1]
        part = (ms - begun) / (ended - begun)
        return before[0] + part * (then[0] - before[0]), before[1] + part * (then[1] - before[1])


class ThreadTimes:
    """Looks at all renderers of this process namespace, in a thread of its own. Made by `thread_times`."""

    def __init__(self) -> None:
        self._threads: dict[Path, Thread] = {}
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look_on)
        self._thread.start()

    def end(self) -> None:
        """Look no longer."""
        self._over.set()
        self._thread.join()
        for each in self._threads.values():
            os.close(each.counts)

    def busiest(
        self, kind: str, begun_ms: float, ended_ms: float, *, but: int | None = None
    ) -> tuple[int, float, float]:
        """Of the threads that do this, the one that ran the longest then: its process, the ms it ran and waited.

        `but` is a process to leave out.
        """
        found = [
            (each.pid, *each.between(begun_ms, ended_ms))
            for each in self._threads.values()
            if each.kind == kind and each.pid != but and each.at_ms
        ]
        return max(found, key=lambda each: each[1], default=(0, 0.0, 0.0))

    def _look_on(self) -> None:
        looks = 0
        while not self._over.wait(LOOK_S):
            if looks % LOOKS_PER_SEARCH == 0:
                self._search()
            looks += 1
            for each in self._threads.values():
                each.read()

    def _search(self) -> None:
        for process in Path("/proc").iterdir():
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
                if process.name.isdigit() and RENDERER in (process / "cmdline").read_bytes():
                    for thread in (process / "task").iterdir():
                        self._add(int(process.name), thread)

    def _add(self, pid: int, thread: Path) -> None:
        name = MAIN if thread.name == str(pid) else (thread / "comm").read_text()
        kind = WORKER if name.startswith(WORKER) else name
        if kind in (MAIN, WORKER) and thread not in self._threads:
            counts = os.open(thread / "schedstat", os.O_RDONLY | os.O_CLOEXEC)
            self._threads[thread] = Thread(pid, kind, counts)


@contextlib.contextmanager
def thread_times() -> Iterator[ThreadTimes]:
    """Look while the block lasts; ask afterwards."""
    times = ThreadTimes()
    try:
        yield times
    finally:
        times.end()

"""What programs did while a page loaded: that they were stopped, ended or waited for a core, and when its pages ran.

The link tells its own lateness. A server, a name server or a browser that stands still for a while looks like a slow
page, so a thread looks at the state of each of their processes every 20 ms, which costs some 1 % of a core.

The kernel does not tell when a thread ran, but how long it has run. Read at each of these looks, that is how long it
ran within each step. The command line of a process tells that it holds pages, at the end: it starts as a fork without
a name.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.probes.evidence import Stretch
from harness.system.processtree import ENDED as GONE
from harness.system.processtree import STOPPED, family, is_held, parent_of

SAMPLE_S = 0.02  # as late as one packet of the link may be before its load is left out
SAMPLES_PER_SEARCH = 5  # of processes that started meanwhile: a browser starts some as it loads
ODD = STOPPED | GONE
ENDED = (FileNotFoundError, ProcessLookupError)  # what tells that a process or thread ended meanwhile
STAT_BYTES = 128  # the state stands behind the program's name
COUNTS_BYTES = 80  # of schedstat: three numbers
NS_PER_US = 1000

HoldsPages = Callable[[bytes, bytes], bool]  # asked of a process's command line and name


@dataclass(frozen=True)
class Lateness:
    """What was seen of one program and its children.

    `stopped_ms`: how long any of the processes was stopped. `ended`: one that was there at first has gone.
    `waiting_ms`: how long their threads waited for a core, all together; `thread_waiting_ms`: the one that waited the
    longest. None where the kernel does not tell.
    """

    stopped_ms: float = 0.0
    ended: bool = False
    waiting_ms: float | None = None
    thread_waiting_ms: float | None = None


@dataclass(frozen=True)
class _Watched:
    """A process whose /proc/PID/stat is open, to be read again and again."""

    program: str
    stat: int
    there_at_first: bool

    @property
    def state(self) -> str:
        try:
            text = os.pread(self.stat, STAT_BYTES, 0)
        except ProcessLookupError:
            return "X"
        return chr(text[text.rindex(b")") + 2])


class _OwnLateness:
    """How late this process looks: for how long it neither ran nor was asleep by its own will."""

    def __init__(self) -> None:
        self.late_s = 0.0
        self._at_s, self._ran_s = time.monotonic(), time.process_time()

    def look(self, due_s: float) -> float:
        """A look that was due so long after the one before; returns after how long it came.

        What the process itself worked meanwhile is no lateness: one thread of Python waits for another.
        """
        at_s, ran_s = time.monotonic(), time.process_time()
        took_s, worked_s = at_s - self._at_s, ran_s - self._ran_s
        self.late_s = max(self.late_s, took_s - worked_s - due_s)
        self._at_s, self._ran_s = at_s, ran_s
        return took_s


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
        for process in self._counted.values():
            process.read(now_us)

    def of_pages(self) -> tuple[Stretch, ...]:
        """Of the processes that hold pages; of a program that has none for them, of itself."""
        pages = [each for pid, each in self._counted.items() if self._holds_pages(*_shown(pid))]
        own = [each for pid, each in self._counted.items() if pid == self._root]
        stretches = [stretch for process in pages or own for stretch in process.stretches]
        return tuple(sorted(stretches, key=lambda stretch: stretch.began_us))


class Watch:
    """Looks at programs in a thread of its own. Made by `watching`."""

    def __init__(
        self,
        programs: Mapping[str, int],
        files: contextlib.ExitStack,
        counted: str,
        holds_pages: HoldsPages,
    ) -> None:
        self._programs = programs
        self._counted = counted
        self._runs = Runs(programs.get(counted, 0), files, holds_pages)
        self._files = files
        self._watched: dict[int, _Watched] = {}
        self._strangers: set[int] = set()
        self._stopped_s = dict.fromkeys(programs, 0.0)
        self._ended: set[str] = set()
        for name, root in programs.items():
            for pid in family(root):
                self._add(pid, name, there_at_first=True)
        self._searched_us = time.monotonic_ns() // 1000
        self._waited_before = self._waited_ns()
        self._over = threading.Event()
        self._trouble: OSError | None = None
        self._pace = _OwnLateness()
        self._thread = threading.Thread(target=self._look_on)
        self._thread.start()

    def end(self) -> None:
        """Look no longer; may be said again."""
        self._over.set()
        self._thread.join()

    def lateness(self) -> dict[str, Lateness]:
        """What was seen, by program; the watch is over."""
        self.end()
        if self._trouble is not None:
            raise self._trouble
        waited = self._waited_ns()
        return {
            name: Lateness(
                round(self._stopped_s[name] * 1000, 1),
                name in self._ended,
                *_waiting_ms(self._waited_before[name], waited[name]),
            )
            for name in self._programs
        }

    def runner_late_ms(self) -> float:
        """The longest time for which the runner stood still, stopped or without a core; the watch is over."""
        self.end()
        return round(self._pace.late_s * 1000, 1)

    def runs(self) -> tuple[Stretch, ...]:
        """When the main threads of the counted program's pages ran; the watch is over."""
        self.end()
        return self._runs.of_pages()

    def _waited_ns(self) -> dict[str, dict[str, int] | None]:
        pids = {
            name: [pid for pid, each in self._watched.items() if each.program == name]
            for name in self._programs
        }
        return {name: _waited_ns(found) for name, found in pids.items()}

    def _look_on(self) -> None:
        samples = 0
        try:
            while not self._over.wait(SAMPLE_S):
                samples += 1
                self._sample(self._pace.look(SAMPLE_S))
                self._runs.sample(time.monotonic_ns() // 1000)
                if samples % SAMPLES_PER_SEARCH == 0:
                    self._search()
        except OSError as error:  # out of descriptors, say
            self._trouble = error
        self._pace.look(SAMPLE_S)
        self._runs.sample(time.monotonic_ns() // 1000)

    def _sample(self, seconds: float) -> None:
        """A program with a stopped process counts as stopped since the sample before."""
        odd = [(pid, each, state) for pid, each in self._watched.items() if (state := each.state) in ODD]
        for name in {each.program for pid, each, state in odd if is_held(pid, state)}:
            self._stopped_s[name] += seconds
        for pid in [pid for pid, _, state in odd if state in GONE]:
            gone = self._watched.pop(pid)
            self._strangers.add(pid)  # its entry may stay for a while
            if gone.there_at_first:
                self._ended.add(gone.program)

    def _search(self) -> None:
        """Take in what the programs have started since; a parent stands before its children."""
        there = {int(name) for name in os.listdir("/proc") if name.isdigit()}  # noqa: PTH208  # a third of the cost
        for pid in sorted(there - self._watched.keys() - self._strangers):
            parent = self._watched.get(parent_of(pid) or 0)
            if parent is None:
                self._strangers.add(pid)
            else:
                self._add(pid, parent.program, there_at_first=False)
        self._searched_us = time.monotonic_ns() // 1000

    def _add(self, pid: int, program: str, *, there_at_first: bool) -> None:
        try:
            stat = os.open(f"/proc/{pid}/stat", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:  # it was a short one
            return
        self._files.callback(os.close, stat)
        self._watched[pid] = _Watched(program, stat, there_at_first)
        if program == self._counted:
            self._runs.add(pid, time.monotonic_ns() // 1000, None if there_at_first else self._searched_us)


@contextlib.contextmanager
def watching(
    programs: Mapping[str, int], counted: str = "", holds_pages: HoldsPages = lambda line, _: bool(line)
) -> Iterator[Watch]:
    """Watch programs, by name and main process, until the block ends or `lateness` is asked for.

    Of the one that is `counted` it is also noted when the main threads of its pages ran: of the processes that hold
    pages, by their command lines.
    """
    with contextlib.ExitStack() as files:
        watch = Watch(programs, files, counted, holds_pages)
        files.callback(watch.end)  # before the files are closed
        yield watch


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


def _waited_ns(pids: Iterable[int]) -> dict[str, int] | None:
    """How long each of their threads has waited for a core since it began, by its folder in /proc; None where the
    kernel does not tell. A browser has some 150 threads, and this is asked right before and after the load.
    """
    if not Path("/proc/self/schedstat").exists():
        return None
    waited = {}
    for pid in pids:
        with contextlib.suppress(*ENDED):
            for number in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208  # a fifth of the cost of Path
                thread = f"/proc/{pid}/task/{number}"
                with contextlib.suppress(*ENDED), open(f"{thread}/schedstat", "rb") as counts:  # noqa: PTH123
                    waited[thread] = int(counts.read().split()[1])
    return waited


def _waiting_ms(
    before: Mapping[str, int] | None, now: Mapping[str, int] | None
) -> tuple[float | None, float | None]:
    """Of all threads together, and of the one that waited the longest."""
    if before is None or now is None:
        return None, None
    waits = [(waited - before.get(thread, 0)) / 1e6 for thread, waited in now.items()]
    return round(sum(waits), 1), round(max(waits, default=0.0), 1)

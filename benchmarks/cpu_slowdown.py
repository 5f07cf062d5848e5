"""How many times longer fixed work takes on a slowed processor, by where in a load it is done, for both drivers.

    .venv/bin/python -m benchmarks.cpu_slowdown [--rounds 10] [--into DIR]

A page works in its first script, again in that script, while the rest of the load waits (three pieces and one that
needs much memory), and in a worker. Another one works in a frame of another site, and late beside it, where one more
thread takes a part of a core. Slowdowns, drivers and pages take turns. Prints medians and quartiles of the ratios to
full speed in the same round: of the page's own clock, and of the time that the thread had a core, in which Chromium's
delays count and waits do not. `waited`: the share of the time at full speed, and slowed, in which the thread waited for
a core. A slowdown of 1 is full speed a second time. What is not slowed has the target 1. Prints `target missed` where
the median is off by more than 5 %, and ends with 1 when that is so of work late in a load of a page by itself.
"""

from __future__ import annotations

import bisect
import contextlib
import os
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, product
from pathlib import Path

from benchmarks import common, quoted
from harness.model.condition import FULL_SPEED, SLOWDOWNS
from harness.model.engine import Driver
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.settings import AS_RECORDED
from harness.probes.probe import TrialOptions
from harness.probes.timeline import PageTimes
from harness.system.enclosure import WORKSPACE, enclosed
from harness.trial.trial import BrowserLab, browser_lab, run_observed
from sites.archive import Archive

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
        for thread in self._threads.values():
            os.close(thread.counts)

    def busiest(
        self, kind: str, begun_ms: float, ended_ms: float, *, but: int | None = None
    ) -> tuple[int, float, float]:
        """Of the threads that do this, the one that ran the longest then: its process, the ms it ran and waited.

        `but` is a process to leave out.
        """
        times = [
            (thread.pid, *thread.between(begun_ms, ended_ms))
            for thread in self._threads.values()
            if thread.kind == kind and thread.pid != but and thread.at_ms
        ]
        return max(times, key=lambda each: each[1], default=(0, 0.0, 0.0))

    def _look_on(self) -> None:
        looks = 0
        while not self._over.wait(LOOK_S):
            if looks % LOOKS_PER_SEARCH == 0:
                self._search()
            looks += 1
            for thread in self._threads.values():
                thread.read()

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


ALONE, FRAMED = "alone", "framed"
FRAME_URL = "https://other.example/"
TOLERANCE = 0.05
AFTER_S = {ALONE: 4.0, FRAMED: 0.5}  # the worker works after the load event, when the page does not
FIRST, EARLY, LATE, MEMORY, IN_A_WORKER = "first", "early", "late", "memory", "worker"
FRAME, BESIDE = "frame", "beside"
PLACES = {ALONE: (FIRST, EARLY, LATE, MEMORY, IN_A_WORKER), FRAMED: (FRAME, BESIDE)}
# At full speed 1e6 steps take some 8 ms, once they have been compiled. An instant is the number of ms since 1970.
WORK = """const count = (steps) => { let sum = 0;
for (let step = 0; step < steps; step++) sum = (sum * 31 + step) % 1000003; return sum; };
const instant = () => performance.timeOrigin + performance.now();
const timed = (place, work) => { const begun = instant(); work(); return [place, begun, instant()]; };
const tell = (told) => console.error("coldload " + told.join(" ") + " ");"""
THINGS = """const TEXT = JSON.stringify(Array.from({length: 2000}, (_, id) => ({id, name: "n" + id, list: [id, 2.5]})));
const parse = (times) => { while (times--) JSON.parse(TEXT); };"""
SMALL, USUAL = "() => count(6e6)", "() => count(24e6)"
THE_WORKER = f'{WORK} postMessage(timed("{IN_A_WORKER}", {USUAL}));'
BEGUN = f"""{WORK}
tell(["origin", performance.timeOrigin, performance.timeOrigin]);
tell(timed("{FIRST}", {SMALL})); tell(timed("{EARLY}", {USUAL}));
const late = (place) => {{ for (let piece = 0; piece < 3; piece++) tell(timed(place, {USUAL})); }};"""
BY_ITSELF = f"""<script>{BEGUN} {THINGS}
addEventListener("load", () => {{ const worker = new Worker(URL.createObjectURL(new Blob([`{THE_WORKER}`])));
worker.onmessage = (told) => tell(told.data); }});</script>
<iframe srcdoc="a frame of the page's own process"
onload="late('{LATE}'); tell(timed('{MEMORY}', () => parse(150)))"></iframe>"""
WITH_A_FRAME = f"""<script>{BEGUN}
addEventListener("message", (told) => tell(told.data));</script>
<iframe src="{FRAME_URL}" onload="late('{BESIDE}')"></iframe>"""
IN_THE_FRAME = f'<script>{WORK} parent.postMessage(timed("{FRAME}", {USUAL}), "*");</script>'


@dataclass(frozen=True)
class Work:
    """A piece of work: its ms by the page's clock, and those in which its thread ran, and waited for a core."""

    took_ms: float
    ran_ms: float
    waited_ms: float


@dataclass(frozen=True)
class Ratio:
    """A piece slowed against one at full speed."""

    took: float
    ran: float
    waited: float
    waited_before: float


Done = Mapping[str, Work]
Ratios = dict[tuple[Driver, int, str], list[Ratio]]


def pages(root: Path) -> dict[str, Archive]:
    """The page by itself, and the one with a frame of another site."""
    return {
        ALONE: written(root, ALONE, {url(ALONE): BY_ITSELF}),
        FRAMED: written(root, FRAMED, {url(FRAMED): WITH_A_FRAME, FRAME_URL: IN_THE_FRAME}),
    }


def url(page: str) -> str:
    return f"https://{page}.example/"


def written(root: Path, name: str, bodies: Mapping[str, str]) -> Archive:
    head, tail = "<!doctype html><html><head><title>work</title></head><body>", "</body></html>"
    first, *others = (common.html(address, f"{head}{body}{tail}") for address, body in bodies.items())
    return common.archived(root, name, first, others)


def told(messages: Sequence[str]) -> Iterator[tuple[str, float, float]]:
    """Where work was done, with its first and its last instant."""
    for message in messages:
        _, told, rest = message.partition("coldload ")
        if told:
            place, begun, ended, *_ = rest.strip('"').split()
            yield place, float(begun), float(ended)


def works(messages: Sequence[str], started_ms: float, times: ThreadTimes) -> Done:
    """By place; of several pieces the one in the middle. `started_ms`: of the navigation, of CLOCK_MONOTONIC."""
    pieces = list(told(messages))
    origin = next((begun for place, begun, _ in pieces if place == "origin"), 0.0)
    by_place: dict[str, list[Work]] = defaultdict(list)
    of_the_page = None
    for place, *instants in pieces:
        begun, ended = (instant - origin + started_ms for instant in instants)
        kind = WORKER if place == IN_A_WORKER else MAIN
        pid, ran, waited = times.busiest(kind, begun, ended, but=of_the_page if place == FRAME else None)
        if place == FIRST:
            of_the_page = pid
        by_place[place].append(Work(ended - begun, ran, waited))
    return {
        place: sorted(done, key=lambda work: work.took_ms)[len(done) // 2] for place, done in by_place.items()
    }


def ratio(slowed: Work, usual: Work) -> Ratio:
    return Ratio(
        slowed.took_ms / usual.took_ms,
        slowed.ran_ms / usual.ran_ms if usual.ran_ms else float("nan"),
        slowed.waited_ms / slowed.took_ms,
        usual.waited_ms / usual.took_ms,
    )


def load(opened: BrowserLab, driver: Driver, page: str, slowdown: int, number: int) -> Done | None:
    """What one load did; None when it does not count."""
    cell = common.condition(page, link=Link.of(100, 2), driver=driver)
    planned = common.planned(number, replace(cell, cpu_slowdown=slowdown))
    options = TrialOptions(linger_s=AFTER_S[page])
    with thread_times() as times:
        record, seen = run_observed(opened.testbed, opened.browsers, planned, options, WORKSPACE / "kept")
    started = (seen.of(PageTimes).timeline or {}).get("navigation_start_ms") if seen else None
    if started is None:
        print(f"left out: {record.outcome}: {record.reason}", file=sys.stderr)
        return None
    return works(record.observation.console_errors or (), started, times)


def measure(archives: Mapping[str, Archive], rounds: int) -> Ratios:
    """The ratios to full speed by driver, slowdown and place; the first round warms the machine up."""
    ratios: Ratios = defaultdict(list)
    with browser_lab(archives, [Protocol.H2], replay=AS_RECORDED) as opened:  # the page's own clock
        for number, driver, page in product(range(rounds + 1), common.DRIVERS, archives):
            usual = load(opened, driver, page, FULL_SPEED, number) or {}
            for slowdown in SLOWDOWNS:
                slowed = load(opened, driver, page, slowdown, number) or {}
                for place in (place for place in PLACES[page] if place in usual and place in slowed):
                    if number:
                        ratios[driver, slowdown, place].append(ratio(slowed[place], usual[place]))
    return ratios


def target(driver: Driver, slowdown: int, place: str) -> int:
    """What a ratio is to be: 1 where the protocol slows nothing."""
    slowed = place != IN_A_WORKER and not (place == FRAME and driver is Driver.SELENIUM)
    return slowdown if slowed else FULL_SPEED


def quartiles(took: Sequence[float]) -> Sequence[float]:
    """With the median between them; of one value that value."""
    return statistics.quantiles(took, n=4, method="inclusive") if len(took) > 1 else [took[0]] * 3


def report(ratios: Ratios) -> bool:
    """Print a line for each driver, place and slowdown; whether all late pieces reach their target."""
    print(
        "driver      place    slowdown  target  ratio  quartiles        lowest  highest  ran    waited        n"
    )
    good = True
    places = list(chain.from_iterable(PLACES.values()))
    order = sorted(ratios.items(), key=lambda each: (each[0][0], places.index(each[0][2]), each[0][1]))
    for (driver, slowdown, place), values in order:
        took = sorted(piece.took for piece in values)
        low, middle, high = quartiles(took)
        ran, slowed, usual = (
            statistics.median(getattr(piece, name) for piece in values)
            for name in ("ran", "waited", "waited_before")
        )
        wanted = target(driver, slowdown, place)
        missed = abs(middle / wanted - 1) > TOLERANCE
        good = good and not (missed and place == LATE)
        print(
            f"{driver:<11} {place:<8} {slowdown:<9} {wanted:<6} {middle:6.2f}  {low:5.2f} to {high:5.2f}  "
            f"{took[0]:6.2f}  {took[-1]:7.2f}  {ran:5.2f}  {usual:4.0%} to {slowed:3.0%}  {len(took):2}"
            f"{'  target missed' if missed else ''}"
        )
    return good


def in_short(ratios: Ratios) -> Iterator[Mapping[str, str]]:
    """A row for each place and driver: the ratios of the page's own clock by slowdown, median (quartiles)."""
    for place, driver in product(chain.from_iterable(PLACES.values()), common.DRIVERS):
        took = {each: [piece.took for piece in ratios[driver, each, place]] for each in SLOWDOWNS}
        if all(took.values()):
            told = {f"slowed_{each}": _told(quartiles(values)) for each, values in took.items()}
            yield {"place": place, "driver": driver, **told, "n": str(min(map(len, took.values())))}


def _told(of: Sequence[float]) -> str:
    low, middle, high = of
    return f"{middle:.2f} ({low:.2f} to {high:.2f})"


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    quoted.add_into(parser)
    asked = parser.parse_args()
    part = quoted.Part("slowdown", "places", common.ENGINE)

    def inside() -> int:
        with tempfile.TemporaryDirectory() as folder:
            ratios = measure(pages(Path(folder)), asked.rounds)
        if asked.into:
            part.keep(asked.into, [*in_short(ratios)], ["place", "driver"])
        return 0 if report(ratios) else 1

    return enclosed(inside)


if __name__ == "__main__":
    sys.exit(main())

"""Probes of the trace: one records it, for all that need it; one tells what the page's main thread was busy with, and
which requests painting waited for.

Each moment counts for the innermost span that runs then, as in Lighthouse (core/lib/tracehouse/task-groups.js): a span
of no kind of work counts for the one it runs in.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines.browser import BrowserTrace, ThreadSpan, ThreadWork, TracePart
from harness.input.shown import clipped
from harness.model.engine import Capability
from harness.model.kind import TRACE
from harness.model.metric import Source, Unit, metric
from harness.probes.evidence import Evidence
from harness.probes.probe import MeasuredClient, OpenPage, Probe

if TYPE_CHECKING:
    from harness.engines.browsers import FreshBrowser

TRACE_S = 60.0  # the longest that a trial waits for the trace of its page
LONGEST_TASKS = 10
LONGEST_URL = 300  # characters


@dataclass(frozen=True)
class Task:
    """A task of the main thread, in ms since navigation start; `script` ran longest in it, None without any."""

    start_ms: float
    took_ms: float
    script: str | None

    def __str__(self) -> str:
        return f"{self.took_ms:.1f} ms at {self.start_ms:.0f} ms: {self.script or 'no script'}"


@dataclass(frozen=True)
class MainThread:
    """Busy times until the end of the load event, in ms, and the longest tasks of the whole trace.

    `tasks_us` are all tasks until then, from when to when, in us since navigation start.
    """

    busy_ms: float
    groups: Mapping[ThreadWork, float]
    longest: tuple[Task, ...]
    tasks_us: tuple[tuple[int, int], ...] = ()


@dataclass
class _Open:
    """A span under way, in us. `own`: how long it ran so far as is known, without what ran inside it."""

    end: float
    work: ThreadWork | None
    own: float


@dataclass
class _OpenTask:
    """A task under way, in us, and how long each script ran in it."""

    start: float
    end: float
    scripts: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Trace:
    """A load that was traced. `render_blocking` is by URL what the browser said of its request."""

    main_thread: MainThread | None = None
    render_blocking: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class TraceMetrics:
    """What the page's main thread did."""

    traced: bool | None = metric(
        "Traced", Unit.FLAG, Source.TRACE, "true when a trace was recorded while the page loaded, else null"
    )
    main_thread_ms: float | None = metric(
        "Main thread",
        Unit.MS,
        Source.TRACE,
        "time of the tasks of the page's main thread until the end of the load event",
    )
    script_ms: float | None = metric("Scripts", Unit.MS, Source.TRACE, "of it: compiling and running scripts")
    style_layout_ms: float | None = metric(
        "Style and layout", Unit.MS, Source.TRACE, "of it: style and layout"
    )
    paint_ms: float | None = metric("Painting", Unit.MS, Source.TRACE, "of it: painting and layers")
    parse_ms: float | None = metric("Parsing", Unit.MS, Source.TRACE, "of it: parsing HTML and style sheets")
    gc_ms: float | None = metric("Garbage collection", Unit.MS, Source.TRACE, "of it: garbage collection")
    longest_tasks: tuple[str, ...] | None = metric(
        "Longest tasks",
        Unit.TEXTS,
        Source.TRACE,
        "the ten longest tasks of the whole trace, with the script that ran longest in each",
    )


class RecordingProbe(Probe):
    """Records one trace of a load, of the parts that probes need, and gives it to them.

    It is read when the browser has gone: that costs no trial its time.
    """

    needs = frozenset({Capability.TRACE})
    readers: Sequence[Probe] = ()
    ended_ms: float | None = None

    @property
    def file(self) -> Path:
        """Kept of a load that is traced; of one that is filmed alone it is read and removed."""
        return self.load.files / "trace.json.gz"

    def before(self, page: OpenPage) -> None:
        self.readers = [probe for probe in page.probes if probe.of_trace is not None]
        if self.readers:
            parts = [probe.of_trace for probe in self.readers if probe.of_trace is not None]
            self.load.files.mkdir(parents=True, exist_ok=True)
            with page.watch.limit(self.load.options.answer_s, "start of the trace", before_page=True):
                page.browser.start_trace(parts)

    def at_failure(self, page: OpenPage) -> None:
        if self.readers:
            self.observe(page)

    @property
    def observes(self) -> bool:
        return bool(self.readers)

    def observe(self, page: OpenPage) -> None:
        """A trace ends when every thread has handed in its part: a page that never rests keeps its own from that.

        So it is left before, unless it is known to have come to rest.
        """
        self.ended_ms = time.monotonic() * 1e3
        with page.watch.limit(TRACE_S, "trace of the page"):
            if not self.load.at_rest:
                page.browser.leave()
            page.browser.end_trace(self.file)

    def after(self, fresh: FreshBrowser, client: MeasuredClient) -> None:
        del client
        if self.ended_ms is None or not self.file.exists():
            return
        trace = fresh.read_trace(self.file)
        for probe in self.readers:
            probe.traced(trace, self.ended_ms)
        if not self.load.keeps(TRACE):
            self.file.unlink()


class TraceProbe(Probe):
    """Tells what the page's main thread did, of a load whose trace is kept."""

    metrics = TraceMetrics
    needs = frozenset({Capability.TRACE})
    asked_by = TRACE
    of_trace = TracePart.TASKS
    trace = Trace()

    def traced(self, trace: BrowserTrace, ended_ms: float) -> None:
        del ended_ms
        times = self.load.timeline or {}
        begin, took = times.get("navigation_start_ms"), times.get("plt_ms")
        if begin is not None and took is not None:
            spans = trace.main_thread(begin)
            busy = None if spans is None else main_thread(spans, begin, took)
            self.trace = Trace(busy, trace.render_blocking())

    def seen(self) -> Trace:
        return self.trace

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        seen = evidence.get(Trace)
        busy = seen.main_thread if seen else None
        if busy is None:
            return {"traced": True if seen else None}
        return {
            "traced": True,
            "main_thread_ms": busy.busy_ms,
            **{f"{group.name.lower()}_ms": took for group, took in busy.groups.items()},
            "longest_tasks": tuple(map(str, busy.longest)),
        }


def main_thread(spans: Sequence[ThreadSpan], navigation_start_ms: float, load_ms: float) -> MainThread:
    """What the thread was busy with, by what it did from navigation start on."""
    begin = navigation_start_ms * 1e3
    until = begin + load_ms * 1e3
    tasks = sorted(_tasks(spans, begin), key=lambda task: -task.took_ms)[:LONGEST_TASKS]
    groups: dict[ThreadWork, float] = dict.fromkeys(ThreadWork, 0.0)
    for work, took in _own_times(spans, begin, until):
        if work is not None:
            groups[work] += took / 1e3
    edges = sorted(_clipped(span, begin, until) for span in spans if span.is_task)
    return MainThread(
        round(_covered(edges) / 1e3, 1),
        {work: round(took, 1) for work, took in groups.items()},
        tuple(tasks),
        tuple((round(start - begin), round(end - begin)) for start, end in edges if start < end),
    )


def _covered(edges: Iterable[tuple[float, float]]) -> float:
    """How long any of these spans lasts, which are in the order of their beginnings: tasks of a nested loop lie within
    another one.
    """
    covered, reached = 0.0, -math.inf
    for start, end in edges:
        covered += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return covered


def _own_times(
    spans: Sequence[ThreadSpan], begin: float, until: float
) -> Iterator[tuple[ThreadWork | None, float]]:
    """How long each span ran within a time, what ran inside it taken off, with the work that this counts for."""
    stack: list[_Open] = []
    for span in _nested(spans):
        start, end = _clipped(span, begin, until)
        while stack and stack[-1].end <= span.began_us:
            done = stack.pop()
            yield done.work, done.own
        took = end - start
        if stack:
            took = min(took, max(0.0, stack[-1].end - start)) if took else 0.0
            stack[-1].own -= took
        work = span.work or (stack[-1].work if stack else None)
        stack.append(_Open(span.ended_us, work, took))
    while stack:
        done = stack.pop()
        yield done.work, done.own


def _tasks(spans: Sequence[ThreadSpan], begin: float) -> Iterator[Task]:
    """The tasks with the script that ran longest in each."""
    task: _OpenTask | None = None
    outer_end = 0.0  # of the script under way: what it calls is part of it
    for span in _nested(spans):
        if span.is_task:
            if task is not None and span.began_us < task.end:
                continue  # one of a nested loop
            if task is not None:
                yield _task(task, begin)
            task, outer_end = _OpenTask(span.began_us, span.ended_us), 0.0
        elif task is not None and span.script and outer_end <= span.began_us < task.end:
            task.scripts[span.script] = task.scripts.get(span.script, 0.0) + span.took_us
            outer_end = span.ended_us
    if task is not None:
        yield _task(task, begin)


def _task(task: _OpenTask, begin: float) -> Task:
    script = max(task.scripts, key=lambda url: task.scripts[url], default=None)
    return Task(
        round((task.start - begin) / 1e3, 1),
        round((task.end - task.start) / 1e3, 1),
        clipped(script, LONGEST_URL) if script else None,
    )


def _nested(spans: Iterable[ThreadSpan]) -> list[ThreadSpan]:
    """In the order of their beginnings, the outer one first."""
    return sorted(spans, key=lambda span: (span.began_us, -span.took_us))


def _clipped(span: ThreadSpan, begin: float, until: float) -> tuple[float, float]:
    start = min(max(span.began_us, begin), until)
    return start, min(max(span.ended_us, start), until)

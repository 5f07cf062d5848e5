"""Probes of the trace: one records it, for all that need it; one tells what the page's main thread was busy with, and
which requests painting waited for.

Each moment counts for the innermost event that runs then, as in Lighthouse (core/lib/tracehouse/task-groups.js), whose
groups these are: events of no group count for the one they run in. What painting waits for is what Blink says of a
request when it sends it, and again when a preload turns out to be needed at once: neither NetLog nor the priority of a
request tells.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.engines.browser import TASKS, read_trace
from harness.input.shown import clipped
from harness.model.engine import Capability
from harness.model.kind import TRACE
from harness.model.metric import Source, Unit, metric
from harness.probes.evidence import Evidence
from harness.probes.probe import MeasuredClient, OpenPage, Probe

if TYPE_CHECKING:
    from harness.engines.browsers import FreshBrowser

TRACE_S = 60.0  # the longest that a trial waits for the trace of its page
TASK = "RunTask"
LONGEST_TASKS = 10
LONGEST_URL = 300  # characters
CLOCK_US = 1500  # the trace and the times of the page are of one clock; a start is told in steps of 0.1 ms and rounded
CATEGORY = "devtools.timeline"  # a page can name marks of its own like any event, in another category
SENT, CHANGED = "ResourceSendRequest", "PreloadRenderBlockingStatusChange"
# What Chromium says of a request. Of the first, painting waits for it; of the second, parsing of what follows.
BEHAVIOURS = (
    "blocking",
    "in_body_parser_blocking",
    "non_blocking",
    "dynamically_injected_non_blocking",
    "potentially_blocking",
)


class ThreadWork(StrEnum):
    """What a main thread does."""

    SCRIPT = "script"
    STYLE_LAYOUT = "style and layout"
    PAINT = "paint"
    PARSE = "parse"
    GC = "garbage collection"


_NAMES: Mapping[ThreadWork, str] = {
    ThreadWork.SCRIPT: "v8.compile v8.compileModule v8.produceCache EventDispatch EvaluateScript v8.evaluateModule "
    "FunctionCall TimerFire FireIdleCallback FireAnimationFrame RunMicrotasks V8.Execute",
    ThreadWork.STYLE_LAYOUT: "ScheduleStyleRecalculation UpdateLayoutTree InvalidateLayout Layout",
    ThreadWork.PAINT: "Animation HitTest PaintSetup Paint PaintImage RasterTask ScrollLayer UpdateLayer "
    "UpdateLayerTree CompositeLayers PrePaint Layerize Commit",
    ThreadWork.PARSE: "ParseHTML ParseAuthorStyleSheet",
    ThreadWork.GC: "GCEvent MinorGC MajorGC BlinkGC.AtomicPhase ThreadState::performIdleLazySweep "
    "ThreadState::completeSweep BlinkGCMarking",
}
GROUPS: Mapping[str, ThreadWork] = {name: group for group, names in _NAMES.items() for name in names.split()}
OF_SCRIPTS = frozenset(
    {"EvaluateScript", "FunctionCall", "v8.compile", "v8.compileModule", "v8.evaluateModule"}
)


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
    """An event under way, in us. `own`: how long it ran so far as is known, without what ran inside it."""

    end: float
    group: ThreadWork | None
    own: float


@dataclass
class _OpenTask:
    """A task under way, in us, and how long each script ran in it."""

    start: float
    end: float
    scripts: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Trace:
    """A load that was traced. `render_blocking` is by URL what Blink said of its request."""

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
    """Records one trace of a load, of the categories that probes name, and gives them its events.

    The trace is read when the browser has gone: that costs no trial its time.
    """

    needs = frozenset({Capability.TRACE})
    readers: Sequence[Probe] = ()
    ended_ms: float | None = None

    @property
    def file(self) -> Path:
        """Kept of a load that is traced; of one that is filmed alone it is read and removed."""
        return self.load.files / "trace.json.gz"

    def before(self, page: OpenPage) -> None:
        self.readers = [probe for probe in page.probes if probe.categories]
        if self.readers:
            self.load.files.mkdir(parents=True, exist_ok=True)
            with page.watch.limit(self.load.options.answer_s, "start of the trace", before_page=True):
                page.browser.start_trace([each for probe in self.readers for each in probe.categories])

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
        del fresh, client
        if self.ended_ms is None or not self.file.exists():
            return
        events = read_trace(self.file)
        for probe in self.readers:
            probe.traced(events, self.ended_ms)
        if not self.load.keeps(TRACE):
            self.file.unlink()


class TraceProbe(Probe):
    """Tells what the page's main thread did, of a load whose trace is kept."""

    metrics = TraceMetrics
    needs = frozenset({Capability.TRACE})
    asked_by = TRACE
    categories = TASKS
    trace = Trace()

    def traced(self, events: Sequence[Mapping[str, Any]], ended_ms: float) -> None:
        del ended_ms
        times = self.load.timeline or {}
        begin, took = times.get("navigation_start_ms"), times.get("plt_ms")
        if begin is not None and took is not None:
            self.trace = Trace(main_thread(events, begin, took), render_blocking(events))

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


def main_thread(
    events: Sequence[Mapping[str, Any]], navigation_start_ms: float, load_ms: float
) -> MainThread | None:
    """What the thread that loaded the page did; None when the trace does not hold the navigation of this load."""
    begin = navigation_start_ms * 1e3
    starts = [
        each for each in events if each["name"] == "navigationStart" and abs(each["ts"] - begin) <= CLOCK_US
    ]
    if not starts:
        return None
    thread = starts[0]["pid"], starts[0]["tid"]
    spans = [each for each in events if each["ph"] == "X" and (each["pid"], each["tid"]) == thread]
    spans = [each for each in spans if each["ts"] + each.get("dur", 0) >= begin]
    until = begin + load_ms * 1e3
    tasks = sorted(_tasks(spans, begin), key=lambda task: -task.took_ms)[:LONGEST_TASKS]
    groups: dict[ThreadWork, float] = dict.fromkeys(ThreadWork, 0.0)
    for group, took in _own_times(spans, begin, until):
        if group is not None:
            groups[group] += took / 1e3
    busy = sum(_within(each, begin, until) for each in spans if each["name"] == TASK) / 1e3
    edges = [_clipped(each, begin, until) for each in spans if each["name"] == TASK]
    return MainThread(
        round(busy, 1),
        {group: round(took, 1) for group, took in groups.items()},
        tuple(tasks),
        tuple((round(start - begin), round(end - begin)) for start, end in edges if start < end),
    )


def _own_times(
    spans: Sequence[Mapping[str, Any]], begin: float, until: float
) -> Iterator[tuple[ThreadWork | None, float]]:
    """How long each event ran within a time, what ran inside it taken off, with the group that this counts for."""
    stack: list[_Open] = []
    for each in _nested(spans):
        start, end = _clipped(each, begin, until)
        while stack and stack[-1].end <= each["ts"]:
            done = stack.pop()
            yield done.group, done.own
        took = end - start
        if stack:
            took = min(took, max(0.0, stack[-1].end - start)) if took else 0.0
            stack[-1].own -= took
        group = GROUPS.get(each["name"], stack[-1].group if stack else None)
        stack.append(_Open(each["ts"] + each.get("dur", 0), group, took))
    while stack:
        done = stack.pop()
        yield done.group, done.own


def _tasks(spans: Sequence[Mapping[str, Any]], begin: float) -> Iterator[Task]:
    """The tasks with the script that ran longest in each."""
    task: _OpenTask | None = None
    outer_end = 0.0  # of the script under way: what it calls is part of it
    for each in _nested(spans):
        end = each["ts"] + each.get("dur", 0)
        if each["name"] == TASK:
            if task is not None and each["ts"] < task.end:
                continue  # one of a nested loop
            if task is not None:
                yield _task(task, begin)
            task, outer_end = _OpenTask(each["ts"], end), 0.0
        elif task is not None and each["name"] in OF_SCRIPTS and outer_end <= each["ts"] < task.end:
            url = _url(each)
            if url:
                task.scripts[url] += each.get("dur", 0)
                outer_end = end
    if task is not None:
        yield _task(task, begin)


def _task(task: _OpenTask, begin: float) -> Task:
    script = max(task.scripts, key=lambda url: task.scripts[url], default=None)
    return Task(
        round((task.start - begin) / 1e3, 1),
        round((task.end - task.start) / 1e3, 1),
        clipped(script, LONGEST_URL) if script else None,
    )


def _url(event: Mapping[str, Any]) -> str | None:
    """The address of the script an event is of: its `data.url` or, of modules, its `fileName`."""
    told = event.get("args")
    arguments: Mapping[str, Any] = told if isinstance(told, dict) else {}
    data = arguments.get("data")
    url = (data.get("url") if isinstance(data, dict) else None) or arguments.get("fileName")
    return url if isinstance(url, str) else None


def _nested(spans: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """In the order of their beginnings, the outer one first."""
    return sorted(spans, key=lambda each: (each["ts"], -each.get("dur", 0)))


def _clipped(event: Mapping[str, Any], begin: float, until: float) -> tuple[float, float]:
    start = min(max(event["ts"], begin), until)
    return start, min(max(event["ts"] + event.get("dur", 0), start), until)


def _within(event: Mapping[str, Any], begin: float, until: float) -> float:
    start, end = _clipped(event, begin, until)
    return end - start


def render_blocking(events: Iterable[Mapping[str, Any]]) -> Mapping[str, str]:
    """By URL, what was last said of its first request."""
    found: dict[str, tuple[str, str]] = {}
    for event in events:
        if event.get("name") not in (SENT, CHANGED) or CATEGORY not in str(event.get("cat")).split(","):
            continue
        arguments = event.get("args")
        data = arguments.get("data") if isinstance(arguments, dict) else None
        said = data.get("renderBlocking") if isinstance(data, dict) else None
        if not isinstance(data, dict) or said not in BEHAVIOURS:
            continue
        url, request = str(data.get("url")).partition("#")[0], str(data.get("requestId"))
        if url not in found or found[url][0] == request:
            found[url] = request, said
    return {url: said for url, (_, said) in found.items()}

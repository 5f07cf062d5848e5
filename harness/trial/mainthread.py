"""What the page's main thread was busy with, from Chromium's trace of the load. Pure.

Each moment counts for the innermost event that runs then, as in Lighthouse (core/lib/tracehouse/task-groups.js), whose
groups these are: events of no group count for the one they run in.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from harness.input.shown import clipped

TASK = "RunTask"
LONGEST_TASKS = 10
LONGEST_URL = 300  # characters
CLOCK_US = 1500  # the trace and the times of the page are of one clock; a start is told in steps of 0.1 ms and rounded


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

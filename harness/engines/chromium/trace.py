"""Chromium's trace: what it is asked to record, and what its events tell.

It is in the Trace Event Format, which Perfetto (ui.perfetto.dev) and Chrome's DevTools open. The groups of what a main
thread does are those of Lighthouse (core/lib/tracehouse/task-groups.js). What painting waits for is what Blink says of
a request when it sends it, and again when a preload turns out to be needed at once: neither NetLog nor the priority of
a request tells.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines.browser import Pictures, ThreadSpan, ThreadWork, TracePart

CATEGORIES: Mapping[TracePart, tuple[str, ...]] = {
    # What tells tasks, scripts, style, layout, paint, parsing, garbage collection and the marks of the load. No
    # pictures, no stacks, no samples: those are what costs time.
    TracePart.TASKS: (
        "blink.user_timing",
        "devtools.timeline",
        "disabled-by-default-devtools.timeline",
        "loading",
        "v8",
    ),
    # Pictures of the tab whenever something changes, 60 a second at most.
    TracePart.PICTURES: ("disabled-by-default-devtools.screenshot",),
}
PICTURE_SIDE = 320  # pixels, of the longer side
# As many as Chromium allows of that size, 18 s of a page in which something always moves: it keeps them as they are, in
# 450 MB at most, until the trace ends.
MOST_PICTURES = 450_000_000 // (4 * PICTURE_SIDE**2)
# Of its buffers, as Chromium itself asks (HasLostData, services/tracing/public/cpp/perfetto/perfetto_session.cc).
LOSSES = ("chunks_overwritten", "chunks_discarded", "abi_violations", "trace_writer_packet_loss")
LARGEST_BYTES = 150_000_000  # of a trace, unpacked: its reading takes some ten times that

PICTURE = "Screenshot"
NAVIGATION, TASK = "navigationStart", "RunTask"
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
class ChromiumTrace:
    """A trace by its events."""

    events: Sequence[Mapping[str, Any]]

    def main_thread(self, navigation_start_ms: float) -> Sequence[ThreadSpan] | None:
        begin = navigation_start_ms * 1e3
        starts = [
            event
            for event in self.events
            if event["name"] == NAVIGATION and abs(event["ts"] - begin) <= CLOCK_US
        ]
        if not starts:
            return None
        thread = starts[0]["pid"], starts[0]["tid"]
        whole = (
            event for event in self.events if event["ph"] == "X" and (event["pid"], event["tid"]) == thread
        )
        return [_span(event) for event in whole if event["ts"] + event.get("dur", 0) >= begin]

    def render_blocking(self) -> Mapping[str, str]:
        """What was last said of the first request for each URL."""
        behaviours: dict[str, tuple[str, str]] = {}
        for event in self.events:
            if event.get("name") not in (SENT, CHANGED) or CATEGORY not in str(event.get("cat")).split(","):
                continue
            arguments = event.get("args")
            data = arguments.get("data") if isinstance(arguments, dict) else None
            said = data.get("renderBlocking") if isinstance(data, dict) else None
            if not isinstance(data, dict) or said not in BEHAVIOURS:
                continue
            url, request = str(data.get("url")).partition("#")[0], str(data.get("requestId"))
            if url not in behaviours or behaviours[url][0] == request:
                behaviours[url] = request, said
        return {url: said for url, (_, said) in behaviours.items()}

    def pictures(self) -> Pictures:
        taken = tuple(
            (event["ts"] / 1e3, base64.b64decode(event["args"]["snapshot"]))
            for event in self.events
            # A page can name events of other categories.
            if event.get("name") == PICTURE and event.get("cat") in CATEGORIES[TracePart.PICTURES]
        )
        return Pictures(taken, len(taken) >= MOST_PICTURES)


def read_trace(path: Path) -> ChromiumTrace:
    """The trace in a file; one without events when the file is cut off, damaged or too large, or Chromium had no room
    for some of them.
    """
    try:
        with gzip.open(path, "rb") as file:
            text = file.read(LARGEST_BYTES + 1)
        trace = json.loads(text) if len(text) <= LARGEST_BYTES else {"traceEvents": []}
        return ChromiumTrace([] if _lost_events(trace) else trace["traceEvents"])
    except (OSError, EOFError, zlib.error, ValueError, KeyError):
        return ChromiumTrace([])


def _lost_events(trace: Mapping[str, Any]) -> bool:
    buffers = trace.get("metadata", {}).get("trace_processor_stats", {}).get("traced_buf", ())
    return any(buffer.get(loss) for buffer in buffers for loss in LOSSES)


def _span(event: Mapping[str, Any]) -> ThreadSpan:
    name = event["name"]
    script = _url(event) if name in OF_SCRIPTS else None
    return ThreadSpan(event["ts"], event.get("dur", 0), GROUPS.get(name), name == TASK, script)


def _url(event: Mapping[str, Any]) -> str | None:
    """The address of the script an event is of: its `data.url` or, of modules, its `fileName`."""
    told = event.get("args")
    arguments: Mapping[str, Any] = told if isinstance(told, dict) else {}
    data = arguments.get("data")
    url = (data.get("url") if isinstance(data, dict) else None) or arguments.get("fileName")
    return url if isinstance(url, str) else None

"""Probe of the page's vitals: what its timelines held, as Google's web-vitals and Lighthouse define them.

FCP, LCP, CLS: github.com/GoogleChrome/web-vitals. TBT: Lighthouse, core/computed/metrics/tbt-utils.js. Nobody
types, clicks or hides the page here, so nothing but the end of the observation ends them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from harness.model.engine import Capability
from harness.model.kind import VITALS
from harness.model.metric import Column, MetricTable, Source, Unit, metric, metrics_declared
from harness.probes.evidence import Evidence, clipped_url
from harness.probes.probe import OpenPage, Probe
from harness.probes.timeline import times

BLOCKING_MS = 50.0  # of a task, beyond which it blocks
WINDOW_GAP_MS, WINDOW_MS = 1000.0, 5000.0  # of layout shifts: from one to the next, and in all

StartAndDuration = tuple[float, float]  # start and duration


class Paint(msgspec.Struct, frozen=True):
    """A candidate for the largest contentful paint."""

    start: float
    size: float
    element: str | None = None
    url: str | None = None


class Entries(msgspec.Struct, frozen=True):
    """What the timeline of one document held, see entries.js; None is what the browser does not tell."""

    time_origin_ms: float
    now_ms: float
    visible: float
    frames: int
    dropped: int | None
    fcp_ms: float | None = None
    largest: Paint | None = None
    untold: bool = False  # what it painted at first is no candidate
    shifts: tuple[StartAndDuration, ...] | None = None
    tasks: tuple[StartAndDuration, ...] | None = None


@dataclass(frozen=True)
class Vitals:
    """The vitals of a page. `settled`: it was quiet before the limit; without that, they may have become more.

    `observed_ms` is until when the page was observed. `dropped_entries` were dropped by the browser unseen;
    `unread_frames` could not be asked, in view or not, or are in view and do not tell what they painted at first. Both
    may make the figures too small.
    """

    settled: bool
    observed_ms: float | None = None
    fcp_ms: float | None = None
    lcp_ms: float | None = None
    lcp_element: str | None = None
    lcp_url: str | None = None
    cls: float | None = None
    tbt_ms: float | None = None
    dropped_entries: int | None = None
    unread_frames: int | None = None


NOT_SETTLED = Vitals(settled=False)  # and nothing is known: the page did not answer, or is another one


@dataclass(frozen=True)
class VitalsMetrics:
    """The page's vitals; times are ms since navigation start."""

    lcp_ms: float | None = metric(
        "Largest paint",
        Unit.MS,
        Source.VITALS,
        "largest contentful paint until `observed_ms`, frames included",
        Column(MetricTable.OTHER_TIMES, 5),
    )
    lcp_element: str | None = metric(
        "Largest element",
        Unit.TEXT,
        Source.VITALS,
        "what was painted at `lcp_ms`: name, id and classes of the element",
    )
    lcp_url: str | None = metric(
        "Largest element's URL",
        Unit.TEXT,
        Source.VITALS,
        "the address of the picture painted at `lcp_ms`; of text none",
    )
    cls: float | None = metric(
        "Layout shift",
        Unit.SCORE,
        Source.VITALS,
        "cumulative layout shift until `observed_ms`, frames included: the largest session window",
        Column(MetricTable.OTHER_TIMES, 8),
        needs=Capability.SHIFTS,
    )
    tbt_ms: float | None = metric(
        "Blocked",
        Unit.MS,
        Source.VITALS,
        "sum of long tasks' time beyond 50 ms, of the parts between `fcp_ms` and `observed_ms`",
        Column(MetricTable.OTHER_TIMES, 7),
        needs=Capability.TASKS,
    )
    settled: bool | None = metric(
        "Settled",
        Unit.FLAG,
        Source.VITALS,
        "whether the page had come to rest within 10 s; null: not waited for",
    )
    observed_ms: float | None = metric("Observed", Unit.MS, Source.VITALS, "until when the page was observed")
    dropped_entries: int | None = metric(
        "Entries dropped",
        Unit.COUNT,
        Source.VITALS,
        "paints, shifts and tasks that the browser dropped unseen",
    )
    unread_frames: int | None = metric(
        "Frames not read",
        Unit.COUNT,
        Source.VITALS,
        "frames of which not all paints and shifts could be read, without those known to be out of view",
    )


class VitalsProbe(Probe):
    """The page is looked at until it has come to rest: for its vitals, or so that a film shows all of it."""

    metrics = VitalsMetrics
    needs = frozenset({Capability.LARGEST_PAINT})
    asked_by = VITALS
    vitals: Vitals | None = None

    @property
    def observes(self) -> bool:
        return True

    def observe(self, page: OpenPage) -> None:
        self.vitals = NOT_SETTLED
        rest = page.comes_to_rest()
        origin = (self.load.timeline or {}).get("time_origin_ms")
        told: Sequence[Mapping[str, Any]] = ()
        try:
            with page.answers("vitals of the page"):
                told = page.browser.entries()
        finally:  # where a frame does not answer in time, the tab's own document has
            self.vitals = vitals(told, origin, settled=rest)
        self.load.at_rest = self.vitals.settled

    def seen(self) -> Vitals | None:
        return self.vitals

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        """Those of a page that is the one asked for, and its first paint where the timeline told none yet."""
        told, seen = times(evidence), evidence.get(Vitals)
        if seen is None or not told:
            return {}
        return {
            **{key: getattr(seen, key) for key in metrics_declared(VitalsMetrics)},
            "fcp_ms": seen.fcp_ms if told.get("fcp_ms") is None else told["fcp_ms"],
            "lcp_url": None if seen.lcp_url is None else clipped_url(seen.lcp_url),
        }


def vitals(found: Sequence[Mapping[str, Any]], time_origin_ms: float | None, *, settled: bool) -> Vitals:
    """The vitals of a page whose documents told this, the tab's own first. `time_origin_ms` is that of the load."""
    try:
        documents = [msgspec.convert(timeline, Entries) for timeline in found]
    except msgspec.ValidationError:
        return NOT_SETTLED
    if not documents or documents[0].time_origin_ms != time_origin_ms:
        return NOT_SETTLED  # the tab has gone on to another document
    top = documents[0]
    paint = largest_paint(documents)
    return Vitals(
        settled=settled,
        observed_ms=top.now_ms,
        fcp_ms=top.fcp_ms,
        lcp_ms=paint.start if paint else None,
        lcp_element=paint.element if paint else None,
        lcp_url=paint.url if paint else None,
        cls=layout_shift(documents),
        tbt_ms=None
        if top.tasks is None or top.fcp_ms is None
        else blocking_ms(top.tasks, top.fcp_ms, top.now_ms),
        dropped_entries=_all_told(document.dropped for document in documents),
        unread_frames=_unread(documents),
    )


def _unread(documents: Sequence[Entries]) -> int:
    unasked = max(0, sum(document.frames for document in documents) + 1 - len(documents))
    return unasked + sum(document.untold and document.visible > 0 for document in documents)


def _all_told(counts: Iterable[int | None]) -> int | None:
    """Their sum; None where one of them is not told."""
    told = list(counts)
    return None if None in told else sum(count or 0 for count in told)


def largest_paint(documents: Sequence[Entries]) -> Paint | None:
    """The largest paint of all documents, its time on the clock of the first one.

    Of one document the last candidate is the largest. Chrome's field data take frames in, too, by size.
    """
    top = documents[0]
    paints = [
        msgspec.structs.replace(
            document.largest, start=document.largest.start + document.time_origin_ms - top.time_origin_ms
        )
        for document in documents
        if document.largest is not None and document.visible > 0
    ]
    return max(paints, key=lambda paint: paint.size, default=None)


def layout_shift(documents: Sequence[Entries]) -> float | None:
    """The largest session window of layout shifts; those of a frame count by its visible share of the viewport."""
    top = documents[0]
    if top.shifts is None:
        return None
    shifts = sorted(
        (start + document.time_origin_ms - top.time_origin_ms, value * _share(document, top))
        for document in documents
        for start, value in document.shifts or ()
    )
    return max(session_windows(shifts), default=0.0)


def _share(document: Entries, top: Entries) -> float:
    return document.visible / top.visible if top.visible else 0.0


def session_windows(shifts: Iterable[tuple[float, float]]) -> list[float]:
    """The sums of windows: shifts less than 1 s apart, in less than 5 s (web.dev/articles/cls)."""
    sums: list[float] = []
    first = last = 0.0
    for start, value in shifts:
        if sums and start - last < WINDOW_GAP_MS and start - first < WINDOW_MS:
            sums[-1] += value
        else:
            sums.append(value)
            first = start
        last = start
    return sums


def blocking_ms(tasks: Iterable[StartAndDuration], begin_ms: float, end_ms: float) -> float:
    """The time of tasks beyond 50 ms, of the parts between two instants: a task that began before counts from there."""
    parts = (min(start + took, end_ms) - max(start, begin_ms) for start, took in tasks)
    return sum(max(0.0, part - BLOCKING_MS) for part in parts)

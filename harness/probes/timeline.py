"""Probe of the page's timeline: its times, and whether they fit what was seen of the load elsewhere.

What is compared is the order of causes and effects, never a duration with a guess: the navigation begins before the
page is asked for, the page is answered before its load event, and the driver hears of that event after it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.engines.browserlog import APART_MS, BrowserLog, Request
from harness.errors import Outcome, TrialFailed
from harness.model.engine import Capability
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.model.soundness import Keys, Limit, disturbed, without
from harness.probes.evidence import Blame, Evidence, Fault
from harness.probes.link import LinkSeen
from harness.probes.probe import Instant, OpenPage, Probe

SET_MS = 50.0  # more than a clock that is kept right little by little goes off in a load
AHEAD: Keys = ("ahead_ms",)
# What sound loads show at most (docs/methodology.md), whatever they took: `plt_ms` is too short by it, so a share of
# that would leave out the fast loads of a condition.
AHEAD_LIMIT_MS = 15.0
LATEST_MS = 1e14  # some 3000 years: later than any clock that counts from 1970
BLANK = "blank"

Timeline = Mapping[
    str, float | None
]  # `blank` is no time: whether the page shows nothing, where the engine tells


@dataclass(frozen=True)
class PageTimes:
    """When things of the page happened, by the page's timeline, and how long the driver's own call took.

    `clock_set_ms` is by how much the clock that counts from 1970 was put forward meanwhile: servers and some browsers
    log by it.
    """

    navigate_ms: float | None = None
    timeline: Timeline | None = None
    clock_set_ms: float = 0.0


def times(evidence: Evidence) -> Timeline:
    """The timeline where it is that of the page asked for; else none."""
    timeline = evidence.of(PageTimes).timeline
    return timeline if timeline is not None and not_of_the_page(evidence) is None else {}


def load_end_ms(evidence: Evidence) -> float:
    """The end of the load event on the clock of the browser's log; infinite when there was none."""
    begin, took = (times(evidence).get(name) for name in ("navigation_start_ms", "plt_ms"))
    return math.inf if begin is None or took is None else begin + took


def ahead_ms(evidence: Evidence) -> float | None:
    """How long before navigation start the browser began what the page's first request waited for.

    Chromium looks up the host and connects while it makes ready the navigation, which is when its clock starts; WebKit
    connects while the page's process starts. A browser's log may not tell of that; the packets do.
    """
    log, begin = evidence.get(BrowserLog), times(evidence).get("navigation_start_ms")
    document = log.document(evidence.setup.start_url) if log else ()
    if log is None or begin is None or not document:
        return None
    carrier = document[0].exchange.connection
    spans = [*log.lookups.get(document[0].host, ())]
    spans += [
        connection.connecting
        for connection in log.connections
        if connection.connecting and connection.local == carrier
    ]
    began_ms = [span.began_ms for span in spans]
    left_us = evidence.of(LinkSeen).first_up_us
    if left_us is not None:
        began_ms.append((left_us + (0 if log.epoch_ms else evidence.setup.since_1970_us)) / 1000)
    return max(0.0, begin - min(began_ms)) if began_ms else None


def page_requests(evidence: Evidence) -> tuple[Request, ...]:
    """What the page asked the network for."""
    log = evidence.get(BrowserLog)
    return log.page_requests if log else ()


def load_requests(evidence: Evidence) -> tuple[Request, ...]:
    """The page's requests that started before its load event ended; all when there was none."""
    end = load_end_ms(evidence)
    return tuple(request for request in page_requests(evidence) if request.started_ms <= end)


def not_of_the_page(evidence: Evidence) -> str | None:
    """Why the timeline is not that of the page asked for; None when it is."""
    log, seen, url = evidence.get(BrowserLog), evidence.of(PageTimes), evidence.setup.start_url
    return misfit(url, log, seen)


def clock_was_set(evidence: Evidence) -> str | None:
    """Whether somebody set the machine's clock: what logs tell by it does not fit together then."""
    set_ms = evidence.of(PageTimes).clock_set_ms
    return f"the machine's clock was set by {set_ms:+,.0f} ms meanwhile" if abs(set_ms) > SET_MS else None


@dataclass(frozen=True)
class TimelineMetrics:
    """The page's times, in ms since navigation start."""

    navigate_ms: float | None = metric(
        "navigate()",
        Unit.MS,
        Source.DRIVER,
        "wall time of the driver's own navigate call, the metric of the 2012 study",
        Column(MetricTable.OTHER_TIMES, 1),
    )
    plt_ms: float | None = metric(
        "Page-load time",
        Unit.MS,
        Source.TIMELINE,
        "navigation start to the end of the load event: the default metric",
    )
    ttfb_ms: float | None = metric(
        "First byte",
        Unit.MS,
        Source.TIMELINE,
        "first byte of the page (`responseStart`)",
        Column(MetricTable.OTHER_TIMES, 2),
    )
    dcl_ms: float | None = metric(
        "DOM ready",
        Unit.MS,
        Source.TIMELINE,
        "page parsed and its scripts run (`domContentLoadedEventEnd`)",
        Column(MetricTable.OTHER_TIMES, 3),
    )
    fcp_ms: float | None = metric(
        "First paint",
        Unit.MS,
        Source.VITALS,
        "first contentful paint, seen until two frames after the load event or, with vitals, until `observed_ms`",
        Column(MetricTable.OTHER_TIMES, 4),
        needs=Capability.FIRST_PAINT,
    )
    ahead_ms: float | None = metric(
        "Ahead",
        Unit.MS,
        Source.BROWSER_LOG,
        "how long before navigation start the browser began to look up the page's host, or to connect to it, or the "
        "first packet left the client",
    )
    painted: bool | None = metric(
        "Painted",
        Unit.FLAG,
        Source.TIMELINE,
        "whether there was a contentful paint two frames after the load event",
    )
    blank: bool | None = metric(
        "Blank",
        Unit.FLAG,
        Source.VIEWPORT,
        "whether the viewport was of one colour when the load event had ended",
    )


class TimelineProbe(Probe):
    """The page's times of its load, and the wall time of the driver's own call."""

    metrics = TimelineMetrics
    reasons = (
        Fault(Blame.STOOD_STILL, Outcome.TESTBED_FAILED, clock_was_set),
        Fault(Blame.OTHER_PAGE, Outcome.PAGE_ERROR, not_of_the_page),
    )
    left_out = (
        without("plt_ms", "no-load-time", "the load ended, but its page-load time was not observed"),
        disturbed(
            "late-clock",
            f"the browser's clock of the page started more than {AHEAD_LIMIT_MS:g} ms after the browser had begun",
            [Limit(AHEAD, AHEAD_LIMIT_MS)],
            instead=Limit(AHEAD, math.inf),
        ),
    )
    navigate_ms: float | None = None
    clock_set_ms = 0.0

    def at_load_event(self, page: OpenPage, navigate_ms: float) -> None:
        del page
        self.navigate_ms = navigate_ms
        now = Instant.now()
        since_1970_us = now.since_1970_us - now.monotonic_ms * 1e3
        self.clock_set_ms = (since_1970_us - self.load.setup.since_1970_us) / 1e3

    def ask(self, page: OpenPage) -> None:
        with page.answers("answer of the page after its load event"):
            self.load.timeline = parsed(page.browser.timeline())

    def seen(self) -> PageTimes:
        return PageTimes(self.navigate_ms, self.load.timeline, self.clock_set_ms)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        told = times(evidence)
        painted = told["fcp_ms"] is not None if "fcp_ms" in told else None
        return {
            "navigate_ms": evidence.of(PageTimes).navigate_ms,
            **{key: told.get(key) for key in ("plt_ms", "ttfb_ms", "dcl_ms")},
            "fcp_ms": told.get("fcp_ms"),
            "ahead_ms": ahead_ms(evidence),
            "painted": painted,
            "blank": None if told.get(BLANK) is None else bool(told[BLANK]),
        }


def parsed(found: Mapping[str, Any]) -> Timeline:
    """A timeline as a browser told it; TrialFailed with `page-error` when it holds what no clock shows."""
    wrong = [
        f"{name} is {value!r:.60}" for name, value in found.items() if name != BLANK and not _is_time(value)
    ]
    if wrong:
        raise TrialFailed(
            Outcome.PAGE_ERROR, f"the page's timeline holds what is no time: {', '.join(wrong)}"
        )
    return found


def misfit(url: str, log: BrowserLog | None, seen: PageTimes) -> str | None:
    """What does not fit, or None."""
    timeline = seen.timeline or {}
    took, begin = (timeline.get(name) for name in ("plt_ms", "navigation_start_ms"))
    if not took:
        return "the page's timeline holds no load event"
    if begin is None:
        return "the browser does not tell when the navigation to the page began"
    document = log.document(url) if log else ()
    if log is None or not document:
        return "the browser's log holds no request for the page"
    if not log.is_of(url, timeline):
        return _went_on(document[0].url, log.other_documents(url))
    if document[-1].failed:
        return f"the page itself was answered with {document[-1].status or document[-1].error}"
    return _too_early(begin + took, document[-1].answered_ms) or _too_late(took, seen.navigate_ms)


def _went_on(url: str, others: Sequence[Request]) -> str:
    addresses = [request.url for request in others if request.url != url]
    if addresses:
        return (
            f"the page went on to {addresses[-1]} by itself; to measure that, archive it by its own address"
        )
    return "the page went on to another document by itself, or began anew"


def _too_early(end_ms: float, answered_ms: float | None) -> str | None:
    if answered_ms is None or answered_ms <= end_ms + APART_MS:
        return None
    return f"the load event ended {answered_ms - end_ms:.0f} ms before the page was answered"


def _too_late(took_ms: float, navigate_ms: float | None) -> str | None:
    if navigate_ms is None or took_ms <= navigate_ms + APART_MS:
        return None
    return f"the load event ended {took_ms - navigate_ms:.0f} ms after the driver was told of it"


def _is_time(value: object) -> bool:
    """None, or a number that a clock can show; Python counts True among the numbers, a clock does not."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST_MS

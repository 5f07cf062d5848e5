"""Whether the times of a load fit what was seen of it elsewhere: in the browser's log, by the driver's clock. Pure.

What is compared is the order of causes and effects, never a duration with a guess: the navigation begins before the
page is asked for, the page is answered before its load event, and the driver hears of that event after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.engines.browserlog import Request
from harness.outcome import Outcome, TrialFailed

CLOCK_MS = 2.0  # the logs count whole ms, of the same clock
LATEST_MS = 1e14  # some 3000 years: later than any clock that counts from 1970
BLANK = "blank"

Timeline = Mapping[
    str, float | None
]  # `blank` is no time: whether the page shows nothing, where the engine tells


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


def misfit(
    timeline: Timeline | None,
    navigate_ms: float | None,
    document: Sequence[Request],
    others: Sequence[Request],
) -> str | None:
    """What does not fit, or None.

    `document` are the requests for the page itself along its redirects, `others` those for documents in its place.
    """
    took, begin = (timeline.get(name) if timeline else None for name in ("plt_ms", "navigation_start_ms"))
    if not took:
        return "the page's timeline holds no load event"
    if begin is None:
        return "the browser does not tell when the navigation to the page began"
    if not document:
        return "the browser's log holds no request for the page"
    if document[0].started_ms < begin - CLOCK_MS:
        return _went_on(document[0].url, others)
    if document[-1].failed:
        return f"the page itself was answered with {document[-1].status or document[-1].net_error}"
    return _too_early(begin + took, document[-1].answered_ms) or _too_late(took, navigate_ms)


def _went_on(url: str, others: Sequence[Request]) -> str:
    addresses = [each.url for each in others if each.url != url]
    if addresses:
        return (
            f"the page went on to {addresses[-1]} by itself; to measure that, archive it by its own address"
        )
    return "the page went on to another document by itself, or began anew"


def _too_early(end_ms: float, answered_ms: float | None) -> str | None:
    if answered_ms is None or answered_ms <= end_ms + CLOCK_MS:
        return None
    return f"the load event ended {answered_ms - end_ms:.0f} ms before the page was answered"


def _too_late(took_ms: float, navigate_ms: float | None) -> str | None:
    if navigate_ms is None or took_ms <= navigate_ms + CLOCK_MS:
        return None
    return f"the load event ended {took_ms - navigate_ms:.0f} ms after the driver was told of it"


def _is_time(value: object) -> bool:
    """None, or a number that a clock can show; Python counts True among the numbers, a clock does not."""
    if value is None:
        return True
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LATEST_MS

"""A page's times out of what the engine answered to a load, or why they cannot be believed. Pure.

Two clocks tell of each load: the document's own (`times`, whole ms, kept out of the page's reach) and that of the
engine's network and signals, which are outside of every script. They must agree.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.browser.driver import one_line
from harness.errors import TrialFailed
from harness.model import Outcome

# Between the two clocks, honest pages differ by some ms, and by what the processor was away at one of the four moments.
MOST_APART_MS = 100.0
WHOLE_MS = 2.0  # differences of times that are told in whole ms


def timeline(found: Mapping[str, Any]) -> dict[str, Any]:
    """The page's times in ms since navigation start; TrialFailed when there was no load or it is not to be believed.

    With redirects, `fetch_start_ms` is of the first request, `ttfb_ms` of the last one's answer. `blank` is whether
    the viewport had one colour. `navigation_start_ms` is by the clock of the log of requests.
    """
    reason = _no_load(found) or _not_believable(found)
    if reason:
        raise TrialFailed(Outcome.PAGE_ERROR, reason)
    times, document, start = found["times"], found["document"], found["started_ms"]
    begun = times["navigationStart"]
    dcl = times["domContentLoadedEventEnd"]
    return {
        "plt_ms": times["loadEventEnd"] - begun,
        "dcl_ms": dcl - begun if dcl else None,
        "ttfb_ms": document[-1]["answered_ms"] - start,
        "fetch_start_ms": document[0]["started_ms"] - start,
        "navigation_start_ms": start,
        "blank": found["blank"],
    }


def _no_load(found: Mapping[str, Any]) -> str | None:
    document: Sequence[Mapping[str, Any]] = found["document"]
    if found["went_on"] is not None:
        return f"before its load event the page went on to another document: {one_line(found['went_on'])}"
    if not found["ok"]:
        why = [each["error_text"] for each in document if each.get("error_text")]
        return f"the page was not loaded: {one_line(why[-1]) if why else 'the engine does not tell why'}"
    if not document or document[-1].get("answered_ms") is None:
        return "the page has a load event, but its document was not answered"
    if document[-1]["status"] >= 400:
        return f"the page itself was answered with {document[-1]['status']}"
    if not found["times"].get("loadEventEnd"):
        return "the page's timeline holds no load event"
    return None


def _not_believable(found: Mapping[str, Any]) -> str | None:
    """Where the document's own times contradict what was seen from outside."""
    times, start = found["times"], found["started_ms"]
    load = times["loadEventEnd"] - times["navigationStart"]
    dcl = times["domContentLoadedEventEnd"] and times["domContentLoadedEventEnd"] - times["navigationStart"]
    answered, finished = found["document"][-1]["answered_ms"] - start, found["finished_ms"] - start
    if load < answered - WHOLE_MS:
        return _contradiction(
            f"a load event after {load} ms", f"its document answered after {answered:.0f} ms"
        )
    if load > found["told_ms"] - start + MOST_APART_MS or abs(load - finished) > MOST_APART_MS:
        return _contradiction(f"a load event after {load} ms", f"its load end after {finished:.0f} ms")
    if not 0 <= dcl <= found["told_ms"] - start + MOST_APART_MS:
        return _contradiction(f"DOMContentLoaded after {dcl} ms", f"its load end after {finished:.0f} ms")
    return None


def _contradiction(told: str, seen: str) -> str:
    return f"the page's times are not to be believed: they tell of {told}, the engine saw {seen}"

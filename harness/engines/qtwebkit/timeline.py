"""A page's times out of what the engine answered to a load, or why they cannot be believed. Pure.

Two clocks tell of each load: the document's own (`times`, whole ms, kept out of the page's reach) and that of the
engine's network and signals, which are outside of every script. No event comes before the head of the document, nor
after it was told. How far `loadFinished` is from the load event tells nothing: honest pages had it 0.3 s before it, and
fonts that are asked for in the end put it off.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.engines.browser import one_line
from harness.outcome import Outcome, TrialFailed

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
    answered, told = found["document"][-1]["answered_ms"] - start, found["told_ms"] - start
    for name, key in (("load event", "loadEventEnd"), ("DOMContentLoaded", "domContentLoadedEventEnd")):
        moment = times[key] - times["navigationStart"]
        if times[key] and moment < answered - WHOLE_MS:
            return _contradiction(name, moment, f"the head of the document after {answered:.0f} ms")
        if times[key] and moment > told + WHOLE_MS:
            return _contradiction(name, moment, f"this after {told:.0f} ms")
    return None


def _contradiction(name: str, moment: float, seen: str) -> str:
    return f"the page's times are not to be believed: they tell of its {name} after {moment} ms, the engine had {seen}"

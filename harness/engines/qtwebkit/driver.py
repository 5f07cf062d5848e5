"""Our side of a started engine: commands and answers, and the times of a page out of these."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.engines.browser import CONSOLE_LIMIT, HOLD_TIMERS_SCRIPT, RUN_TIMERS_SCRIPT, one_line
from harness.engines.steered import SteeredBrowser, asked, unable
from harness.errors import Outcome, TrialFailed
from harness.system.process import Conversation

WHOLE_MS = 2.0  # differences of times that are told in whole ms
COLLECT_TIMEOUT_S = 10.0
LEAST_TIMEOUT_S = 1.0  # for a page whose load event came just in time


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
        why = [request["error_text"] for request in document if request.get("error_text")]
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


class QtWebKitBrowser(SteeredBrowser):
    """A started engine with an empty page; `folder` is the one place that it shares with us."""

    def __init__(self, engine: Conversation, folder: Path) -> None:
        self._engine = engine
        self._folder = folder
        self._timeline: Mapping[str, Any] = {}
        self._deadline = 0.0
        self.console_error_count = 0

    def hold_timers(self) -> None:
        """Those of the main frame; timers of frames run on."""
        asked(
            self._engine,
            {"at_first": HOLD_TIMERS_SCRIPT},
            COLLECT_TIMEOUT_S,
            "the engine does not answer",
        )

    def run_timers(self) -> None:
        self._asked_after_load({"run": RUN_TIMERS_SCRIPT}, "when its timers ran")

    def load(self, url: str, timeout_s: float) -> float:
        self._deadline = time.monotonic() + timeout_s
        silence = f"no load event within {timeout_s:g} s"
        answer = asked(self._engine, {"load": url}, timeout_s, silence, Outcome.PAGE_TIMEOUT)
        self._timeline = timeline(answer)
        return float(answer["navigate_ms"])

    def timeline(self) -> Mapping[str, Any]:
        return self._timeline

    def entries(self) -> Sequence[Mapping[str, Any]]:
        raise unable("does not tell of paints")

    def linger(self, seconds: float) -> None:
        self._asked_after_load({"linger_s": seconds}, f"after {seconds:g} s of waiting", seconds)

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        """The first ones, `CONSOLE_LIMIT` at most; `console_error_count` then has the number of all."""
        console = self._asked_after_load({"console": True}, "about its console")
        self.console_error_count = int(console["count"])
        return tuple(one_line(text) for text in console["errors"][:limit])

    def scroll(self, screenful: int) -> bool:
        return bool(self._asked_after_load({"scroll": screenful}, f"for screenful {screenful}")["more"])

    def screenshot(self, path: Path) -> None:
        made = self._folder / "screenshot.png"
        self._asked_after_load({"screenshot": str(made)}, "for a screenshot")
        shutil.move(made, path)

    def close(self) -> None:
        """Let the process end by itself."""
        self._engine.close()

    def _asked_after_load(
        self, command: Mapping[str, object], purpose: str, longer_s: float = 0.0
    ) -> dict[str, Any]:
        """A page whose script does not end leaves the engine no time to answer."""
        self._deadline += longer_s
        left_s = max(self._deadline - time.monotonic(), LEAST_TIMEOUT_S)
        timeout_s = min(left_s, COLLECT_TIMEOUT_S + longer_s)
        silence = f"the page kept the engine busy after its load event: no answer {purpose} within {timeout_s:.3g} s"
        return asked(self._engine, command, timeout_s, silence)

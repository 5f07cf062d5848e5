"""Our side of a started engine: commands and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.browser.driver import CONSOLE_LIMIT, one_line
from harness.errors import TrialFailed
from harness.model import Outcome
from harness.process import Conversation

COLLECT_TIMEOUT_S = 10.0


class QtWebKitBrowser:
    """A started engine with an empty page."""

    def __init__(self, engine: Conversation) -> None:
        self._engine = engine
        self._timeline: Mapping[str, Any] = {}
        self.console_error_count = 0

    def hold_timers(self) -> None:
        raise TrialFailed(Outcome.PAGE_ERROR, "this engine's timers cannot be held; screenfuls take Chromium")

    def run_timers(self) -> None:
        raise AssertionError("none were held")

    def load(self, url: str, timeout_s: float) -> float:
        try:
            found = self._ask({"load": url}, timeout_s)
        except TimeoutError as error:
            raise TrialFailed(Outcome.PAGE_TIMEOUT, f"no load event within {timeout_s:g} s") from error
        if not found["ok"]:
            raise TrialFailed(
                Outcome.PAGE_ERROR, f"the page was not loaded: {found['document'].get('error_text')}"
            )
        self._timeline = timeline(found["timing"], found["document"])
        return float(found["navigate_ms"])

    def timeline(self) -> Mapping[str, Any]:
        return self._timeline

    def linger(self, seconds: float) -> None:
        self._collected({"linger_s": seconds}, seconds + COLLECT_TIMEOUT_S)

    def console_errors(self) -> tuple[str, ...]:
        """All messages: the engine does not tell which are errors."""
        messages = self._collected({"console": True})["messages"]
        self.console_error_count = len(messages)
        return tuple(one_line(text) for text in messages[:CONSOLE_LIMIT])

    def scroll(self, screenful: int) -> bool:
        return bool(self._collected({"scroll": screenful})["more"])

    def screenshot(self, path: Path) -> None:
        self._collected({"screenshot": str(path.absolute())})

    def close(self) -> None:
        """Let the process end by itself."""
        self._engine.close()

    def _collected(
        self, command: Mapping[str, object], timeout_s: float = COLLECT_TIMEOUT_S
    ) -> dict[str, Any]:
        try:
            return self._ask(command, timeout_s)
        except TimeoutError as error:
            raise TrialFailed(Outcome.PAGE_ERROR, f"the browser does not answer: {error}") from error

    def _ask(self, command: Mapping[str, object], timeout_s: float) -> dict[str, Any]:
        try:
            found: dict[str, Any] = json.loads(self._engine.ask(json.dumps(command), timeout_s))
        except (EOFError, ValueError) as error:
            raise TrialFailed(Outcome.PAGE_ERROR, f"the browser died: {error}") from error
        return found


def timeline(timing: Mapping[str, int], document: Mapping[str, float]) -> dict[str, float | None]:
    """The page's times in ms since navigation start.

    Of `performance.timing` the engine's connection and response phases are placeholders; when the document's request
    started and when the head of its answer came is what its network tells.
    """
    start = timing.get("navigationStart") or 0

    def since(moment: float | None) -> float | None:
        return moment - start if moment and start else None

    return {
        "plt_ms": since(timing.get("loadEventEnd")),
        "dcl_ms": since(timing.get("domContentLoadedEventEnd")),
        "ttfb_ms": since(document.get("answered_ms")),
        "navigation_start_ms": float(start) if start else None,
    }

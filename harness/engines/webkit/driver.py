"""Our side of a started WebKit: commands and answers of its process, and its Inspector."""

from __future__ import annotations

import base64
import contextlib
import json
import signal
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from harness.engines.browser import (
    CONSOLE_LIMIT,
    HOLD_TIMERS_SCRIPT,
    NOT_LOADED,
    RUN_TIMERS_SCRIPT,
    SCROLL_SCRIPT,
    UNREADABLE,
    one_line,
)
from harness.engines.relay import entries
from harness.engines.steered import CRASHES, SteeredBrowser, asked, unable
from harness.engines.webkit.inspector import Inspector, InspectorFailed
from harness.engines.webkit.log import BODY
from harness.outcome import Outcome, TrialFailed
from harness.system.process import Conversation

COLLECT_TIMEOUT_S = 10.0
TIMELINE = resources.files("harness.engines.webkit").joinpath("timeline.js").read_text(encoding="utf-8")
ECHO = "Runtime.evaluate"  # what was told before its answer is in the log then
PNG = "data:image/png;base64,"
CRASHED, OUT_OF_MEMORY = "crashed", "exceeded-memory-limit"  # why the page's process ended, in WebKit's words
VIEWPORT = (1280, 657)  # what Chromium's window leaves for the page


class WebKitBrowser(SteeredBrowser):
    """A started WebKit with an empty page; `log` is what its Inspector tells, `crash` a file for how it crashed."""

    def __init__(self, program: Conversation, inspector: Inspector, log: Path, crash: Path) -> None:
        self._program = program
        self._inspector = inspector
        self._log = log
        self._crash = crash
        self.console_error_count = 0

    def shut_the_door(self) -> None:
        """Nobody but us, no page either, comes to the Inspector from now on."""
        self._ask({"shut": True})

    def hold_timers(self) -> None:
        self._ask({"at_first": HOLD_TIMERS_SCRIPT})

    def run_timers(self) -> None:
        self._value({"run": RUN_TIMERS_SCRIPT}, "the page's timers do not run")

    def load(self, url: str, timeout_s: float) -> float:
        found = self._ask({"load": url}, timeout_s, f"no load event within {timeout_s:g} s")
        if "went_on" in found:
            raise TrialFailed(
                Outcome.PAGE_ERROR,
                f"before its load event the page went on to another document: {one_line(found['went_on'] or '')}",
            )
        if not found["ok"]:
            raise TrialFailed(Outcome.PAGE_ERROR, f"the page was not loaded: {one_line(found['error'])}")
        return float(found["navigate_ms"])

    def timeline(self) -> Mapping[str, Any]:
        found = json.loads(self._value({"read": TIMELINE}, UNREADABLE))
        return {**found, "navigation_start_ms": found["time_origin_ms"]}

    def entries(self) -> Sequence[Mapping[str, Any]]:
        raise unable("does not tell of paints, shifts and tasks")

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        self._inspected(ECHO, expression="0")
        told = [each["params"]["message"] for each in self._told("Console.messageAdded")]
        errors = [_said(each) for each in told if each["level"] == "error"]
        self.console_error_count = len(errors)
        return tuple(one_line(text) for text in errors[:limit])

    def scroll(self, screenful: int) -> bool:
        script = f"return await ({SCROLL_SCRIPT.strip()})({screenful})"
        return self._value({"read": script}, "the page does not scroll") == "true"

    def screenshot(self, path: Path) -> None:
        width, height = VIEWPORT
        shot = self._inspected(
            "Page.snapshotRect", x=0, y=0, width=width, height=height, coordinateSystem="Viewport"
        )
        path.write_bytes(base64.b64decode(shot["dataURL"].removeprefix(PNG)))

    def keep_bodies(self) -> None:
        """Put what was answered into the log; nothing of an answer that the Inspector has not kept."""
        with contextlib.suppress(InspectorFailed):  # the browser may have died: the trial has its outcome
            self._inspector.ask(ECHO, expression="0")
        for each in self._told("Network.loadingFinished"):
            number = each["params"]["requestId"]
            with contextlib.suppress(InspectorFailed):
                body = self._inspector.ask("Network.getResponseBody", requestId=number)
                self._inspector.note(f"Network.{BODY}", {"requestId": number, **body})

    def close(self) -> None:
        """Whatever was told before is in the log; the process ends by itself when it hears no more."""
        with contextlib.suppress(InspectorFailed):  # the browser may have died: the trial has its outcome
            self._inspector.ask(ECHO, expression="0")
        self._program.close()

    def _told(self, method: str) -> list[Mapping[str, Any]]:
        text = self._log.read_text(encoding="utf-8")
        return [each for each in entries(text) if each["method"] == method]

    def _inspected(self, method: str, **parameters: Any) -> Mapping[str, Any]:
        try:
            return self._inspector.ask(method, **parameters)
        except InspectorFailed as error:
            raise TrialFailed(Outcome.PAGE_ERROR, str(error), died=not self._program.alive) from error

    def _value(self, command: Mapping[str, object], failure: str) -> str:
        """What a script returned, as text."""
        silence = "the page kept the browser busy after its load event"
        found = self._ask(command, COLLECT_TIMEOUT_S, silence)
        if "error" in found:
            raise TrialFailed(Outcome.PAGE_ERROR, f"{failure}: {one_line(found['error'])}")
        return str(found["value"])

    def _ask(
        self,
        command: Mapping[str, object],
        timeout_s: float = COLLECT_TIMEOUT_S,
        silence: str = "the browser does not answer",
    ) -> dict[str, Any]:
        found = asked(self._program, command, timeout_s, silence)
        if "died" in found:
            raise self._died(found["died"], found["signal"])
        return found

    def _died(self, why: str, number: int | None) -> TrialFailed:
        """A process of the browser has ended: by itself where the signal is one that only its own faults bring."""
        name = why if number is None else signal.Signals(number).name
        if number in CRASHES or why == OUT_OF_MEMORY:
            which = "page" if why in (CRASHED, OUT_OF_MEMORY) else "process"
            self._crash.write_text(f"{which} by {name}", encoding="utf-8")
        return TrialFailed(Outcome.PAGE_ERROR, f"the browser died: one of its processes by {name}", died=True)


def _said(message: Mapping[str, Any]) -> str:
    """A message with the URL that it is about, as Chromium's drivers write it."""
    text = str(message.get("text", ""))
    about = message.get("url", "") if text.startswith(NOT_LOADED) else ""
    return f"{about} - {text}" if about else text

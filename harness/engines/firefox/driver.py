"""Our side of a started Firefox: a page is loaded and read through Marionette, Firefox's own remote control.

Its messages are `LENGTH:[type, id, command or error, parameters or result]`.
"""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from harness.engines.browser import (
    CONSOLE_LIMIT,
    HOLD_TIMERS_SCRIPT,
    RUN_TIMERS_SCRIPT,
    SCROLL_SCRIPT,
    UNREADABLE,
    one_line,
)
from harness.engines.browserlog import DOCUMENT_ASKED
from harness.engines.firefox.log import DOCUMENT, OVER, ms_of
from harness.engines.steered import END_S, START_TIMEOUT_S, SteeredBrowser
from harness.errors import ColdloadError, Outcome, TestbedFailed, TrialFailed
from harness.system.process import Process

CHUNK_BYTES = 1 << 16
LONGEST_LENGTH = 12  # digits
COMMAND, ANSWER = 0, 1
SYSTEM = "system"  # the sandbox whose scripts have the browser's own rights, and see pages as they were made


class MarionetteFailed(ColdloadError):
    """A command failed: `kind` is WebDriver's name for why."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message or kind)
        self.kind = kind


class MarionetteClosed(MarionetteFailed):
    """There is nobody at the other end."""

    def __init__(self, message: str = "it closed its connection") -> None:
        super().__init__("closed", message)


class MarionetteSilent(MarionetteFailed):
    """No answer came in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__("silent", f"no answer within {seconds:g} s")


class Marionette:
    """One connection, one command at a time. Whatever fails raises MarionetteFailed."""

    def __init__(self, made: socket.socket, timeout_s: float) -> None:
        self._socket = made
        self._rest = b""
        self._number = 0
        self._read(timeout_s)  # it says hello

    def ask(self, command: str, timeout_s: float, **parameters: Any) -> Any:
        """The result of a command; one that is a lone value comes bare."""
        self._number += 1
        text = json.dumps([COMMAND, self._number, command, parameters]).encode()
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(b"%d:%s" % (len(text), text))
        except OSError as error:
            raise MarionetteClosed(str(error)) from error
        end = time.monotonic() + timeout_s
        while True:
            kind, number, failure, result = self._read(max(0.001, end - time.monotonic()), timeout_s)
            if kind != ANSWER or number != self._number:
                continue  # of a command that was given up
            if failure:
                raise MarionetteFailed(str(failure["error"]), str(failure["message"]))
            return result.get("value") if isinstance(result, dict) and set(result) == {"value"} else result

    def run(self, script: str, timeout_s: float, *arguments: Any) -> Any:
        """What a script returns, or its promise, in the page's process with the browser's own rights."""
        return self._run("content", script, timeout_s, arguments)

    def run_in_parent(self, script: str, timeout_s: float, *arguments: Any) -> Any:
        """Likewise, in the browser's own process."""
        return self._run("chrome", script, timeout_s, arguments)

    def _run(self, context: str, script: str, timeout_s: float, arguments: Sequence[Any]) -> Any:
        end = time.monotonic() + timeout_s
        self.ask("Marionette:SetContext", timeout_s, value=context)
        return self.ask(
            "WebDriver:ExecuteScript",
            max(0.001, end - time.monotonic()),
            script=script,
            args=list(arguments),
            sandbox=SYSTEM,
            newSandbox=False,
        )

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._socket.close()

    def _read(self, timeout_s: float, told_s: float | None = None) -> Any:
        """The next message; `told_s` is what the caller waits in all."""
        end, limit_s = time.monotonic() + timeout_s, told_s or timeout_s
        while b":" not in self._rest:
            if len(self._rest) > LONGEST_LENGTH:
                raise MarionetteClosed("what it says has no length")
            self._more(end, limit_s)
        length, _, self._rest = self._rest.partition(b":")
        while len(self._rest) < int(length):
            self._more(end, limit_s)
        text, self._rest = self._rest[: int(length)], self._rest[int(length) :]
        return json.loads(text)

    def _more(self, end: float, limit_s: float) -> None:
        left = end - time.monotonic()
        if left <= 0:
            raise MarionetteSilent(limit_s)
        try:
            self._socket.settimeout(left)
            if self._socket.family == socket.AF_INET:  # else the rest of an answer waits 40 ms for this
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
            got = self._socket.recv(CHUNK_BYTES)
        except TimeoutError as error:
            raise MarionetteSilent(limit_s) from error
        except OSError as error:
            raise MarionetteClosed(str(error)) from error
        if not got:
            raise MarionetteClosed
        self._rest += got


COLLECT_TIMEOUT_S = 10.0
LONGER_S = 2.0  # than the limit of a load, for Firefox to tell of it
LOADED = """const timing = window.performance.getEntriesByType("navigation")[0];
const loaded = document.URL !== "about:blank" && timing?.loadEventEnd;
return loaded ? window.performance.timeOrigin + loaded : null;"""
LOADED_INTERVAL_S = 0.005
REST_MS = 500
TIMEOUT = "timeout"
EMPTY = "about:blank"
GONE = frozenset({"no such window", "closed"})
_SCRIPTS = resources.files("harness.engines.firefox")
OF_BROWSER, OF_PAGE = (
    _SCRIPTS.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in ("browser", "page")
)
WAKE, PROCESS, HOLD, OBSERVE, RESTED, SHOWN, STATE, TOLD, BODIES = (
    f"{OF_BROWSER}return {name}(...arguments);"
    for name in ("wake", "startProcess", "hold", "observe", "rested", "shown", "state", "told", "addBodies")
)
TIMELINE, ENTRIES, CONSOLE = (f"{OF_PAGE}return {name}();" for name in ("timeline", "entries", "errors"))
RUN_TIMERS = f"((window) => {RUN_TIMERS_SCRIPT})(window.wrappedJSObject);"


class FirefoxBrowser(SteeredBrowser):
    """A started Firefox with an empty tab. `log` is where what it did on the network is written, bodies too where they
    are kept; `process` is its main one.
    """

    def __init__(self, marionette: Marionette, log: Path, process: Process, *, keeps_bodies: bool) -> None:
        self._marionette = marionette
        self._log = log
        self._process = process
        self._keeps_bodies = keeps_bodies
        self.console_error_count = 0

    def prepare(self, url: str, proxies: Mapping[str, int], *, quic: bool) -> None:
        """Start a process for the page of that URL, and observe from now on; `proxies` are ports of loopback by scheme.
        TestbedFailed when that cannot be.
        """
        try:
            if quic:
                self._marionette.run_in_parent(WAKE, START_TIMEOUT_S)
            self._marionette.run_in_parent(PROCESS, START_TIMEOUT_S, url)
            self._marionette.run_in_parent(OBSERVE, START_TIMEOUT_S, dict(proxies), self._keeps_bodies)
        except MarionetteFailed as error:
            raise TestbedFailed(f"Firefox cannot be observed: {one_line(str(error))}") from error

    def hold_timers(self) -> None:
        self._run_in_parent(HOLD, HOLD_TIMERS_SCRIPT)

    def run_timers(self) -> None:
        self._run(RUN_TIMERS)

    def load(self, url: str, timeout_s: float) -> float:
        """The log is written with the timeline, and not here: counters are read as soon as this returns, and to write
        down many requests takes long.
        """
        try:
            self._marionette.ask(
                "WebDriver:SetTimeouts", COLLECT_TIMEOUT_S, pageLoad=round(timeout_s * 1000), script=10_000
            )
            self._marionette.ask("Marionette:SetContext", COLLECT_TIMEOUT_S, value="content")
        except MarionetteSilent as error:
            raise TestbedFailed(f"Firefox does not answer: {one_line(str(error))}") from error
        except MarionetteFailed as error:
            raise self._failed(error) from error
        before, navigated = time.perf_counter(), False
        try:
            self._marionette.ask("WebDriver:Navigate", timeout_s + LONGER_S, url=url)
            navigate_ms, navigated = (time.perf_counter() - before) * 1000, True
            told_ms, state = time.time() * 1000, self._answer(STATE)
            if state["dialogs"] or state["hops"] or state["shows"] == EMPTY:
                navigate_ms += max(0.0, self._loaded_ms(timeout_s - navigate_ms / 1000) - told_ms)
                state = self._answer(STATE)
        except MarionetteFailed as error:
            with contextlib.suppress(TrialFailed):
                self._keep()
            if error.kind == TIMEOUT or (isinstance(error, MarionetteSilent) and not navigated):
                told = self._told()
                self._refuse_gone(told["gone"])
                if _shows_nothing(told):
                    raise TrialFailed(Outcome.PAGE_ERROR, "the answer is no page to show") from error
                raise TrialFailed(Outcome.PAGE_TIMEOUT, f"no load event within {timeout_s:g} s") from error
            raise self._failed(error) from error
        if state["gone"]:  # a frame may have a process of its own: the page loads on without it
            self._keep()
            self._refuse_gone(state["gone"])
        return navigate_ms

    def _loaded_ms(self, timeout_s: float) -> float:
        """Wait for the end of the load event: when it came, in ms since 1970.

        The command ends before it at a dialog, and when the page goes to another place in itself (`location.hash =
        "#/home"`). While it loads the page itself is not asked: that would take of its time.
        """
        end = time.monotonic() + timeout_s
        while not self._marionette.run_in_parent(RESTED, COLLECT_TIMEOUT_S, REST_MS):
            _refuse_after(end)
        while (loaded_ms := self._marionette.run(LOADED, COLLECT_TIMEOUT_S)) is None:
            _refuse_after(end)
            time.sleep(LOADED_INTERVAL_S)
        return float(loaded_ms)

    def timeline(self) -> Mapping[str, Any]:
        self._keep()  # before the page is asked, which may hang
        try:
            found = self._marionette.run(TIMELINE, COLLECT_TIMEOUT_S)
        except MarionetteFailed as error:
            raise self._failed(error).in_which(UNREADABLE) from error
        shown = self._run_in_parent(SHOWN, found.pop("channel") if isinstance(found, dict) else None)
        self._refuse_gone(shown["gone"])  # else what tells of that answers in its place
        if not isinstance(found, dict):
            raise TrialFailed(Outcome.PAGE_ERROR, f"{UNREADABLE}: nothing came")
        asked_ms = ms_of(shown["asked"])
        return {**found, "navigation_start_ms": found["time_origin_ms"], DOCUMENT_ASKED: asked_ms}

    def entries(self) -> Sequence[Mapping[str, Any]]:
        answer = self._run(ENTRIES)
        return [answer] if isinstance(answer, dict) else []

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        written = self._run(CONSOLE)
        errors = [*self._told()["errors"], *(str(message) for message in written or ())]
        self.console_error_count = len(errors)
        return tuple(one_line(text) for text in errors[:limit])

    def scroll(self, screenful: int) -> bool:
        return bool(self._run(f"return ({SCROLL_SCRIPT.strip().rstrip(';')})(arguments[0])", screenful))

    def screenshot(self, path: Path) -> None:
        try:
            self._marionette.ask("Marionette:SetContext", COLLECT_TIMEOUT_S, value="content")
            shot = self._marionette.ask("WebDriver:TakeScreenshot", COLLECT_TIMEOUT_S, full=False, hash=False)
        except MarionetteFailed as error:
            raise self._failed(error) from error
        path.write_bytes(base64.b64decode(shot))

    def close(self) -> None:
        """Write down what the browser did; it is ended from outside, which costs a trial nothing."""
        if self._keeps_bodies:
            with contextlib.suppress(TrialFailed):  # without them the rest is kept all the same
                self._run_in_parent(BODIES)
        with contextlib.suppress(TrialFailed):  # it may have died before: the trial has its outcome then
            self._keep()
        self._marionette.close()

    def _keep(self) -> Mapping[str, Any]:
        told = self._told()
        self._log.write_text(json.dumps(told), encoding="utf-8")
        return told

    def _told(self) -> dict[str, Any]:
        log: dict[str, Any] = json.loads(self._answer(TOLD))
        return log

    def _answer(self, script: str) -> Any:
        """A dialog that the page opens meanwhile cuts a script off, which then returns nothing: once more."""
        end = time.monotonic() + COLLECT_TIMEOUT_S
        while True:
            answer = self._run_in_parent(script)
            if answer is not None:
                return answer
            if time.monotonic() > end:
                raise TrialFailed(Outcome.PAGE_ERROR, "the page opens dialogs without an end")

    def _run(self, script: str, *arguments: Any) -> Any:
        try:
            return self._marionette.run(script, COLLECT_TIMEOUT_S, *arguments)
        except MarionetteFailed as error:
            raise self._failed(error) from error

    def _run_in_parent(self, script: str, *arguments: Any) -> Any:
        try:
            return self._marionette.run_in_parent(script, COLLECT_TIMEOUT_S, *arguments)
        except MarionetteFailed as error:
            raise self._failed(error, look=False) from error

    @staticmethod
    def _refuse_gone(gone: Sequence[int] | None) -> None:
        """TrialFailed when a process of the page, or of a frame, has gone and was not asked to."""
        if gone:
            raise TrialFailed(
                Outcome.PAGE_ERROR, "the browser died: a process of the page has gone", died=True
            )

    def _failed(self, error: MarionetteFailed, *, look: bool = True) -> TrialFailed:
        """What a failed command means for the trial."""
        text = one_line(str(error))
        if isinstance(error, MarionetteClosed) or not self._process.alive:
            self._process.ends_within(END_S)
            ended = f"the browser died ({self._process.ending}): {text}"
            by_others = self._process.alive or self._process.was_killed
            return TrialFailed(Outcome.PAGE_ERROR, ended, died=by_others)
        if look:
            try:
                self._refuse_gone(self._told()["gone"])
            except TrialFailed as failure:
                return failure
        if error.kind in GONE:
            return TrialFailed(Outcome.PAGE_ERROR, f"the browser died: {text}", died=True)
        if isinstance(error, MarionetteSilent) or error.kind in (TIMEOUT, "script timeout"):
            return TrialFailed(Outcome.PAGE_ERROR, "the page kept the browser busy after its load event")
        return TrialFailed(Outcome.PAGE_ERROR, f"the page was not loaded: {text}")


def _refuse_after(end: float) -> None:
    if time.monotonic() > end:
        raise MarionetteFailed(TIMEOUT, "the load event has not ended")


def _shows_nothing(told: Mapping[str, Any]) -> bool:
    """Whether the server's answer is there and the tab shows none: a download, or an answer without content."""
    documents = [request for request in told["requests"] if request["kind"] == DOCUMENT]
    return (
        told["shows"] == EMPTY
        and bool(documents)
        and all(OVER in document["topics"] for document in documents)
    )

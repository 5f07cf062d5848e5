"""Chromium by Playwright, over a pipe; all of Playwright's default flags are dropped."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import shlex
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import playwright
from playwright.sync_api import (
    BrowserContext,
    CDPSession,
    ConsoleMessage,
    Error,
    Page,
    Playwright,
    TimeoutError,
    sync_playwright,
)

from harness.engines.browser import (
    CONSOLE_LIMIT,
    HOLD_TIMERS_SCRIPT,
    NOT_LOADED,
    RUN_TIMERS_SCRIPT,
    SCROLL_SCRIPT,
    one_line,
)
from harness.engines.chromium import devtools
from harness.engines.chromium.devtools import DevToolsBrowser
from harness.engines.chromium.policy import Launch, device_commands
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.system.processtree import children, kill_family

START_TIMEOUT_MS = 60_000
COLLECT_TIMEOUT_MS = 10_000
TRACE_LOOK_MS = 50
# Playwright's words for a page or a browser that is gone: with spaces, which no URL in its messages has.
DIED = ("Page crashed", "Target crashed", "has been closed")
CRASH_NEWS_MS = 500
END_S = 10.0  # for the end of Playwright's process
NODE = "PLAYWRIGHT_NODEJS_PATH"  # the variable by which Playwright is told of its Node
_STARTING = (
    threading.Lock()
)  # in one thread after the other: variables, standard error and children are of all


class PlaywrightBrowser(DevToolsBrowser):
    """A browser with one page, through Playwright's persistent context (a regular profile)."""

    failures = (Error,)

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._slowed: set[str] = set()  # frames of other sites, by the ids of their targets
        self._page: Page = context.pages[0] if context.pages else context.new_page()
        self._session: CDPSession = context.new_cdp_session(self._page)
        self._emulated = False
        self._crashed = False
        self._page.on("crash", self._note_crash)

    @property
    def page(self) -> Page:
        """Playwright's own page, for what is recorded and not measured."""
        return self._page

    def hold_timers(self) -> None:
        with self._judged():
            self._page.add_init_script(HOLD_TIMERS_SCRIPT)

    def run_timers(self) -> None:
        with self._judged():
            self._page.evaluate(RUN_TIMERS_SCRIPT)

    def load(self, url: str, timeout_s: float) -> float:
        before = time.perf_counter()
        try:
            self._page.goto(url, wait_until="load", timeout=timeout_s * 1000)
        except TimeoutError as error:
            raise TrialFailed(Outcome.PAGE_TIMEOUT, f"no load event within {timeout_s:g} s") from error
        except Error as error:
            if "net::ERR_ABORTED" in error.message and self._crashes():
                raise TrialFailed(
                    Outcome.PAGE_ERROR, "the browser died: its renderer crashed", died=True
                ) from error
            raise self._meant(error) from error
        return (time.perf_counter() - before) * 1000

    def _crashes(self) -> bool:
        """Whether the renderer crashed: Chromium aborts a navigation first, and tells of the crash afterwards."""
        with contextlib.suppress(Error):
            self._page.wait_for_timeout(CRASH_NEWS_MS)  # events arrive meanwhile
        return self._crashed

    def _note_crash(self, _page: Page) -> None:
        self._crashed = True

    def entries(self) -> Sequence[Mapping[str, Any]]:
        """Of frames of other sites, too, which have sessions of their own."""
        with self._judged():
            return devtools.entries(self._send, (Error,), self._sessions_of_frames())

    def _sessions_of_frames(self) -> Iterator[devtools.Send]:
        for frame in self._page.frames:
            with contextlib.suppress(Error):  # one of the same site is part of its parent's session
                if frame is not self._page.main_frame:
                    yield _sender(self._context.new_cdp_session(frame))

    def end_trace(self, path: Path) -> None:
        whole: list[str] = []
        self._session.once("Tracing.tracingComplete", lambda told: whole.append(told["stream"]))
        with self._judged():
            self._send("Tracing.end", {})
            until = time.monotonic() + COLLECT_TIMEOUT_MS / 1000
            while not whole and time.monotonic() < until:
                self._page.wait_for_timeout(TRACE_LOOK_MS)  # events arrive meanwhile
            if not whole or not devtools.fetch_trace(self._send, whole[0], path):
                raise TrialFailed(Outcome.PAGE_ERROR, "the browser does not end its trace")

    def at_full_speed(self) -> int:
        with self._judged():
            return devtools.at_full_speed(self._send, self._slowed)

    def linger(self, seconds: float) -> None:
        with self._judged():
            self._page.wait_for_timeout(seconds * 1000)

    def scroll(self, screenful: int) -> bool:
        with self._judged():
            return bool(self._page.evaluate(SCROLL_SCRIPT, screenful))

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        with self._judged():
            messages = [
                _said(message) for message in self._page.console_messages() if message.type == "error"
            ]
            uncaught = [f"uncaught {error}" for error in self._page.page_errors()]
        self.console_error_count = len(uncaught) + len(messages)
        return tuple(one_line(text) for text in (*uncaught, *messages)[:limit])

    def prepare(self, launch: Launch) -> None:
        """Look like the device of the launch, and watch from outside the page; TestbedFailed when that cannot be."""
        try:
            for name, parameters in device_commands(launch.device):
                self._send(name, dict(parameters))
                self._emulated = True
            devtools.prepare(self._send)
            self._slow(launch.cpu_slowdown)
        except Error as error:
            raise TestbedFailed(f"Chromium cannot be {launch.device}: {_first_line(error)}") from error

    def _slow(self, times: int) -> None:
        """Slow the page and, as they start, its frames of other sites."""
        devtools.slow(self._send, times)
        if times != devtools.AT_FULL_SPEED:
            self._session.on(devtools.ATTACHED, lambda told: self._slow_too(told, times))
            self._send("Target.setAutoAttach", devtools.AS_THEY_START)

    def _slow_too(self, attached: Mapping[str, Any], times: int) -> None:
        with contextlib.suppress(Error):  # it may be gone again
            devtools.slow_too(self._send, attached, times)
            if attached["targetInfo"]["type"] == devtools.FRAME:
                self._slowed.add(attached["targetInfo"]["targetId"])

    def _send(self, name: str, parameters: dict[str, Any]) -> Mapping[str, Any]:
        return _sender(self._session)(name, parameters)

    def _meant(self, failure: Exception) -> TrialFailed:
        text = _first_line(failure)
        died = any(words in text for words in DIED)
        return TrialFailed(Outcome.PAGE_ERROR, f"the browser died: {text}" if died else text, died=died)

    def screenshot(self, path: Path) -> None:
        with self._judged():
            if not self._emulated:
                self._page.screenshot(path=path)
            else:  # Playwright's own cuts out too much where a page is zoomed to fit the screen
                shot = self._send("Page.captureScreenshot", {"format": "png"})
                path.write_bytes(base64.b64decode(shot["data"]))

    def close(self) -> None:
        with contextlib.suppress(Error):  # the browser may have died before: the trial has its outcome then
            self._context.close()


class PlaywrightDriver:
    """Playwright's server process, kept for the whole run."""

    def __init__(self, playwright: Playwright, launcher: Path, pid: int) -> None:
        self._playwright = playwright
        self._launcher = launcher
        self.pid = pid

    @contextlib.contextmanager
    def start(self, launch: Launch, har: Path | None = None) -> Iterator[PlaywrightBrowser]:
        """A browser; with `har` it records what it loads, and writes that there when it is closed."""
        try:
            context = self._playwright.chromium.launch_persistent_context(
                launch.profile,
                executable_path=self._launcher,
                args=[*launch.flags, f"--user-data-dir={launch.profile}", "--remote-debugging-pipe"],
                ignore_default_args=True,
                chromium_sandbox=True,
                no_viewport=True,
                record_har_path=har,
                record_har_content="embed" if har else None,
                downloads_path=launch.profile / "Downloads",
                timeout=START_TIMEOUT_MS,
            )
            context.set_default_timeout(COLLECT_TIMEOUT_MS)
            browser = PlaywrightBrowser(context)
        except Error as error:
            raise TestbedFailed(f"Chromium did not start: {_first_line(error)}") from error
        try:
            browser.prepare(launch)
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def playwright_driver(launcher: Path, *, own_session: bool = False) -> Iterator[PlaywrightDriver]:
    """Start Playwright; `launcher` is the program it takes for Chromium.

    With `own_session`, signals to the group of this process, as of a shell that goes, do not reach Playwright: Node
    hears also those that `nohup` ignores. An enclosure has such a group of its own.
    """
    logging.getLogger("asyncio").addFilter(_unless_never_retrieved)
    starting: contextlib.AbstractContextManager[Playwright] = sync_playwright()
    node: _Node | None = None
    try:
        with _STARTING:
            node = _started_apart(starting, launcher.parent) if own_session else _started(starting)
        yield PlaywrightDriver(node.playwright, launcher, node.pid)
    finally:
        with _killed_after(END_S, node.pid) if node is not None else contextlib.nullcontext():
            starting.__exit__(None, None, None)


@contextlib.contextmanager
def _killed_after(seconds: float, pid: int) -> Iterator[None]:
    """Kill a process and its family when the block takes longer: it waits for their end, and they may be stopped."""
    timer = threading.Timer(seconds, kill_family, (pid,))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class _Node(NamedTuple):
    """Playwright with the process that does its work."""

    playwright: Playwright
    pid: int


def _started_apart(starting: contextlib.AbstractContextManager[Playwright], folder: Path) -> _Node:
    """By a script in this folder that makes a session of its own, and tells the process: we may have other children."""
    given = os.environ.get(NODE)
    node = given or str(Path(playwright.__file__).parent / "driver" / "node")
    script, told = folder / "node", folder / "node.pid"
    script.write_text(f'#!/bin/sh\necho $$ >{shlex.quote(str(told))}\nexec setsid {shlex.quote(node)} "$@"\n')
    script.chmod(0o755)
    os.environ[NODE] = str(script)
    try:
        return _Node(_begun(starting), int(told.read_text()))
    finally:
        if given is None:
            del os.environ[NODE]
        else:
            os.environ[NODE] = given


def _started(starting: contextlib.AbstractContextManager[Playwright]) -> _Node:
    before = set(children(os.getpid()))
    made = _begun(starting)
    (pid,) = set(children(os.getpid())) - before
    return _Node(made, pid)


def _unless_never_retrieved(message: logging.LogRecord) -> bool:
    """Drop the complaints of asyncio that waits inside Playwright failed: its process died, and we report that."""
    return "was never retrieved" not in message.getMessage()


def _begun(starting: contextlib.AbstractContextManager[Playwright]) -> Playwright:
    # What its process says in place of starting; else it would say it to the user, in many lines.
    with tempfile.TemporaryFile("w+") as said, contextlib.redirect_stderr(said):
        try:
            return starting.__enter__()
        except Exception as error:
            if type(error) is not Exception:  # what Playwright raises when its process ends at once
                raise
            said.seek(0)
            why = " | ".join(line.strip() for line in said if "Error" in line) or str(error)
            raise TestbedFailed(
                f"Playwright did not start: {one_line(why)}; are memory, processes or open files at a limit "
                "(`ulimit -a`)?"
            ) from error


def _sender(session: CDPSession) -> devtools.Send:
    def send(name: str, parameters: dict[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = session.send(name, parameters)
        return answer

    return send


def _said(message: ConsoleMessage) -> str:
    """A message with the URL that it is about, as chromedriver writes it."""
    about = message.location.get("url", "") if message.text.startswith(NOT_LOADED) else ""
    return f"{about} - {message.text}" if about else message.text


def _first_line(error: Exception) -> str:
    text = error.message if isinstance(error, Error) else str(error)
    return (text.splitlines() or ["no message"])[0]

"""Chromium by Selenium WebDriver through one chromedriver kept for the whole run, over a pipe."""

from __future__ import annotations

import contextlib
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import urllib3.exceptions
from selenium.common.exceptions import (
    JavascriptException,
    TimeoutException,
    UnexpectedAlertPresentException,
    WebDriverException,
)
from selenium.webdriver import ChromeOptions, Remote
from selenium.webdriver.remote.command import Command as RemoteCommand

from harness.engines.browser import (
    CONSOLE_LIMIT,
    HOLD_TIMERS_SCRIPT,
    RUN_TIMERS_SCRIPT,
    SCROLL_SCRIPT,
    one_line,
)
from harness.engines.chromium import devtools
from harness.engines.chromium.devtools import DevToolsBrowser
from harness.engines.chromium.policy import Launch, device_commands
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.system.process import Process, running
from harness.system.program import Command, find_program

# The enclosure has a network namespace of its own: nobody else can have this port.
PORT = 9515
COLLECT_TIMEOUT_S = 10
TRACE_LOOK_S = 0.05

# chromedriver's default switches, dropped so that the launch policy alone decides.
DRIVER_SWITCHES = (
    "allow-pre-commit-input",
    "disable-background-networking",
    "disable-client-side-phishing-detection",
    "disable-default-apps",
    "disable-hang-monitor",
    "disable-popup-blocking",
    "disable-prompt-on-repost",
    "disable-sync",
    "enable-automation",
    "enable-logging",
    "log-level",
    "no-first-run",
    "no-service-autorun",
    "password-store",
    "test-type",
    "use-mock-keychain",
)

DRIVER_FAILURES = (WebDriverException, urllib3.exceptions.HTTPError, ConnectionError)
IN_WORDS_OF_THE_PAGE = (UnexpectedAlertPresentException, JavascriptException)
DIED = ("disconnected", "crashed", "invalid session", "not reachable")


class SeleniumBrowser(DevToolsBrowser):
    """A WebDriver session: one browser with one tab."""

    failures = DRIVER_FAILURES

    def __init__(self, remote: Remote) -> None:
        self._remote = remote
        self._open = True

    def hold_timers(self) -> None:
        with self._judged():
            self._send("Page.addScriptToEvaluateOnNewDocument", {"source": HOLD_TIMERS_SCRIPT})

    def run_timers(self) -> None:
        with self._judged():
            self._remote.execute_script(RUN_TIMERS_SCRIPT)

    def load(self, url: str, timeout_s: float) -> float:
        try:
            self._remote.set_page_load_timeout(timeout_s)
            before = time.perf_counter()
            self._remote.get(url)
        except TimeoutException as error:
            raise TrialFailed(Outcome.PAGE_TIMEOUT, f"no load event within {timeout_s:g} s") from error
        except DRIVER_FAILURES as error:
            raise self._meant(error) from error
        return (time.perf_counter() - before) * 1000

    def entries(self) -> Sequence[Mapping[str, Any]]:
        """Not of frames of other sites: chromedriver reaches the page's own session alone."""
        with self._judged():
            return devtools.entries(self._send, DRIVER_FAILURES)

    def end_trace(self, path: Path) -> None:
        """When the trace is whole, chromedriver does not tell: it is asked for until it is there."""
        with self._judged():
            self._send("Tracing.end", {})
            until = time.monotonic() + COLLECT_TIMEOUT_S
            while not self._read_trace(path, until):
                time.sleep(TRACE_LOOK_S)

    def _read_trace(self, path: Path, until: float) -> bool:
        """Whether the trace was whole; raises TrialFailed, or what chromedriver says, when it is not by then."""
        late = time.monotonic() > until
        try:
            whole = devtools.fetch_trace(self._send, devtools.FIRST_STREAM, path)
        except WebDriverException:  # there is nothing of it yet
            if late:
                raise
            return False
        if late and not whole:
            raise TrialFailed(Outcome.PAGE_ERROR, "the browser does not end its trace")
        return whole

    def at_full_speed(self) -> int:
        """Frames of other sites are among them: chromedriver does not tell when one starts."""
        with self._judged():
            return devtools.at_full_speed(self._send)

    def linger(self, seconds: float) -> None:
        time.sleep(seconds)  # the browser works on by itself

    def scroll(self, screenful: int) -> bool:
        script = f"const done = arguments[1]; ({SCROLL_SCRIPT.strip()})(arguments[0]).then(done)"
        with self._judged():
            return bool(self._remote.execute_async_script(script, screenful))

    def console_errors(self, limit: int = CONSOLE_LIMIT) -> tuple[str, ...]:
        with self._judged():
            entries = self._remote.execute(RemoteCommand.GET_LOG, {"type": "browser"})["value"]
        errors = [entry["message"] for entry in entries if entry["level"] == "SEVERE"]
        self.console_error_count = len(errors)
        return tuple(one_line(text) for text in errors[:limit])

    def prepare(self, launch: Launch) -> None:
        """Look like the device of the launch, and watch from outside the page; TestbedFailed when that cannot be."""
        try:
            self._remote.set_script_timeout(COLLECT_TIMEOUT_S)
            for name, parameters in device_commands(launch.device):
                self._send(name, dict(parameters))
            devtools.prepare(self._send)
            devtools.slow(self._send, launch.cpu_slowdown)
        except DRIVER_FAILURES as error:
            raise TestbedFailed(f"Chromium cannot be {launch.device}: {_first_line(error)}") from error

    def _send(self, name: str, parameters: dict[str, Any]) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._remote.execute(
            "executeCdpCommand", {"cmd": name, "params": parameters}
        )["value"]
        return answer

    def _meant(self, failure: Exception) -> TrialFailed:
        text = _first_line(failure)
        died = not isinstance(failure, IN_WORDS_OF_THE_PAGE) and any(words in text for words in DIED)
        return TrialFailed(Outcome.PAGE_ERROR, f"the browser died: {text}" if died else text, died=died)

    def screenshot(self, path: Path) -> None:
        with self._judged():
            path.write_bytes(self._remote.get_screenshot_as_png())

    def close(self) -> None:
        if self._open:
            self._open = False
            with contextlib.suppress(
                *DRIVER_FAILURES
            ):  # the browser may have died: the trial has its outcome
                self._remote.quit()


class SeleniumDriver:
    """One chromedriver process, kept for the whole run."""

    def __init__(self, chromedriver: Process, launcher: Path) -> None:
        self._chromedriver = chromedriver
        self._launcher = launcher

    @property
    def pid(self) -> int:
        return self._chromedriver.pid

    @contextlib.contextmanager
    def start(self, launch: Launch) -> Iterator[SeleniumBrowser]:
        self._chromedriver.check()
        options = ChromeOptions()
        options.binary_location = str(self._launcher)
        options.add_experimental_option("excludeSwitches", list(DRIVER_SWITCHES))
        for flag in (
            *launch.flags,
            f"--user-data-dir={launch.profile}",
            "--remote-debugging-pipe",
        ):
            options.add_argument(flag)
        try:
            remote = Remote(f"http://127.0.0.1:{PORT}", options=options)
        except DRIVER_FAILURES as error:
            raise TestbedFailed(f"Chromium did not start: {_first_line(error)}") from error
        browser = SeleniumBrowser(remote)
        try:
            browser.prepare(launch)
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def selenium_driver(launcher: Path, log: Path, current_home: Path) -> Iterator[SeleniumDriver]:
    """Start chromedriver; `launcher` is the program it takes for Chromium. What it stores goes to `current_home`, which
    leads to the home of the browser that it steers and is thrown away with it.
    """

    def ready() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/status", timeout=1) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    # It writes to its browser's pipe also when that was killed, and must hear of it by the error.
    deaf = Command.of("env", "--ignore-signal=PIPE", find_program("chromedriver"), f"--port={PORT}")
    within = deaf.named("chromedriver").with_environment(TMPDIR=str(current_home))
    with running(within, log, ready=ready, cwd=log.parent) as chromedriver:
        yield SeleniumDriver(chromedriver, launcher)


def _first_line(error: BaseException) -> str:
    text = error.msg if isinstance(error, WebDriverException) else str(error)
    return ((text or "").strip().splitlines() or [type(error).__name__])[0]

"""Chromium by Playwright, over a pipe; all of Playwright's default flags are dropped."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Error, Page, Playwright, TimeoutError, sync_playwright

from harness.browser.driver import METRICS_SCRIPT
from harness.browser.policy import Launch
from harness.errors import TestbedFailed, TrialFailed
from harness.model import Outcome

START_TIMEOUT_MS = 60_000
COLLECT_TIMEOUT_MS = 10_000


class PlaywrightBrowser:
    """A browser with one page, through Playwright's persistent context (a regular profile)."""

    def __init__(self, context: BrowserContext) -> None:
        self._context = context
        self._page: Page = context.pages[0] if context.pages else context.new_page()

    def load(self, url: str, timeout_s: float) -> float:
        before = time.perf_counter()
        try:
            self._page.goto(url, wait_until="load", timeout=timeout_s * 1000)
        except TimeoutError as error:
            raise TrialFailed(Outcome.PAGE_TIMEOUT, f"no load event within {timeout_s:g} s") from error
        except Error as error:
            raise _page_error(error) from error
        return (time.perf_counter() - before) * 1000

    def timeline(self) -> Mapping[str, Any]:
        try:
            found: Mapping[str, Any] = self._page.evaluate(METRICS_SCRIPT)
        except Error as error:
            raise _page_error(error) from error
        return found

    def screenshot(self, path: Path) -> None:
        try:
            self._page.screenshot(path=path)
        except Error as error:
            raise _page_error(error) from error

    def close(self) -> None:
        with contextlib.suppress(Error):  # the browser may have died before: the trial has its outcome then
            self._context.close()


class PlaywrightDriver:
    """Playwright's server process, kept for the whole run."""

    def __init__(self, playwright: Playwright, launcher: Path) -> None:
        self._playwright = playwright
        self._launcher = launcher

    @contextlib.contextmanager
    def start(self, launch: Launch) -> Iterator[PlaywrightBrowser]:
        try:
            context = self._playwright.chromium.launch_persistent_context(
                launch.profile,
                executable_path=self._launcher,
                args=[*launch.flags, f"--user-data-dir={launch.profile}", "--remote-debugging-pipe"],
                ignore_default_args=True,
                chromium_sandbox=True,
                no_viewport=True,
                timeout=START_TIMEOUT_MS,
            )
        except Error as error:
            raise TestbedFailed(f"Chromium did not start: {_first_line(error)}") from error
        context.set_default_timeout(COLLECT_TIMEOUT_MS)
        browser = PlaywrightBrowser(context)
        try:
            yield browser
        finally:
            browser.close()


@contextlib.contextmanager
def playwright_driver(launcher: Path) -> Iterator[PlaywrightDriver]:
    """Start Playwright; `launcher` is the program it takes for Chromium."""
    with sync_playwright() as playwright:
        yield PlaywrightDriver(playwright, launcher)


def _page_error(error: Error) -> TrialFailed:
    text = _first_line(error)
    if "has been closed" in text or "crash" in text.lower():
        text = f"the browser died: {text}"
    return TrialFailed(Outcome.PAGE_ERROR, text)


def _first_line(error: Error) -> str:
    return (error.message.splitlines() or ["no message"])[0]

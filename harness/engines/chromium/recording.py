"""Chromium at a live page, which is recorded and not measured: by Playwright, with bodies in its NetLog."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from playwright.sync_api import CDPSession, Error, Page, Request

from harness.engines.browserlog import BrowserLog
from harness.engines.chromium.home import ChromiumHome, Launcher
from harness.engines.chromium.netlog import read_netlog
from harness.engines.chromium.playwright import PlaywrightBrowser, PlaywrightDriver, playwright_driver
from harness.errors import Outcome, TrialFailed
from harness.model.engine import Device
from harness.model.protocol import Headers

NO_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"  # an error status without a body
QUIET_S, LOOK_S = 0.5, 0.1
STORAGE = ("IndexedDB", "Local Storage")  # in a profile; cookies of a session are not


class Traffic:
    """The requests of a page that are under way, and since when that is so. Playwright tells it while it waits."""

    def __init__(self, page: Page) -> None:
        self._under_way = set[Request]()
        self._since = time.monotonic()
        page.context.on("request", self._begun)
        page.context.on("requestfinished", self._ended)
        page.context.on("requestfailed", self._ended)

    def is_quiet(self) -> bool:
        return not self._under_way and time.monotonic() >= self._since + QUIET_S

    def _begun(self, request: Request) -> None:
        self._under_way.add(request)
        self._since = time.monotonic()

    def _ended(self, request: Request) -> None:
        self._under_way.discard(request)
        self._since = time.monotonic()


@dataclass(frozen=True)
class LiveChromium:
    """Chromium at a live page."""

    browser: PlaywrightBrowser
    traffic: Traffic = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "traffic", Traffic(self.page))

    @property
    def page(self) -> Page:
        return self.browser.page

    def send_with(self, headers: Headers, goes_to: Callable[[str], bool]) -> None:
        session = self.page.context.new_cdp_session(self.page)
        session.on("Fetch.requestPaused", lambda told: _go_on(session, told, headers, goes_to))
        session.send("Fetch.enable", {"patterns": [{"requestStage": "Request"}]})

    def load(self, url: str, timeout_s: float) -> float:
        try:
            return self.browser.load(url, timeout_s)
        except TrialFailed as failure:
            if NO_PAGE not in failure.reason:
                raise
            why = "the server answered with an error and no page"
            raise TrialFailed(Outcome.PAGE_ERROR, why) from failure

    def timeline(self) -> Mapping[str, Any]:
        return self.browser.timeline()

    def linger(self, seconds: float) -> None:
        self.browser.linger(seconds)

    def wait_for_quiet(self, limit_s: float) -> None:
        """Playwright's own "networkidle" is told once: at once where the page was quiet at any time before."""
        until = time.monotonic() + limit_s
        while not self.traffic.is_quiet() and time.monotonic() < until:
            self.browser.linger(LOOK_S)


@dataclass(frozen=True)
class ChromiumRecorder:
    """One profile, in which a visitor acts first; the load that is recorded is in another process."""

    driver: PlaywrightDriver
    home: ChromiumHome
    trust: Path | None

    @contextlib.contextmanager
    def acting(self, display: str) -> Iterator[LiveChromium]:
        with self.driver.start(replace(self.home.launch(), display=display)) as browser:
            yield LiveChromium(browser)
        self.home.start_over(self.trust, STORAGE)

    @contextlib.contextmanager
    def recording(self, har: Path) -> Iterator[LiveChromium]:
        with self.driver.start(replace(self.home.launch(), log_bodies=True), har=har) as browser:
            yield LiveChromium(browser)

    def read_log(self) -> BrowserLog:
        log = read_netlog(self.home.netlog)
        self.home.remove()
        return log


@contextlib.contextmanager
def chromium_recorder(
    folder: Path, device: Device, network: Path | None, trust: Path | None
) -> Iterator[ChromiumRecorder]:
    """See `harness.engines.browsers.recorder_of`."""
    home = ChromiumHome(folder / "home", page_hosts=None, device=device)
    home.make(trust)
    current = folder / "current"
    current.symlink_to(home.folder)
    launcher = Launcher(folder / "chromium", network, current)
    with playwright_driver(launcher.path, own_session=True) as driver:
        yield ChromiumRecorder(driver, home, trust)


def _go_on(
    session: CDPSession, paused: Mapping[str, Any], headers: Headers, goes_to: Callable[[str], bool]
) -> None:
    """Let a request go, with the headers if they go to its URL."""
    asked = paused["request"]
    ours = {name.lower() for name, _ in headers}
    sent = [
        {"name": name, "value": value} for name, value in asked["headers"].items() if name.lower() not in ours
    ]
    if goes_to(asked["url"]):
        sent += [{"name": name, "value": value} for name, value in headers]
    with contextlib.suppress(Error):  # the page may have taken it back
        session.send("Fetch.continueRequest", {"requestId": paused["requestId"], "headers": sent})

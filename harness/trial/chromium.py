"""The browsers of today's engine: Chromium, by drivers that are kept for a run."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from harness.browser.browserlog import BrowserLog
from harness.browser.driver import Browser, BrowserDriver
from harness.browser.hop import HTTP, LOOPBACK, PORT
from harness.browser.launcher import write_launcher
from harness.browser.netlog import read_netlog
from harness.browser.playwright_driver import playwright_driver
from harness.browser.policy import service_names
from harness.browser.profile import ChromiumHome
from harness.browser.relay import Relay, as_travelled
from harness.browser.selenium_driver import selenium_driver
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import CLIENT, Testbed, client_network_path
from harness.model.condition import Condition
from harness.model.device import DESKTOP, Device
from harness.model.engine import Driver
from harness.model.settings import ONE_CERTIFICATE
from harness.system.processtree import kill_family
from harness.system.program import find_program, version_line
from harness.trial.innertls import inner_tls


@dataclass(frozen=True)
class Chromium:
    """A Chromium by one of its drivers; `relay` takes its https requests, where the page is loaded over plain http."""

    driver: BrowserDriver
    home: ChromiumHome
    trust: Path
    relay: Relay | None = None

    @property
    def pid(self) -> int | None:
        return self.home.pid

    @property
    def driver_pid(self) -> int | None:
        return self.driver.pid

    @property
    def log(self) -> Path:
        return self.home.netlog

    @property
    def crashes(self) -> tuple[str, ...]:
        return self.home.crashes

    @contextlib.contextmanager
    def start(self) -> Iterator[Browser]:
        if self.relay is None:
            with self.driver.start(self.home.launch()) as browser:
                yield browser
            return
        with CLIENT.entered():
            listening = socket.create_server((LOOPBACK, PORT))
        with self.relay.running(listening) as process, self.driver.start(self.home.launch()) as browser:
            self.relay.wait_for(process)
            yield browser

    def start_over(self) -> None:
        self.home.start_over(self.trust)

    def read_log(self) -> BrowserLog:
        seen = read_netlog(self.home.netlog)
        return seen if self.relay is None else as_travelled(seen, self.relay.told)


class ChromiumMaker:
    """Makes Chromiums; a driver is started when first needed and kept."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._started: dict[Driver, BrowserDriver] = {}
        self._current_home = folder / "home"
        self.launcher = write_launcher(folder / "chromium", client_network_path(), self._current_home)

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {name: partial(version_line, name, "--version") for name in ("chromium", "chromedriver")}

    @staticmethod
    def refuse_unless_usable() -> None:
        find_program("chromium")

    def driver(self, driver: Driver) -> BrowserDriver:
        """A driver, started if need be."""
        if driver not in self._started:
            self._started[driver] = self._stack.enter_context(self._opened(driver))
        return self._started[driver]

    def _opened(self, driver: Driver) -> contextlib.AbstractContextManager[BrowserDriver]:
        if driver is Driver.PLAYWRIGHT:
            return playwright_driver(self.launcher)
        return selenium_driver(self.launcher, self._folder / "chromedriver.log", self._current_home)

    def prepare(self, condition: Condition) -> None:
        self.driver(condition.driver)

    @contextlib.contextmanager
    def fresh(
        self, name: str, condition: Condition, testbed: Testbed, endpoint: Endpoint, *, bodies: bool
    ) -> Iterator[Chromium]:
        driver = self.driver(condition.driver)
        with self.fresh_home(name, testbed.trust, endpoint, condition.device) as home:
            made = replace(
                home,
                log_bodies=bodies,
                cpu_slowdown=condition.cpu_slowdown,
                # The hop, which is all that ends TLS where the link has none, has certificates of the usual kind.
                taken_key=testbed.authority.substitute(
                    ONE_CERTIFICATE if home.relayed else endpoint.replay.chain
                ).pin,
            )
            yield Chromium(driver, made, testbed.trust, _relay(testbed, endpoint, made))

    @contextlib.contextmanager
    def fresh_home(
        self, name: str, trust: Path, endpoint: Endpoint, device: Device = DESKTOP
    ) -> Iterator[ChromiumHome]:
        """A home for the next Chromium to start, for the page of `endpoint`; removed afterwards."""
        hosts = tuple(sorted(endpoint.hosts))
        home = ChromiumHome(
            self._folder / f"home-{name}",
            hosts,
            endpoint.secure_origins,
            device,
            quic=endpoint.protocol.over_quic,
            relayed=endpoint.protocol.scheme == "http",
            local={**endpoint.mentioned_addresses, **endpoint.local},
            stream_window_bytes=endpoint.replay.h2_stream_window_bytes,
        )
        home.make(trust)
        self._current_home.unlink(missing_ok=True)
        self._current_home.symlink_to(home.folder)
        try:
            yield home
        finally:
            if home.pid is not None:
                kill_family(home.pid)
            home.remove()


def _relay(testbed: Testbed, endpoint: Endpoint, home: ChromiumHome) -> Relay | None:
    """The hop of a Chromium, where it needs one."""
    if not home.relayed:
        return None
    log = home.folder / "connections.jsonl"
    security = replace(inner_tls(testbed, endpoint), https_port=HTTP)
    refused = service_names(home.page_hosts or ())
    return Relay(log, client_network_path(), security, endpoint.local, endpoint.address, refused)

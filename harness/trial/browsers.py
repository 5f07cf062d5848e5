"""The browsers of a run: drivers that are kept, and for each trial a fresh browser of its condition's engine."""

from __future__ import annotations

import contextlib
import shutil
import socket
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol as Interface

from harness.browser.browserlog import BrowserLog
from harness.browser.driver import Browser, BrowserDriver
from harness.browser.hop import HTTP, LOOPBACK, PORT, Security
from harness.browser.launcher import write_launcher
from harness.browser.netlog import read_netlog
from harness.browser.playwright_driver import playwright_driver
from harness.browser.profile import ChromiumHome, fresh_home
from harness.browser.qtwebkit import home as qtwebkit
from harness.browser.relay import Relay, as_travelled
from harness.browser.selenium_driver import selenium_driver
from harness.model.condition import Condition
from harness.model.device import DESKTOP, Device
from harness.model.engine import Driver, Engine
from harness.model.protocol import Protocol
from harness.system.processtree import kill_family
from harness.testbed.endpoint import Endpoint
from harness.testbed.testbed import CLIENT, Testbed, client_network_path


class FreshBrowser(Interface):
    """The browser of one trial. It has not started yet and has never seen anything."""

    @property
    def pid(self) -> int | None:
        """Its main process, once it has started."""

    @property
    def driver_pid(self) -> int | None:
        """The main process of what steers it, where that is kept for the run."""

    @property
    def log(self) -> Path:
        """Its own log of the network."""

    def start(self) -> contextlib.AbstractContextManager[Browser]:
        """The browser for the length of the block; raises TestbedFailed when it does not start."""

    def read_log(self) -> BrowserLog:
        """What it did on the network, after its end; raises TestbedFailed when the log cannot be read."""


@dataclass(frozen=True)
class Chromium:
    """A Chromium by one of its drivers; `relay` takes its https requests, where the page is loaded over plain http."""

    driver: BrowserDriver
    home: ChromiumHome
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

    def read_log(self) -> BrowserLog:
        seen = read_netlog(self.home.netlog)
        return seen if self.relay is None else as_travelled(seen, self.relay.told)


class Drivers:
    """The drivers of a run, each started when first needed and kept; browsers are fresh per trial."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._started: dict[Driver, BrowserDriver] = {}
        self.current_home = folder / "home"
        self._launcher = write_launcher(folder / "chromium", client_network_path(), self.current_home)

    def get(self, driver: Driver) -> BrowserDriver:
        """A driver of Chromium, started if need be."""
        if driver not in self._started:
            self._started[driver] = self._stack.enter_context(self._opened(driver))
        return self._started[driver]

    def _opened(self, driver: Driver) -> contextlib.AbstractContextManager[BrowserDriver]:
        if driver is Driver.PLAYWRIGHT:
            return playwright_driver(self._launcher)
        return selenium_driver(self._launcher, self._folder / "chromedriver.log")

    def prepare(self, condition: Condition) -> None:
        """Start what the trials of a condition share, so that none of them waits for it."""
        if condition.engine is Engine.CHROMIUM:
            self.get(condition.driver)

    @contextlib.contextmanager
    def fresh(
        self, name: str, condition: Condition, testbed: Testbed, endpoint: Endpoint
    ) -> Iterator[FreshBrowser]:
        """The browser for a trial of the condition; whatever is left of it is gone afterwards."""
        if condition.engine is Engine.QTWEBKIT:
            with self._qtwebkit(name, testbed, endpoint) as made:
                yield made
        else:
            driver = self.get(condition.driver)
            with self.fresh_home(name, testbed.trust, endpoint, condition.device) as home:
                yield Chromium(driver, home, _relay(testbed, endpoint, home))

    @contextlib.contextmanager
    def fresh_home(
        self, name: str, trust: Path, endpoint: Endpoint, device: Device = DESKTOP
    ) -> Iterator[ChromiumHome]:
        """A home for the next Chromium to start, for the page of `endpoint`; removed afterwards."""
        hosts = tuple(sorted(endpoint.hosts))
        home = fresh_home(
            self._folder / f"home-{name}",
            trust,
            hosts,
            endpoint.secure_origins,
            device=device,
            quic=endpoint.protocol.over_quic,
            relayed=endpoint.protocol.scheme == "http",
            local=endpoint.local,
        )
        self.current_home.unlink(missing_ok=True)
        self.current_home.symlink_to(home.folder)
        try:
            yield home
        finally:
            if home.pid is not None:
                kill_family(home.pid)
            home.remove()

    @contextlib.contextmanager
    def _qtwebkit(self, name: str, testbed: Testbed, endpoint: Endpoint) -> Iterator[qtwebkit.QtWebKitHome]:
        folder = self._folder / f"home-{name}"
        folder.mkdir()
        protocol = endpoint.protocol
        try:
            yield qtwebkit.QtWebKitHome(
                folder,
                client_network_path(),
                testbed.authority.certificate_file,
                pipelining=protocol.pipelined,
                spdy=protocol.wire == qtwebkit.SPDY,
                security=_loopback(testbed, endpoint) if protocol is Protocol.SPDY_PLAIN else None,
                tls=endpoint.replay.tls,
                scheme=protocol.scheme,
                local=endpoint.local,
                loopback_ports=endpoint.loopback_ports,
            )
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _relay(testbed: Testbed, endpoint: Endpoint, home: ChromiumHome) -> Relay | None:
    """The hop of a Chromium, where it needs one."""
    if not home.relayed:
        return None
    log = home.folder / "connections.jsonl"
    security = replace(_loopback(testbed, endpoint), https_port=HTTP)
    return Relay(log, client_network_path(), security, endpoint.local)


def _loopback(testbed: Testbed, endpoint: Endpoint) -> Security:
    """What ends TLS within the client host where the link has none."""
    certificates = {name: str(file) for name, file in testbed.loopback_certificates(endpoint).items()}
    return Security(certificates, str(testbed.authority.key_file), endpoint.protocol.wire)

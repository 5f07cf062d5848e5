"""The browsers of today's engine: Chromium, by drivers that are kept for a run."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol as Interface

from harness.engines.browser import Browser, Surroundings
from harness.engines.browserlog import BrowserLog
from harness.engines.chromium.home import ChromiumHome, Launcher
from harness.engines.chromium.netlog import read_netlog
from harness.engines.chromium.policy import FIRST_PREFERENCES, FLAGS, SERVICE_NAMES, Launch, service_names
from harness.engines.chromium.trace import ChromiumTrace, read_trace
from harness.engines.hop import HTTP, LOOPBACK, PORT
from harness.engines.relay import Relay, as_travelled
from harness.model.condition import Condition
from harness.model.engine import DESKTOP, Device, Driver
from harness.system.processtree import kill_family
from harness.system.program import find_program, version_line

ASKED_S, REFUSED_S = (
    5.0,
    0.2,
)  # until the log of a browser is whole that was asked to end, and of one that cannot be asked
RENDERER, OF_THE_BROWSER = b"--type=renderer", b"--top-chrome-webui"  # its own pages, which nobody sees


class SteeredChromium(Browser, Interface):
    """A Chromium by any driver."""

    def quit(self) -> bool:
        """Ask it to end, and do not wait; whether it took that."""


class BrowserDriver(Interface):
    """Steers Chromium. One instance serves all trials of a run, one browser at a time."""

    @property
    def pid(self) -> int:
        """Its main process."""

    def start(self, launch: Launch) -> contextlib.AbstractContextManager[SteeredChromium]:
        """A fresh browser process for the length of the block; raises TestbedFailed when it does not start."""


@dataclass(frozen=True)
class Chromium:
    """A Chromium by one of its drivers; `relay` takes its https requests, where the page is loaded over plain http."""

    driver: BrowserDriver
    launcher: Launcher
    home: ChromiumHome
    surroundings: Surroundings
    relay: Relay | None = None
    running: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    @property
    def pid(self) -> int | None:
        return self.home.pid

    @property
    def driver_pid(self) -> int | None:
        return self.driver.pid

    @property
    def programs(self) -> Mapping[str, int]:
        return {} if self.relay is None else self.relay.programs

    @property
    def log(self) -> Path:
        return self.home.netlog

    @property
    def crashes(self) -> tuple[str, ...]:
        return self.home.crashes

    def holds_pages(self, command_line: bytes, _name: bytes) -> bool:
        return RENDERER in command_line and OF_THE_BROWSER not in command_line

    @contextlib.contextmanager
    def start(self) -> Iterator[Browser]:
        """At the end of the block its log is whole: it asks for nothing any more, and `end` waits for it."""
        try:
            with self._hop() as ready:
                browser = self.running.enter_context(self.driver.start(self.home.launch()))
                ready()
                self.launcher.learn(self.home)
                yield browser
                asked = browser.quit()
                if not self.home.log_is_whole_within(ASKED_S if asked else REFUSED_S):
                    self.running.close()  # by the driver, which has other means
                    self.home.log_is_whole_within(ASKED_S)
        except BaseException:
            self.end()
            raise

    @contextlib.contextmanager
    def _hop(self) -> Iterator[Callable[[], None]]:
        """The hop for the length of the block, where there is one, and what waits until it is ready."""
        if self.relay is None:
            yield lambda: None
            return
        with self.surroundings.client.entered():
            listening = socket.create_server((LOOPBACK, PORT))
        with self.relay.running(listening) as process:
            yield partial(self.relay.wait_for, process)

    def end(self) -> None:
        self.running.close()
        self.home.wait_for_end()

    def start_over(self) -> None:
        self.home.start_over(self.surroundings.trust)

    def read_log(self) -> BrowserLog:
        self.home.refuse_large_netlog()
        seen = read_netlog(self.home.netlog)
        return seen if self.relay is None else as_travelled(seen, self.relay.told)

    def read_trace(self, path: Path) -> ChromiumTrace:
        return read_trace(path)


class ChromiumMaker:
    """Makes Chromiums; a driver is started when first needed and kept."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack, network: Path | None) -> None:
        self._folder = folder
        self._stack = stack
        self._started: dict[Driver, BrowserDriver] = {}
        self._current_home = folder / "home"
        self.launcher = Launcher(folder / "chromium", network, self._current_home)

    @staticmethod
    def programs() -> Mapping[str, Callable[[], str]]:
        return {name: partial(version_line, name, "--version") for name in ("chromium", "chromedriver")}

    @staticmethod
    def settings() -> Mapping[str, object]:
        return {
            "flags": list(FLAGS),
            "preferences": FIRST_PREFERENCES,
            "unresolved": list(SERVICE_NAMES),
        }

    @staticmethod
    def refuse_unless_usable() -> None:
        find_program("chromium")

    def driver(self, driver: Driver) -> BrowserDriver:
        """A driver, started if need be."""
        if driver not in self._started:
            self._started[driver] = self._stack.enter_context(self._opened(driver))
        return self._started[driver]

    def _opened(self, driver: Driver) -> contextlib.AbstractContextManager[BrowserDriver]:
        """A run by one driver does without the library of the other."""
        if driver is Driver.PLAYWRIGHT:
            from harness.engines.chromium.playwright import playwright_driver

            return playwright_driver(self.launcher.path)
        from harness.engines.chromium.selenium import selenium_driver

        return selenium_driver(self.launcher.path, self._folder / "chromedriver.log", self._current_home)

    def prepare(self, condition: Condition) -> None:
        self.driver(condition.driver)

    @contextlib.contextmanager
    def fresh(
        self, name: str, condition: Condition, surroundings: Surroundings, *, bodies: bool
    ) -> Iterator[Chromium]:
        driver = self.driver(condition.driver)
        with self.fresh_home(name, surroundings, condition.device) as home, contextlib.ExitStack() as running:
            made = replace(home, log_bodies=bodies, cpu_slowdown=condition.cpu_slowdown)
            yield Chromium(driver, self.launcher, made, surroundings, _relay(surroundings, made), running)

    @contextlib.contextmanager
    def fresh_home(
        self, name: str, surroundings: Surroundings, device: Device = DESKTOP
    ) -> Iterator[ChromiumHome]:
        """A home for the next Chromium to start, in these surroundings; removed afterwards."""
        inner = surroundings.inner_tls
        substitute = (surroundings if inner is None else inner).substitute
        home = ChromiumHome(
            self._folder / f"home-{name}",
            tuple(sorted(surroundings.hosts)),
            surroundings.secure_origins,
            device,
            quic=surroundings.protocol.over_quic,
            relayed=inner is not None,
            local={**surroundings.mentioned, **surroundings.local},
            stream_window_bytes=surroundings.replay.h2_stream_window_bytes,
            # Of plain http the hop is all that ends TLS.
            taken_key=substitute.pin if substitute else None,
        )
        home.make(surroundings.trust)
        self._current_home.unlink(missing_ok=True)
        self._current_home.symlink_to(home.folder)
        try:
            yield home
        finally:
            if home.pid is not None:
                kill_family(home.pid)
            home.remove()


def _relay(surroundings: Surroundings, home: ChromiumHome) -> Relay | None:
    """The hop of a Chromium, where it needs one."""
    inner = surroundings.inner_tls
    if inner is None:
        return None
    log = home.folder / "connections.jsonl"
    security = replace(inner.security, https_port=HTTP)
    refused = service_names(home.page_hosts or ())
    return Relay(log, surroundings.client.path, security, surroundings.local, surroundings.address, refused)

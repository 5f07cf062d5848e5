"""One trial: a fresh client, link and browser; one cold load; the record of it, whatever happens."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.browser.driver import Browser
from harness.browser.driver import Driver as BrowserDriver
from harness.browser.launcher import write_launcher
from harness.browser.netlog import read_netlog
from harness.browser.playwright_driver import playwright_driver
from harness.browser.profile import Home, fresh_home
from harness.browser.screens import take_screens
from harness.browser.selenium_driver import selenium_driver
from harness.errors import TestbedFailed, TrialFailed
from harness.judge import Evidence, observe, verdict
from harness.model import DESKTOP, Device, Driver, Outcome
from harness.plan import PlannedTrial
from harness.processtree import ForeignCpu, cpu_seconds, kill_family
from harness.records import Observation, Record
from harness.testbed import Client, Endpoint, Testbed, client_network_path, served_to


class Drivers:
    """The drivers of a run, each started when first needed and kept; browsers are fresh per trial."""

    def __init__(self, folder: Path, stack: contextlib.ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._started: dict[Driver, BrowserDriver] = {}
        self.current_home = folder / "home"
        self._launcher = write_launcher(folder / "chromium", client_network_path(), self.current_home)

    def get(self, driver: Driver) -> BrowserDriver:
        """The driver, started if need be."""
        if driver not in self._started:
            self._started[driver] = self._stack.enter_context(self._opened(driver))
        return self._started[driver]

    def _opened(self, driver: Driver) -> contextlib.AbstractContextManager[BrowserDriver]:
        if driver is Driver.PLAYWRIGHT:
            return playwright_driver(self._launcher)
        return selenium_driver(self._launcher, self._folder / "chromedriver.log")

    @contextlib.contextmanager
    def fresh_home(
        self, name: str, trust: Path, endpoint: Endpoint, device: Device = DESKTOP
    ) -> Iterator[Home]:
        """A home for the next browser to start, for the page of `endpoint`; removed afterwards."""
        hosts = tuple(sorted(endpoint.hosts))
        home = fresh_home(
            self._folder / f"home-{name}",
            trust,
            hosts,
            endpoint.secure_origins,
            device=device,
            quic=endpoint.protocol.over_quic,
        )
        self.current_home.unlink(missing_ok=True)
        self.current_home.symlink_to(home.folder)
        try:
            yield home
        finally:
            if home.pid is not None:
                kill_family(home.pid)
            home.remove()


@dataclass(frozen=True)
class TrialOptions:
    """What a study asks for beyond its conditions.

    `linger_s`: how long the page goes on after its load; only then can `keep` name `screens`, too.
    """

    timeout_s: float = 60.0
    keep: tuple[str, ...] = ()
    linger_s: float = 0.0


def run_trial(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> Record:
    """Run one planned trial and return its record; `files` is where kept files go."""
    return run_observed(testbed, drivers, planned, options, files)[0]


def run_observed(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> tuple[Record, Evidence | None]:
    """`run_trial`, and all that was seen; None when the trial did not get as far as that."""
    driver = drivers.get(planned.condition.driver)
    started = datetime.now(UTC)
    before = time.perf_counter()
    attempt = _Attempt(testbed, drivers, driver, planned, options, files)
    outcome, reason = attempt.run()
    wall_ms = (time.perf_counter() - before) * 1000
    observation = observe(attempt.evidence) if attempt.evidence else Observation()
    overhead = wall_ms - observation.plt_ms if observation.plt_ms else None
    record = Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        observation=observation,
        overhead_ms=overhead,
        archive_digest=attempt.archive_digest,
    )
    return record, attempt.evidence


@dataclass
class _Attempt:
    """The trial under way; `evidence` holds what was seen so far."""

    testbed: Testbed
    drivers: Drivers
    driver: BrowserDriver
    planned: PlannedTrial
    options: TrialOptions
    files: Path
    evidence: Evidence | None = None
    archive_digest: str | None = None

    def run(self) -> tuple[Outcome, str | None]:
        try:
            endpoint = self.testbed.endpoint(self.planned.condition)
            self.archive_digest = endpoint.archive.digest
            self.evidence = Evidence(
                endpoint.protocol,
                endpoint.start_url,
                page_hosts=endpoint.hosts,
                rtt_ms=self.planned.condition.link.rtt_ms,
                tls=endpoint.tls,
            )
            self._measure(endpoint)
        except TrialFailed as failure:
            return failure.outcome, failure.reason
        except TestbedFailed as failure:
            return Outcome.TESTBED_FAILED, str(failure)
        return verdict(self.evidence)

    def _measure(self, endpoint: Endpoint) -> None:
        log_offset = endpoint.server.log_offset
        cpu_before = endpoint.server.cpu_seconds()
        with contextlib.ExitStack() as stack:
            pcap = self._kept("pcap", "link.pcap")
            client = stack.enter_context(
                self.testbed.client(self.planned.condition.link, block=self.planned.block, pcap=pcap)
            )
            device = self.planned.condition.device
            fresh = self.drivers.fresh_home(self.planned.trial, self.testbed.trust, endpoint, device)
            home = stack.enter_context(fresh)
            self.testbed.resolver.use(endpoint.address)
            try:
                self._load(home, client, endpoint)
            except TrialFailed:
                client.link.check()
                with contextlib.suppress(TestbedFailed):  # a browser that was killed leaves no whole NetLog
                    self._collect(home, client, endpoint, log_offset, cpu_before)
                raise
            client.link.check()
            self._collect(home, client, endpoint, log_offset, cpu_before)

    def _load(self, home: Home, client: Client, endpoint: Endpoint) -> None:
        """From the start of the browser to its end."""
        with self.driver.start(home.launch()) as browser:
            try:
                self._load_in(browser, home, client, endpoint)
            except TrialFailed:
                if home.pid is not None:
                    kill_family(home.pid)  # a hanging or half-dead browser cannot be asked to close
                raise

    def _load_in(self, browser: Browser, home: Home, client: Client, endpoint: Endpoint) -> None:
        foreign = ForeignCpu()
        navigate_ms = browser.load(endpoint.start_url, self.options.timeout_s)
        client.link.check()
        self.evidence = replace(
            self._seen,
            navigate_ms=navigate_ms,
            link_reading=client.link.reading(),
            foreign_cpu_share=foreign.share(),
        )
        self.evidence = replace(self._seen, timeline=browser.timeline())
        if home.pid is not None:
            self.evidence = replace(self._seen, client_cpu_s=cpu_seconds(home.pid))
        if self.options.linger_s:
            browser.linger(self.options.linger_s)
            screens = self._kept("screens", "screens")
            if screens is not None:
                take_screens(browser, screens)
            self.evidence = replace(self._seen, console_errors=browser.console_errors())
        screenshot = self._kept("screenshot", "screenshot.png")
        if screenshot is not None:
            browser.screenshot(screenshot)

    def _collect(
        self, home: Home, client: Client, endpoint: Endpoint, log_offset: int, cpu_before: float | None
    ) -> None:
        """What is read after the browser has gone, also of a load that failed."""
        self.evidence = replace(
            self._seen,
            server_cpu_s=_since(cpu_before, endpoint.server.cpu_seconds()),
            served=served_to(endpoint.server.requests(log_offset), client.address),
            link_reading=self._seen.link_reading or client.link.reading(),
        )
        if home.netlog.exists():
            kept = self._kept("netlog", "netlog.json.gz")
            if kept is not None:
                with home.netlog.open("rb") as source, gzip.open(kept, "wb", compresslevel=4) as target:
                    shutil.copyfileobj(source, target)
            self.evidence = replace(self._seen, netlog=read_netlog(home.netlog))

    @property
    def _seen(self) -> Evidence:
        if self.evidence is None:
            raise AssertionError("evidence is gathered only once the endpoint is known")
        return self.evidence

    def _kept(self, kind: str, name: str) -> Path | None:
        """The path of a file the study wants kept, its folder made; None when it does not want it."""
        if kind not in self.options.keep:
            return None
        self.files.mkdir(parents=True, exist_ok=True)
        return self.files / name


def _since(before: float | None, now: float | None) -> float | None:
    """The difference of two readings of a counter in seconds."""
    return None if before is None or now is None else round(now - before, 3)

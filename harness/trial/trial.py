"""One trial: a fresh client, link and browser; one cold load; the record of it, whatever happens."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.browser.driver import Browser
from harness.browser.screens import take_screens
from harness.errors import TestbedFailed
from harness.model.observation import Observation
from harness.outcome import Outcome, TrialFailed
from harness.records import Record
from harness.study.plan import PlannedTrial
from harness.system.processtree import ForeignCpu, cpu_seconds, kill_family
from harness.testbed.testbed import Client, Endpoint, Testbed, served_to
from harness.trial.browsers import Drivers, FreshBrowser
from harness.trial.evidence import BROWSER, Evidence
from harness.trial.judge import hindered, verdict
from harness.trial.lateness import watching
from harness.trial.observe import observe
from harness.trial.timeline import parsed
from harness.trial.watchdog import Watchdog

# The longest that a trial waits for each of its steps beside the load itself, whose limit is the study's.
START_S = 70.0  # the drivers' own limit is 60
RETURN_S = 3.0  # after the limit of the load, for the driver to tell of it
SCREENS_S = 300.0
END_S = 15.0


@dataclass(frozen=True)
class TrialOptions:
    """What a study asks for beyond its conditions.

    `timeout_s`: how long the load may take. `linger_s`: how long the page goes on after its load; only then can `keep`
    name `screens`, too, for which the page's timers are held. `answer_s`: how long the page may take after its load
    event for each thing that it is asked.
    """

    timeout_s: float = 60.0
    keep: tuple[str, ...] = ()
    linger_s: float = 0.0
    answer_s: float = 10.0


def run_trial(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> Record:
    """Run one planned trial and return its record; `files` is where kept files go."""
    return run_observed(testbed, drivers, planned, options, files)[0]


def run_observed(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> tuple[Record, Evidence | None]:
    """`run_trial`, and all that was seen; None when the trial did not get as far as that."""
    drivers.prepare(planned.condition)
    started = datetime.now(UTC)
    before = time.perf_counter()
    attempt = _Attempt(testbed, drivers, planned, options, files)
    outcome, reason = attempt.run()
    wall_ms = (time.perf_counter() - before) * 1000
    observation = observe(attempt.evidence) if attempt.evidence else Observation()
    overhead = wall_ms - observation.plt_ms if observation.plt_ms else None
    record = Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=_utc(started),
        observation=observation,
        overhead_ms=overhead,
        archive_digest=attempt.archive_digest,
    )
    return record, attempt.evidence


def not_run(planned: PlannedTrial, reason: str) -> Record:
    """The record of a trial whose engine this machine lacks."""
    return Record(planned, Outcome.TESTBED_FAILED, reason, _utc(datetime.now(UTC)), Observation(), None)


def _utc(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class _Attempt:
    """The trial under way; `evidence` holds what was seen so far."""

    testbed: Testbed
    drivers: Drivers
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
                tls_resumption=endpoint.tls_resumption,
            )
            self._measure(endpoint)
            outcome, reason = verdict(self.evidence)
            if outcome is not Outcome.OK:
                self.testbed.examine(endpoint)
        except TrialFailed as failure:
            hindrance = hindered(self._seen)
            return (Outcome.TESTBED_FAILED, hindrance) if hindrance else (failure.outcome, failure.reason)
        except TestbedFailed as failure:
            return Outcome.TESTBED_FAILED, str(failure)
        return outcome, reason

    def _measure(self, endpoint: Endpoint) -> None:
        log_offset = endpoint.server.log_offset
        cpu_before = endpoint.server.cpu_seconds()
        with contextlib.ExitStack() as stack:
            pcap = self._kept("pcap", "link.pcap")
            client = stack.enter_context(
                self.testbed.client(self.planned.condition.link, block=self.planned.block, pcap=pcap)
            )
            planned = self.planned
            fresh = self.drivers.fresh(planned.trial, planned.condition, self.testbed, endpoint)
            browser = stack.enter_context(fresh)
            self.testbed.resolver.use(endpoint.address)
            try:
                self._load(browser, client, endpoint)
            except TrialFailed:
                client.link.check()
                with contextlib.suppress(TestbedFailed):  # a browser that was killed leaves no whole log
                    self._collect(browser, client, endpoint, log_offset, cpu_before)
                self.testbed.examine(endpoint, client)
                raise
            client.link.check()
            self._collect(browser, client, endpoint, log_offset, cpu_before)

    def _load(self, fresh: FreshBrowser, client: Client, endpoint: Endpoint) -> None:
        """From the start of the browser to its end, each wait with a limit that nothing inside can outlive."""
        watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
        with contextlib.ExitStack() as opened:
            with watch.limit(START_S, "browser"):
                browser = opened.enter_context(fresh.start())
            try:
                self._load_in(browser, fresh, client, endpoint, watch)
            except BaseException as error:
                if fresh.pid is not None:
                    kill_family(fresh.pid)  # a hanging or half-dead browser cannot be asked to close
                with watch.limit(END_S, "end of the browser"):
                    opened.__exit__(type(error), error, error.__traceback__)
                raise
            with watch.limit(END_S, "end of the browser"):
                opened.close()

    def _load_in(
        self, browser: Browser, fresh: FreshBrowser, client: Client, endpoint: Endpoint, watch: Watchdog
    ) -> None:
        screens = self._kept("screens", "screens") if self.options.linger_s else None
        if screens is not None:
            with watch.limit(self.options.answer_s, "answer of the page"):
                browser.hold_timers()
        foreign = ForeignCpu()
        with watching(self._programs(fresh, endpoint)) as seen:
            try:
                with watch.limit(self.options.timeout_s + RETURN_S, "return of the navigation"):
                    navigate_ms = browser.load(endpoint.start_url, self.options.timeout_s)
                client.link.check()
                self.evidence = replace(
                    self._seen,
                    navigate_ms=navigate_ms,
                    link_reading=client.link.reading(),
                    foreign_cpu_share=foreign.share(),
                )
            finally:
                self.evidence = replace(self._seen, lateness=seen.lateness())
        with watch.limit(self.options.answer_s, "answer of the page after its load event"):
            self.evidence = replace(self._seen, timeline=parsed(browser.timeline()))
        if fresh.pid is not None:
            self.evidence = replace(self._seen, client_cpu_s=cpu_seconds(fresh.pid))
        if self.options.linger_s:
            self._linger(browser, screens, watch)
        with watch.limit(self.options.answer_s, "console of the page"):
            errors = browser.console_errors()
            self.evidence = replace(
                self._seen, console_errors=errors, console_error_count=browser.console_error_count
            )
        if "glyphs" in self.options.keep:
            with watch.limit(self.options.answer_s, "text of the page"):
                self.evidence = replace(self._seen, without_glyph=browser.text_without_glyph())
        screenshot = self._kept("screenshot", "screenshot.png")
        if screenshot is not None:
            with watch.limit(self.options.answer_s, "picture of the page"):
                browser.screenshot(screenshot)

    def _linger(self, browser: Browser, screens: Path | None, watch: Watchdog) -> None:
        with watch.limit(self.options.linger_s + self.options.answer_s, "answer of the page that goes on"):
            browser.linger(self.options.linger_s)
        if screens is not None:
            with watch.limit(SCREENS_S, "pictures of the page's screenfuls"):
                take_screens(browser, screens, self.options.linger_s)

    def _programs(self, fresh: FreshBrowser, endpoint: Endpoint) -> dict[str, int]:
        """What works on a load and is watched meanwhile; the link tells its lateness itself."""
        own = {BROWSER: fresh.pid} if fresh.pid is not None else {}
        return {**endpoint.programs, **own}

    def _collect(
        self,
        fresh: FreshBrowser,
        client: Client,
        endpoint: Endpoint,
        log_offset: int,
        cpu_before: float | None,
    ) -> None:
        """What is read after the browser has gone, also of a load that failed."""
        self.evidence = replace(
            self._seen,
            server_cpu_s=_since(cpu_before, endpoint.server.cpu_seconds()),
            served=served_to(endpoint.server.requests(log_offset), client.address),
            link_reading=self._seen.link_reading or client.link.reading(),
        )
        if fresh.log.exists():
            kept = self._kept("netlog", f"{fresh.log.name}.gz")
            if kept is not None:
                with fresh.log.open("rb") as source, gzip.open(kept, "wb", compresslevel=4) as target:
                    shutil.copyfileobj(source, target)
            self.evidence = replace(self._seen, browser_log=fresh.read_log())

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

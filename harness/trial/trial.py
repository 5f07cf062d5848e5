"""One trial: a fresh client, link and browser; one cold load; the record of it, whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.engines.browsers import Drivers, FreshBrowser
from harness.engines.traceevents import read_trace
from harness.errors import TestbedFailed
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Client, Testbed
from harness.model.condition import CacheState
from harness.model.link import Way
from harness.model.observation import Observation
from harness.model.plan import PlannedTrial
from harness.outcome import Outcome, TrialFailed
from harness.probes.evidence import Evidence, LoadSetup
from harness.probes.har import BODIES
from harness.probes.probe import Load, OpenPage, Probe, TrialOptions
from harness.probes.registry import observe, probes_of
from harness.probes.watchdog import Watchdog
from harness.records import Record, not_run
from harness.study.enginefile import TRACE
from harness.system.clock import utc_text
from harness.trial.firstvisit import RETURN_S, visit
from harness.trial.judge import ending
from harness.trial.started import started
from harness.trial.surroundings import surroundings

TRACE_S = 60.0  # the longest that a trial waits for the trace of its page


def run_trial(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> Record[Observation]:
    """Run one planned trial and return its record; `files` is where kept files go."""
    return run_observed(testbed, drivers, planned, options, files)[0]


def run_observed(
    testbed: Testbed, drivers: Drivers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> tuple[Record[Observation], Evidence | None]:
    """`run_trial`, and all that was seen; None when the servers were dead before the trial."""
    drivers.prepare(planned.condition)
    started = datetime.now(UTC)
    before = time.perf_counter()
    try:
        endpoint = testbed.endpoint(planned.condition)
    except TestbedFailed as failure:
        return not_run(planned, str(failure)), None
    load = Load(planned, options, files, endpoint, _setup(planned, endpoint))
    probes = probes_of(load)
    failed = _Attempt(testbed, drivers, load, probes).failure()
    evidence = _evidence(load, probes)
    outcome, reason = ending(evidence, failed)
    if failed is None and outcome is not Outcome.OK:
        try:
            testbed.examine(endpoint)
        except TestbedFailed as failure:
            outcome, reason = ending(evidence, failure)
    observation = observe(evidence)
    for probe in probes:
        probe.store(evidence, observation, outcome)
    wall_ms = (time.perf_counter() - before) * 1000
    overhead = wall_ms - observation.plt_ms if observation.plt_ms else None
    record = Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(started, "milliseconds"),
        observation=observation,
        overhead_ms=overhead,
        archive_digest=endpoint.archive.digest,
    )
    return record, evidence


def _setup(planned: PlannedTrial, endpoint: Endpoint) -> LoadSetup:
    """What the load of a trial should be."""
    condition, replay = planned.condition, endpoint.replay
    return LoadSetup(
        protocol=endpoint.protocol,
        start_url=endpoint.start_url,
        page_hosts=endpoint.hosts,
        rtt_ms=condition.link.rtt_ms,
        tls=replay.tls,
        tls_resumption=replay.tls_resumption,
        h2_stream_window_bytes=replay.h2_stream_window_bytes,
        cache=condition.cache,
        delay_down_ms=condition.link.delay_ms(Way.DOWN),
        since_1970_us=(time.time_ns() - time.monotonic_ns()) // 1000,
    )


def _evidence(load: Load, probes: list[Probe]) -> Evidence:
    seen = (probe.seen() for probe in probes)
    return Evidence(load.setup, {type(each): each for each in seen if each is not None})


@dataclass(frozen=True)
class _Attempt:
    """A trial under way: it takes the probes through their steps."""

    testbed: Testbed
    drivers: Drivers
    load: Load
    probes: list[Probe]

    def failure(self) -> TrialFailed | TestbedFailed | None:
        """Load the page and gather what is seen; returns what ended the load early."""
        try:
            self._measure()
        except (TrialFailed, TestbedFailed) as failure:
            return failure
        return None

    def _measure(self) -> None:
        load, testbed, endpoint = self.load, self.testbed, self.load.endpoint
        self._begin()
        testbed.resolver.use(endpoint.address)
        with self.drivers.fresh(
            load.planned.trial, load.condition, surroundings(testbed, endpoint), bodies=load.keeps(BODIES)
        ) as fresh:
            if load.condition.cache is CacheState.WARM:
                self._visit(fresh)
                self._begin()
            with self._client(load.kept("pcap", "link.pcap")) as client:
                watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
                with self._examined(fresh, client):
                    self._load(fresh, client, watch)

    def _begin(self) -> None:
        for probe in self.probes:
            probe.begin()

    @contextlib.contextmanager
    def _examined(self, fresh: FreshBrowser, client: Client) -> Iterator[None]:
        """What is read once the browser has gone is read after the block, also of a load that failed."""
        try:
            yield
        except TrialFailed:
            client.link.check()
            with contextlib.suppress(TestbedFailed):  # a browser that was killed leaves no whole log
                self._after(fresh, client)
            self.testbed.examine(self.load.endpoint, client)
            raise
        client.link.check()
        self._after(fresh, client)

    def _client(self, pcap: Path | None = None) -> contextlib.AbstractContextManager[Client]:
        """A client host that has done nothing yet, behind a fresh link."""
        planned = self.load.planned
        return self.testbed.client(
            planned.condition.link, block=planned.block, pcap=pcap, tcp=self.load.endpoint.tcp
        )

    def _visit(self, fresh: FreshBrowser) -> None:
        """Fill the browser's cache by a load of which nothing is measured."""
        load = self.load
        with self._client() as client:
            try:
                load.first_visit = visit(
                    fresh, client, load.endpoint, load.condition.link, load.options.timeout_s
                )
            except TrialFailed:
                load.crashes = fresh.crashes
                client.link.check()
                self.testbed.examine(load.endpoint, client)
                raise

    def _load(self, fresh: FreshBrowser, client: Client, watch: Watchdog) -> None:
        """The load that is measured, and what comes after it."""
        load = self.load
        with started(fresh, watch) as browser:
            page = OpenPage(load, browser, fresh, client, watch, self.probes)
            for probe in self.probes:
                probe.before(page)
            traces = self._start_trace(page)
            try:
                self._navigate(page)
                for probe in self.probes:
                    probe.ask(page)
            except TrialFailed:
                load.failed, load.crashes = True, fresh.crashes
                if traces:  # the browser may be gone; it is the failure that is told, in any case
                    with contextlib.suppress(TrialFailed, TestbedFailed):
                        self._end_trace(page)
                raise
            self._observe(page, traces=traces)

    def _navigate(self, page: OpenPage) -> None:
        """The load itself, up to its load event."""
        load = self.load
        load.asked_ms = time.monotonic() * 1e3
        with contextlib.ExitStack() as around:
            for probe in self.probes:
                around.enter_context(probe.during(page))
            try:
                with page.watch.limit(load.options.timeout_s + RETURN_S, "return of the navigation"):
                    navigate_ms = page.browser.load(load.endpoint.start_url, load.options.timeout_s)
                page.client.link.check()
                for probe in self.probes:
                    probe.at_load_event(page, navigate_ms)
            finally:
                load.crashes = page.fresh.crashes

    def _observe(self, page: OpenPage, *, traces: bool) -> None:
        """What the page does after its load. Nothing of it makes the load count, or not count: a page that hangs,
        crashes or goes elsewhere now has no vitals, and no trace.
        """
        observing = [probe for probe in self.probes if probe.observes]
        if not observing and not traces:
            return
        page.end()
        with contextlib.suppress(TrialFailed):
            for probe in observing:
                probe.observe(page)
            if traces:
                self._end_trace(page)

    def _start_trace(self, page: OpenPage) -> bool:
        """Whether a trace has begun, of all that probes need."""
        categories = [category for probe in self.probes for category in probe.categories]
        if categories:
            self.load.files.mkdir(parents=True, exist_ok=True)
            with page.answers("start of the trace"):
                page.browser.start_trace(categories)
        return bool(categories)

    def _end_trace(self, page: OpenPage) -> None:
        """A trace ends when every thread has handed in its part: a page that never rests keeps its own from that.

        So it is left before, unless it is known to have come to rest.
        """
        self.load.trace_ended_ms = time.monotonic() * 1e3
        with page.watch.limit(TRACE_S, "trace of the page"):
            if not self.load.at_rest:
                page.browser.leave()
            page.browser.end_trace(self._trace)

    def _after(self, fresh: FreshBrowser, client: Client) -> None:
        for probe in self.probes:
            probe.after(fresh, client)
        if self.load.trace_ended_ms is None or not self._trace.exists():
            return
        events = read_trace(self._trace)
        for probe in self.probes:
            if probe.categories:
                probe.traced(events)
        if not self.load.keeps(TRACE):
            self._trace.unlink()

    @property
    def _trace(self) -> Path:
        """Kept of a load that is traced; of one that is filmed alone it is read and removed."""
        return self.load.files / "trace.json.gz"

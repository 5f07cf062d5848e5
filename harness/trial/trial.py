"""One trial: a fresh client, link and browser; one cold load; the record of it, whatever happens."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.browser import tracing
from harness.browser.driver import CONSOLE_LIMIT, CONSOLE_MOST, Browser
from harness.browser.screens import take_screens
from harness.errors import TestbedFailed
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Client, Testbed
from harness.model.condition import FULL_SPEED
from harness.model.observation import Observation
from harness.model.plan import PlannedTrial
from harness.model.revisit import CacheState
from harness.outcome import Outcome, TrialFailed
from harness.records import Record, not_run
from harness.study.observing import FILM, TRACE
from harness.system.clock import utc_text
from harness.system.processtree import ForeignCpu, cpu_seconds
from harness.trial.browsers import Drivers, FreshBrowser
from harness.trial.evidence import BROWSER, Evidence
from harness.trial.film import FOLDER, film_of
from harness.trial.firstvisit import RETURN_S, visit
from harness.trial.gatherer import Gatherer
from harness.trial.har import BODIES, HAR, keep_har
from harness.trial.judge import ending
from harness.trial.lateness import watching
from harness.trial.mainthread import main_thread
from harness.trial.observe import observe
from harness.trial.renderblocking import render_blocking
from harness.trial.settling import LIMIT_S, settles
from harness.trial.started import started
from harness.trial.timeline import parsed
from harness.trial.tracefile import read_trace
from harness.trial.vitals import NOT_SETTLED, Vitals, vitals
from harness.trial.watchdog import Watchdog

# The longest that a trial waits for each of its steps beside the load itself, whose limit is the study's.
SCREENS_S = 300.0
TRACE_S = 60.0


@dataclass(frozen=True)
class TrialOptions:
    """What a study asks for beyond its conditions.

    `timeout_s`: how long the load may take. `linger_s`: how long the page goes on after its load; only then can `keep`
    name `screens`, too, for which the page's timers are held. `answer_s`: how long the page may take after its load
    event for each thing that it is asked. `vitals`: the page is observed until it has come to rest.
    """

    timeout_s: float = 60.0
    keep: tuple[str, ...] = ()
    linger_s: float = 0.0
    answer_s: float = 10.0
    vitals: bool = False


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
    seen = Gatherer(endpoint, planned.condition)
    failed = _Attempt(testbed, drivers, planned, options, files, endpoint, seen).failure()
    evidence = seen.evidence()
    outcome, reason = ending(evidence, failed)
    if failed is None and outcome is not Outcome.OK:
        try:
            testbed.examine(endpoint)
        except TestbedFailed as failure:
            outcome, reason = ending(evidence, failure)
    observation = observe(evidence)
    if evidence.film is not None:
        evidence.film.store(files / FOLDER, outcome)
    if HAR in options.keep:
        keep_har(files, planned, evidence, observation, bodies=BODIES in options.keep)
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


@dataclass(frozen=True)
class _Attempt:
    """A trial under way at its endpoint. What is seen goes to `seen`."""

    testbed: Testbed
    drivers: Drivers
    planned: PlannedTrial
    options: TrialOptions
    files: Path
    endpoint: Endpoint
    seen: Gatherer

    def failure(self) -> TrialFailed | TestbedFailed | None:
        """Load the page and gather what is seen; returns what ended the load early."""
        try:
            self._measure()
        except (TrialFailed, TestbedFailed) as failure:
            return failure
        return None

    def _measure(self) -> None:
        planned, testbed, endpoint = self.planned, self.testbed, self.endpoint
        testbed.resolver.use(endpoint.address)
        with self.drivers.fresh(
            planned.trial, planned.condition, testbed, endpoint, bodies=BODIES in self.options.keep
        ) as browser:
            if planned.condition.cache is CacheState.WARM:
                self._visit(browser)
            with self._client(self._kept("pcap", "link.pcap")) as client:
                try:
                    self._load(browser, client)
                except TrialFailed:
                    client.link.check()
                    with contextlib.suppress(TestbedFailed):  # a browser that was killed leaves no whole log
                        self._collect(browser, client)
                    testbed.examine(endpoint, client)
                    raise
                client.link.check()
                self._collect(browser, client)

    def _client(self, pcap: Path | None = None) -> contextlib.AbstractContextManager[Client]:
        """A client host that has done nothing yet, behind a fresh link."""
        planned = self.planned
        return self.testbed.client(
            planned.condition.link, block=planned.block, pcap=pcap, tcp=self.endpoint.tcp
        )

    def _visit(self, browser: FreshBrowser) -> None:
        """Fill the browser's cache by a load of which nothing is measured."""
        with self._client() as client:
            try:
                self.seen.first_visit = visit(
                    browser, client, self.endpoint, self.planned.condition.link, self.options.timeout_s
                )
            except TrialFailed:
                self.seen.crashes = browser.crashes
                client.link.check()
                self.testbed.examine(self.endpoint, client)
                raise
        self.seen.begin()

    def _load(self, fresh: FreshBrowser, client: Client) -> None:
        """The load that is measured, and what comes after it."""
        watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
        with started(fresh, watch) as browser:
            screens = self._hold_timers(browser, watch)
            trace = self._start_trace(browser, watch)
            try:
                self._navigate(browser, fresh, client, watch)
                self._ask(browser, fresh, client, screens, watch)
            except TrialFailed:
                self.seen.failed, self.seen.crashes = True, fresh.crashes
                if trace:  # the browser may be gone; it is the failure that is told, in any case
                    with contextlib.suppress(TrialFailed, TestbedFailed):
                        self._end_trace(browser, watch)
                raise
            self._observe_on(browser, client, watch, trace=trace)

    def _hold_timers(self, browser: Browser, watch: Watchdog) -> Path | None:
        """The folder for pictures of the page's screenfuls, for which its timers are held; None without any."""
        screens = self._kept("screens", "screens") if self.options.linger_s else None
        if screens is not None:
            with watch.limit(self.options.answer_s, "answer of the page"):
                browser.hold_timers()
        return screens

    def _navigate(self, browser: Browser, fresh: FreshBrowser, client: Client, watch: Watchdog) -> None:
        """The load itself, up to its load event; every program that works on it is watched."""
        own = {BROWSER: fresh.pid} if fresh.pid is not None else {}  # the link tells its lateness itself
        foreign = ForeignCpu()
        self.seen.asked_ms = time.monotonic() * 1e3
        with watching({**self.endpoint.programs, **own}, BROWSER) as programs:
            try:
                with watch.limit(self.options.timeout_s + RETURN_S, "return of the navigation"):
                    navigate_ms = browser.load(self.endpoint.start_url, self.options.timeout_s)
                client.link.check()
                self.seen.load_event(navigate_ms, client, foreign)
            finally:
                self.seen.lateness, self.seen.runs = programs.lateness(), programs.runs()
                self.seen.crashes = fresh.crashes

    def _ask(
        self, browser: Browser, fresh: FreshBrowser, client: Client, screens: Path | None, watch: Watchdog
    ) -> None:
        """What the loaded page is asked for."""
        seen, options = self.seen, self.options
        with watch.limit(options.answer_s, "answer of the page after its load event"):
            seen.timeline = parsed(browser.timeline())
        if fresh.pid is not None:
            seen.client_cpu_s = cpu_seconds(fresh.pid)
        if self.planned.condition.cpu_slowdown != FULL_SPEED:
            with watch.limit(options.answer_s, "workers and frames of the page"):
                seen.at_full_speed = browser.at_full_speed()
        if options.linger_s:
            self._linger(browser, client, screens, watch)
        with watch.limit(options.answer_s, "console of the page"):
            seen.console_errors = browser.console_errors(CONSOLE_MOST if screens else CONSOLE_LIMIT)
            seen.console_error_count = browser.console_error_count
        if "glyphs" in options.keep:
            with watch.limit(options.answer_s, "text of the page"):
                seen.without_glyph = browser.text_without_glyph()
        screenshot = self._kept("screenshot", "screenshot.png")
        if screenshot is not None:
            with watch.limit(options.answer_s, "picture of the page"):
                browser.screenshot(screenshot)

    def _start_trace(self, browser: Browser, watch: Watchdog) -> bool:
        """Whether a trace has begun: of tasks, of the pictures of a film, or of both."""
        seen, keep = self.seen, self.options.keep
        seen.traced, seen.filmed = (self._observable and each in keep for each in (TRACE, FILM))
        categories = (*tracing.TASKS * seen.traced, *tracing.PICTURES * seen.filmed)
        if categories:
            self.files.mkdir(parents=True, exist_ok=True)
            with watch.limit(self.options.answer_s, "start of the trace"):
                browser.start_trace(categories)
        return bool(categories)

    def _observe_on(self, browser: Browser, client: Client, watch: Watchdog, *, trace: bool) -> None:
        """What the page does after its load. Nothing of it makes the load count, or not count: a page that hangs,
        crashes or goes elsewhere now has no vitals, and no trace.
        """
        wanted = self._observable and (self.options.vitals or self.seen.filmed)
        if not wanted and not trace:
            return
        self.seen.end()
        with contextlib.suppress(TrialFailed):
            if wanted:
                self.seen.vitals = NOT_SETTLED
                with watch.limit(LIMIT_S + self.options.answer_s, "rest of the page"):
                    self.seen.vitals = self._vitals(browser, client)
            if trace:
                self._end_trace(browser, watch)

    def _end_trace(self, browser: Browser, watch: Watchdog) -> None:
        """A trace ends when every thread has handed in its part: a page that never rests keeps its own from that.

        So it is left before, unless it is known to have come to rest.
        """
        seen = self.seen
        seen.trace_end_ms = time.monotonic() * 1e3
        with watch.limit(TRACE_S, "trace of the page"):
            if seen.vitals is None or not seen.vitals.settled:
                browser.leave()
            browser.end_trace(self._trace)

    def _vitals(self, browser: Browser, client: Client) -> Vitals:
        rest = self._settles(browser, client)
        times = self.seen.timeline or {}
        return vitals(browser.entries(), times.get("time_origin_ms"), settled=rest)

    def _settles(self, browser: Browser, client: Client) -> bool:
        rtt_ms = self.planned.condition.link.rtt_ms
        return settles(browser, client.link, rtt_ms, tells_of_tasks=self._observable)

    @property
    def _observable(self) -> bool:
        """Whether the engine tells of paints and tasks at all."""
        return self.planned.condition.engine.traits.tells_of_paints

    def _linger(self, browser: Browser, client: Client, screens: Path | None, watch: Watchdog) -> None:
        """Let the page go on; one of which pictures are wanted goes on until it has come to rest again after them."""
        with watch.limit(self.options.linger_s + self.options.answer_s, "answer of the page that goes on"):
            browser.linger(self.options.linger_s)
        if screens is None:
            return
        with watch.limit(SCREENS_S, "pictures of the page's screenfuls"):
            take_screens(browser, screens, self.options.linger_s)
        with watch.limit(LIMIT_S + self.options.answer_s, "rest of the page"):
            self.seen.at_rest = self._settles(browser, client)
        self.seen.end()

    def _collect(self, fresh: FreshBrowser, client: Client) -> None:
        """What is read after the browser has gone, also of a load that failed."""
        self.seen.after_the_browser(client)
        if fresh.log.exists():
            kept = self._kept("netlog", f"{fresh.log.name}.gz")
            if kept is not None:
                with fresh.log.open("rb") as source, gzip.open(kept, "wb", compresslevel=4) as target:
                    shutil.copyfileobj(source, target)
            self.seen.browser_log = fresh.read_log()
        self._read_trace()

    def _read_trace(self) -> None:
        """What the main thread did, what painting waited for, and the film; that costs no trial its time."""
        seen, times = self.seen, self.seen.timeline or {}
        begin, took = times.get("navigation_start_ms"), times.get("plt_ms")
        if seen.trace_end_ms is None or not self._trace.exists():
            return
        events = read_trace(self._trace)
        if begin is not None and took is not None:
            seen.main_thread = main_thread(events, begin, took) if seen.traced else None
            seen.render_blocking = render_blocking(events)
        began = seen.asked_ms if begin is None else begin  # when asked: some ms before navigation start
        if seen.filmed and began is not None:
            seen.film = film_of(events, began, seen.trace_end_ms, failed=seen.failed)
        if not seen.traced:
            self._trace.unlink()

    @property
    def _trace(self) -> Path:
        """Kept of a load that is traced; of one that is filmed alone it is read and removed."""
        return self.files / "trace.json.gz"

    def _kept(self, kind: str, name: str) -> Path | None:
        """The path of a file the study wants kept, its folder made; None when it does not want it."""
        if kind not in self.options.keep:
            return None
        self.files.mkdir(parents=True, exist_ok=True)
        return self.files / name

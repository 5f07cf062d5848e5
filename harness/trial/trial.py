"""One trial: a fresh client, link and browser; one cold load; the record of it, whatever happens. And the lab for it.

Kind `load`: a lab with browsers beside its servers, one cold page load a trial.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.engines.browser import Browser
from harness.engines.browserlog import BrowserLog
from harness.engines.browsers import Browsers, FreshBrowser, maker_of
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.lab.lab import Archives, Lab, Opening, ServedPart, TrialLab, opened, parts_of
from harness.lab.testbed import CLIENT, Testbed
from harness.model.condition import CacheState
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.kind import PORTRAYED
from harness.model.link import Way
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.model.trials import PlannedTrial
from harness.probes.evidence import Evidence, LoadSetup
from harness.probes.probe import REST_LIMIT_S, Load, OpenPage, Probe, TrialOptions, settles
from harness.probes.registry import Observation, ending, observe, probes_of
from harness.probes.watchdog import Watchdog
from harness.records import Record, not_run
from harness.study.serverfile import NamedServer
from harness.study.study import EngineSetup, Study
from harness.system.enclosure import WORKSPACE
from harness.system.files import utc_text
from harness.system.processtree import kill_family
from harness.trial.venue import BrowsersHost, InTestbed, Venue
from sites.archive import Archive

START_S = 70.0  # the drivers' own limit is 60
END_S = 15.0
RETURN_S = 3.0  # after the limit of the load, for the driver to tell of it
ANSWER_S = 10.0
HELD_S, HELD_POLL_S = 3.0, 0.02  # that packets up are waited for; of what comes down they may be refusals
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})  # on a disk: no other trial would have any


def run_trial(
    testbed: Testbed, browsers: Browsers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> Record[Observation]:
    """Run one planned trial and return its record; `files` is where kept files go."""
    return run_observed(testbed, browsers, planned, options, files)[0]


def run_observed(
    testbed: Testbed, browsers: Browsers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> tuple[Record[Observation], Evidence | None]:
    """`run_trial`, and all that was seen; None when servers or browsers failed before the trial."""
    try:
        venue = InTestbed(testbed, testbed.endpoint(planned.condition))
    except TestbedFailed as failure:
        return not_run(planned, str(failure)), None
    return run_at(venue, browsers, planned, options, files)


def run_at(
    venue: Venue, browsers: Browsers, planned: PlannedTrial, options: TrialOptions, files: Path
) -> tuple[Record[Observation], Evidence | None]:
    """Run one planned trial at a venue; None for what was seen when browsers failed before the trial."""
    try:
        browsers.prepare(planned.condition)
    except TestbedFailed as failure:
        return not_run(planned, str(failure)), None
    began = datetime.now(UTC)
    before = time.perf_counter()
    load = Load(planned, options, files, venue.page, venue.setup(planned))
    probes = probes_of(load)
    failed = _Attempt(venue, browsers, load, probes).failure()
    evidence = _evidence(load, probes)
    outcome, reason = ending(evidence, failed)
    if failed is None and outcome is not Outcome.OK:
        try:
            venue.examine()
        except TestbedFailed as failure:
            outcome, reason = ending(evidence, failure)
    observation = observe(evidence)
    for probe in probes:
        probe.store(evidence, vars(observation), outcome)
    wall_ms = (time.perf_counter() - before) * 1000
    overhead = wall_ms - observation.plt_ms if observation.plt_ms else None
    record = Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(began, "milliseconds"),
        observation=observation,
        overhead_ms=overhead,
        archive_digest=venue.archive_digest,
    )
    return record, evidence


def _evidence(load: Load, probes: list[Probe]) -> Evidence:
    seen = (probe.seen() for probe in probes)
    return Evidence(load.setup, {type(piece): piece for piece in seen if piece is not None})


@dataclass(frozen=True)
class _Attempt:
    """A trial under way: it takes the probes through their steps."""

    venue: Venue
    browsers: Browsers
    load: Load
    probes: list[Probe]

    def failure(self) -> TrialFailed | TestbedFailed | None:
        """Load the page and gather what is seen; returns what ended the load early."""
        try:
            with of_testbed():
                self._measure()
        except (TrialFailed, TestbedFailed) as failure:
            return failure
        return None

    def _measure(self) -> None:
        load, venue = self.load, self.venue
        self._begin()
        venue.use_names(load.planned)
        bodies = any(probe.reads_bodies for probe in self.probes)
        with self.browsers.fresh(
            load.planned.trial, load.condition, venue.surroundings(), bodies=bodies
        ) as fresh:
            if load.condition.cache is CacheState.WARM:
                self._visit(fresh)
                self._begin()
            watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
            for probe in self.probes:
                probe.before_link()
            with venue.client(load.planned, load.pcap) as client, self._examined(fresh, client, watch):
                self._load(fresh, client, watch)

    def _begin(self) -> None:
        for probe in self.probes:
            probe.begin()

    @contextlib.contextmanager
    def _examined(self, fresh: FreshBrowser, client: BrowsersHost, watch: Watchdog) -> Iterator[None]:
        """What is read once the browser has gone is read after the block, also of a load that failed."""
        load = self.load
        try:
            yield
        except TrialFailed:
            client.link.check()
            try:
                # A browser that was killed leaves no whole log.
                with contextlib.suppress(TestbedFailed), of_testbed():
                    self._at_last(client)
                    let_arrive(load.setup, client)
                    self._after(fresh, client)
            finally:
                self.venue.examine(client)
            raise
        client.link.check()
        self._at_last(client)
        with watch.limit(END_S, "end of the browser"):
            fresh.end()
        let_arrive(load.setup, client)
        self._after(fresh, client)

    def _visit(self, fresh: FreshBrowser) -> None:
        """Fill the browser's cache by a load of which nothing is measured."""
        load = self.load
        with self.venue.client(load.planned) as client:
            try:
                load.first_visit = visit(
                    fresh,
                    client,
                    self.venue.start_url,
                    load.setup,
                    load.options.timeout_s,
                )
            except TrialFailed:
                load.crashes = fresh.crashes
                client.link.check()
                self.venue.examine(client)
                raise

    def _load(self, fresh: FreshBrowser, client: BrowsersHost, watch: Watchdog) -> None:
        """The load that is measured, and what comes after it."""
        load = self.load
        with started(fresh, watch) as browser:
            page = OpenPage(load, browser, fresh, client, watch, self.probes)
            for probe in self.probes:
                probe.before(page)
            try:
                self._navigate(page, client)
                for probe in self.probes:
                    probe.ask(page)
            except TrialFailed:
                load.failed, load.crashes = True, fresh.crashes
                # The browser may be gone; it is the failure that is told, in any case.
                for probe in self.probes:
                    with contextlib.suppress(TrialFailed, TestbedFailed), of_testbed():
                        probe.at_failure(page)
                raise
            self._observe(page)

    def _navigate(self, page: OpenPage, client: BrowsersHost) -> None:
        """The load itself, up to its load event."""
        load = self.load
        load.asked_ms = time.monotonic() * 1e3
        with contextlib.ExitStack() as around:
            for probe in self.probes:
                around.enter_context(probe.during(page))
            client.link.begin()
            try:
                with page.watch.limit(load.options.timeout_s + RETURN_S, "return of the navigation"):
                    navigate_ms = page.browser.load(self.venue.start_url, load.options.timeout_s)
                client.link.check()
                for probe in self.probes:
                    probe.at_load_event(page, navigate_ms)
            finally:
                load.crashes = page.fresh.crashes

    def _observe(self, page: OpenPage) -> None:
        """What the page does after its load. Nothing of it makes the load count, or not count: a page that hangs,
        crashes or goes elsewhere now has no vitals, and no trace.
        """
        observing = [probe for probe in self.probes if probe.observes]
        if not observing:
            return
        page.end()
        with contextlib.suppress(TrialFailed):
            for probe in observing:
                probe.observe(page)

    def _at_last(self, client: BrowsersHost) -> None:
        for probe in self.probes:
            probe.at_last(client.link)

    def _after(self, fresh: FreshBrowser, client: BrowsersHost) -> None:
        for probe in self.probes:
            probe.after(fresh, client)


@contextlib.contextmanager
def of_testbed() -> Iterator[None]:
    """What the system refuses within the block fails the testbed, and so one trial. A full disk ends the run."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise
        what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise TestbedFailed(f"the trial broke off: {what}") from error


@contextlib.contextmanager
def started(fresh: FreshBrowser, watch: Watchdog) -> Iterator[Browser]:
    """The running browser for the length of the block; one in which something failed is killed."""
    with contextlib.ExitStack() as opened:
        with watch.limit(START_S, "browser", starts=True):
            browser = opened.enter_context(fresh.start())
        try:
            yield browser
        except BaseException as error:
            if fresh.pid is not None:
                kill_family(fresh.pid)  # a hanging or half-dead browser cannot be asked to close
            # What failed first is told, whatever the end is like; but the testbed is to blame before the page.
            milder = (TrialFailed,) if isinstance(error, TrialFailed) else (TrialFailed, TestbedFailed)
            with contextlib.suppress(*milder), watch.limit(END_S, "end of the browser"):
                opened.__exit__(type(error), error, error.__traceback__)
            raise
        with watch.limit(END_S, "end of the browser"):
            opened.close()


def visit(
    fresh: FreshBrowser, client: BrowsersHost, start_url: str, setup: LoadSetup, timeout_s: float
) -> BrowserLog:
    """Load the page until it has come to rest, end the browser, and make it new but for what it keeps of the page.

    Returns what the browser did on the network. TrialFailed, which names the first load, when that does not succeed:
    never with `page-timeout`, as nothing is known of the load that is measured.
    """
    watch = Watchdog(lambda: fresh.pid, lambda: fresh.driver_pid)
    try:
        with started(fresh, watch) as browser:
            client.link.begin()
            with watch.limit(timeout_s + RETURN_S, "return of the navigation"):
                browser.load(start_url, timeout_s)
            with watch.limit(REST_LIMIT_S + ANSWER_S, "rest of the page"):
                settles(browser, client.link, setup.longest_round_trip_ms)
            _refuse_crashed(fresh)
        client.link.check()
        log = fresh.read_log()
        with watch.limit(END_S, "end of the browser"):
            fresh.end()
    except TrialFailed as failed:
        why = failed.in_which("in the first load, which fills the cache")
        raise TrialFailed(Outcome.PAGE_ERROR, why.reason, died=why.died) from failed
    let_arrive(setup, client)
    fresh.start_over()
    return log


def let_arrive(setup: LoadSetup, client: BrowsersHost) -> None:
    """Wait until what a browser sent last has come to the servers, also what waits in the link's queue.

    They keep connections that nobody closes, and log late what nobody takes back.
    """
    time.sleep(setup.longest_way_up_ms / 1e3)
    end = time.monotonic() + HELD_S
    while client.link.reading().get(Way.UP, {}).get("held_packets") and time.monotonic() < end:
        time.sleep(HELD_POLL_S)


def _refuse_crashed(fresh: FreshBrowser) -> None:
    if fresh.crashes:
        crashed = ", ".join(fresh.crashes)
        raise TrialFailed(Outcome.PAGE_ERROR, f"a process of the browser crashed: {crashed}")


class BrowserLab(Lab):
    """Testbed and browsers together, renewed after a failure of either."""

    browsers: Browsers

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        super().open()
        self.browsers = Browsers(WORKSPACE, self._stack, CLIENT.path)

    def refuse_unless_usable(self, engine: Engine) -> None:
        maker_of(engine).refuse_unless_usable()

    def tuning(self, setup: EngineSetup) -> Tuning:
        return Tuning(setup.server.settings)


class LoadLab(BrowserLab, TrialLab):
    """Browsers and servers of a study of page loads."""

    def __init__(self, study: Study, archives: Archives) -> None:
        super().__init__(archives, parts_of(study), study.tcp)
        self._options = TrialOptions(study.timeout_s, study.keep, vitals=study.vitals)
        self._looking = replace(self._options, keep=PORTRAYED, vitals=True)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        options = self._looking if planned.portrait else self._options
        return run_trial(self.testbed, self.browsers, planned, options, files)


def load_lab(opening: Opening) -> contextlib.AbstractContextManager[LoadLab]:
    """The lab for a study, open for the length of the block; nothing of it depends on which trials are left."""
    return opened(LoadLab(opening.study, opening.archives))


def browser_lab(
    archives: Mapping[str, Archive],
    protocols: Iterable[Protocol],
    *,
    replay: Replay | None = None,
    server: str | None = None,
    engine: Engine = DEFAULT_ENGINE,
) -> contextlib.AbstractContextManager[BrowserLab]:
    """A lab that serves the archives to one engine, for loads one by one. Must run inside an enclosure."""
    setup = EngineSetup(
        engine,
        tuple(protocols),
        engine.traits.drivers[:1],
        NamedServer.usual(server or engine.traits.server),
        (replay or Replay.usual(engine),),
    )
    tcp = TcpSettings()
    return opened(BrowserLab({engine: archives}, [ServedPart((setup,), tcp)], tcp))

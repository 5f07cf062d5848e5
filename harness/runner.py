"""Runs a plan: testbed up, links measured, trials in their order, every record on disk before the next trial."""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from harness.browser.qtwebkit import home as qtwebkit
from harness.browsers import Drivers
from harness.calibrate import readings
from harness.enclosure import WORKSPACE
from harness.environment import describe_environment
from harness.errors import EnvironmentLacks, StudyError, TestbedFailed
from harness.model import DEFAULT_DRIVERS, Backend, Engine, Link, Outcome, TcpSettings
from harness.model import Protocol as WireProtocol
from harness.plan import PlannedTrial
from harness.reading import LinkReading, refuse_if_off
from harness.records import Record, RunDirectory
from harness.replay import DEFAULT_TLS, Replay
from harness.servers import DEFAULT_SERVERS
from harness.study import EngineSetup, Study
from harness.testbed import Testbed, testbed
from harness.trial import TrialOptions, not_run, run_trial
from harness.variants import parse_variant, served_name
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of

FAILURES_IN_A_ROW = 3


class Listener(Interface):
    """What the runner tells about its progress."""

    def preparing(self, what: str) -> None: ...

    def warned(self, what: str) -> None: ...

    def calibrated(self, reading: LinkReading) -> None: ...

    def trial_started(self, planned: PlannedTrial) -> None: ...

    def trial_ended(self, record: Record) -> None: ...

    def trial_left_out(self) -> None:
        """A trial of an engine that was warned of."""


@dataclass(frozen=True)
class Summary:
    """How the trials of this call ended, by outcome; `already` were recorded before it."""

    already: int
    outcomes: Counter[Outcome]


class Bench:
    """Testbed and drivers together, renewed after a failure of either.

    `archives` are those of each engine, by the name they are served under; `lacking` are the engines that cannot work
    on this machine, each with the reason.
    """

    def __init__(
        self,
        archives: Mapping[Engine, Mapping[str, Archive]],
        setups: Iterable[EngineSetup],
        tcp: TcpSettings,
        backend: Backend | None,
    ) -> None:
        self._archives = archives
        self._setups = tuple(setups)
        self._tcp = tcp
        self._backend = backend
        self._stack = contextlib.ExitStack()
        self.testbed: Testbed
        self.drivers: Drivers
        self.lacking: dict[Engine, str] = {}

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        self.testbed = self._stack.enter_context(testbed(self._tcp, self._backend))
        for setup in self._setups:
            try:
                self._serve(setup)
            except EnvironmentLacks as error:
                self.lacking[setup.engine] = str(error)
                if len(self.lacking) == len(self._setups):
                    raise
        self.drivers = Drivers(WORKSPACE, self._stack)

    def _serve(self, setup: EngineSetup) -> None:
        if setup.engine is Engine.QTWEBKIT:
            qtwebkit.version()  # tells whether it is there
        for archive, replay in itertools.product(self._archives[setup.engine].values(), setup.replays):
            self.testbed.serve(archive, setup.protocols, replay, setup.server, setup.engine)

    def renew(self) -> None:
        """Take everything down and bring it up again."""
        self.close()
        self.open()

    def close(self) -> None:
        """Take everything down, in reverse order."""
        self._stack.close()


@contextlib.contextmanager
def opened(made: Bench) -> Iterator[Bench]:
    """The bench, open for the length of the block. Must run inside an enclosure."""
    try:
        made.open()
        yield made
    finally:
        made.close()


def bench(
    archives: Mapping[str, Archive],
    protocols: Iterable[WireProtocol],
    tcp: TcpSettings | None = None,
    *,
    backend: Backend | None = None,
    replay: Replay | None = None,
    server: str | None = None,
    engine: Engine = Engine.CHROMIUM,
) -> contextlib.AbstractContextManager[Bench]:
    """A testbed that serves the archives to one engine, and drivers. Must run inside an enclosure."""
    setup = EngineSetup(
        engine,
        tuple(protocols),
        (DEFAULT_DRIVERS[engine],),
        server or DEFAULT_SERVERS[engine],
        (replay or Replay(tls=DEFAULT_TLS[engine]),),
    )
    return opened(Bench({engine: archives}, [setup], tcp or TcpSettings(), backend))


def run_study(study: Study, run: RunDirectory, archives_root: Path, listener: Listener) -> Summary:
    """Run what is left of the plan. Raises MeasurementRefused before the first trial when a link is off."""
    done = run.recorded_trials()
    left = [planned for planned in run.plan.trials if planned.trial not in done]
    if not left:
        return Summary(len(done), Counter())
    archives = _archives(study, archives_root, listener)
    count = sum(len(each) for each in archives.values())
    listener.preparing(f"servers for {count} archive(s), {len(study.protocols)} protocol(s)")
    with opened(Bench(archives, study.setups, study.tcp, study.link_backend)) as made:
        for engine, reason in made.lacking.items():
            count = sum(planned.condition.engine is engine for planned in left)
            listener.warned(f"{count} trials with {engine} are recorded as testbed-failed: {reason}")
        run.write_environment(describe_environment(made.testbed, archives, study))
        _measure_links(made.testbed, _links_of(left), run, listener)
        return Summary(len(done), _run_trials(made, left, study, run, listener))


def _archives(study: Study, root: Path, listener: Listener) -> dict[Engine, dict[str, Archive]]:
    """For each engine the archive of every page and variant, by the name it is served under; variants are made if
    missing, for the engine that will load them.
    """
    archives: dict[Engine, dict[str, Archive]] = {setup.engine: {} for setup in study.setups}
    for (engine, made), page, name in itertools.product(archives.items(), study.pages, study.variants):
        listener.preparing(f"{name} of {page}")
        served = served_name(page, name)
        if served in made:
            raise StudyError(
                f"page {page} in variant {name} and another one are both called {served}; rename a page"
            )
        made[served] = variant_of(open_archive(root, page), parse_variant(name), engine)
    return archives


def _links_of(trials: Iterable[PlannedTrial]) -> list[Link]:
    return sorted(
        {planned.condition.link for planned in trials},
        key=lambda link: (link.down.rate.mean_mbps, link.rtt_ms, link.name),
    )


def _measure_links(testbed: Testbed, links: list[Link], run: RunDirectory, listener: Listener) -> None:
    last = []
    for link in links:
        listener.preparing(f"measuring link {link.name}")
        for reading in readings(testbed, link):
            run.append_calibration(reading.to_json())
            listener.calibrated(reading)
        last.append(reading)
    refuse_if_off(last)


def _run_trials(
    made: Bench, left: Sequence[PlannedTrial], study: Study, run: RunDirectory, listener: Listener
) -> Counter[Outcome]:
    options = TrialOptions(study.timeout_s, study.keep)
    outcomes: Counter[Outcome] = Counter()
    failures = 0
    for number, planned in enumerate(left, start=1):
        lack = made.lacking.get(planned.condition.engine)
        if lack:
            run.append(not_run(planned, lack))
            outcomes[Outcome.TESTBED_FAILED] += 1
            listener.trial_left_out()
            continue
        listener.trial_started(planned)
        record = run_trial(made.testbed, made.drivers, planned, options, run.trial_folder(planned.trial))
        run.append(record)
        outcomes[record.outcome] += 1
        listener.trial_ended(record)
        if record.outcome is not Outcome.TESTBED_FAILED:
            failures = 0
            continue
        failures += 1
        if failures == FAILURES_IN_A_ROW:
            raise TestbedFailed(f"the testbed failed {failures} times in a row, last: {record.reason}")
        made.renew()
        _measure_links(made.testbed, _links_of(left[number:]), run, listener)
    return outcomes

"""Runs a plan: testbed up, links measured, trials in their order, every record on disk before the next trial."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from harness.errors import StudyError, TestbedFailed
from harness.model.engine import Engine
from harness.model.link import Link
from harness.outcome import Outcome
from harness.records import Record
from harness.run.directory import RunDirectory
from harness.study.plan import PlannedTrial
from harness.study.study import Study
from harness.testbed.calibrate import readings
from harness.testbed.calibration import Calibration, refuse_if_off
from harness.testbed.environment import describe_environment
from harness.testbed.testbed import Testbed
from harness.trial.bench import Bench, opened
from harness.trial.browsers import browser_programs
from harness.trial.trial import TrialOptions, not_run, run_trial
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of

FAILURES_IN_A_ROW = 3


class Listener(Interface):
    """What the runner tells about its progress."""

    def preparing(self, what: str) -> None: ...

    def warned(self, what: str) -> None: ...

    def calibrated(self, reading: Calibration) -> None: ...

    def trial_started(self, planned: PlannedTrial) -> None: ...

    def trial_ended(self, record: Record) -> None: ...

    def trial_left_out(self) -> None:
        """A trial of an engine that was warned of."""


@dataclass(frozen=True)
class Summary:
    """How the trials of this call ended, by outcome; `already` were recorded before it."""

    already: int
    outcomes: Counter[Outcome]


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
        run.write_environment(describe_environment(made.testbed, archives, study, browser_programs()))
        _measure_links(made.testbed, _links_of(left), run, listener)
        return Summary(len(done), _run_trials(made, left, study, run, listener))


def _archives(study: Study, root: Path, listener: Listener) -> dict[Engine, dict[str, Archive]]:
    """For each engine the archive of every page and variant, by the name it is served under; variants are made if
    missing, for the engine that will load them.
    """
    archives: dict[Engine, dict[str, Archive]] = {setup.engine: {} for setup in study.setups}
    for (engine, made), page, variant in itertools.product(archives.items(), study.pages, study.variants):
        listener.preparing(f"{variant} of {page}")
        served = variant.served_name(page)
        if served in made:
            raise StudyError(
                f"page {page} in variant {variant} and another one are both called {served}; rename a page"
            )
        made[served] = variant_of(open_archive(root, page), variant, engine)
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

"""Runs a plan: testbed up, links measured, trials in their order, every record on disk before the next attempt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.model.link import Link
from harness.run.directory import RunDirectory
from harness.run.kinds import ROOMS, Room
from harness.run.listener import Listener, Summary
from harness.run.looks import Enough
from harness.run.repeating import Repeating
from harness.run.standing import Standing
from harness.study.plan import PlannedTrial
from harness.study.study import Study
from harness.testbed.calibration import refuse_if_off
from harness.testbed.environment import describe_environment
from harness.testbed.opening import Opening
from harness.testbed.untilright import Patience
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of


def run_study(
    study: Study, run: RunDirectory, archives_root: Path, listener: Listener, enough: Enough | None = None
) -> Summary:
    """Run what is left of the plan. Raises MeasurementRefused before the first trial when a link is off.

    `enough` is asked at the plan's looks which conditions need no more trials.
    """
    standing = run.standing()
    left = standing.left
    summary = Summary(len(run.plan.trials) - len(left))
    if left and take_looks(run, standing, left[0].block, enough):  # it was due when the run ended
        needed = standing.left
        summary.not_needed += len(left) - len(needed)
        listener.trials_not_run(len(left) - len(needed))
        left = needed
    if not left:
        return summary
    archives = _archives(study, archives_root, listener)
    count = sum(len(each) for each in archives.values())
    listener.preparing(f"servers for {count} archive(s), {len(study.protocols)} protocol(s)")
    measuring = ROOMS[study.kind]
    opening = Opening(
        study=study,
        archives=archives,
        trials=left,
        run=run.folder,
        tell=listener.preparing,
        warn=listener.warned,
    )
    with measuring.room(opening) as made:
        for engine, reason in made.lacking.items():
            count = sum(planned.condition.engine is engine for planned in left)
            listener.warned(f"{count} trials with {engine} are recorded as testbed-failed: {reason}")
        run.write_environment(describe_environment(made.testbed, archives, study, measuring.programs()))
        _measure_links(made, left, run, listener)
        repeating = Repeating(made, run, standing.attempts, listener)
        for number, planned in enumerate(left):
            take_looks(run, standing, planned.block, enough)
            if standing.looks.needs(planned):
                repeating.trial(planned, summary, partial(_measure_anew, made, left, number, run, listener))
            else:
                summary.not_needed += 1
                listener.trials_not_run(1)
    return summary


def take_looks(run: RunDirectory, standing: Standing, block: int, enough: Enough | None) -> bool:
    """Take the looks that are due before a block, all earlier trials being finished; whether there were any."""
    if enough is None:
        return False
    due = standing.looks.due(block)
    for look in due:
        line = standing.looks.line(look, enough(run.folder, look))
        run.append_look(line)
        standing.looks.note(look, line["stopped"])
    return bool(due)


def _archives(study: Study, root: Path, listener: Listener) -> dict[Engine, dict[str, Archive]]:
    """For each engine the archive of every page and variant, by the name it is served under; variants are made if
    missing, for the engine that will load them.
    """
    archives: dict[Engine, dict[str, Archive]] = {
        setup.engine: {} for part in study.parts for setup in part.setups
    }
    for engine, page, variant in dict.fromkeys(
        (each.engine, each.page, each.variant) for each in study.conditions
    ):
        listener.preparing(f"{variant} of {page}")
        served = variant.served_name(page)
        if served in archives[engine]:
            raise StudyError(
                f"page {page} in variant {variant} and another one are both called {served}; rename a page"
            )
        archives[engine][served] = variant_of(open_archive(root, page), variant, engine)
    return archives


def _links_of(trials: Iterable[PlannedTrial]) -> list[Link]:
    return sorted(
        {planned.condition.link for planned in trials},
        key=lambda link: (link.down.rate.mean_mbps, link.rtt_ms, link.name),
    )


def _measure_anew(
    made: Room, left: Sequence[PlannedTrial], number: int, run: RunDirectory, listener: Listener
) -> None:
    """Measure the links from a trial on, over the testbed that there is by then."""
    _measure_links(made, left[number:], run, listener)


def _measure_links(made: Room, trials: Sequence[PlannedTrial], run: RunDirectory, listener: Listener) -> None:
    """Measure the links of these trials."""
    last = []
    for link in _links_of(trials):
        listener.preparing(f"measuring link {link.name}")
        for reading in made.readings(link, trials, Patience(waiting=listener.waiting)):
            run.append_calibration(reading.to_json())
            listener.calibrated(reading)
        last.append(reading)
    refuse_if_off(last)

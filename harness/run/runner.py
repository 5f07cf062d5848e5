"""Runs a plan: testbed up, links measured, trials in their order, every record on disk before the next attempt."""

from __future__ import annotations

from pathlib import Path

from harness.errors import StudyError
from harness.lab.lab import Opening
from harness.model.engine import Engine
from harness.run.coordinator import Coordinator
from harness.run.directory import RunDirectory
from harness.run.laboratory import laboratory
from harness.run.listener import Listener, Summary
from harness.run.work import Watcher
from harness.study.plan import Enough
from harness.study.study import Study
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of


def run_study(
    study: Study, run: RunDirectory, archives_root: Path, listener: Listener, enough: Enough | None = None
) -> Summary:
    """Run what is left of the plan, here. Raises MeasurementRefused before the first trial when a link is off.

    `enough` is asked at the plan's looks which conditions need no more trials.
    """
    coordinator = Coordinator(run, listener, enough)
    if not coordinator.left:
        return coordinator.summary
    archives = archives_of(study, archives_root, coordinator)
    opening = Opening(
        study=study,
        archives=archives,
        trials=coordinator.left,
        run=run.folder,
        tell=coordinator.preparing,
        warn=coordinator.warned,
    )
    count = sum(len(each) for each in archives.values())
    coordinator.preparing(f"servers for {count} archive(s), {len(study.protocols)} protocol(s)")
    patient = run.plan.attempts > 1
    with laboratory(opening, run.trial_folder, coordinator, patient=patient) as executor:
        coordinator.begin(executor.environment, executor.lacking)
        executor.measure_links()
        for block in coordinator.blocks():
            for made in executor.run(block):
                coordinator.store(made)
    return coordinator.summary


def archives_of(study: Study, root: Path, watcher: Watcher) -> dict[Engine, dict[str, Archive]]:
    """For each engine the archive of every page and variant, by the name it is served under; variants are made if
    missing, for the engine that will load them.
    """
    archives: dict[Engine, dict[str, Archive]] = {
        setup.engine: {} for part in study.parts for setup in part.setups
    }
    for engine, page, variant in dict.fromkeys(
        (each.engine, each.page, each.variant) for each in study.conditions
    ):
        watcher.preparing(f"{variant} of {page}")
        served = variant.served_name(page)
        if served in archives[engine]:
            raise StudyError(
                f"page {page} in variant {variant} and another one are both called {served}; rename a page"
            )
        archives[engine][served] = variant_of(open_archive(root, page), variant, engine)
    return archives

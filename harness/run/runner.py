"""Runs a plan: a crew for what is left of it, blocks in their order, every record on disk before the next attempt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.run.coordinator import Coordinator, Summary
from harness.run.directory import RunDirectory
from harness.run.work import Crew, Listener, Watcher
from harness.study.plan import Enough
from harness.study.study import Study
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of

Archives = Mapping[Engine, Mapping[str, Archive]]  # for each engine by the name an archive is served under
OpenCrew = Callable[[Study, Archives, Coordinator], AbstractContextManager[Crew]]


def run_study(
    study: Study,
    run: RunDirectory,
    archives_root: Path,
    listener: Listener,
    enough: Enough | None,
    open_crew: OpenCrew,
) -> Summary:
    """Run what is left of the plan. Everything that is stored is stored here.

    `enough` is asked at the plan's looks which conditions need no more trials. `open_crew` opens the executors, also
    of another machine; when the last of them cannot go on, what it failed of is raised.
    """
    coordinator = Coordinator(run, listener, enough)
    if coordinator.left:
        archives = archives_of(study, archives_root, listener)
        with open_crew(study, archives, coordinator) as crew:
            coordinator.carry_out(crew)
    return coordinator.summary


def archives_of(study: Study, root: Path, watcher: Watcher) -> Archives:
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

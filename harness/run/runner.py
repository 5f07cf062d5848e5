"""Runs a plan: a crew for what is left of it, blocks in their order, every record on disk before the next attempt."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from harness.errors import StudyError
from harness.lab.lab import Opening
from harness.model.engine import Engine
from harness.records import RecordLine
from harness.run.coordinator import Coordinator, Summary
from harness.run.directory import RunDirectory
from harness.run.laboratory import Laboratory, laboratory
from harness.run.work import Attempted, Block, BlockLeft, Crew, Listener, Made, Opened, Told, Watcher
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


@contextlib.contextmanager
def here(study: Study, archives: Archives, coordinator: Coordinator) -> Iterator[Crew]:
    """The laboratory of this process, which must be inside an enclosure.

    MeasurementRefused is raised before the first trial when a link is off.
    """
    watcher = coordinator.watcher(coordinator.listener)
    opening = Opening(
        study=study,
        archives=archives,
        trials=coordinator.left,
        run=coordinator.run.folder,
        tell=watcher.preparing,
        warn=watcher.warned,
    )
    count = sum(len(each) for each in archives.values())
    watcher.preparing(f"servers for {count} archive(s), {len(study.protocols)} protocol(s)")
    patient = coordinator.run.plan.attempts > 1
    with laboratory(opening, coordinator.run.trial_folder, watcher, patient=patient) as made:
        yield Here(made)


@dataclass
class Here:
    """A crew of one: the laboratory of this process, which goes on whenever it is heard."""

    laboratory: Laboratory
    place: None = None
    doubles: bool = False
    _is_open: bool = False
    _attempts: Iterator[Made] | None = None

    @property
    def executors(self) -> tuple[Here]:
        return (self,)

    @property
    def is_idle(self) -> bool:
        return self._is_open and self._attempts is None

    def take(self, block: Block) -> None:
        self._attempts = self.laboratory.run(block)

    def heard(self) -> Told:
        """What comes next of its block, see `Crew` and `Laboratory.run`."""
        if not self._is_open:
            self._is_open = True
            return [(self, Opened(self.laboratory.environment, self.laboratory.lacking))]
        if self._attempts is None:
            raise AssertionError("an executor that is alone has no block to wait for")
        made = next(self._attempts, None)
        if made is None:
            self._attempts = None
            return [(self, BlockLeft())]
        return [(self, Attempted(RecordLine.of(made.record), made.repeated))]

    def close(self) -> Told:
        return ()


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

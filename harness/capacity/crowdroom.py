"""The room of kind `users`: one crowd a trial. What its pages ask for is learned first, from loads in the browser."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.capacity.arrival import crowd_of
from harness.capacity.crowdtrial import CrowdOptions, run_crowd_trial
from harness.capacity.keptrecipes import RECIPES, KeptRecipes
from harness.capacity.limits import Machine, refuse_too_many
from harness.capacity.provedload import in_the_browser, proved_recipe
from harness.capacity.recipe import PageRecipe
from harness.capacity.usergenerators import GENERATORS
from harness.lab.calibrate import readings
from harness.lab.calibrateclients import client_readings
from harness.lab.calibration import Calibration
from harness.lab.opening import Opening
from harness.lab.studybed import Archives, ServedPart, StudyBed, opened
from harness.lab.untilright import Patience
from harness.model.compression import RECORDED_COMPRESSION
from harness.model.condition import Condition, Served
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.model.serversettings import ServerSettings, Tuning
from harness.model.workload import Users
from harness.records import Record
from harness.study.study import EngineSetup, Study
from harness.system.enclosure import WORKSPACE
from harness.trial.bench import Bench
from harness.trial.browsers import browser_programs
from sites.archive import Archive

# Clients of which each has its link measured: more take minutes, and are measured by `coldload calibrate`.
MOST_MEASURED = 50


class CrowdRoom(StudyBed):
    """The servers of a study of crowds, with their status pages. `recipes` are those of its pages."""

    def __init__(self, study: Study, archives: Archives, recipes: Mapping[Served, PageRecipe]) -> None:
        parts = [ServedPart.of(each) for each in study.parts]
        super().__init__(archives, study.setups, study.tcp, study.link_backend, parts)
        self._recipes = recipes
        self._settings: Mapping[tuple[str, str], ServerSettings] = {
            (part.factor, setup.server.name): setup.server.capacity
            for part in study.parts
            for setup in part.setups
        }

    def refuse_unless_usable(self, engine: Engine) -> None:
        GENERATORS[engine].version()

    def tuning(self, setup: EngineSetup) -> Tuning:
        return Tuning(setup.server.settings, status=True, name=setup.server.name)

    def readings(
        self, link: Link, trials: Sequence[PlannedTrial], patience: Patience
    ) -> Iterator[Calibration]:
        """With as many clients as a trial has users, up to a number that is measured in seconds."""
        if not link.per_client:
            yield from readings(self.testbed, link, patience=patience)
            return
        most = max((users_of(each.condition) for each in trials if each.condition.link == link), default=1)
        yield from client_readings(self.testbed, link, min(most, MOST_MEASURED), patience=patience)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        condition = planned.condition
        settings = self._settings[condition.factor, condition.server]
        options = CrowdOptions(self._recipes[page_of(condition)], settings)
        return run_crowd_trial(self.testbed, planned, options, files)


def users_of(condition: Condition) -> int:
    """The most users of a condition at a time."""
    return condition.workload.most if isinstance(condition.workload, Users) else 1


def page_of(condition: Condition) -> Served:
    """What a recipe is of: a page by a protocol, whatever serves the crowd, and however its text is compressed."""
    return replace(in_the_browser(condition), compression=RECORDED_COMPRESSION).served


@contextlib.contextmanager
def crowd_room(opening: Opening) -> Iterator[CrowdRoom]:
    """The room for the trials that are left of a study, open for the length of the block.

    Raises an error of one line, before any crowd comes, when a generator cannot run here, when a page does not load in
    the browser, or when the machine does not carry so many users.
    """
    for engine in {each.condition.engine for each in opening.trials}:
        GENERATORS[engine].version()
    recipes = _recipes(opening)
    with opened(CrowdRoom(opening.study, opening.archives, recipes)) as room:
        yield room


def crowd_programs() -> Mapping[str, Callable[[], str]]:
    """What trials run by, each with what asks for its version."""
    return {**browser_programs(), **{engine.value: made.version for engine, made in GENERATORS.items()}}


def _recipes(opening: Opening) -> Mapping[Served, PageRecipe]:
    """What the pages of the trials that are left ask for, each by its protocol: as the run knows it, or learned now."""
    study, kept = opening.study, KeptRecipes(opening.run / RECIPES, opening.warn)
    conditions = [each.condition for each in opening.trials]
    firsts = {page_of(condition): condition for condition in reversed(conditions)}
    made: dict[Served, PageRecipe] = {}
    with opened(Bench({}, (), study.tcp, study.link_backend)) as bench:
        for page, condition in firsts.items():
            archive = opening.archives[condition.engine][page.archive]
            known = kept.read(page, archive.digest)
            if known is None:
                known = _learned(opening, bench, condition, archive)
                kept.write(page, archive.digest, known)
            made[page] = known
    for condition in conditions:
        _refuse_too_many(condition, made[page_of(condition)])
    return made


def _learned(opening: Opening, bench: Bench, condition: Condition, archive: Archive) -> PageRecipe:
    """What a page asks for in the browser.

    At a server of the study, set up as for page loads: one that is set up to starve would hold up the browser, too.
    """
    part, asked = opening.study.part_of(condition), in_the_browser(condition)
    servers = {server.name: server for every in part.servers.values() for server in every}
    bench.refuse_unless_usable(asked.engine)
    replay = replace(part.replays[condition.engine], compression=condition.compression)
    opening.tell(f"what {condition.page} asks for by {asked.protocol}, from loads of it in the browser")
    program = servers[condition.server].program
    bench.testbed.serve(archive, [asked.protocol], replay, program, asked.engine)
    return proved_recipe(bench, condition, WORKSPACE / "recipes")


def _refuse_too_many(condition: Condition, recipe: PageRecipe) -> None:
    """Raise an error of one line when the machine does not carry the users of a condition."""
    if isinstance(condition.workload, Users):
        crowd = crowd_of(condition.workload, recipe, condition.protocol, condition.link.rtt_ms)
        refuse_too_many(crowd, Machine.this())

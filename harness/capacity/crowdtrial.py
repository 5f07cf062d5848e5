"""Kind `users`: a crowd a trial from its start to its end, and the record of it, whatever happens; the lab for them.

What the pages ask for is learned first, from loads in the browser.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.capacity import limit
from harness.capacity.crowd import Crowd, CrowdSeen
from harness.capacity.crowdproof import CrowdEvidence, observe, verdict
from harness.capacity.k6 import K6
from harness.capacity.limit import Capacity, Part
from harness.capacity.loadtool import UserGenerator
from harness.capacity.recipe import RECIPES, KeptRecipes, PageRecipe, in_the_browser, proved_recipe
from harness.capacity.resources import (
    Cores,
    Machine,
    allotted_here,
    connections_per_host,
    crowd_of,
    refuse_too_many,
)
from harness.capacity.series import BUCKETS_NAME, PAGES_NAME, SECONDS_NAME, Bucket, PageLine, Second, buckets
from harness.capacity.spdyclient import SPDY_USERS
from harness.engines.browsers import browser_programs
from harness.errors import Outcome, StudyError, TestbedFailed
from harness.lab.calibrateclients import client_readings
from harness.lab.calibration import Calibration, Patience
from harness.lab.lab import Archives, Opening, TrialLab, opened, parts_of
from harness.lab.testbed import Testbed
from harness.model.condition import RECORDED_COMPRESSION, Condition, Served
from harness.model.engine import Engine
from harness.model.kind import Users
from harness.model.link import Link, Way
from harness.model.serversettings import USUAL, ServerSettings, Tuning
from harness.model.trials import PlannedTrial
from harness.model.underload import CrowdObservation
from harness.records import Record
from harness.study.study import EngineSetup, Study
from harness.system.enclosure import WORKSPACE
from harness.system.files import utc_text
from harness.trial.trial import BrowserLab
from sites.archive import Archive

GENERATORS: Mapping[Engine, UserGenerator] = {Engine.K6: K6, Engine.SPDY_CLIENT: SPDY_USERS}
PAGE_NAME, CORES_NAME = "page.json", "cores.json"  # what a user loads, and who had which cores
EMULATOR_THREADS = 1  # that work; those that read and write devices wait most of the time
# Clients of which each has its link measured: more take minutes, and are measured by `coldload calibrate`.
MOST_MEASURED = 50


def nobody(*_told: object) -> None:
    """Tells nobody."""


@dataclass(frozen=True)
class CrowdOptions:
    """What a trial needs beyond its condition.

    `recipe` is that of its page. `settings` are those of its server, None: the usual ones. `each_second` is told of
    each second as it ends, with the pages that ended in it; `interrupted` what was observed until somebody ended it.
    """

    recipe: PageRecipe
    settings: ServerSettings | None = None
    each_second: Callable[[Second, Sequence[PageLine]], None] = nobody
    interrupted: Callable[[CrowdObservation], None] = nobody


def run_crowd_trial(testbed: Testbed, planned: PlannedTrial, options: CrowdOptions, files: Path) -> Record:
    """Run one planned trial of a crowd and return its record; the series go to `files`.

    Raises an error of one line, before anything is started, when the machine does not carry so many users.
    """
    condition, started, before = planned.condition, datetime.now(UTC), time.perf_counter()
    workload = condition.workload
    if not isinstance(workload, Users):
        raise StudyError(f"a crowd needs users, and the condition {condition} has none")
    refuse_too_many(
        crowd_of(workload, options.recipe, condition.protocol, condition.link.rtt_ms), Machine.this()
    )
    try:
        endpoint = testbed.endpoint(condition)
    except TestbedFailed as failure:
        now = utc_text(started, "milliseconds")
        return Record(planned, Outcome.TESTBED_FAILED, str(failure), now, CrowdObservation(), None)
    settings = options.settings or USUAL[condition.server]
    crowd = Crowd(
        testbed=testbed,
        endpoint=endpoint,
        generator=GENERATORS[condition.engine],
        link=condition.link,
        draw=planned.draw,
        workload=workload,
        recipe=options.recipe,
        cores=allotted_here(),
        files=files,
        each_second=options.each_second,
        interrupted=lambda seen: options.interrupted(_until_now(crowd, seen, settings)),
    )
    seen = CrowdSeen()
    _begin(crowd)
    outcome, reason = _ending(crowd, seen)
    made = buckets(seen.pages, seen.seconds, workload.bucket_s, workload.seconds)
    (files / BUCKETS_NAME).write_text("".join(json.dumps(asdict(bucket)) + "\n" for bucket in made))
    spent_s = time.perf_counter() - before - workload.seconds
    return Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(started, "milliseconds"),
        observation=_observed(crowd, seen, made, settings, workload.seconds),
        overhead_ms=max(0.0, 1000 * spent_s),
        archive_digest=endpoint.archive.digest,
    )


def _until_now(crowd: Crowd, seen: CrowdSeen, settings: ServerSettings) -> CrowdObservation:
    """The numbers of a crowd that goes on; there are no buckets before its first second."""
    seconds, workload = list(seen.seconds), crowd.workload  # another thread adds to the seconds
    asked_s = min(workload.seconds, seconds[-1].t_s) if seconds else 0.0
    made = buckets(seen.pages, seconds, workload.bucket_s, asked_s) if seconds else ()
    return _observed(crowd, seen, made, settings, asked_s)


def _begin(crowd: Crowd) -> None:
    """The folder of the series, without those of an attempt that was broken off."""
    crowd.files.mkdir(parents=True, exist_ok=True)
    for name in (PAGES_NAME, SECONDS_NAME, BUCKETS_NAME):
        (crowd.files / name).unlink(missing_ok=True)
    (crowd.files / PAGE_NAME).write_text(json.dumps(crowd.recipe.to_json()) + "\n")
    (crowd.files / CORES_NAME).write_text(json.dumps(crowd.cores.to_json()) + "\n")


def _ending(crowd: Crowd, seen: CrowdSeen) -> tuple[Outcome, str | None]:
    """Let the crowd come; how that ended. The testbed is to blame before the page."""
    try:
        crowd.measure(seen)
        outcome, reason = verdict(_evidence(crowd, seen))
        if outcome is not Outcome.OK:
            crowd.testbed.examine(crowd.endpoint)
    except TestbedFailed as failure:
        return Outcome.TESTBED_FAILED, str(failure)
    return outcome, reason


def _evidence(crowd: Crowd, seen: CrowdSeen) -> CrowdEvidence:
    endpoint = crowd.endpoint
    return CrowdEvidence(
        protocol=endpoint.protocol,
        origins=len(crowd.recipe.origins),
        connections_per_host=connections_per_host(endpoint.protocol),
        tls=endpoint.replay.tls,
        tls_resumption=endpoint.replay.tls_resumption,
        pages=seen.pages,
        served=seen.served,
        logged=endpoint.server.telling.body_bytes is not None,
        link_reading=seen.link_reading,
    )


def _observed(
    crowd: Crowd, seen: CrowdSeen, made: Sequence[Bucket], settings: ServerSettings, asked_s: float
) -> CrowdObservation:
    capacity = capacity_of(crowd.generator, crowd.link, crowd.cores, settings)
    limited_by = limit.bottleneck(seen.seconds, capacity).value
    return observe(seen, made, limited_by, workload=crowd.workload, asked_s=asked_s)


def capacity_of(generator: UserGenerator, link: Link, cores: Cores, settings: ServerSettings) -> Capacity:
    """What there is to run out."""
    return Capacity(
        server=Part.on(cores.server, settings.most_cores),
        generator=Part.on(cores.generator, generator.threads),
        emulator=Part.on(cores.emulator, EMULATOR_THREADS),
        workers=settings.workers,
        slots=settings.slots,
        slots_per_idle=settings.slots_per_idle,
        down_mbps=link.limit_mbps(Way.DOWN),
        up_mbps=link.limit_mbps(Way.UP),
    )


class CrowdLab(TrialLab):
    """The servers of a study of crowds, with their status pages. `recipes` are those of its pages."""

    def __init__(self, study: Study, archives: Archives, recipes: Mapping[Served, PageRecipe]) -> None:
        super().__init__(archives, parts_of(study), study.tcp)
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
            yield from super().readings(link, trials, patience)
            return
        most = max((users_of(trial.condition) for trial in trials if trial.condition.link == link), default=1)
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
def crowd_lab(opening: Opening) -> Iterator[CrowdLab]:
    """The lab for the trials that are left of a study, open for the length of the block.

    Raises an error of one line, before any crowd comes, when a generator cannot run here, when a page does not load in
    the browser, or when the machine does not carry so many users.
    """
    for engine in {trial.condition.engine for trial in opening.trials}:
        GENERATORS[engine].version()
    recipes = _recipes(opening)
    with opened(CrowdLab(opening.study, opening.archives, recipes)) as made:
        yield made


def crowd_programs() -> Mapping[str, Callable[[], str]]:
    """What trials run by, each with what asks for its version."""
    return {**browser_programs(), **{engine.value: made.version for engine, made in GENERATORS.items()}}


def _recipes(opening: Opening) -> Mapping[Served, PageRecipe]:
    """What the pages of the trials that are left ask for, each by its protocol: as the run knows it, or learned now."""
    study, kept = opening.study, KeptRecipes(opening.run / RECIPES, opening.warn)
    conditions = [trial.condition for trial in opening.trials]
    firsts = {page_of(condition): condition for condition in reversed(conditions)}
    made: dict[Served, PageRecipe] = {}
    with opened(BrowserLab({}, (), study.tcp)) as lab:
        for page, condition in firsts.items():
            archive = opening.archives[condition.engine][page.archive]
            known = kept.read(page, archive.digest)
            if known is None:
                known = _learned(opening, lab, condition, archive)
                kept.write(page, archive.digest, known)
            made[page] = known
    for condition in conditions:
        _refuse_too_many(condition, made[page_of(condition)])
    return made


def _learned(opening: Opening, lab: BrowserLab, condition: Condition, archive: Archive) -> PageRecipe:
    """What a page asks for in the browser.

    At a server of the study, set up as for page loads: one that is set up to starve would hold up the browser, too.
    """
    part, asked = opening.study.part_of(condition), in_the_browser(condition)
    servers = {server.name: server for every in part.servers.values() for server in every}
    lab.refuse_unless_usable(asked.engine)
    replay = replace(part.replays[condition.engine], compression=condition.compression)
    opening.tell(f"what {condition.page} asks for by {asked.protocol}, from loads of it in the browser")
    program = servers[condition.server].program
    lab.testbed.serve(archive, [asked.protocol], replay, program, asked.engine)
    return proved_recipe(lab, condition, WORKSPACE / "recipes")


def _refuse_too_many(condition: Condition, recipe: PageRecipe) -> None:
    """Raise an error of one line when the machine does not carry the users of a condition."""
    if isinstance(condition.workload, Users):
        crowd = crowd_of(condition.workload, recipe, condition.protocol, condition.link.rtt_ms)
        refuse_too_many(crowd, Machine.this())

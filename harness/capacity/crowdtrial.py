"""One trial of kind users: a crowd from its start to its end, and the record of it, whatever happens."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from harness.capacity import limit
from harness.capacity.arrival import connections_per_host, crowd_of
from harness.capacity.buckets import buckets
from harness.capacity.cores import allotted_here
from harness.capacity.crowd import Crowd, CrowdSeen
from harness.capacity.crowdobserve import CrowdResults, observe
from harness.capacity.crowdproof import CrowdEvidence, verdict
from harness.capacity.limit import Capacity, Part
from harness.capacity.limits import Machine, refuse_too_many
from harness.capacity.recipe import PageRecipe
from harness.capacity.series import BUCKETS_NAME, PAGES_NAME, SECONDS_NAME, Bucket, PageLine, Second
from harness.capacity.usergenerators import GENERATORS
from harness.errors import StudyError, TestbedFailed
from harness.lab.testbed import Testbed
from harness.model.crowdobservation import CrowdObservation
from harness.model.direction import Way
from harness.model.plan import PlannedTrial
from harness.model.serversettings import USUAL, ServerSettings
from harness.model.workload import Users
from harness.outcome import Outcome
from harness.records import Record
from harness.system.clock import utc_text

PAGE_NAME, CORES_NAME = "page.json", "cores.json"  # what a user loads, and who had which cores
EMULATOR_THREADS = 1  # that work; those that read and write devices wait most of the time


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
        block=planned.block,
        workload=workload,
        recipe=options.recipe,
        cores=allotted_here(),
        files=files,
        each_second=options.each_second,
        interrupted=lambda seen: options.interrupted(
            _observed(crowd, seen, _until_now(crowd, seen), settings)
        ),
    )
    seen = CrowdSeen()
    _begin(crowd)
    outcome, reason = _ending(crowd, seen)
    made = buckets(seen.pages, seen.seconds, workload.bucket_s, workload.seconds)
    _write(files / BUCKETS_NAME, made)
    spent_s = time.perf_counter() - before - workload.seconds
    return Record(
        planned=planned,
        outcome=outcome,
        reason=reason,
        started_utc=utc_text(started, "milliseconds"),
        observation=_observed(crowd, seen, made, settings),
        overhead_ms=max(0.0, 1000 * spent_s),
        archive_digest=endpoint.archive.digest,
    )


def _until_now(crowd: Crowd, seen: CrowdSeen) -> Sequence[Bucket]:
    """The buckets of a crowd that goes on; none before its first second."""
    seconds = list(seen.seconds)  # another thread adds to it
    return buckets(seen.pages, seconds, crowd.workload.bucket_s, seconds[-1].t_s) if seconds else ()


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
        hosts=len(crowd.recipe.hosts),
        connections_per_host=connections_per_host(endpoint.protocol),
        tls=endpoint.replay.tls,
        tls_resumption=endpoint.replay.tls_resumption,
        pages=seen.pages,
        served=seen.served,
        logged=endpoint.server.telling.body_bytes is not None,
        link_reading=seen.link_reading,
    )


def _observed(
    crowd: Crowd, seen: CrowdSeen, made: Sequence[Bucket], settings: ServerSettings
) -> CrowdObservation:
    return observe(
        CrowdResults(
            pages=seen.pages,
            seconds=seen.seconds,
            buckets=made,
            link_reading=seen.link_reading,
            requests_by_protocol=seen.served.by_protocol if seen.served else None,
            foreign_cpu_share=seen.foreign_cpu_share,
            accounting=seen.accounting,
            limited_by=limit.verdict(seen.seconds, _capacity(crowd, settings)).limited_by.value,
            asked_s=crowd.workload.seconds,
        )
    )


def _capacity(crowd: Crowd, settings: ServerSettings) -> Capacity:
    """What there is to run out."""
    cores, link = crowd.cores, crowd.link
    return Capacity(
        server=Part.on(cores.server, settings.most_cores),
        generator=Part.on(cores.generator, crowd.generator.threads),
        emulator=Part.on(cores.emulator, EMULATOR_THREADS),
        workers=settings.workers,
        slots=settings.slots,
        down_mbps=link.limit_mbps(Way.DOWN),
        up_mbps=link.limit_mbps(Way.UP),
    )


def _write(path: Path, lines: Sequence[Bucket]) -> None:
    path.write_text("".join(json.dumps(each.to_json()) + "\n" for each in lines))

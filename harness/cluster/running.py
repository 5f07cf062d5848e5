"""A study run on the workers of a cluster."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import Path

from harness.cluster.address import SchedulerAddress
from harness.cluster.conducting import conduct
from harness.cluster.connection import HUNG_S, connected
from harness.cluster.messages import LaboratoryTask
from harness.cluster.shipping import Shipment
from harness.errors import UsageError
from harness.model.kind import Kind
from harness.run.coordinator import Coordinator
from harness.run.directory import RunDirectory
from harness.run.listener import Listener, Summary
from harness.run.runner import archives_of
from harness.study.plan import Enough
from harness.study.study import Study


@dataclass(frozen=True)
class ClusterChoice:
    """The cluster that a run goes to. `mixed`: its machines may differ in their programs. `hung_s`: a worker that gave
    no sign of life for so long hangs.
    """

    scheduler: SchedulerAddress
    certificates: Path | None = None
    mixed: bool = False
    hung_s: float = HUNG_S

    @classmethod
    def of(cls, on: str, certificates: Path | None, *, insecure: bool, mixed: bool) -> ClusterChoice:
        """UsageError for an address that is none, or that is not safe."""
        scheduler = SchedulerAddress.parse(on)
        scheduler.check(certificates, insecure=insecure)
        return cls(scheduler, certificates, mixed)


def refuse_kind(study: Study) -> None:
    """UsageError for a study that does not load pages."""
    if study.kind is not Kind.LOAD:
        raise UsageError(
            f"--on is for page loads; a study of kind {study.kind} is about the machine that it runs on"
        )


def run_study_on(
    where: ClusterChoice,
    study: Study,
    run: RunDirectory,
    archives_root: Path,
    listener: Listener,
    enough: Enough | None = None,
) -> Summary:
    """Run what is left of the plan on a cluster. Everything that is stored is stored here."""
    coordinator = Coordinator(run, listener, enough)
    if not coordinator.left:
        return coordinator.summary
    archives = archives_of(study, archives_root, coordinator)
    task = LaboratoryTask(
        topic=f"coldload-{uuid.uuid4().hex}",
        sender="",
        study=study,
        trials=tuple(coordinator.standing.of_blocks(planned.block for planned in coordinator.left)),
        archives={
            engine: {name: archive.digest for name, archive in named.items()}
            for engine, named in archives.items()
        },
        patient=run.plan.attempts > 1,
    )
    with connected(where.scheduler, where.certificates, where.hung_s) as cluster:
        conduct(cluster, coordinator, task, Shipment.of(archives), mixed=where.mixed)
    return coordinator.summary

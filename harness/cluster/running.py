"""A crew at the workers of a cluster. What they tell comes to the main thread, which stores many records at a time."""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cluster.connection import HUNG_S, Cluster, WorkerLost, connected
from harness.cluster.executor import (
    BROKEN,
    GONE,
    IDENTIFIED,
    LEFT,
    OPENED,
    REFUSED,
    Arrived,
    Errand,
    Inbox,
    Shipment,
    WorkerExecutor,
)
from harness.cluster.messages import (
    MACHINE_VARIABLE,
    LabTask,
    MachineMarks,
    WorkerIdentity,
    differences,
    machine_marks,
)
from harness.cluster.trust import SchedulerAddress
from harness.errors import EnvironmentLacks, UsageError
from harness.lab.lab import Archives
from harness.model.kind import Kind
from harness.run.coordinator import Coordinator
from harness.run.work import Attempted, BlockLeft, Crew, CrewEvents, Executor, ExecutorEvent, Opened
from harness.study.study import Study

GATHER_S = 0.02  # that records are waited for, to be stored together
FIRST_WORKER_S = 30.0
AWAY_S = 600.0  # that a run waits for a worker when all have gone
TOLD = 3  # workers that were refused, with why


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


@contextlib.contextmanager
def on_cluster(
    where: ClusterChoice, study: Study, archives: Archives, coordinator: Coordinator
) -> Iterator[Crew]:
    """A crew at the workers of a cluster for a run."""
    task = LabTask(
        topic=f"coldload-{uuid.uuid4().hex}",
        sender="",
        study=study,
        trials=tuple(coordinator.to_come),
        archives={
            engine: {name: archive.digest for name, archive in named.items()}
            for engine, named in archives.items()
        },
        patient=coordinator.run.plan.attempts > 1,
    )
    errand = Errand(task, Shipment.of(archives), coordinator.run, coordinator.is_finished)
    with connected(where.scheduler, where.certificates, where.hung_s) as cluster:
        crew = ClusterCrew(cluster, coordinator, errand, mixed=where.mixed)
        try:
            yield crew
        finally:
            crew.dismiss()


class ClusterCrew:
    """The workers of a cluster, each of a machine of its own: of two workers of one machine the second one waits.

    EnvironmentLacks when there is no worker, or none that can do it.
    """

    doubles = True

    def __init__(self, cluster: Cluster, coordinator: Coordinator, errand: Errand, *, mixed: bool) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._errand = errand
        self._mixed = mixed
        self._inbox = Inbox()
        self._known_environment = coordinator.run.environment()
        self._environments: dict[str, Mapping[str, Any]] = {}  # of each machine, as it recorded
        self._marks: dict[str, MachineMarks] = {}  # of the machine that has a name in this run
        for machine in coordinator.run.machines():
            self._environments[machine.name] = machine.environment
            if machine.number is not None:
                self._marks[machine.name] = MachineMarks(machine.number, "")
        self._senders: dict[str, WorkerExecutor] = {}  # all there ever were
        self._present: dict[str, WorkerExecutor] = {}  # by address, while a thread goes with it
        self._at_work: dict[str, WorkerExecutor] = {}  # the one that has the lab of a machine
        self._refused: dict[str, str] = {}  # by address: why
        self._refused_machines: dict[str, str] = {}
        self._opened: set[str] = set()  # machines that were opened, and not refused since
        self._alone_since_s = time.monotonic()
        cluster.listen(errand.task.topic, self._inbox.arrive)

    @property
    def executors(self) -> Sequence[WorkerExecutor]:
        return tuple(self._at_work.values())

    def heard(self) -> CrewEvents:
        for worker in self._cluster.workers():
            if worker.address not in self._refused and worker.address not in self._present:
                executor = WorkerExecutor(worker, self._errand, self._inbox)
                self._present[worker.address] = self._senders[executor.sender] = executor
        told = self._gathered(GATHER_S)
        if self._present:
            self._alone_since_s = time.monotonic()
        else:
            self._refuse_to_be_alone(time.monotonic() - self._alone_since_s)
        return told

    def close(self) -> CrewEvents:
        self.dismiss()
        for executor in list(self._present.values()):
            executor.join()
        told: list[tuple[Executor, ExecutorEvent]] = []
        while self._present:
            told += self._gathered(0.0)
        return told

    def dismiss(self) -> None:
        """All may go."""
        for executor in self._present.values():
            executor.dismiss()

    def _gathered(self, seconds: float) -> CrewEvents:
        told: list[tuple[Executor, ExecutorEvent]] = []
        for arrived in self._inbox.gathered(seconds):
            executor = self._senders[arrived.sender]
            told += [(executor, event) for event in self._events(executor, arrived)]
        return told

    def _events(self, executor: WorkerExecutor, arrived: Arrived) -> Iterator[ExecutorEvent]:
        kind, content = arrived.kind, arrived.content
        listener, on = self._coordinator.listener, f"{executor.machine}: " if executor.machine else ""
        if kind == "ended":
            executor.came += 1
            yield Attempted(content.record, content.repeated)
        elif kind == IDENTIFIED:
            yield from self._identified(executor, content)
        elif kind == OPENED:
            yield from self._accepted(executor, content)
        elif kind == LEFT and executor.came >= content:
            executor.is_busy = False
            yield BlockLeft()
        elif kind == LEFT:
            listener.warned(f"{executor.worker}: {content - executor.came} of its records did not arrive")
            executor.dismiss()
        elif kind == GONE:
            yield from self._end(executor)
            if content is not None:
                listener.warned(content)
        elif kind == REFUSED:
            yield from self._refuse(executor, content)
        elif kind == BROKEN:
            raise content
        elif kind == "calibrated":
            self._coordinator.watcher(listener, machine=executor.machine).calibrated(content)
        elif kind == "preparing":
            listener.preparing(f"{on}{content}")
        elif kind == "warned":
            listener.warned(f"{on}{content}")

    def _identified(self, executor: WorkerExecutor, known: WorkerIdentity) -> Iterator[ExecutorEvent]:
        """Note the machine of a worker, unless another machine of the run is called so."""
        if self._is_namesake(known):
            why = f"another machine of this run is called {known.machine}, too"
            yield from self._refuse(
                executor, f"{why}; start its worker with another name in {MACHINE_VARIABLE}"
            )
            executor.dismiss()
            return
        self._marks[known.machine] = known.marks
        executor.machine = known.machine
        yield from self._admit(executor)

    def _is_namesake(self, known: WorkerIdentity) -> bool:
        """Whether its name is that of another machine. A clone has another boot, as the same machine has once it was
        started again; but then no worker of the earlier boot answers.
        """
        marks = self._marks.get(known.machine)
        if marks is None or (marks.boot and marks.boot == known.marks.boot):
            return False
        if marks.number != known.marks.number:
            return True
        other = self._at_work.get(known.machine)
        try:
            return other is not None and bool(other.worker.quick(machine_marks) != known.marks)
        except WorkerLost:
            return False

    def _admit(self, executor: WorkerExecutor) -> Iterator[ExecutorEvent]:
        """Let a worker open the lab of its machine, unless another worker has it, or had it and was refused."""
        machine = executor.machine
        if machine is None:
            return
        if machine in self._refused_machines:
            yield from self._refuse(
                executor, f"its machine {machine} is not used any more: {self._refused_machines[machine]}"
            )
            executor.dismiss()
        elif machine not in self._at_work:
            self._at_work[machine] = executor
            executor.open()

    def _accepted(self, executor: WorkerExecutor, opened: Opened) -> Iterator[ExecutorEvent]:
        """Use a machine, unless it differs from those before it, or from what it was before."""
        machine = executor.machine
        if machine is None:
            return
        why = self._other_than_before(machine, opened.environment)
        if why is not None:
            yield from self._refuse(executor, f"machine {machine} {why}")
            executor.dismiss()
            return
        self._known_environment = self._known_environment or opened.environment
        self._environments[machine] = opened.environment
        executor.is_open = True
        self._opened.add(machine)
        yield opened

    def _other_than_before(self, machine: str, environment: Mapping[str, Any]) -> str | None:
        """Why a machine cannot be used, to stand after its name; None when it can."""
        if self._known_environment is not None and not self._mixed:
            mismatches = differences(environment, self._known_environment)
            if mismatches:
                return f"differs ({'; '.join(mismatches[:3])}); make it the same, or say --allow-mixed"
        mismatches = differences(environment, self._environments.get(machine, environment), "before")
        if mismatches:
            return (
                f"is not what it was when it joined the run ({'; '.join(mismatches[:3])}); make it so again, or start "
                f"its worker with another name in {MACHINE_VARIABLE}"
            )
        return None

    def _refuse(self, executor: WorkerExecutor, why: str) -> Iterator[ExecutorEvent]:
        self._refused[executor.worker.address] = f"{executor.worker}: {why}"
        if executor.machine is not None:
            self._refused_machines.setdefault(executor.machine, why)
            self._opened.discard(executor.machine)
        self._coordinator.listener.warned(f"{executor.worker} is not used: {why}")
        yield from self._end(executor)

    def _end(self, executor: WorkerExecutor) -> Iterator[ExecutorEvent]:
        """An executor is there no more; another worker of its machine may come after it."""
        if self._present.get(executor.worker.address) is executor:
            del self._present[executor.worker.address]
        machine = executor.machine
        if machine is None or self._at_work.get(machine) is not executor:
            return
        del self._at_work[machine]
        yield BlockLeft()
        for other in list(self._present.values()):
            if other.machine == machine:
                yield from self._admit(other)

    def _refuse_to_be_alone(self, seconds: float) -> None:
        """EnvironmentLacks when no worker is there for a long time, or all machines that came are of no use.

        A machine that was of use may come back, whoever else was refused.
        """
        reasons = list(self._refused.values())
        more = [f"and {len(reasons) - TOLD} more"] if len(reasons) > TOLD else []
        refused = "; ".join([*reasons[:TOLD], *more])
        if refused and not self._opened:
            raise EnvironmentLacks(f"no worker can go on; {refused}")
        if not self._opened and seconds > FIRST_WORKER_S:
            raise EnvironmentLacks(
                f"the scheduler {self._cluster.url} has no worker that is a lab; start some with `dask worker "
                f"{self._cluster.url} --nthreads 1 --resources lab=1 --preload harness.cluster.worker`"
            )
        if seconds > AWAY_S:
            told = f" (not used: {refused})" if refused else ""
            raise EnvironmentLacks(
                f"all workers have gone{told}; what was recorded is whole: give the same command once there are some"
            )

"""A run conducted from here: blocks are handed out to workers, and what comes of them is stored.

A thread goes with every worker from its arrival to its end. What all of them tell comes to the main thread, which
stores it, many records with one flush.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from dataclasses import replace
from typing import Any

from harness.cluster.connection import Cluster, RemoteWorker, SchedulerGone, WorkerLost
from harness.cluster.identity import dask_version, differences, source_digest
from harness.cluster.inbox import Arrived, Inbox
from harness.cluster.messages import DueThere, Ended, LaboratoryTask, Opened, WorkerIdentity
from harness.cluster.shipping import Shipment, fetch_files, ship
from harness.cluster.worker import (
    PREFIX,
    files_taken,
    identify,
    open_laboratory,
    run_block,
    stop_laboratory,
)
from harness.errors import ColdloadError, EnvironmentLacks
from harness.run.coordinator import Coordinator
from harness.run.dispatch import Dispatch
from harness.run.work import Block

GATHER_S = 0.02  # that records are waited for, to be stored together
STORED_S = 60.0  # that records may come later than the end of their block
FIRST_WORKER_S = 30.0
AWAY_S = 600.0  # that a run waits for a worker when all have gone


class Conductor:
    """Conducts a run. `mixed`: machines may differ in their programs."""

    def __init__(
        self,
        cluster: Cluster,
        coordinator: Coordinator,
        task: LaboratoryTask,
        shipment: Shipment,
        *,
        mixed: bool,
    ) -> None:
        self._cluster = cluster
        self._coordinator = coordinator
        self._task = task
        self._shipment = shipment
        self._mixed = mixed
        self._inbox = Inbox()
        self._known_environment = coordinator.run.environment()
        self._changed = threading.Condition()  # guards what follows, and tells that it has changed
        self._dispatch = Dispatch(coordinator.standing, doubles=True)
        self._at_work: dict[str, RemoteWorker] = {}  # the worker that has the laboratory of a machine
        self._machines: dict[str, str] = {}  # by sender
        self._came: Counter[str] = Counter()  # the attempts that were stored, by sender
        self._refused: dict[str, str] = {}  # by address: why
        self._broken: BaseException | None = None
        self._begun = False

    def run(self) -> None:
        """Until nothing is left. EnvironmentLacks when there is no worker, or none that can do it."""
        self._cluster.listen(self._task.topic, self._inbox.arrive)
        threads: dict[str, threading.Thread] = {}
        alone_since = time.monotonic()
        try:
            while self._dispatch.left and self._broken is None:
                for worker in self._cluster.workers():
                    thread = threads.get(worker.address)
                    if worker.address not in self._refused and (thread is None or not thread.is_alive()):
                        threads[worker.address] = threading.Thread(
                            target=self._go_with, args=(worker,), daemon=True
                        )
                        threads[worker.address].start()
                self._take_in(GATHER_S)
                if any(thread.is_alive() for thread in threads.values()):
                    alone_since = time.monotonic()
                else:
                    self._refuse_to_be_alone(time.monotonic() - alone_since)
        finally:
            with self._changed:
                self._dispatch.left.clear()
                self._changed.notify_all()
        for thread in threads.values():
            thread.join()
        self._take_in(0.0)
        if self._broken is not None:
            raise self._broken

    def _go_with(self, worker: RemoteWorker) -> None:
        """All that a worker does, in a thread of its own."""
        sender = uuid.uuid4().hex[:8]
        try:
            self._work(worker, sender)
        except WorkerLost as lost:
            self._say(sender, "warned", f"{worker}: {lost}")
        except SchedulerGone:
            pass  # the main thread finds out, too
        except ColdloadError as error:
            self._refused[worker.address] = f"{worker}: {error}"
            self._say(sender, "warned", f"{worker} is not used: {error}")
        except BaseException as error:  # a mistake of ours ends the run, and not a thread alone
            self._broken = error
        finally:
            self._leave(worker)

    def _work(self, worker: RemoteWorker, sender: str) -> None:
        known: WorkerIdentity = worker.call(identify)
        if known.source != source_digest():
            raise EnvironmentLacks("it runs another coldload than this one; install the same version there")
        if known.dask != dask_version():
            raise EnvironmentLacks(
                f"it runs distributed {known.dask}, this coldload {dask_version()}; install the same version there"
            )
        if known.refusal is not None:
            raise EnvironmentLacks(known.refusal)
        machine = known.machine
        if not self._enter(machine, worker):
            return
        self._machines[sender] = machine
        ship(worker, self._shipment)
        opened: Opened = worker.call(open_laboratory, replace(self._task, sender=sender))
        self._accept(machine, opened)
        while (block := self._next(machine)) is not None:
            self._run_block(worker, sender, machine, block)
        worker.quick(stop_laboratory)

    def _run_block(self, worker: RemoteWorker, sender: str, machine: str, block: Block) -> None:
        def meanwhile() -> None:
            for ended in self._inbox.with_files(sender):
                record = ended.record
                fetch_files(worker, ended, self._coordinator.run.trial_folder(record.trial, record.attempt))
                self._inbox.put(Arrived(sender, "ended", ended._replace(files={})))
                worker.quick(files_taken)
            if self._dispatch.is_over(block.number):
                raise WorkerLost(f"another machine has ended block {block.number} before it")

        before = self._came[sender]
        trials = [DueThere(due.planned.trial, due.attempt, due.last, due.restart) for due in block.trials]
        call = run_block, uuid.uuid4().hex, block.number, trials
        number = worker.call(*call, key=PREFIX + uuid.uuid4().hex, meanwhile=meanwhile)
        with self._changed:
            there = self._changed.wait_for(
                lambda: self._came[sender] >= before + number or not self._dispatch.left, STORED_S
            )
            if not there:
                raise WorkerLost(f"{before + number - self._came[sender]} of its records did not arrive")
            self._dispatch.ended(machine, time.monotonic())
            self._changed.notify_all()

    def _enter(self, machine: str, worker: RemoteWorker) -> bool:
        """Wait until no other worker of that machine is at work; False when nothing is left to do by then."""
        with self._changed:
            while machine in self._at_work and self._dispatch.left:
                self._changed.wait(1.0)
            if not self._dispatch.left:
                return False
            self._at_work[machine] = worker
            return True

    def _leave(self, worker: RemoteWorker) -> None:
        with self._changed:
            for machine, other in list(self._at_work.items()):
                if other.address == worker.address:
                    del self._at_work[machine]
                    self._dispatch.ended(machine, time.monotonic())
            self._changed.notify_all()

    def _accept(self, machine: str, opened: Opened) -> None:
        """Store what a machine is. EnvironmentLacks when it is another one than those before it."""
        with self._changed:
            if self._known_environment is not None and not self._mixed:
                found = differences(opened.environment, self._known_environment)
                if found:
                    raise EnvironmentLacks(
                        f"machine {machine} differs ({'; '.join(found[:3])}); make it the same, or say --allow-mixed"
                    )
            if not self._begun:
                self._coordinator.begin(opened.environment, opened.lacking)
                self._begun = True
            self._known_environment = self._known_environment or opened.environment
            self._coordinator.run.append_machine(machine, opened.environment)

    def _next(self, machine: str) -> Block | None:
        """The next block for a machine; None when nothing is left."""
        with self._changed:
            while self._dispatch.left:
                present = self._at_work.keys()
                block = self._coordinator.next_block(self._dispatch, machine, present, time.monotonic())
                if block is not None:
                    self._changed.notify_all()  # a look may have been taken, for which others wait
                    return block
                self._changed.wait(1.0)
            return None

    def _say(self, sender: str, kind: str, content: Any) -> None:
        self._inbox.put(Arrived(sender, kind, content))

    def _take_in(self, seconds: float) -> None:
        """Store what has come, and pass on what is told."""
        arrived = self._inbox.gathered(seconds)
        if not arrived:
            return
        ended = [(each.sender, each.content) for each in arrived if isinstance(each.content, Ended)]
        with self._changed:
            self._coordinator.store_all([(each.record, each.repeated) for _, each in ended])
            for sender, each in ended:
                self._came[sender] += 1
                if not each.repeated:
                    self._dispatch.trial_ended(self._machines[sender])
            self._changed.notify_all()
        for told in arrived:
            self._pass_on(told)

    def _pass_on(self, told: Arrived) -> None:
        machine = self._machines.get(told.sender)
        on = f"{machine}: " if machine else ""
        if told.kind == "calibrated":
            self._coordinator.calibrated(told.content, machine)
        elif told.kind == "preparing":
            self._coordinator.preparing(f"{on}{told.content}")
        elif told.kind == "warned":
            self._coordinator.warned(f"{on}{told.content}")

    def _refuse_to_be_alone(self, seconds: float) -> None:
        """EnvironmentLacks when no worker is there for a long time, or none of those that are there is of use."""
        if self._refused:
            raise EnvironmentLacks(f"no worker can go on; {next(iter(self._refused.values()))}")
        if not self._begun and seconds > FIRST_WORKER_S:
            raise EnvironmentLacks(
                f"the scheduler {self._cluster.url} has no worker that is a laboratory; start some with `dask worker "
                f"{self._cluster.url} --nthreads 1 --resources lab=1 --preload harness.cluster.worker`"
            )
        if seconds > AWAY_S:
            raise EnvironmentLacks(
                "all workers have gone; what was recorded is whole: give the same command once there are some"
            )


def conduct(
    cluster: Cluster, coordinator: Coordinator, task: LaboratoryTask, shipment: Shipment, *, mixed: bool
) -> None:
    """Run what is left of a run on the workers of a cluster."""
    Conductor(cluster, coordinator, task, shipment, mixed=mixed).run()

"""What a worker of Dask needs to be a lab: `dask worker --nthreads 1 --resources lab=1 --preload
harness.cluster.worker`.

The functions at the end are what the coordinator calls. The lab is a process of its own in an enclosure. It goes
with the worker, with the scheduler, and with the coordinator whose block it runs.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from distributed import Worker, WorkerPlugin

from harness.cluster.archivestore import ArchiveStore
from harness.cluster.messages import (
    DueThere,
    Ended,
    LabTask,
    Parcel,
    WorkerIdentity,
    dask_version,
    machine_marks,
    machine_name,
    source_digest,
    to_bytes,
)
from harness.errors import ColdloadError, EnvironmentLacks
from harness.lab.calibration import Calibration
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.labprocess import Assignment, lab_process
from harness.run.work import Block, Due, Opened, RunsBlocks, Watcher
from harness.system.enclosure import hidden_by
from harness.system.folders import cache_folder

EVERY_S = 0.05  # messages are sent no more often: each costs the scheduler and the coordinator time
PREFIX = "coldload-block-"  # of the keys of tasks that run blocks; the rest is the block's token
AT_WORK = "it is at work for another run; give the command again when that has ended"


class EnclosedLab(RunsBlocks, Interface):
    """A lab that is opened for a study, and can be ended at any instant."""

    def open(self, assignment: Assignment) -> None: ...

    def kill(self) -> None: ...


class Outbox:
    """Sends what is put in, in its order: at once, or as soon as the latest message is long enough ago.

    `later` calls a function after so many seconds. Any thread may put things in.
    """

    def __init__(
        self, send: Callable[[list[Any]], None], later: Callable[[float, Callable[[], None]], object]
    ) -> None:
        self._send = send
        self._later = later
        self._lock = threading.Lock()
        self._waiting: list[Any] = []
        self._sent_s = -EVERY_S

    def put(self, told: Any) -> None:
        with self._lock:
            self._waiting.append(told)
            if len(self._waiting) > 1:
                return  # it goes with the one before it
        wait_s = self._sent_s + EVERY_S - time.monotonic()
        if wait_s > 0:
            self._later(wait_s, self.flush)
        else:
            self.flush()

    def flush(self) -> None:
        """Send what waits."""
        with self._lock:  # until all is sent, so that nothing later overtakes it
            if not self._waiting:
                return
            self._sent_s = time.monotonic()
            self._send(self._waiting)
            self._waiting = []


MakeLab = Callable[[Watcher, Path], contextlib.AbstractContextManager[EnclosedLab]]


class Station:
    """The lab of a worker, and what it tells the coordinator."""

    def __init__(self, worker: Worker, lab: MakeLab = lab_process) -> None:
        self._worker = worker
        self._make = lab
        self._folder = Path(tempfile.mkdtemp(prefix="coldload-", dir=worker.local_directory))
        self._lock = threading.Lock()
        self._stack = contextlib.ExitStack()
        self._lab: EnclosedLab | None = None
        self._topic: str | None = None  # of the run that it is at work for
        self._key = ""  # of a task that Dask keeps here while the coordinator of that run lives
        self._outbox: Outbox | None = None
        self._requested: set[str] = set()  # the digests of what was asked for, as far as they were told
        self._planned: Mapping[str, PlannedTrial] = {}
        self._begun: set[str] = set()
        self._block: str | None = None  # the token of the one under way
        self._taken = threading.Event()
        self._is_ended = threading.Event()  # the lab that is there; each has its own
        self.store = ArchiveStore(cache_folder() / "archives", machine_name())

    def identify(self, topic: str, key: str) -> WorkerIdentity:
        """Start the process of a lab for a run; without the rights for that, or at work for another run, it says so.

        `key` is that of a task which is here as long as the coordinator of the run wants this lab.
        """
        refusal = None
        if self._topic not in (None, topic) and self._key in self._worker.state.tasks:
            refusal = AT_WORK
        else:
            self._topic, self._key = topic, key
            try:
                self._start()
            except ColdloadError as error:
                refusal = str(error)
        return WorkerIdentity(machine_name(), machine_marks(), source_digest(), dask_version(), refusal)

    def open(self, task: LabTask) -> Opened:
        """Open the lab for a study whose archives are in the store."""
        self._refuse_other(task.topic)
        self._outbox = Outbox(partial(self._send, task.topic, task.sender), self._later)
        self._requested.clear()
        self._planned = {planned.trial: planned for planned in task.trials}
        lab = self._lab or self._start()
        archives = {
            engine: {name: self.store.folder(name, digest) for name, digest in named.items()}
            for engine, named in task.archives.items()
        }
        run, files = self._folder / "run", self._folder / "trials"
        lab.open(Assignment(task.study, archives, task.trials, run, files, task.patient))
        return Opened(lab.environment, lab.lacking, machine_name(), machine_marks().number)

    def run(self, topic: str, token: str, number: int, trials: Sequence[DueThere]) -> int:
        """Run a block, once, and tell of its attempts as they end; how many there were."""
        self._refuse_other(topic)
        self._block = token
        try:
            if token in self._begun or self._lab is None:
                raise EnvironmentLacks("the lab was closed, or has run this block")
            self._begun.add(token)
            due = (
                Due(self._planned[trial.trial], trial.attempt, trial.last, trial.restart) for trial in trials
            )
            return self._run(self._lab, Block(number, tuple(due)))
        finally:
            self._block = None

    def _run(self, lab: EnclosedLab, block: Block) -> int:
        ended, is_ended = 0, self._is_ended
        for made in lab.run(block):
            ended += 1
            self._taken.clear()
            record = RecordLine.of(replace(made.record, machine=machine_name()))
            files = _sizes(made.files)
            self._tell("ended", Ended(self._without_known(record), made.repeated, files))
            if files:
                if not is_ended.is_set():  # else nobody takes them, and what says so may have come before
                    self._taken.wait()
                shutil.rmtree(made.files)
        if self._outbox is not None:
            self._outbox.flush()  # records come before the end of their block
        return ended

    def taken(self, topic: str) -> None:
        """The files of the latest attempt are stored elsewhere."""
        if topic == self._topic:
            self._taken.set()

    def piece(self, folder: str, name: str, offset: int, length: int) -> bytes:
        """A part of a kept file."""
        with (self._folder / "trials" / folder / name).open("rb") as file:
            file.seek(offset)
            return file.read(length)

    def leave(self, topic: str) -> None:
        """End the lab of a run, which wants it no more."""
        if topic == self._topic:
            self._topic = None
            self.stop()

    def stop(self) -> None:
        """End the lab, at any instant."""
        lab = self._lab
        if lab is not None:
            self._is_ended.set()
            lab.kill()
        self._taken.set()

    def close(self) -> None:
        """End the lab and remove what it left."""
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def let_go(self, token: str) -> None:
        """A block is wanted no more: it will not begin, and the lab that runs it ends.

        One that has ended may be let go before Dask knows of its end: the lab is at work for the run still.
        """
        self._begun.add(token)
        if self._block == token:
            self.stop()

    # What a lab tells its watcher.

    def preparing(self, what: str) -> None:
        self._tell("preparing", what)

    def warned(self, what: str) -> None:
        self._tell("warned", what)

    def waiting(self, seconds: float) -> None:
        self._tell("waiting", seconds)

    def calibrated(self, reading: Calibration) -> None:
        self._tell("calibrated", reading)

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        """Of no interest where there are many."""

    def _refuse_other(self, topic: str) -> None:
        if topic != self._topic:
            raise EnvironmentLacks(AT_WORK if self._topic is not None else "its lab was closed")

    def _start(self) -> EnclosedLab:
        """A fresh process in the place of an earlier one."""
        with self._lock:
            self._stack.close()
            self._lab, self._is_ended = None, threading.Event()
            self._refuse_hidden()
            shutil.rmtree(self._folder / "trials", ignore_errors=True)
            for name in ("run", "trials"):
                (self._folder / name).mkdir(parents=True, exist_ok=True)
            made = self._make(self, self._folder / "lab.log")
            self._lab = self._stack.enter_context(made)
            return self._lab

    def _refuse_hidden(self) -> None:
        for what, path in (("--local-directory", self._folder), ("COLDLOAD_CACHE", cache_folder())):
            folder = hidden_by(path)
            if folder is not None:
                raise EnvironmentLacks(
                    f"{path} of the worker lies in {folder}, in whose place a measurement has an empty one; "
                    f"start the worker with another {what}"
                )

    def _without_known(self, record: RecordLine) -> RecordLine:
        """A list of what was asked for travels once."""
        if record.requested_digest in self._requested:
            return record._replace(requested_digest=None, requested=())
        if record.requested_digest is not None:
            self._requested.add(record.requested_digest)
        return record

    def _tell(self, kind: str, content: object) -> None:
        if self._outbox is not None:
            self._outbox.put((kind, content))

    def _send(self, topic: str, sender: str, told: list[tuple[str, Any]]) -> None:
        self._worker.log_event(topic, {"sender": sender, "told": to_bytes(told)})

    def _later(self, seconds: float, call: Callable[[], None]) -> None:
        loop = self._worker.loop
        loop.add_callback(loop.call_later, seconds, call)


class EndsWithItsTask(WorkerPlugin):
    """A block whose coordinator has gone is released while it runs; its lab then ends."""

    name = "coldload"

    def __init__(self, station: Station) -> None:
        self._station = station

    def transition(self, key: Any, start: str, finish: str, **_: Any) -> None:
        if str(key).startswith(PREFIX) and start == "executing" and finish in ("cancelled", "released"):
            self._station.let_go(str(key).removeprefix(PREFIX))


_station: Station | None = None


async def dask_setup(worker: Worker) -> None:
    """Dask calls this when the worker starts."""
    await set_up(worker, lab_process)


async def set_up(worker: Worker, lab: MakeLab) -> None:
    """Make a worker a station, with labs of a kind."""
    global _station  # noqa: PLW0603  # one worker per process, and tasks find it here
    if worker.state.nthreads != 1:
        raise EnvironmentLacks("a worker that measures has one thread; say --nthreads 1")
    _station = Station(worker, lab)
    await worker.plugin_add(EndsWithItsTask(_station))


async def dask_teardown(_worker: Worker) -> None:
    """Dask calls this when the worker ends, also when its scheduler has gone."""
    if _station is not None:
        await asyncio.to_thread(_station.close)


def station() -> Station:
    """That of this process."""
    if _station is None:
        raise EnvironmentLacks("the worker was started without --preload harness.cluster.worker")
    return _station


def identify(topic: str, key: str) -> WorkerIdentity:
    return station().identify(topic, key)


def open_lab(task: LabTask) -> Opened:
    return station().open(task)


def run_block(topic: str, token: str, number: int, trials: Sequence[DueThere]) -> int:
    return station().run(topic, token, number, trials)


def lacking_archives(parcels: list[Parcel]) -> list[Parcel]:
    return station().store.lacking(parcels)


def receive_piece(parcel: Parcel, name: str, data: bytes) -> None:
    station().store.receive(parcel, name, data)


def keep_archive(parcel: Parcel) -> None:
    station().store.keep(parcel)


def piece_of_file(folder: str, name: str, offset: int, length: int) -> bytes:
    return station().piece(folder, name, offset, length)


def files_taken(topic: str) -> None:
    station().taken(topic)


def stop_lab(topic: str) -> None:
    if _station is not None:
        _station.leave(topic)


def _sizes(folder: Path) -> Mapping[str, int]:
    if not folder.is_dir():
        return {}
    return {
        str(path.relative_to(folder)): path.stat().st_size
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }

"""A worker of Dask as an executor: a thread goes with it from its arrival to its end, and tells what happens there.

Two things travel as files: archives to the worker, kept files of attempts back.
"""

from __future__ import annotations

import contextlib
import queue
import shutil
import threading
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from harness.cluster.archivestore import PARTS
from harness.cluster.connection import RemoteWorker, SchedulerGone, WorkerLost
from harness.cluster.messages import (
    PIECE_BYTES,
    DueThere,
    Ended,
    LabTask,
    Parcel,
    WorkerIdentity,
    dask_version,
    of_bytes,
    source_digest,
)
from harness.cluster.worker import (
    PREFIX,
    files_taken,
    identify,
    keep_archive,
    lacking_archives,
    open_lab,
    piece_of_file,
    receive_piece,
    run_block,
    stop_lab,
)
from harness.errors import ColdloadError, EnvironmentLacks, TestbedFailed
from harness.input.shown import shown
from harness.model.engine import Engine
from harness.run.directory import RunDirectory
from harness.run.work import Block
from harness.system.files import temporary_folder
from sites.archive import Archive

NOTHING_S = 0.2  # that one waits for the first of what comes
MOST_TOGETHER = 2000
# What the thread of an executor tells, beside what comes from the worker itself: `ended` and the words of a watcher.
IDENTIFIED, OPENED, LEFT, GONE, REFUSED, BROKEN = "identified", "opened", "left", "gone", "refused", "broken"


@dataclass(frozen=True)
class Shipment:
    """The archives of a study, with the folders in which they lie here."""

    folders: Mapping[Parcel, Path]

    @classmethod
    def of(cls, archives: Mapping[Engine, Mapping[str, Archive]]) -> Shipment:
        every = [archive for named in archives.values() for archive in named.values()]
        return cls({Parcel(archive.name, archive.digest): archive.folder for archive in every})


def ship(worker: RemoteWorker, shipment: Shipment) -> None:
    """Send a worker the archives that it lacks; ArchiveError when one is not there what it is here."""
    for parcel in worker.call(lacking_archives, list(shipment.folders)):
        for name in PARTS:
            for data in _pieces(shipment.folders[parcel] / name):
                worker.call(receive_piece, parcel, name, data)
        worker.call(keep_archive, parcel)


def fetch_files(worker: RemoteWorker, ended: Ended, folder: Path) -> None:
    """Put the kept files of an attempt into its folder, all at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with temporary_folder(folder.parent, folder.name) as arriving:
        for name, size in ended.files.items():
            target = arriving / _inside(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                for offset in range(0, size, PIECE_BYTES):
                    length = min(PIECE_BYTES, size - offset)
                    file.write(worker.quick(piece_of_file, folder.name, name, offset, length))
        shutil.rmtree(folder, ignore_errors=True)  # of the same attempt, whose record did not come
        arriving.rename(folder)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(PIECE_BYTES):
            yield data


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise TestbedFailed(f"a worker names a file {shown(name)}")
    return path


class Arrived(NamedTuple):
    """Something that is told of a worker: what kind it is of, and what it says."""

    sender: str
    kind: str
    content: Any


class Inbox:
    """What comes while workers are at work; Dask calls with it in a thread of its own.

    Attempts with kept files wait for whoever goes with their worker and fetches the files; all else is in order.
    """

    def __init__(self) -> None:
        self._all: queue.SimpleQueue[list[Arrived]] = queue.SimpleQueue()
        self._with_files: defaultdict[str, queue.SimpleQueue[Ended]] = defaultdict(queue.SimpleQueue)

    def arrive(self, event: tuple[float, dict[str, Any]]) -> None:
        """An event of Dask: a message of a worker."""
        _, message = event
        sender, others = message["sender"], []
        for kind, content in of_bytes(message["told"]):
            if isinstance(content, Ended) and content.files:
                self._with_files[sender].put(content)
            else:
                others.append(Arrived(sender, kind, content))
        self._all.put(others)

    def put(self, arrived: Arrived) -> None:
        """Something that was fetched, or is told from here."""
        self._all.put([arrived])

    def with_files(self, sender: str) -> Iterator[Ended]:
        """The attempts of a worker whose files are to be fetched."""
        with contextlib.suppress(queue.Empty):
            while True:
                yield self._with_files[sender].get_nowait()

    def gathered(self, seconds: float) -> list[Arrived]:
        """What has come, once there is something, and so long after that; [] when there is nothing for a while."""
        arrivals: list[Arrived] = []
        with contextlib.suppress(queue.Empty):
            arrivals += self._all.get(timeout=NOTHING_S)
            until = time.monotonic() + seconds
            while len(arrivals) < MOST_TOGETHER:
                arrivals += self._all.get(timeout=max(0.0, until - time.monotonic()))
        return arrivals


class _Dismissed(Exception):
    """Nothing is left to do for it."""


@dataclass(frozen=True)
class Errand:
    """What workers are there for. `is_over` says whether a block is finished, whoever did it."""

    task: LabTask
    shipment: Shipment
    run: RunDirectory
    is_over: Callable[[int], bool]


class WorkerExecutor:
    """The executor; its state is that of the main thread. Another thread follows its orders."""

    def __init__(self, worker: RemoteWorker, errand: Errand, inbox: Inbox) -> None:
        self.worker = worker
        self.sender = uuid.uuid4().hex[:8]
        self.machine: str | None = None
        self.is_open = False
        self.is_busy = False
        self.came = 0  # attempts of the block that it is at
        self._errand = errand
        self._inbox = inbox
        self._orders: queue.SimpleQueue[Block | None] = queue.SimpleQueue()
        self._is_wanted = threading.Event()
        self._is_dismissed = False
        self._thread = threading.Thread(target=self._go, daemon=True)
        self._thread.start()

    @property
    def name(self) -> str | None:
        """That of its machine, where it alone has a lab."""
        return self.machine

    @property
    def is_idle(self) -> bool:
        return self.is_open and not self.is_busy

    def open(self) -> None:
        """The machine is free: its lab may be opened."""
        self._is_wanted.set()

    def take(self, block: Block) -> None:
        self.is_busy, self.came = True, 0
        self._orders.put(block)

    def dismiss(self) -> None:
        """Nothing is left to do for it."""
        self._is_dismissed = True
        self._is_wanted.set()
        self._orders.put(None)

    def join(self) -> None:
        """Wait until the thread has ended."""
        self._thread.join()

    # What follows runs in the thread.

    def _go(self) -> None:
        try:
            self._work()
        except WorkerLost as lost:
            self._tell(GONE, f"{self.worker}: {lost}")
        except (SchedulerGone, _Dismissed):
            self._tell(GONE, None)  # of the scheduler the main thread finds out, too
        except ColdloadError as error:
            self._tell(REFUSED, f"{error}")
        except BaseException as error:  # a mistake of ours ends the run, and not a thread alone
            self._tell(BROKEN, error)

    def _work(self) -> None:
        topic, key = self._errand.task.topic, f"coldload-run-{uuid.uuid4().hex}"
        call = identify, topic, key
        with self.worker.held(*call, key=key, meanwhile=self._unless_dismissed) as known:
            self._work_with(known)

    def _work_with(self, known: WorkerIdentity) -> None:
        if known.source != source_digest():
            raise EnvironmentLacks("it runs another coldload than this one; install the same version there")
        if known.dask != dask_version():
            raise EnvironmentLacks(
                f"it runs distributed {known.dask}, this coldload {dask_version()}; install the same version there"
            )
        if known.refusal is not None:
            raise EnvironmentLacks(known.refusal)
        self._tell(IDENTIFIED, known)
        try:
            self._is_wanted.wait()
            self._unless_dismissed()
            ship(self.worker, self._errand.shipment)
            opened = self._call(open_lab, replace(self._errand.task, sender=self.sender))
            self._tell(OPENED, opened)
            while (block := self._orders.get()) is not None:
                self._run_block(block)
        except _Dismissed:
            pass
        self.worker.quick(stop_lab, self._errand.task.topic)
        raise _Dismissed

    def _run_block(self, block: Block) -> None:
        def meanwhile() -> None:
            for ended in self._inbox.with_files(self.sender):
                record = ended.record
                folder = self._errand.run.trial_folder(record.trial, record.attempt)
                fetch_files(self.worker, ended, folder)
                self._tell("ended", ended._replace(files={}))
                self.worker.quick(files_taken, self._errand.task.topic)
            if self._errand.is_over(block.number):
                raise WorkerLost(f"another executor has ended block {block.number} before it")
            self._unless_dismissed()

        trials = [DueThere(due.planned.trial, due.attempt, due.last, due.restart) for due in block.trials]
        token = uuid.uuid4().hex
        call = run_block, self._errand.task.topic, token, block.number, trials
        number = self.worker.call(*call, key=PREFIX + token, meanwhile=meanwhile)
        self._tell(LEFT, number)

    def _call(self, *call: Any) -> Any:
        return self.worker.call(*call, meanwhile=self._unless_dismissed)

    def _unless_dismissed(self) -> None:
        if self._is_dismissed:
            raise _Dismissed

    def _tell(self, kind: str, content: Any) -> None:
        self._inbox.put(Arrived(self.sender, kind, content))

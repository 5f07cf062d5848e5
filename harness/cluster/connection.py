"""The scheduler and its workers, as seen from the coordinator. Nothing here waits without looking for its end."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from distributed import Client, Future, get_worker
from distributed.security import Security
from distributed.versions import VersionMismatchWarning

from harness.cluster.messages import dask_version, of_bytes, to_bytes
from harness.cluster.trust import AUTHORITY, CERTIFICATE, KEY, SchedulerAddress
from harness.errors import ColdloadError, EnvironmentLacks

RESOURCE = "lab"
CONNECT_S = 10.0
LOOK_EVERY_S = 1.0
HUNG_S = 30.0  # without a sign of life; a worker gives one each second
QUICK_S = 30.0  # for what a worker does beside its block
ANSWER_S = 60.0  # that an answer may come later than the end of its task


class WorkerLost(EnvironmentLacks):
    """A worker has gone, or hangs: what it was at has to be done elsewhere."""


class SchedulerGone(EnvironmentLacks):
    """Nothing can be heard of the workers any more."""


@dataclass
class HeartBeat:
    """A worker as the scheduler tells of it. `at_s` is when its last sign of life came, by our clock."""

    name: str
    sign: float
    at_s: float


@dataclass
class Cluster:
    """A connection to a scheduler."""

    client: Client
    url: str
    hung_s: float
    _seen: dict[str, HeartBeat] = field(default_factory=dict)
    _looked_s: float = -1e9
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _topic: str = field(default_factory=lambda: f"coldload-{uuid.uuid4().hex}")
    _awaited: dict[str, queue.SimpleQueue[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.listen(self._topic, self._answered)

    def _answered(self, event: tuple[float, dict[str, Any]]) -> None:
        _, message = event
        awaited = self._awaited.get(message["token"])
        if awaited is not None:
            awaited.put(of_bytes(message["answer"]))

    @contextlib.contextmanager
    def asking(self) -> Iterator[tuple[str, str, queue.SimpleQueue[Any]]]:
        """A topic and a token for an answer, and where it comes."""
        token = uuid.uuid4().hex
        self._awaited[token] = queue.SimpleQueue()
        try:
            yield self._topic, token, self._awaited[token]
        finally:
            del self._awaited[token]

    def listen(self, topic: str, heard: Callable[[tuple[float, dict[str, Any]]], None]) -> None:
        """Be called with what workers tell under a topic."""
        self.client.subscribe_topic(topic, heard)

    def workers(self) -> list[RemoteWorker]:
        """Those that are labs and alive. SchedulerGone when there is no telling."""
        self._look()
        return [
            RemoteWorker(self, address, each.name)
            for address, each in self._seen.items()
            if self._alive(each)
        ]

    def has(self, address: str) -> bool:
        """Whether a worker is there and alive."""
        self._look()
        seen = self._seen.get(address)
        return seen is not None and self._alive(seen)

    def scheduler_version(self) -> str:
        """Its version of Dask distributed."""
        packages = self.client.get_versions(check=False)["scheduler"]["packages"]
        return str(packages["distributed"])

    def _look(self) -> None:
        with self._lock:
            now = time.monotonic()
            if now - self._looked_s < LOOK_EVERY_S:
                return
            told = self._told()
            self._looked_s = now
            heartbeats = {}
            for address, each in told.items():
                if RESOURCE in (each.get("resources") or {}):
                    sign, before = float(each["last_seen"]), self._seen.get(address)
                    fresh = before is None or before.sign != sign
                    heartbeats[address] = HeartBeat(
                        str(each["name"]), sign, now if fresh or before is None else before.at_s
                    )
            self._seen = heartbeats

    def _told(self) -> Mapping[str, Mapping[str, Any]]:
        try:
            identity = self.client.sync(
                self.client.scheduler.identity, n_workers=-1, callback_timeout=QUICK_S
            )
        except (OSError, TimeoutError, AttributeError) as error:
            raise self._gone() from error
        if self.client.status != "running":
            raise self._gone()
        workers: Mapping[str, Mapping[str, Any]] = identity["workers"]
        return workers

    def _gone(self) -> SchedulerGone:
        return SchedulerGone(
            f"the scheduler {self.url} has gone; what was recorded is whole: give the same command once it is back, or "
            "with another --on"
        )

    def _alive(self, seen: HeartBeat) -> bool:
        return time.monotonic() - seen.at_s < self.hung_s


@dataclass(frozen=True)
class RemoteWorker:
    """A worker of the cluster."""

    cluster: Cluster
    address: str
    name: str

    def call(
        self,
        function: Callable[..., Any],
        *arguments: object,
        key: str | None = None,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Any:
        """Call a function there, in the thread of its blocks, and wait; raises what it raises, or WorkerLost.

        `meanwhile` is called a few times a second.
        """
        key = key or f"coldload-{uuid.uuid4().hex}"
        with self.held(function, *arguments, key=key, meanwhile=meanwhile) as given:
            return given

    @contextlib.contextmanager
    def held(
        self, function: Callable[..., Any], *arguments: object, key: str, meanwhile: Callable[[], None]
    ) -> Iterator[Any]:
        """What `call` gives. The worker knows the task by its key to the end of the block, or of this program."""
        with self.cluster.asking() as (topic, token, answers):
            future: Future = self.cluster.client.submit(
                answer,
                topic,
                token,
                function,
                *arguments,
                key=key,
                workers=[self.address],
                allow_other_workers=False,
                resources={RESOURCE: 1},
                retries=0,
                pure=False,
            )
            try:
                yield self._awaited(future, answers, meanwhile)
            finally:
                with contextlib.suppress(OSError, RuntimeError):  # with its connection it goes by itself
                    future.cancel()

    def _awaited(self, future: Future, answers: queue.SimpleQueue[Any], meanwhile: Callable[[], None]) -> Any:
        ended_s = None
        while True:
            with contextlib.suppress(queue.Empty):
                return answers.get(timeout=0.2)
            meanwhile()
            self._raise_failure_of(future)
            if not self.cluster.has(self.address):
                raise WorkerLost("it is not there any more, or gives no sign of life")
            if future.done():
                ended_s = ended_s or time.monotonic()
                if time.monotonic() - ended_s > ANSWER_S:
                    raise WorkerLost("what its task gave did not arrive")

    def quick(self, function: Callable[..., Any], *arguments: object) -> Any:
        """Call a function there beside its block; WorkerLost when it does not answer."""
        client = self.cluster.client
        try:
            told = client.sync(
                client._run, function, *arguments, workers=[self.address], callback_timeout=QUICK_S
            )
            return told[self.address]
        except (OSError, TimeoutError, KeyError) as error:
            raise WorkerLost(f"it does not answer ({type(error).__name__})") from error

    def __str__(self) -> str:
        return f"worker {self.name}" if self.name == self.address else f"worker {self.name} ({self.address})"

    @staticmethod
    def _raise_failure_of(future: Future) -> None:
        if future.status == "cancelled":
            raise WorkerLost("its task was cancelled: the scheduler or the worker has gone")
        if future.status == "error":
            error = future.exception()
            if isinstance(error, ColdloadError):
                raise error
            if type(error).__name__ in ("KilledWorker", "NoValidWorkerError", "CommClosedError"):
                raise WorkerLost("it died")
            raise EnvironmentLacks(f"{type(error).__name__}: {error}") from error


def answer(topic: str, token: str, function: Callable[..., Any], *arguments: object) -> None:
    """Call a function at a worker and tell what it gives, after all that it told before.

    A result of Dask lies at the worker until it is fetched: with that it may be gone, and the fetching waits for ever.
    """
    told = to_bytes(function(*arguments))
    get_worker().log_event(topic, {"token": token, "answer": told})


@contextlib.contextmanager
def connected(
    address: SchedulerAddress, certificates: Path | None, hung_s: float = HUNG_S
) -> Iterator[Cluster]:
    """A connection for the length of the block. EnvironmentLacks without a scheduler, or for one of another version."""
    security = None
    if certificates is not None:
        security = Security(
            tls_ca_file=str(certificates / AUTHORITY),
            tls_client_cert=str(certificates / CERTIFICATE),
            tls_client_key=str(certificates / KEY),
            require_encryption=True,
        )
    try:
        with warnings.catch_warnings():  # versions are looked at below
            warnings.simplefilter("ignore", VersionMismatchWarning)
            client = Client(address.url, security=security, timeout=CONNECT_S, set_as_default=False)
    except (OSError, TimeoutError) as error:
        raise EnvironmentLacks(
            f"no scheduler of Dask answers at {address.url} within {CONNECT_S:g} s; start one there with "
            "`dask scheduler` (docs/cluster.md), or mend --on and --certificates"
        ) from error
    try:
        cluster = Cluster(client, address.url, hung_s)
        version = cluster.scheduler_version()
        if version != dask_version():
            raise EnvironmentLacks(
                f"the scheduler {address.url} runs distributed {version}, this coldload {dask_version()}; "
                "install the same version on all machines"
            )
        yield cluster
    finally:
        client.close(timeout=5)

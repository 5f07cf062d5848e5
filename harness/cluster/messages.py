"""What coordinator and workers say to each other. Both are of one version, so values travel as they are."""

from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.study.study import Study

PIECE_BYTES = 4_000_000  # of a file, at a time


@dataclass(frozen=True)
class WorkerIdentity:
    """What a worker is; `dask` is its version of that. `refusal` says why its machine cannot have an enclosure, and is
    None when it can.
    """

    machine: str
    source: str
    dask: str
    refusal: str | None


@dataclass(frozen=True)
class Parcel:
    """An archive that a study needs: what it is called, and its digest."""

    name: str
    digest: str


@dataclass(frozen=True)
class LaboratoryTask:
    """What a worker is to do for a run. `topic` is where it tells what happens, `sender` what it calls itself there.

    `archives` are digests, for each engine by the name an archive is served under.
    """

    topic: str
    sender: str
    study: Study
    trials: tuple[PlannedTrial, ...]
    archives: Mapping[Engine, Mapping[str, str]]
    patient: bool


class Ended(NamedTuple):
    """An attempt that has ended at a worker. `files` are the sizes of what was kept of it, by their paths; the worker
    goes on once it is told that they were taken.
    """

    record: RecordLine
    repeated: bool
    files: Mapping[str, int]


class DueThere(NamedTuple):
    """A trial that is due, its plan by its id: the worker has it."""

    trial: str
    attempt: int
    last: int
    restart: int


def to_bytes(told: Any) -> bytes:
    """What a worker tells, for a message."""
    return pickle.dumps(told, pickle.HIGHEST_PROTOCOL)


def of_bytes(data: bytes) -> Any:
    """Inverse of `to_bytes`; of a member of the cluster, who could do anything here anyway."""
    return pickle.loads(data)  # noqa: S301

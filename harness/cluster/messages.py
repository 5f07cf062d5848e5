"""What coordinator and workers say to each other, and what must be the same on both. So values travel as they are."""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from harness.input.jsontext import leaves
from harness.input.keys import NAME_PATTERN
from harness.lab.environment import processor
from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.lanes import machine_digest
from harness.study.study import Study

PIECE_BYTES = 4_000_000  # of a file, at a time
MACHINE_VARIABLE = "COLDLOAD_MACHINE"
PACKAGES = ("harness", "sites", "dnsredirect", "configs")
SUFFIXES = (".py", ".js", ".lua", ".toml", ".template", ".conf")
MADE = {"node_modules", "target"}  # folders of what is made from the sources
SAME = ("programs", "packages", "fonts", "link")  # of the environment
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def machine_name() -> str:
    """$COLDLOAD_MACHINE, or the name of the host."""
    name = os.environ.get(MACHINE_VARIABLE) or socket.gethostname()
    return name if NAME_PATTERN.fullmatch(name) else "machine"


class MachineMarks(NamedTuple):
    """What tells machines of one name apart. `number` is a digest of machine-id and processor: it stays, and clones may
    share it. `boot` is that of the kernel: all on one kernel have it, and the next start of the machine has another.
    """

    number: str
    boot: str


def machine_marks() -> MachineMarks:
    """Those of this machine; `boot` is empty where the kernel does not tell."""
    told = f"{machine_digest()} {processor()}"
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    return MachineMarks(hashlib.sha256(told.encode()).hexdigest()[:16], boot)


def dask_version() -> str:
    """That of Dask distributed, which must be the same everywhere, too."""
    return version("distributed")


@cache
def source_digest() -> str:
    """Of all sources that measure: two machines with one digest run the same coldload.

    But for the emulator, which tells the digest of its own (`linkem --version`).
    """
    digest = hashlib.sha256()
    for package in PACKAGES:
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*")):
            if path.suffix in SUFFIXES and MADE.isdisjoint(path.relative_to(root).parts):
                digest.update(f"{package}/{path.relative_to(root)}\n".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def differences(
    environment: Mapping[str, Any], others: Mapping[str, Any], where: str = "elsewhere"
) -> list[str]:
    """In what a machine differs from the others, as `programs.chromium: A, elsewhere B`."""
    mine, theirs = (dict(leaves({key: side.get(key) for key in SAME})) for side in (environment, others))
    return [
        f"{key}: {mine.get(key)}, {where} {theirs.get(key)}"
        for key in sorted({*mine, *theirs})
        if mine.get(key) != theirs.get(key)
    ]


@dataclass(frozen=True)
class WorkerIdentity:
    """What a worker is; `dask` is its version of that. `refusal` says why its machine cannot have an enclosure, and is
    None when it can.
    """

    machine: str
    marks: MachineMarks
    source: str
    dask: str
    refusal: str | None


@dataclass(frozen=True)
class Parcel:
    """An archive that a study needs: what it is called, and its digest."""

    name: str
    digest: str


@dataclass(frozen=True)
class LabTask:
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

"""What travels between the coordinator and a worker as files: archives there, kept files of attempts back."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from harness.cluster.connection import RemoteWorker
from harness.cluster.messages import PIECE_BYTES, Ended, Parcel
from harness.cluster.store import PARTS
from harness.cluster.worker import keep_archive, lacking_archives, piece_of_file, receive_piece
from harness.errors import TestbedFailed
from harness.input.shown import shown
from harness.model.engine import Engine
from sites.archive import Archive


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
    arriving = Path(tempfile.mkdtemp(prefix=".arriving-", dir=folder.parent))
    try:
        for name, size in ended.files.items():
            target = arriving / _inside(name)
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("wb") as file:
                for offset in range(0, size, PIECE_BYTES):
                    length = min(PIECE_BYTES, size - offset)
                    file.write(worker.quick(piece_of_file, folder.name, name, offset, length))
        arriving.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)  # of the same attempt, whose record did not come
        arriving.rename(folder)
    finally:
        shutil.rmtree(arriving, ignore_errors=True)


def _pieces(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while data := file.read(PIECE_BYTES):
            yield data


def _inside(name: str) -> PurePosixPath:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise TestbedFailed(f"a worker names a file {shown(name)}")
    return path

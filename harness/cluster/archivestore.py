"""Archives at a worker: what comes there, is kept, and is checked."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from harness.cluster.messages import Parcel
from harness.errors import ArchiveError
from harness.system.files import remove_leftovers, temporary_folder
from sites.archive import open_archive
from sites.archiveindex import INDEX_FILE, METADATA_FILE, WARC_FILE

PARTS = (INDEX_FILE, METADATA_FILE, WARC_FILE)
ARRIVING = "arriving"  # the folder of what is not whole yet


class Arrival(NamedTuple):
    """The folder of an archive that is not whole yet, which is gone when the stack is closed."""

    folder: Path
    stack: contextlib.ExitStack


class ArchiveStore:
    """Archives at a worker, by digest: they travel there once, and are checked there.

    `<root>/<digest>/<name>/` holds an archive. Several workers may share one store, also those of several machines with
    one home in the network. There no machine sees the locks of another one, so each has a folder for what arrives.
    """

    def __init__(self, root: Path, machine: str) -> None:
        self._root = root
        self._own = root / ARRIVING / machine
        self._checked: set[tuple[str, str]] = set()
        self._arriving: dict[tuple[str, str], Arrival] = {}

    def folder(self, name: str, digest: str) -> Path:
        """The folder of an archive that was checked."""
        if (name, digest) not in self._checked:
            raise ArchiveError(f"archive {name} has not come here")
        return self._root / digest / name

    def lacking(self, parcels: Iterable[Parcel]) -> list[Parcel]:
        """Those that are not here; of each all will be sent. ArchiveError when one that is here is not what it was.

        What killed workers of this machine had of others goes.
        """
        remove_leftovers(self._own)
        missing = []
        for parcel in parcels:
            folder = self._root / parcel.digest / parcel.name
            if folder.is_dir():
                _check(parcel, folder, f"remove {folder}")
                self._checked.add((parcel.name, parcel.digest))
            else:
                missing.append(parcel)
            begun = self._arriving.pop((parcel.name, parcel.digest), None)
            if begun is not None:  # by a command that was killed
                begun.stack.close()
        return missing

    def receive(self, parcel: Parcel, name: str, data: bytes) -> None:
        """Add to a file of an archive that arrives."""
        if name not in PARTS:
            raise ArchiveError(f"{name!r} is no part of an archive")
        key = parcel.name, parcel.digest
        if key not in self._arriving:
            stack = contextlib.ExitStack()
            arrived = stack.enter_context(temporary_folder(self._own, ARRIVING))
            self._arriving[key] = Arrival(arrived / parcel.name, stack)
            self._arriving[key].folder.mkdir()
        with (self._arriving[key].folder / name).open("ab") as file:
            file.write(data)

    def keep(self, parcel: Parcel) -> None:
        """An archive has come as a whole. ArchiveError when it is not what it was where it came from."""
        key = parcel.name, parcel.digest
        folder, stack = self._arriving.pop(key)
        with stack:
            _check(parcel, folder, "try again")
            target = self._root / parcel.digest
            target.mkdir(exist_ok=True)
            try:
                folder.rename(target / parcel.name)
            except OSError:
                if not (target / parcel.name).is_dir():  # else another worker was quicker
                    raise
            self._checked.add(key)


def _check(parcel: Parcel, folder: Path, remedy: str) -> None:
    """Every response against its digest, and all of them against the archive's."""
    archive = open_archive(folder.parent, folder.name)
    for _ in archive.responses():
        pass
    if archive.digest != parcel.digest:
        raise ArchiveError(
            f"archive {parcel.name} has digest {archive.digest[:12]} here and {parcel.digest[:12]} where the run is; "
            f"{remedy}"
        )

"""The HAR and the bodies in files of their own: beside it, or all in a zip (Playwright, `record_har_content="attach"`).

A name in a HAR is a stranger's: it leads to a file of the HAR's own folder or of its zip, or to nothing.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from harness.errors import ArchiveError
from sites.importers.har import read_har
from sites.importers.recording import ONE_PAGE, TOTAL_LIMIT_BYTES, Recording, why
from sites.importers.wacz import UNREADABLE, WARC_NAME, check_names
from sites.response import BODY_LIMIT_BYTES

LEFT_OUT = (
    "bodies left out because the file that they are said to be in is not beside the HAR, or is too large"
)


def is_har_zip(file: IO[bytes]) -> bool:
    """Whether a zip is of a HAR; not when it is a WACZ or damaged."""
    try:
        with zipfile.ZipFile(file) as packed:
            names = packed.namelist()
    except UNREADABLE:
        return False
    return bool(_hars(names)) and not any(WARC_NAME.fullmatch(name) for name in names)


def read_har_file(file: IO[bytes], into: Recording) -> None:
    """A HAR and the files beside it; ArchiveError as `read_har`."""
    read_har(file, into, _Attached(into, partial(_beside, Path(file.name).resolve().parent)))


def read_har_zip(file: IO[bytes], into: Recording) -> None:
    """A HAR in a zip with its files; ArchiveError as `read_har`, and when the zip is damaged or has several."""
    try:
        with zipfile.ZipFile(file) as packed:
            names = packed.namelist()
            check_names(names)
            hars = _hars(names)
            if len(hars) > 1:
                raise ArchiveError(f"it is a zip of {len(hars)} HARs; unpack it and give one of them")
            within = partial(_within, packed, frozenset(names), PurePosixPath(hars[0]).parent)
            with packed.open(hars[0]) as har:
                read_har(har, into, _Attached(into, within))
    except UNREADABLE as error:
        raise ArchiveError(f"it is damaged or cut short ({why(error)}); record it again") from error


class _Attached:
    """The bodies in files of their own, by name; ArchiveError when they are more than a page can have."""

    def __init__(self, into: Recording, read: Callable[[str], bytes | None]) -> None:
        self._into, self._read = into, read
        self._bytes = 0

    def __call__(self, name: str) -> bytes | None:
        """None for a file that is not there; also for a hidden one, and one elsewhere."""
        parts = name.split("/")
        plain = all(part and not part.startswith(".") for part in parts) and not set(name) & set("\\\0")
        body = self._read(name) if plain else None
        if body is None:
            self._into.tally.add(LEFT_OUT, name)
            return None
        self._bytes += len(body)
        if self._bytes > TOTAL_LIMIT_BYTES:
            raise ArchiveError(
                f"its entries name files of more than {TOTAL_LIMIT_BYTES / 1e9:g} GB together, and {ONE_PAGE}"
            )
        return body


def _beside(folder: Path, name: str) -> bytes | None:
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file() or path.stat().st_size > BODY_LIMIT_BYTES:
            return None
        return path.read_bytes()
    except (OSError, RuntimeError, ValueError):  # no name at all; symbolic links in a circle
        return None


def _within(
    packed: zipfile.ZipFile, known: Collection[str], folder: PurePosixPath, name: str
) -> bytes | None:
    place = str(folder / name)
    if place not in known:
        return None
    with packed.open(place) as member:
        body = member.read(BODY_LIMIT_BYTES + 1)
    return body if len(body) <= BODY_LIMIT_BYTES else None


def _hars(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(".har")]

"""WACZ files: a zip with WARC files under archive/ and the pages they are of. Nothing is unpacked to disk."""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO, Any

from harness.errors import ArchiveError
from sites.importers.recording import Recording, why
from sites.importers.warcfile import WarcReader
from sites.wacz import DESCRIPTION, PAGES
from sites.warc import UNDATED

WARC_NAME = re.compile(r"archive/[^/]+\.warc(\.gz)?", re.IGNORECASE)
LONGEST_NAME = 1000
METADATA_LIMIT_BYTES = 20_000_000
UNREADABLE = (OSError, EOFError, zipfile.BadZipFile, zlib.error, ValueError, RuntimeError)


def read_wacz(file: IO[bytes], into: Recording) -> None:
    """The WARC files of a WACZ in the order of their names; ArchiveError when it is none or is damaged."""
    try:
        with zipfile.ZipFile(file) as packed:
            check_names(packed.namelist())
            warcs = sorted(name for name in packed.namelist() if WARC_NAME.fullmatch(name))
            if not warcs:
                raise ArchiveError("it is a zip but no WACZ: there is no archive/*.warc.gz in it")
            reader = WarcReader(into)
            into.pages.extend(_pages(packed))
            for name in warcs:
                _read_warc(packed, name, reader)
            reader.finish()
            into.source = _software(packed) or into.source
    except UNREADABLE as error:
        raise ArchiveError(f"it is damaged or cut short ({why(error)}); fetch or record it again") from error
    # The files of one recording are written side by side.
    if len(warcs) > 1 and all(capture.response.date for capture in into.captures):
        into.captures.sort(key=lambda capture: capture.response.date or UNDATED)


def _read_warc(packed: zipfile.ZipFile, name: str, reader: WarcReader) -> None:
    try:
        with packed.open(name) as warc:
            reader.read(warc)
    except ArchiveError as error:
        raise ArchiveError(f"in its {name}, {error}") from error


def check_names(names: list[str]) -> None:
    """Names never become paths here; those that would lead elsewhere show that no recorder wrote the file."""
    for name in names:
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or len(name) > LONGEST_NAME or "\0" in name:
            shown = name[:60] + "…" * (len(name) > 60)
            raise ArchiveError(
                f"it holds a file called {shown!r}, which leads out of it or is no name at all; "
                "no recorder writes that: get the recording from its source"
            )


def _pages(packed: zipfile.ZipFile) -> list[str]:
    """The main page, then the others: those that the crawl began with, and by time."""
    description = _json(_text(packed, DESCRIPTION))
    found = [description.get("mainPageUrl"), description.get("mainPageURL")]
    pages = [_json(line) for line in _text(packed, PAGES).splitlines()]
    pages.sort(key=lambda page: (not page.get("seed"), str(page.get("ts") or "~")))
    found += [page.get("url") for page in pages]
    return [url for url in found if isinstance(url, str)]


def _software(packed: zipfile.ZipFile) -> str:
    software = _json(_text(packed, DESCRIPTION)).get("software")
    return software if isinstance(software, str) else ""


def _text(packed: zipfile.ZipFile, name: str) -> str:
    if name not in packed.namelist():
        return ""
    with packed.open(name) as file:
        return file.read(METADATA_LIMIT_BYTES).decode(errors="replace")


def _json(text: str) -> dict[str, Any]:
    """A JSON object; empty when it is none."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}

"""WACZ files: a zip with WARC files, an index, the pages that they are of, and digests. Written, and read.

It is what Webrecorder's tools have (https://specs.webrecorder.net/wacz/1.1.1/): ReplayWeb.page shows it, `coldload
import` makes an archive of it. The same recording gives the same bytes. Nothing is compressed a second time, nothing is
unpacked to disk.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

import harness
from harness.errors import ArchiveError, StorageFailed
from harness.system.files import utc_text, whole_file
from sites import warc
from sites.archiveindex import Entry
from sites.htcache import UNREADABLE
from sites.importers.recording import Recording, why
from sites.importers.warcfile import WarcReader
from sites.response import Response
from sites.urls import ip_address_of, parse_url
from sites.warc import UNDATED, About

WARC, INDEX = "archive/data.warc.gz", "indexes/index.cdx"
DESCRIPTION, PAGES, DIGEST = "datapackage.json", "pages/pages.jsonl", "datapackage-digest.json"
VERSION = "1.1.1"
BLOCK_BYTES = 1 << 20


def write_wacz(path: Path, about: About, responses: Iterable[Response]) -> tuple[Entry, ...]:
    """Write the file, whole or not at all; what stands in it. StorageFailed when it cannot be written."""
    try:
        with (
            tempfile.TemporaryFile(dir=path.parent) as recording,
            whole_file(path) as file,
            zipfile.ZipFile(file, "w") as packed,
        ):
            writer = warc.Writer(recording, about)
            entries, lines, dates = [], [], []
            for response in responses:
                entries.append(Entry.of(writer.add(response)))
                date = response.date or warc.UNDATED
                dates.append(date)
                lines.append(f"{surt(response.url)} {date:%Y%m%d%H%M%S} {_indexed(entries[-1])}\n")
            recording.seek(0)
            seen = utc_text(min(dates, default=warc.UNDATED), "seconds")
            index = "".join(sorted(lines)).encode()
            members = {WARC: _blocks(recording), INDEX: [index], PAGES: [_pages_file(about.start_url, seen)]}
            resources = [_stored(packed, name, content) for name, content in members.items()]
            description = {
                "profile": "data-package",
                "wacz_version": VERSION,
                "software": f"coldload {harness.__version__}",
                "created": seen,
                "mainPageUrl": about.start_url,
                "mainPageDate": seen,
                "resources": resources,
            }
            told = json.dumps(description, indent=2).encode()
            _stored(packed, DESCRIPTION, [told])
            digest = {"path": DESCRIPTION, "hash": f"sha256:{warc.sha256(told)}"}
            _stored(packed, DIGEST, [json.dumps(digest).encode()])
    except OSError as error:
        raise StorageFailed(
            f"cannot write {path}: {error.strerror or error}; make room, or choose another place by --out"
        ) from error
    return tuple(entries)


def _stored(packed: zipfile.ZipFile, name: str, content: Iterable[bytes]) -> dict[str, str | int]:
    """Put a member in; what the description says of it."""
    digest, size = hashlib.sha256(), 0
    with packed.open(zipfile.ZipInfo(name), "w", force_zip64=True) as member:
        for block in content:
            digest.update(block)
            size += member.write(block)
    return {
        "name": PurePosixPath(name).name,
        "path": name,
        "hash": f"sha256:{digest.hexdigest()}",
        "bytes": size,
    }


def _blocks(file: IO[bytes]) -> Iterator[bytes]:
    while block := file.read(BLOCK_BYTES):
        yield block


def _pages_file(start_url: str, seen: str) -> bytes:
    header = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages"}
    page = {"id": warc.sha256(start_url.encode())[:22], "url": start_url, "ts": seen, "seed": True}
    return "".join(f"{json.dumps(line)}\n" for line in (header, page)).encode()


def _indexed(entry: Entry) -> str:
    told = {
        "url": entry.url,
        "mime": entry.mime or "unk",
        "status": str(entry.status),
        "digest": f"sha256:{entry.sha256}",
        "offset": str(entry.offset),
        "length": str(entry.length),
        "filename": PurePosixPath(WARC).name,
    }
    return json.dumps(told)


def surt(url: str) -> str:
    """A URL as the indexes of web archives sort it: `com,example,www)/path?query`, without its scheme."""
    parsed = parse_url(url)
    host = parsed.host if ip_address_of(parsed.host) else ",".join(reversed(parsed.host.split(".")))
    port = parsed.authority.rpartition("]")[2].partition(":")[1:]
    return f"{host}{''.join(port)}){parsed.target.lower()}"


WARC_NAME = re.compile(r"archive/[^/]+\.warc(\.gz)?", re.IGNORECASE)
LONGEST_NAME = 1000
METADATA_LIMIT_BYTES = 20_000_000


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
    urls = [description.get("mainPageUrl"), description.get("mainPageURL")]
    pages = [_json(line) for line in _text(packed, PAGES).splitlines()]
    pages.sort(key=lambda page: (not page.get("seed"), str(page.get("ts") or "~")))
    urls += [page.get("url") for page in pages]
    return [url for url in urls if isinstance(url, str)]


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

"""A recording as a WACZ file: a zip with its WARC, an index, the page, and the digests of all three.

It is what Webrecorder's tools have (https://specs.webrecorder.net/wacz/1.1.1/): ReplayWeb.page shows it, `coldload
import` makes an archive of it. The same recording gives the same bytes. Nothing is compressed a second time.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import IO

import harness
from harness.errors import StorageFailed
from harness.system.files import utc_text, whole_file
from sites import warc
from sites.archiveindex import Entry
from sites.response import Response
from sites.urls import ip_address_of, parse_url
from sites.warc import About

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
            members = {WARC: _blocks(recording), INDEX: [index], PAGES: [_pages(about.start_url, seen)]}
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


def _pages(start_url: str, seen: str) -> bytes:
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

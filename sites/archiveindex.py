"""The index of an archive: a line per response, and the metadata with the digest of the content."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TypedDict

import msgspec

from harness.errors import ArchiveError
from harness.input.jsontext import Count
from harness.input.textfile import read_file
from harness.system.files import replace_text
from sites import warc
from sites.urls import parse_url
from sites.warc import About

SCHEMA = 1
WARC_FILE, INDEX_FILE, METADATA_FILE = "archive.warc.gz", "index.jsonl", "archive.json"
# Far above those of any page.
MOST_INDEX_BYTES, MOST_METADATA_BYTES = 500_000_000, 50_000_000


@dataclass(frozen=True)
class Entry:
    """A line of index.jsonl: a response, and where it stands in the WARC."""

    url: str
    """URL of the response"""
    status: Count
    """HTTP status"""
    mime: str
    """media type"""
    body_bytes: Count
    """size of the body as it travelled"""
    offset: Count
    """where its gzip member begins in archive.warc.gz"""
    length: Count
    """size of the gzip member"""
    sha256: str
    """digest of the body"""
    head_sha256: str
    """digest of status and headers"""
    ip: str | None = None
    """address of the server; null where the recording does not tell"""
    wait_ms: float | None = None
    """time from the request to the first byte; null where the recording does not tell"""
    connect_ms: float | None = None
    """one round trip; null where the recording does not tell"""

    @property
    def host(self) -> str:
        return parse_url(self.url).host

    @classmethod
    def of(cls, recorded: warc.Recorded) -> Entry:
        response = recorded.response
        return cls(
            url=response.url,
            status=response.status,
            mime=response.mime,
            body_bytes=len(response.body),
            offset=recorded.offset,
            length=recorded.length,
            sha256=recorded.body_sha256,
            head_sha256=recorded.head_sha256,
            ip=response.ip,
            wait_ms=response.wait_ms,
            connect_ms=response.connect_ms,
        )


class ArchiveFacts(TypedDict):
    """archive.json."""

    schema: int
    """version of the format"""
    start_url: str
    """URL of the page"""
    captured_with: str
    """`httrack`, `chromium`, `httrack and chromium`, or kind and maker of an imported recording"""
    user_agent: str
    """of the browser that recorded it; empty: unknown"""
    notes: list[str]
    """notes of the recording"""
    captured_utc: str | None
    """date of the first response; null where none is told"""
    responses: int
    """number of responses"""
    body_bytes: int
    """bodies as they travelled"""
    hosts: list[str]
    """hosts that answered"""
    digest: str
    """of start URL and each response's URL, head and body, with address, wait and round trip where known"""


@dataclass(frozen=True)
class Metadata(About):
    """What is read of archive.json; the rest of it is for people."""

    captured_utc: str | None
    digest: str


Indexed = tuple[Entry, datetime | None]


def indexed(recorded: warc.Recorded) -> Indexed:
    """What is kept of a response for the index: not its body."""
    return Entry.of(recorded), recorded.response.date


def write_index(folder: Path, about: About, recordeds: Sequence[Indexed]) -> None:
    """index.jsonl and archive.json, each replaced at once."""
    entries = [entry for entry, _ in recordeds]
    metadata: ArchiveFacts = {
        "schema": SCHEMA,
        "start_url": about.start_url,
        "captured_with": about.captured_with,
        "user_agent": about.user_agent,
        "notes": list(about.notes),
        "captured_utc": min((warc.iso_date(date) for _, date in recordeds if date), default=None),
        "responses": len(entries),
        "body_bytes": sum(entry.body_bytes for entry in entries),
        "hosts": list(hosts_of(entries)),
        "digest": _digest(about.start_url, entries),
    }
    replace_text(folder / INDEX_FILE, "".join(json.dumps(vars(entry)) + "\n" for entry in entries))
    replace_text(folder / METADATA_FILE, json.dumps(metadata, indent=2) + "\n")


def read_index(folder: Path) -> tuple[Metadata, tuple[Entry, ...]]:
    """The metadata and every entry, checked against each other; ArchiveError when either is damaged."""
    metadata = _metadata(folder)
    entries = tuple(_entries(folder))
    if metadata.digest != _digest(metadata.start_url, entries):
        raise damaged(folder, INDEX_FILE, f"its content is not what {METADATA_FILE} says (digest)")
    return metadata, entries


def _metadata(folder: Path) -> Metadata:
    try:
        data = json.loads(read_file(folder / METADATA_FILE, MOST_METADATA_BYTES))
        schema = data["schema"]
        if schema == SCHEMA:
            return msgspec.convert(data, Metadata)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise damaged(folder, METADATA_FILE, error) from error
    raise damaged(folder, METADATA_FILE, f"schema {schema!r} is not {SCHEMA}, which this coldload reads")


def _entries(folder: Path) -> Iterator[Entry]:
    try:
        size = (folder / WARC_FILE).stat().st_size
    except OSError as error:
        raise damaged(folder, WARC_FILE, error) from error
    try:
        lines = read_file(folder / INDEX_FILE, MOST_INDEX_BYTES).decode("utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise damaged(folder, INDEX_FILE, error) from error
    for number, line in enumerate(lines, 1):
        try:
            entry = msgspec.convert(json.loads(line), Entry)
        except ValueError as error:
            raise damaged(folder, INDEX_FILE, f"line {number}: {_why(error)}") from error
        if entry.offset + entry.length > size:
            raise damaged(folder, WARC_FILE, f"it ends before the response of line {number} ({entry.url})")
        yield entry


def damaged(folder: Path, file: str, found: str | Exception) -> ArchiveError:
    """The error of an archive that cannot be read, with what to do."""
    if isinstance(found, Exception):
        found = _why(found)
    mend = f"archive it again with `coldload archive URL --name {folder.name} --replace`"
    if file != WARC_FILE:
        mend += f", or make the index anew from {WARC_FILE} with sites.archive.rebuild_index"
    return ArchiveError(f"archive {folder.name} is damaged: {file}: {found}; {mend}")


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    return f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


def hosts_of(entries: Iterable[Entry]) -> tuple[str, ...]:
    origins = dict.fromkeys("/".join(entry.url.split("/", 3)[:3]) for entry in entries)
    return tuple(dict.fromkeys(parse_url(origin).host for origin in origins))


def address_groups(entries: Iterable[Entry]) -> tuple[tuple[str, ...], ...]:
    """The hosts by recorded server address, in order of appearance.

    A host seen at several addresses belongs to the one that answered most often (of equals, first). A host without a
    recorded address stands alone.
    """
    groups: dict[str, list[str]] = {}
    for host, address in _addresses(tuple(entries)).items():
        groups.setdefault(address, []).append(host)
    return tuple(tuple(hosts) for hosts in groups.values())


def round_trips(entries: Iterable[Entry]) -> dict[str, float]:
    """The shortest connect time to each host's server address, in ms; hosts without one are left out.

    Those of connections to another address of the host do not count.
    """
    told = tuple(entries)
    addresses = _addresses(told)
    times: defaultdict[str, list[float]] = defaultdict(list)
    for entry in told:
        address = addresses[entry.host]
        if entry.connect_ms is not None and entry.ip in (None, address):
            times[address].append(entry.connect_ms)
    return {host: min(times[address]) for host, address in addresses.items() if address in times}


def whole_waits(entries: Iterable[Entry]) -> Counter[str]:
    """By host, the responses with a recorded wait of which no round trip can be taken off, as none is known."""
    told = tuple(entries)
    known = round_trips(told)
    return Counter(entry.host for entry in told if entry.wait_ms is not None and entry.host not in known)


def _addresses(entries: Sequence[Entry]) -> dict[str, str]:
    """The server address of each host, in order of appearance."""
    seen: dict[str, Counter[str]] = {host: Counter() for host in hosts_of(entries)}
    for entry in entries:
        if entry.ip is not None:
            seen[entry.host][entry.ip] += 1
    return {
        host: addresses.most_common(1)[0][0] if addresses else f"of {host} alone"
        for host, addresses in seen.items()
    }


def digest_in_order(start_url: str, entries: Iterable[Entry], urls: Sequence[str]) -> str:
    """The digest, had the responses been recorded in the order of these URLs; others come last."""
    ranks = {url: rank for rank, url in enumerate(urls)}
    return _digest(start_url, sorted(entries, key=lambda entry: ranks.get(entry.url, len(ranks))))


def _digest(start_url: str, entries: Iterable[Entry]) -> str:
    """Identity of the content: start URL and each response's URL, head and body in order; not compression.

    The server's address, the wait for it and the round trip to it count where they are known: they can be replayed.
    """
    lines = [start_url]
    for entry in entries:
        line = f"{entry.url} {entry.head_sha256} {entry.sha256}"
        known = entry.ip is not None or entry.wait_ms is not None or entry.connect_ms is not None
        connected = "" if entry.connect_ms is None else f" {entry.connect_ms}"
        lines.append(f"{line} {entry.ip} {entry.wait_ms}{connected}" if known else line)
    return warc.sha256("\n".join(lines).encode())

"""Which files two archives do not share: two releases of a page, or a page and a variant of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import ArchiveError
from sites.archive import Archive
from sites.archiveindex import Entry
from sites.mediatype import words
from sites.response import Response
from sites.served import served_head
from sites.urls import parse_url

START = "the document"
# Of names like app.3f2a91bc.js, which change with each release of one file.
FINGERPRINT = re.compile(r"(?<=[._-])(?=[0-9a-f]*[0-9])[0-9a-f]{6,64}(?=[._-])")
EVERYWHERE = ("/", "/favicon.ico", "/robots.txt", "/manifest.json")
LEAST_BYTES = 100  # of a body that is no accident when two sites have it
# Headers that are others in each answer, or at each of a provider's servers.
BY_CHANCE = words(
    "age cf-cache-status cf-ray fly-request-id server-timing traceparent via x-amz-cf-id x-amz-cf-pop x-amz-id-2 "
    "x-amz-request-id x-azure-ref x-cache x-cache-hits x-correlation-id x-fastly-request-id x-github-request-id "
    "x-nf-request-id x-request-id x-runtime x-served-by x-timer x-trace-id x-varnish x-vercel-cache x-vercel-id"
)
# Headers whose values change with each deployment of one file. An Expires that still counts is a max-age by then.
OF_DEPLOYMENT = words("etag expires last-modified")


@dataclass(frozen=True)
class FileApart:
    """A file by its address, and the bytes of its body in A and in B; None where it is not.

    `same_body`: status or headers alone differ.
    """

    url: str
    a: int | None
    b: int | None
    same_body: bool = False


@dataclass(frozen=True)
class FilesApart:
    """`files` differ, those that changed most bytes first; `same` is how many are equal.

    Equal are the body, byte for byte, the status, and the headers that a replay keeps, but for those of chance.
    """

    same: int
    files: tuple[FileApart, ...]


def files_apart(a: Archive, b: Archive) -> FilesApart:
    """Files are the same by their address, whatever the scheme; the host of the page may have another name in B.

    What one side alone has is paired by its name without a fingerprint, where that is one file on each side.
    """
    before, after = _by_address(a), _by_address(b)
    both = [(one, after[key]) for key, one in before.items() if key in after]
    alone = [
        {key: entry for key, entry in side.items() if key not in other}
        for side, other in ((before, after), (after, before))
    ]
    renamed = _renamed(*alone)
    both += renamed
    taken = {id(entry) for pair in renamed for entry in pair}
    files = [
        FileApart(other.url, one.body_bytes, other.body_bytes, same_body=one.sha256 == other.sha256)
        for one, other in both
        if one.sha256 != other.sha256 or not _same_head(a, one, b, other)
    ]
    same = len(both) - len(files)
    files += [
        FileApart(leftover.url, leftover.body_bytes, None)
        for leftover in alone[0].values()
        if id(leftover) not in taken
    ]
    files += [
        FileApart(leftover.url, None, leftover.body_bytes)
        for leftover in alone[1].values()
        if id(leftover) not in taken
    ]
    files.sort(key=lambda each: -abs((each.b or 0) - (each.a or 0)))
    return FilesApart(same, tuple(files))


def refuse_unlike(a: Archive, b: Archive) -> None:
    """ArchiveError for pages of different sites: no host, no path and no file in common."""
    hosts = [parse_url(archive.start_url).host for archive in (a, b)]
    paths = [{key[1] for key in _by_address(archive)} - {*EVERYWHERE, START} for archive in (a, b)]
    bodies = [{entry.sha256 for entry in side.entries if entry.body_bytes >= LEAST_BYTES} for side in (a, b)]
    if hosts[0] != hosts[1] and not paths[0] & paths[1] and not bodies[0] & bodies[1]:
        raise ArchiveError(
            f"{a.name} ({a.start_url}) and {b.name} ({b.start_url}) have nothing in common, no host, no path, "
            "no file: they are no two releases of one page; name two archives of one site"
        )


def _same_head(a: Archive, one: Entry, b: Archive, other: Entry) -> bool:
    """Whether a replay sends the same status and headers for both, but for what changes by chance."""
    if one.head_sha256 == other.head_sha256:
        return True
    return _told_head(a.read(one)) == _told_head(b.read(other))


def _told_head(response: Response) -> tuple[int, list[tuple[str, str]]]:
    """Status and headers by their names; of one name in their order."""
    status, headers = served_head(response)
    told = [
        (lower, "" if lower in OF_DEPLOYMENT else value)
        for name, value in headers
        if (lower := name.lower()) not in BY_CHANCE
    ]
    return status, sorted(told, key=lambda header: header[0])


def _by_address(archive: Archive) -> dict[tuple[str, str], Entry]:
    """By host, empty of the page's own, and path with query; of several answers at one address the last."""
    start = parse_url(archive.start_url).host
    entries = {}
    for entry in archive.entries:
        url = parse_url(entry.url)
        host = "" if url.host == start else url.host
        key = ("", START) if entry.url == archive.start_url else (host, url.target)
        entries[key] = entry
    return entries


def _renamed(
    a: Mapping[tuple[str, str], Entry], b: Mapping[tuple[str, str], Entry]
) -> list[tuple[Entry, Entry]]:
    groups: dict[tuple[str, str], tuple[list[Entry], list[Entry]]] = defaultdict(lambda: ([], []))
    for number, side in enumerate((a, b)):
        for (host, path), entry in side.items():
            name = FINGERPRINT.sub("*", path)
            if name != path:
                groups[host, name][number].append(entry)
    return [(one[0], other[0]) for one, other in groups.values() if len(one) == len(other) == 1]

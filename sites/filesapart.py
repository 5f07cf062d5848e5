"""Which files two archives do not share: two releases of a page, or a page and a variant of it. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import ArchiveError
from sites.archive import Archive
from sites.archiveindex import Entry
from sites.urls import parse_url

START = "the document"
# Of names like app.3f2a91bc.js, which change with each release of one file.
FINGERPRINT = re.compile(r"(?<=[._-])(?=[0-9a-f]*[0-9])[0-9a-f]{6,64}(?=[._-])")
EVERYWHERE = ("/", "/favicon.ico", "/robots.txt", "/manifest.json")
LEAST_BYTES = 100  # of a body that is no accident when two sites have it


@dataclass(frozen=True)
class FileApart:
    """A file by its address, and the bytes of its body in A and in B; None where it is not."""

    url: str
    a: int | None
    b: int | None


@dataclass(frozen=True)
class FilesApart:
    """`files` differ, those that changed most bytes first; `same` is how many are equal byte for byte."""

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
        FileApart(other.url, one.body_bytes, other.body_bytes)
        for one, other in both
        if one.sha256 != other.sha256
    ]
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
    return FilesApart(sum(one.sha256 == other.sha256 for one, other in both), tuple(files))


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

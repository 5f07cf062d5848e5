"""Archives: recorded responses of one page, on disk and opened read-only.

`<root>/<name>/` holds three files. `archive.warc.gz` is the recording itself, and all that is needed to make
the others anew. `index.jsonl` has one line per response, in recorded order. `archive.json` is the metadata,
with the digest of the content.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO

from harness.errors import ArchiveError, StorageFailed
from harness.input.keys import NAME_PATTERN, nearest
from harness.input.shown import shortened
from harness.input.textfile import open_file
from harness.system.files import flush, move_into_place, temporary_folder
from harness.system.folders import ARCHIVES, kept_folder
from sites import warc
from sites.archiveindex import (
    WARC_FILE,
    Entry,
    Indexed,
    Metadata,
    address_groups,
    damaged,
    digest_in_order,
    hosts_of,
    indexed,
    read_index,
    write_index,
)
from sites.mediatype import HTML_TYPES
from sites.response import RecordedLoad, Response
from sites.shipped import SHIPPED
from sites.urls import canonical_url, fragment_of, resolve
from sites.warc import About

TOTAL_LIMIT_BYTES = 4_000_000_000  # of bodies: an archive is of one page
MAX_REDIRECTS = 20
NAMED, SHIPPED_NAMED = 8, 3  # archives and pages that ship, to somebody who names none of them
DOCUMENTS_SHOWN = 10
WARNING = "Warning: "  # how a note begins that is told before all others
# Without the fragment itself, which may hold what is nobody else's business.
BEHIND_HASH = (
    f"{WARNING}what stands behind # in the start URL is no part of the address that is loaded: a page that chooses its "
    "view by it shows its first view"
)


class Archive:
    """An archive, opened and checked; nothing here changes it. `hosts` are in order of appearance.

    `replaced` are the URLs of the archive whose place it took, where one was there and could be read.
    """

    replaced: frozenset[str] | None = None

    def __init__(self, folder: Path, metadata: Metadata, entries: tuple[Entry, ...]) -> None:
        self.folder = folder
        self.name: str = folder.name
        self.start_url = metadata.start_url
        self.captured_with = metadata.captured_with
        self.user_agent = metadata.user_agent
        self.captured_utc = metadata.captured_utc
        self.notes = metadata.notes
        self.digest = metadata.digest
        self.entries = entries
        self.hosts: tuple[str, ...] = hosts_of(entries)

    def read(self, entry: Entry) -> Response:
        """The response of one of `entries`; ArchiveError when the WARC is damaged there."""
        with _open_warc(self.folder) as file:
            return self._read(file, entry)

    def responses(self) -> Iterator[Response]:
        """Every response, in recorded order."""
        with _open_warc(self.folder) as file:
            for entry in self.entries:
                yield self._read(file, entry)

    def recorded_load(self) -> RecordedLoad | None:
        """The load that was recorded; None where the recording does not tell its times."""
        with _open_warc(self.folder) as file:
            try:
                about, _ = warc.read(file)
            except warc.WarcDamagedError as error:
                raise damaged(self.folder, WARC_FILE, str(error)) from error
            return about.load

    def digest_in_order(self, urls: Sequence[str]) -> str:
        """The digest, had the responses been recorded in the order of these URLs; others come last."""
        return digest_in_order(self.start_url, self.entries, urls)

    @property
    def address_groups(self) -> tuple[tuple[str, ...], ...]:
        """The hosts by recorded server address, in order of appearance."""
        return address_groups(self.entries)

    def _read(self, file: IO[bytes], entry: Entry) -> Response:
        try:
            response = warc.read_at(file, entry.offset)
        except (warc.WarcDamagedError, ArchiveError) as error:
            raise damaged(self.folder, WARC_FILE, f"no response for {entry.url}: {error}") from error
        if warc.sha256(response.body) != entry.sha256 or response.url != entry.url:
            raise damaged(self.folder, WARC_FILE, f"something else than {entry.url} at {entry.offset}")
        return response

    def __repr__(self) -> str:
        return f"<Archive {self.name}: {len(self.entries)} responses of {len(self.hosts)} hosts>"


def fragment_warning(start_url: str) -> tuple[str, ...]:
    """The note that a start URL loses what stands behind its #; none where nothing does."""
    return (BEHIND_HASH,) if fragment_of(start_url) else ()


def archives_root() -> Path:
    """Where archives are kept: $COLDLOAD_ARCHIVES, or the user's folder of them."""
    return Path(os.environ.get("COLDLOAD_ARCHIVES") or kept_folder(ARCHIVES))


def open_archive(root: Path, name: str) -> Archive:
    """The archive of that name; ArchiveError when it is missing or damaged."""
    check_name(name)
    folder = root / name
    if not folder.is_dir():
        raise ArchiveError(_missing(root, name))
    metadata, entries = read_index(folder)
    return Archive(folder, metadata, entries)


def _missing(root: Path, name: str) -> str:
    """That a page is not archived, which one may be meant, also of those that ship, and how it is made."""
    if name in SHIPPED:
        return f"page {name!r}, which ships, is not yet made in {root}; make it with `coldload archive --shipped`"
    have = archive_names(root)
    return (
        f"page {name!r} is not archived in {root}{nearest(name, [*have, *SHIPPED])} "
        f"(there: {shortened(have, NAMED) or 'none'}); archive it with `coldload archive URL --name {name}`, or "
        f"take one that ships: {shortened(list(SHIPPED), SHIPPED_NAMED)}"
    )


def list_archives(root: Path) -> list[Archive]:
    """Every archive under `root`, by name; ArchiveError when one is damaged."""
    return [open_archive(root, name) for name in archive_names(root)]


def readable_archives(root: Path) -> Iterator[Archive]:
    """Every archive under `root` that is not damaged, by name."""
    for name in archive_names(root):
        with contextlib.suppress(ArchiveError):
            yield open_archive(root, name)


def write_archive(root: Path, name: str, about: About, responses: Iterable[Response]) -> Archive:
    """Store responses as the archive `name`, all or nothing; an existing one is replaced by the complete one.

    ArchiveError when there is no response, or none for the start URL after its redirects; StorageFailed when it cannot
    be written.
    """
    check_name(name)
    told = replace(about, start_url=canonical_url(about.start_url))
    before = _urls_of(root, name)
    try:
        with temporary_folder(root, name) as temporary:
            _fill(temporary, told, responses)
            move_into_place(temporary, root / name)
    except (FileExistsError, NotADirectoryError) as error:
        raise ArchiveError(f"cannot write archive {name} in {root}: {error}; nothing was changed") from error
    except OSError as error:
        raise StorageFailed(
            f"cannot write archive {name} in {root}: {error.strerror or error}; make room, or see `ulimit -f`; "
            "nothing was changed"
        ) from error
    archive = open_archive(root, name)
    archive.replaced = before
    return archive


def check_free(root: Path, name: str, *, replace: bool) -> None:
    """ArchiveError when `name` cannot name a new archive: it is none, or taken and not to be replaced."""
    check_name(name)
    if (root / name).exists() and not replace:
        raise ArchiveError(
            f"there is an archive {name} in {root} already; give --name for another name, or --replace to replace it"
        )


def rebuild_index(folder: Path) -> Archive:
    """Make index.jsonl and archive.json anew from the WARC; ArchiveError when that is damaged itself."""
    try:
        with _open_warc(folder) as file:
            about, recordeds = warc.read(file)
            write_index(folder, about, [indexed(recorded) for recorded in recordeds])
    except warc.WarcDamagedError as error:
        raise damaged(folder, WARC_FILE, str(error)) from error
    return open_archive(folder.parent, folder.name)


def _urls_of(root: Path, name: str) -> frozenset[str] | None:
    """The URLs of an archive; None when it is not there, or damaged."""
    try:
        return frozenset(entry.url for entry in read_index(root / name)[1])
    except ArchiveError:
        return None


def _fill(folder: Path, about: About, responses: Iterable[Response]) -> None:
    """The three files of a new archive."""
    reached: dict[str, str | None] = {}
    recordeds: list[Indexed] = []
    with (folder / WARC_FILE).open("wb") as file:
        writer = warc.Writer(file, about)
        for response in responses:
            recordeds.append(indexed(writer.add(response)))
            reached[response.url] = response.location and resolve(response.url, response.location)
        flush(file)
    _check_start(about.start_url, reached, [entry for entry, _ in recordeds])
    write_index(folder, about, recordeds)


def _check_start(start: str, reached: dict[str, str | None], entries: Sequence[Entry]) -> None:
    """`reached` tells for every recorded URL where it redirects to; None: it does not."""
    if not reached:
        raise ArchiveError(f"nothing was recorded for {start}: an archive needs at least one response")
    url = start
    for _ in range(MAX_REDIRECTS):
        if url not in reached:
            where = start if url == start else f"{url}, to which {start} redirects"
            raise ArchiveError(
                f"no response was recorded for {where} ({_documents(entries)}); give another start URL"
            )
        target = reached[url]
        if target is None:
            return
        url = target
    raise ArchiveError(f"{start} redirects more than {MAX_REDIRECTS} times; give another start URL")


def _documents(entries: Sequence[Entry]) -> str:
    """The URLs among which a start URL is likely."""
    urls = list(
        dict.fromkeys(entry.url for entry in entries if entry.status == 200 and entry.mime in HTML_TYPES)
    )
    if not urls:
        return f"no HTML document was; the first of {len(entries)} responses is {entries[0].url}"
    more = f" and {len(urls) - DOCUMENTS_SHOWN} more" if len(urls) > DOCUMENTS_SHOWN else ""
    return f"HTML documents: {', '.join(urls[:DOCUMENTS_SHOWN])}{more}"


@contextlib.contextmanager
def _open_warc(folder: Path) -> Iterator[IO[bytes]]:
    try:
        file = open_file(folder / WARC_FILE)
    except OSError as error:
        raise damaged(folder, WARC_FILE, error) from error
    with file:
        yield file


def archive_names(root: Path) -> list[str]:
    """The names of all archives below `root`."""
    if not root.is_dir():
        return []
    return sorted(path.name for path in root.iterdir() if path.is_dir() and NAME_PATTERN.fullmatch(path.name))


def check_name(name: str) -> None:
    """ArchiveError when an archive cannot be called so."""
    if not NAME_PATTERN.fullmatch(name):
        raise ArchiveError(
            f"an archive cannot be called {name[:100]!r}; use letters, digits, '.', '_' and '-'"
        )

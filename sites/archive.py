"""Archives: recorded responses of one page, on disk and opened read-only.

`<root>/<name>/` holds three files. `archive.warc.gz` is the recording itself, and all that is needed to make
the others anew. `index.jsonl` has one line per response, in recorded order. `archive.json` is the metadata,
with the digest of the content.
"""

from __future__ import annotations

import contextlib
import json
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import IO, Any

from harness.errors import ArchiveError
from harness.model import NAME_PATTERN
from sites import warc
from sites.response import Response
from sites.urls import canonical_url, parse_url, resolve
from sites.wholefolder import move_into_place, temporary_folder

__all__ = [
    "Archive",
    "Entry",
    "Response",
    "archives_root",
    "check_free",
    "list_archives",
    "open_archive",
    "rebuild_index",
    "write_archive",
]

SCHEMA = 1
WARC_FILE, INDEX_FILE, METADATA_FILE = "archive.warc.gz", "index.jsonl", "archive.json"
METADATA_KEYS = ("start_url", "captured_with", "user_agent", "captured_utc", "notes", "digest")
MAX_REDIRECTS = 20


@dataclass(frozen=True)
class Entry:
    """One index line. `offset` and `length` are the gzip member in the WARC; `sha256` is of the body.

    `ip` and `wait_ms` are the server's address and think time; None where the recording does not tell.
    """

    url: str
    status: int
    mime: str
    body_bytes: int
    offset: int
    length: int
    sha256: str
    head_sha256: str
    ip: str | None = None
    wait_ms: float | None = None

    def __post_init__(self) -> None:
        numbers = (self.status, self.body_bytes, self.offset, self.length)
        words = (self.url, self.mime, self.sha256, self.head_sha256)
        server = isinstance(self.ip, str | None) and isinstance(self.wait_ms, float | None)
        right = all(type(n) is int and n >= 0 for n in numbers) and all(isinstance(w, str) for w in words)
        if not right or not server:
            raise ValueError("a field has the wrong type or sign")

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
        )


Indexed = tuple[Entry, datetime | None]


class Archive:
    """An archive, opened and checked; nothing here changes it. `hosts` are in order of appearance."""

    def __init__(self, folder: Path, metadata: dict[str, Any], entries: tuple[Entry, ...]) -> None:
        self.folder = folder
        self.name: str = folder.name
        self.start_url: str = metadata["start_url"]
        self.captured_with: str = metadata["captured_with"]
        self.user_agent: str = metadata["user_agent"]
        self.captured_utc: str | None = metadata["captured_utc"]
        self.notes: tuple[str, ...] = tuple(metadata["notes"])
        self.digest: str = metadata["digest"]
        self.entries = entries
        self.hosts: tuple[str, ...] = _hosts(entries)

    def read(self, entry: Entry) -> Response:
        """The response of one of `entries`; ArchiveError when the WARC is damaged there."""
        with _open_warc(self.folder) as file:
            return self._read(file, entry)

    def responses(self) -> Iterator[Response]:
        """Every response, in recorded order."""
        with _open_warc(self.folder) as file:
            for entry in self.entries:
                yield self._read(file, entry)

    def _read(self, file: IO[bytes], entry: Entry) -> Response:
        try:
            response = warc.read_at(file, entry.offset)
        except (warc.WarcDamagedError, ArchiveError) as error:
            raise _damaged(self.folder, WARC_FILE, f"no response for {entry.url}: {error}") from error
        if warc.sha256(response.body) != entry.sha256 or response.url != entry.url:
            raise _damaged(self.folder, WARC_FILE, f"something else than {entry.url} at {entry.offset}")
        return response

    def __repr__(self) -> str:
        return f"<Archive {self.name}: {len(self.entries)} responses of {len(self.hosts)} hosts>"


def archives_root() -> Path:
    """Where archives are kept: $COLDLOAD_ARCHIVES, or ./archives."""
    return Path(os.environ.get("COLDLOAD_ARCHIVES") or "archives")


def open_archive(root: Path, name: str) -> Archive:
    """The archive of that name; ArchiveError when it is missing or damaged."""
    _check_name(name)
    folder = root / name
    if not folder.is_dir():
        have = ", ".join(_names(root)) or "none"
        raise ArchiveError(
            f"page {name!r} is not archived in {root} (there: {have}); "
            f"archive it with `coldload archive URL --name {name}`"
        )
    metadata = _read_metadata(folder)
    entries = tuple(_read_index(folder))
    if metadata["digest"] != _digest(metadata["start_url"], entries):
        raise _damaged(folder, INDEX_FILE, f"its content is not what {METADATA_FILE} says (digest)")
    return Archive(folder, metadata, entries)


def list_archives(root: Path) -> list[Archive]:
    """Every archive under `root`, by name; ArchiveError when one is damaged."""
    return [open_archive(root, name) for name in _names(root)]


def write_archive(
    root: Path,
    name: str,
    start_url: str,
    responses: Iterable[Response],
    *,
    captured_with: str,
    user_agent: str,
    notes: Sequence[str] = (),
) -> Archive:
    """Store responses as the archive `name`, all or nothing; an existing one is replaced by the complete one.

    ArchiveError when there is no response, or none for the start URL after its redirects.
    """
    _check_name(name)
    about = {
        "start_url": canonical_url(start_url),
        "captured_with": captured_with,
        "user_agent": user_agent,
        "notes": list(notes),
    }
    try:
        with temporary_folder(root, name) as temporary:
            _fill(temporary, about, responses)
            move_into_place(temporary, root / name)
    except OSError as error:
        raise ArchiveError(f"cannot write archive {name} in {root}: {error}; nothing was changed") from error
    return open_archive(root, name)


def check_free(root: Path, name: str, *, replace: bool) -> None:
    """ArchiveError when `name` cannot name a new archive: it is none, or taken and not to be replaced."""
    _check_name(name)
    if (root / name).exists() and not replace:
        raise ArchiveError(
            f"there is an archive {name} in {root} already; give --name for another name, or --replace to replace it"
        )


def rebuild_index(folder: Path) -> Archive:
    """Make index.jsonl and archive.json anew from the WARC; ArchiveError when that is damaged itself."""
    try:
        with _open_warc(folder) as file:
            about, recordeds = warc.read(file)
            _write_index(folder, about, [_indexed(recorded) for recorded in recordeds])
    except warc.WarcDamagedError as error:
        raise _damaged(folder, WARC_FILE, str(error)) from error
    return open_archive(folder.parent, folder.name)


def _fill(folder: Path, about: dict[str, Any], responses: Iterable[Response]) -> None:
    """The three files of a new archive."""
    reached: dict[str, str | None] = {}
    recordeds: list[Indexed] = []
    with (folder / WARC_FILE).open("wb") as file:
        writer = warc.Writer(file, about)
        for response in responses:
            recordeds.append(_indexed(writer.add(response)))
            reached[response.url] = response.location and resolve(response.url, response.location)
        _flush(file)
    _check_start(about["start_url"], reached)
    _write_index(folder, about, recordeds)


def _check_start(start: str, reached: dict[str, str | None]) -> None:
    """`reached` tells for every recorded URL where it redirects to; None: it does not."""
    if not reached:
        raise ArchiveError(f"nothing was recorded for {start}: an archive needs at least one response")
    url = start
    for _ in range(MAX_REDIRECTS):
        if url not in reached:
            where = start if url == start else f"{url}, to which {start} redirects"
            some = ", ".join(list(reached)[:3])
            raise ArchiveError(
                f"no response was recorded for {where} (first: {some}); give another start URL"
            )
        target = reached[url]
        if target is None:
            return
        url = target
    raise ArchiveError(f"{start} redirects more than {MAX_REDIRECTS} times; give another start URL")


def _indexed(recorded: warc.Recorded) -> Indexed:
    """What is kept of a response for the index: not its body."""
    return Entry.of(recorded), recorded.response.date


def _write_index(folder: Path, about: dict[str, Any], recordeds: Sequence[Indexed]) -> None:
    """index.jsonl and archive.json, each replaced at once."""
    entries = [entry for entry, _ in recordeds]
    metadata = {
        "schema": SCHEMA,
        **about,
        "captured_utc": min((warc.iso_date(date) for _, date in recordeds if date), default=None),
        "responses": len(entries),
        "body_bytes": sum(entry.body_bytes for entry in entries),
        "hosts": list(_hosts(entries)),
        "digest": _digest(about["start_url"], entries),
    }
    _write_text(folder / INDEX_FILE, "".join(json.dumps(vars(entry)) + "\n" for entry in entries))
    _write_text(folder / METADATA_FILE, json.dumps(metadata, indent=2) + "\n")


def _read_metadata(folder: Path) -> dict[str, Any]:
    try:
        metadata: dict[str, Any] = json.loads((folder / METADATA_FILE).read_text(encoding="utf-8"))
        schema = metadata["schema"]
        missing = [key for key in METADATA_KEYS if key not in metadata]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, METADATA_FILE, _why(error)) from error
    if schema != SCHEMA:
        raise _damaged(folder, METADATA_FILE, f"schema {schema!r} is not {SCHEMA}, which this coldload reads")
    if missing:
        raise _damaged(folder, METADATA_FILE, f"it lacks {', '.join(missing)}")
    return metadata


def _read_index(folder: Path) -> Iterator[Entry]:
    try:
        size = (folder / WARC_FILE).stat().st_size
    except OSError as error:
        raise _damaged(folder, WARC_FILE, _why(error)) from error
    try:
        lines = (folder / INDEX_FILE).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        raise _damaged(folder, INDEX_FILE, _why(error)) from error
    for number, line in enumerate(lines, 1):
        try:
            entry = Entry(**json.loads(line))
        except (ValueError, TypeError) as error:
            raise _damaged(folder, INDEX_FILE, f"line {number}: {_why(error)}") from error
        if entry.offset + entry.length > size:
            raise _damaged(folder, WARC_FILE, f"it ends before the response of line {number} ({entry.url})")
        yield entry


def _damaged(folder: Path, file: str, why: str) -> ArchiveError:
    mend = f"archive it again with `coldload archive URL --name {folder.name} --replace`"
    if file != WARC_FILE:
        mend += f", or make the index anew from {WARC_FILE} with sites.archive.rebuild_index"
    return ArchiveError(f"archive {folder.name} is damaged: {file}: {why}; {mend}")


def _why(error: Exception) -> str:
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    return f"it lacks {error}" if isinstance(error, KeyError) else " ".join(str(error).split())


@contextlib.contextmanager
def _open_warc(folder: Path) -> Iterator[IO[bytes]]:
    try:
        file = (folder / WARC_FILE).open("rb")
    except OSError as error:
        raise _damaged(folder, WARC_FILE, _why(error)) from error
    with file:
        yield file


def _write_text(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            _flush(file)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _flush(file: IO[Any]) -> None:
    file.flush()
    os.fsync(file.fileno())


def _names(root: Path) -> list[str]:
    if not root.is_dir():
        return []
    return sorted(path.name for path in root.iterdir() if path.is_dir() and NAME_PATTERN.fullmatch(path.name))


def _check_name(name: str) -> None:
    if not NAME_PATTERN.fullmatch(name):
        raise ArchiveError(
            f"an archive cannot be called {name[:100]!r}; use letters, digits, '.', '_' and '-'"
        )


def _hosts(entries: Iterable[Entry]) -> tuple[str, ...]:
    origins = dict.fromkeys("/".join(entry.url.split("/", 3)[:3]) for entry in entries)
    return tuple(dict.fromkeys(parse_url(origin).host for origin in origins))


def _digest(start_url: str, entries: Iterable[Entry]) -> str:
    """Identity of the content: start URL and each response's URL, head and body in order; not compression.

    The server's address and think time count where they are known: they can be replayed.
    """
    lines = [start_url]
    for entry in entries:
        line = f"{entry.url} {entry.head_sha256} {entry.sha256}"
        known = entry.ip is not None or entry.wait_ms is not None
        lines.append(f"{line} {entry.ip} {entry.wait_ms}" if known else line)
    return warc.sha256("\n".join(lines).encode())

"""Files that are whole or not there, and lines that are; the time of day as files have it: UTC in ISO 8601."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from harness.errors import StorageFailed

BLOCK_BYTES = 1 << 16


def append_line(path: Path, data: Mapping[str, Any]) -> None:
    """Append one JSON line and flush it to disk; on failure the file is as it was before."""
    append_lines(path, (data,))


def append_lines(path: Path, many: Iterable[Mapping[str, Any]]) -> None:
    """Append JSON lines and flush them to disk, once; on failure the file is as it was before."""
    append_text(path, "".join(json.dumps(data) + "\n" for data in many))


def append_text(path: Path, text: str) -> None:
    """Append whole lines with one write and flush them to disk; on failure the file is as it was before."""
    lines = text.encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, lines)
            os.fsync(descriptor)
        except OSError as error:
            os.ftruncate(descriptor, before)
            raise StorageFailed(
                f"cannot append to {path}: {error.strerror}; earlier records are intact, "
                "make room and give the same command again"
            ) from error
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def write_whole(path: Path, text: str) -> None:
    """Write a file of a run with `replace_text`."""
    try:
        replace_text(path, text)
    except OSError as error:
        raise StorageFailed(
            f"cannot write {path}: {error.strerror}; make room or choose another --out"
        ) from error


def replace_text(path: Path, text: str) -> None:
    """Write a text as a `whole_file`; OSError when that fails."""
    with whole_file(path) as file:
        file.write(text.encode())


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write that at any instant is the old one or the new one, and whole; OSError when that fails.

    A link stays, and what it leads to is replaced. A device or a pipe is written into.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:  # a folder is refused here
            yield file
        return
    target = Path(os.path.realpath(path))
    temporary = target.with_name(target.name + ".new")
    try:
        with temporary.open("wb") as file:
            yield file
            flush(file)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def flush(file: IO[Any]) -> None:
    """Have on disk what was written so far."""
    file.flush()
    os.fsync(file.fileno())


def drop_cut_line(path: Path) -> None:
    """Take off the end of a file that has no newline: what a kill cut short."""
    if not path.exists():
        return
    with path.open("r+b") as file:
        end = file.seek(0, os.SEEK_END)
        whole = _end_of_last_line(file, end)
        if whole != end:
            file.truncate(whole)


def _end_of_last_line(file: IO[bytes], end: int) -> int:
    """Where the last newline ends, read from the end; 0 without any."""
    while end > 0:
        start = max(0, end - BLOCK_BYTES)
        file.seek(start)
        found = file.read(end - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0


def utc_text(moment: datetime, timespec: str = "seconds") -> str:
    """`2012-07-01T12:00:00Z`; `timespec` as in datetime.isoformat; a moment without zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec=timespec).replace("+00:00", "Z")


def utc_now() -> str:
    """The time now, to the second."""
    return utc_text(datetime.now(UTC))

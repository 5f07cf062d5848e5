"""Files and folders that are whole or not there, and lines that are; the time of day as files have it: UTC in ISO 8601.

What is replaced is at any instant the old one or the new one, also when the process is killed.
"""

from __future__ import annotations

import contextlib
import fcntl
import glob
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, BinaryIO

from harness.errors import StorageFailed
from harness.system.folders import made_folder

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

    A link stays, and what it leads to is replaced. A device or a pipe is written into. Of two writers at once, the last
    one's file stays. What is left of a killed writer is known by its name (`is_temporary`), and goes with the next one.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as file:  # a folder is refused here
            yield file
        return
    target = Path(os.path.realpath(path))
    name = os.fsdecode(os.fsencode(target.name)[:LONGEST_NAME])
    remove_leftovers(target.parent, name)
    temporary, descriptor = _made_file(target.parent, name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            flush(file)
            temporary.replace(target)  # as long as it is locked: else it could be taken for a leftover
    finally:
        temporary.unlink(missing_ok=True)


def _made_file(folder: Path, name: str) -> tuple[Path, int]:
    """A new locked file, with the permissions that `open` gives. See `_made`."""
    while True:
        temporary = folder / _temporary_name(name)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_removed = not temporary.exists()
        except BlockingIOError:
            is_removed = True
        except OSError:  # a file system without locks: there nobody can remove it
            is_removed = False
        if not is_removed:
            return temporary, descriptor
        os.close(descriptor)


def flush(file: IO[Any]) -> None:
    """Have on disk what was written so far."""
    file.flush()
    os.fsync(file.fileno())


def store_whole(made: Path, target: Path) -> None:
    """Move a file into its place on the same file system: also after a power cut it is there whole, or not at all."""
    with made.open("rb") as file:
        flush(file)
    made.replace(target)


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
        newline = file.read(end - start).rfind(b"\n")
        if newline >= 0:
            return start + newline + 1
        end = start
    return 0


def utc_text(moment: datetime, timespec: str = "seconds") -> str:
    """`2012-07-01T12:00:00Z`; `timespec` as in datetime.isoformat; a moment without zone is UTC."""
    aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return aware.isoformat(timespec=timespec).replace("+00:00", "Z")


def utc_now() -> str:
    """The time now, to the second."""
    return utc_text(datetime.now(UTC))


_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.new", re.DOTALL)
LONGEST_NAME = 255 - len(".." + 16 * "f" + ".new")  # bytes, of a file that gets a temporary name


def is_temporary(name: str) -> bool:
    """Whether a file or a folder that is being made here has such a name, as `.plan.jsonl.0123456789abcdef.new`."""
    return _TEMPORARY.fullmatch(name) is not None


def _temporary_name(name: str) -> str:
    return f".{name}.{os.urandom(8).hex()}.new"


@contextlib.contextmanager
def temporary_folder(root: Path, name: str, mode: int = 0o777) -> Iterator[Path]:
    """A folder below `root` that is not listed as an archive and is gone at the end.

    It is locked as long as its process lives, so that what killed ones left, of whatever name, is known and goes, too.
    """
    made_folder(root)
    remove_leftovers(root)
    with contextlib.ExitStack() as stack:
        temporary = _made(root, name, mode, stack)
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)


def private_folder() -> AbstractContextManager[Path]:
    """A `temporary_folder` among those of all programs, which only its owner can read."""
    return temporary_folder(Path(tempfile.gettempdir()), "coldload", 0o700)


def remove_leftovers(root: Path, name: str | None = None) -> None:
    """Remove the temporary folders and files in `root` whose process is dead; those of the living, and of others, stay.

    `name`: only those that were to become this.
    """
    for left in root.glob(f".{'*' if name is None else glob.escape(name)}.*.new"):
        if not is_temporary(left.name):
            continue
        with contextlib.suppress(OSError), _locked(left):
            status = left.lstat()
            if status.st_uid != os.geteuid():
                continue
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(left)
            elif stat.S_ISREG(status.st_mode):
                left.unlink()


def _made(root: Path, name: str, mode: int, stack: contextlib.ExitStack) -> Path:
    """A new locked folder. Somebody may take it for a leftover before it is locked, and then it is made again."""
    while True:
        # Short: Unix domain sockets in it must stay below 108 characters, Chromium's above all.
        temporary = root / _temporary_name(name)
        temporary.mkdir(mode)
        try:
            stack.enter_context(_locked(temporary))
        except (BlockingIOError, FileNotFoundError):  # it is being removed, or was
            continue
        except OSError:  # as when no file can be opened: the next one would fail, too
            with contextlib.suppress(OSError):
                temporary.rmdir()
            raise
        if temporary.exists():
            return temporary


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """BlockingIOError when another process has it; OSError when it is gone, or a link."""
    # A pipe would wait for a writer.
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Nobody else of ours changes what lies in the folder meanwhile; who comes second waits.

    Whoever reads a file, adds to it and writes it again does so in here.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def move_into_place(complete: Path, target: Path) -> None:
    """Name the folder `target`; an archive that has that name takes the folder's, at once where possible."""
    if not target.exists():
        complete.rename(target)
    else:
        from harness.system.syscalls import exchange  # noqa: PLC0415  # ctypes, which what reads files does without

        try:
            exchange(str(complete), str(target))
        except OSError:  # a file system that cannot
            old = complete.with_suffix(".old")
            target.rename(old)
            complete.rename(target)
            old.rename(complete)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

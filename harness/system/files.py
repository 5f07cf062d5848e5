"""Files that are whole or not there, and lines that are."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.errors import StorageFailed


def append_line(path: Path, data: Mapping[str, Any]) -> None:
    """Append one JSON line and flush it to disk; on failure the file is as it was before."""
    line = (json.dumps(data) + "\n").encode()
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        before = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, line)
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
    """Write a file so that it is either whole or not there."""
    temporary = path.with_name(path.name + ".new")
    try:
        with temporary.open("w", encoding="utf-8") as handle:
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageFailed(
            f"cannot write {path}: {error.strerror}; make room or choose another --out"
        ) from error


def drop_cut_line(path: Path) -> None:
    """Take off the end of a file that has no newline: what a kill cut short."""
    if not path.exists():
        return
    data = path.read_bytes()
    whole = data.rfind(b"\n") + 1
    if whole != len(data):
        with path.open("r+b") as handle:
            handle.truncate(whole)

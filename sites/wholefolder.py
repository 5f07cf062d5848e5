"""Folders that appear, and are replaced, as a whole: a killed process leaves the old one or the new one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from harness.syscalls import exchange


@contextlib.contextmanager
def temporary_folder(root: Path, name: str) -> Iterator[Path]:
    """A folder beside the archives that is not listed as one and is gone at the end.

    It is locked as long as its process lives, so that what a killed one left is known and goes, too.
    """
    for left in root.glob(f".{name}.*.new"):
        with contextlib.suppress(BlockingIOError, FileNotFoundError), _locked(left):
            shutil.rmtree(left)
    temporary = root / f".{name}.{uuid.uuid4().hex}.new"
    temporary.mkdir(parents=True)
    try:
        with _locked(temporary):
            yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """BlockingIOError when another process has it."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)


def move_into_place(complete: Path, target: Path) -> None:
    """Name the folder `target`; an archive that has that name takes the folder's, at once where possible."""
    if not target.exists():
        complete.rename(target)
    else:
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

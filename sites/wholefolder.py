"""Folders that appear, and are replaced, as a whole: a killed process leaves the old one or the new one."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from harness.system.folders import made_folder
from harness.system.syscalls import exchange

_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{16}\.new")


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


def remove_leftovers(root: Path) -> None:
    """Remove the temporary folders below `root` whose process is dead; those of the living, and of others, stay."""
    for left in root.glob(".*.new"):
        if not _TEMPORARY.fullmatch(left.name):
            continue
        with contextlib.suppress(OSError), _locked(left):
            if left.stat().st_uid == os.geteuid():
                shutil.rmtree(left)


def _made(root: Path, name: str, mode: int, stack: contextlib.ExitStack) -> Path:
    """A new locked folder. Somebody may take it for a leftover before it is locked, and then it is made again."""
    while True:
        # Short: Unix domain sockets in it must stay below 108 characters, Chromium's above all.
        temporary = root / f".{name}.{uuid.uuid4().hex[:16]}.new"
        temporary.mkdir(mode)
        try:
            stack.enter_context(_locked(temporary))
        except OSError:  # it is being removed, or was
            continue
        if temporary.exists():
            return temporary


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """BlockingIOError when another process has it; OSError when it is gone, or no folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
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

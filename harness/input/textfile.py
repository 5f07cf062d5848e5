"""Files of unknown origin, read with bounds: a device has no end, and a pipe may never begin."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def open_file(path: Path, buffering: int = -1) -> BinaryIO:
    """A regular file, to read.

    OSError, whose `strerror` says why, when the path is of anything else or cannot be opened. Opening never waits.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except ValueError as error:  # a NUL in the path
        raise OSError(errno.EINVAL, "no file can be called so", str(path)) from error
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind != stat.S_IFREG:
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"it is {_KINDS.get(kind, 'something else')}, not a file", str(path))
    return os.fdopen(descriptor, "rb", buffering)


def read_file(path: Path, most_bytes: int) -> bytes:
    """The content of a regular file; OSError as of `open_file`, and when it has over `most_bytes`."""
    with open_file(path) as file:
        content = file.read(most_bytes + 1)
    if len(content) > most_bytes:
        raise OSError(errno.EFBIG, f"it has over {most_bytes // 1000:,} kB; is it the right file?", str(path))
    return content

"""Files of unknown origin, read with bounds: a device has no end, and a pipe may never begin.

TOML has limits that hold before the parser works: its time grows with the square of the parts of a dotted key, and its
stack with the depth of nesting.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import StudyError

MAX_TOML_BYTES = 1_000_000
MAX_DEPTH = 16  # of brackets in brackets; a study needs four
MAX_PARTS = 16  # of a dotted key
MAX_WORD = 200  # characters of a number or a bare key

# What a TOML parser sees, up to the first mistake in the text: comments and strings are skipped as it skips them. A
# word is a part of a key, a number, a truth or a date; its dots are tokens of their own. Nothing is read twice (the
# quantifiers are possessive), so that no text makes this slow.
_TOKEN = re.compile(
    r"""
      (?P<skip> \#[^\n]*+ | [ \t\r]++ )
    | (?P<string>
          \"{3} (?: [^\\"]++ | \\. | "{1,2}(?!") )*+ "{3,5}
        | '{3} (?: [^']++ | '{1,2}(?!') )*+ '{3,5}
        | "(?!"") (?: [^"\\\n]++ | \\[^\n] )*+ "
        | '(?!'') [^'\n]*+ '
      )
    | (?P<unclosed> ["'] )
    | (?P<word> [^\s\[\]{}.,="'\#]++ )
    | (?P<open> [\[{] )
    | (?P<close> [\]}] )
    | (?P<dot> \. )
    | (?P<other> . )
    """,
    re.VERBOSE | re.DOTALL,
)
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


class TomlRefusedError(ValueError):
    """The text is no TOML, or more than a file of ours can be; one line, with the number of the line it is about."""


def read_text(path: Path) -> str:
    """The text of a file of TOML; TomlRefusedError when it is none, OSError when it cannot be read or is too long."""
    try:
        return read_file(path, MAX_TOML_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlRefusedError(f"it is no text in UTF-8 (byte {error.start + 1})") from error


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; TomlRefusedError when it has none."""
    refuse_monsters(text)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also of dates that no calendar has
        raise TomlRefusedError(f"it is not TOML: {' '.join(str(error).split())}") from error


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file; StudyError, which says `what` the file is, when it cannot be read or has none."""
    try:
        return parse_toml(read_text(path))
    except (OSError, TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot read {what} {path}: {why}") from error


def with_comments(text: str, change: Callable[[str], str]) -> str:
    """The text with each of its comments changed, and nothing else."""
    return _TOKEN.sub(lambda found: change(found[0]) if found[0].startswith("#") else found[0], text)


def refuse_monsters(text: str) -> None:
    """TomlRefusedError for what the parser should not see, found in one pass over the text."""
    if len(text) > MAX_TOML_BYTES:
        raise TomlRefusedError(f"it has over {MAX_TOML_BYTES // 1000} kB; is it the right file?")
    line, depth, parts = 1, 0, 0
    for found in _TOKEN.finditer(text):
        kind, length = found.lastgroup, found.end() - found.start()
        if kind == "unclosed":
            return  # here the parser will stop, too, and says it better
        if kind == "open":
            depth += 1
        elif kind == "close":
            depth -= 1
        elif kind == "dot":
            parts += 1
        if kind not in ("dot", "word", "string", "skip"):
            parts = 0
        if depth > MAX_DEPTH:
            raise TomlRefusedError(f"line {line}: more than {MAX_DEPTH} brackets within each other")
        if parts >= MAX_PARTS:
            raise TomlRefusedError(f"line {line}: a dotted key of more than {MAX_PARTS} parts")
        if kind == "word" and length > MAX_WORD:
            raise TomlRefusedError(
                f"line {line}: a number or key of {length:,} characters; no value of ours is that long"
            )
        line += text.count("\n", found.start(), found.end())

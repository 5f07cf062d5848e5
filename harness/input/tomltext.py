"""TOML of unknown origin, with limits that hold before the parser works: its time grows with the square of the parts
of a dotted key, and its stack with the depth of nesting.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.errors import StudyError
from harness.input.textfile import read_file

MAX_BYTES = 1_000_000
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


class TomlRefusedError(ValueError):
    """The text is no TOML, or more than a file of ours can be; one line, with the number of the line it is about."""


def read_text(path: Path) -> str:
    """A file's text; TomlRefusedError when it is no text, OSError when it cannot be read or is over MAX_BYTES long."""
    try:
        return read_file(path, MAX_BYTES).decode("utf-8")
    except UnicodeDecodeError as error:
        raise TomlRefusedError(f"it is no text in UTF-8 (byte {error.start + 1})") from error


def parse(text: str) -> dict[str, Any]:
    """The tables of a TOML text; TomlRefusedError when it has none."""
    refuse_monsters(text)
    try:
        return tomllib.loads(text)
    except ValueError as error:  # also of dates that no calendar has
        raise TomlRefusedError(f"it is not TOML: {' '.join(str(error).split())}") from error


def read(path: Path, what: str) -> dict[str, Any]:
    """The tables of a file; StudyError, which says `what` the file is, when it cannot be read or has none."""
    try:
        return parse(read_text(path))
    except (OSError, TomlRefusedError) as error:
        why = getattr(error, "strerror", None) or error
        raise StudyError(f"cannot read {what} {path}: {why}") from error


def with_comments(text: str, change: Callable[[str], str]) -> str:
    """The text with each of its comments changed, and nothing else."""
    return _TOKEN.sub(lambda found: change(found[0]) if found[0].startswith("#") else found[0], text)


def refuse_monsters(text: str) -> None:
    """TomlRefusedError for what the parser should not see, found in one pass over the text."""
    if len(text) > MAX_BYTES:
        raise TomlRefusedError(f"it has over {MAX_BYTES // 1000} kB; is it the right file?")
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

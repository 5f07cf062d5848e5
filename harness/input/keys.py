"""Values of a TOML table, checked one by one: every mistake becomes one line that names the key and what was found."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from harness.errors import StudyError
from harness.input.shown import shortened, shown


class Named(Protocol):
    """What a table has given a name."""

    @property
    def name(self) -> str: ...


Member = TypeVar("Member", bound=StrEnum)
HasName = TypeVar("HasName", bound=Named)
MAX_ENTRIES = 1000
TOLD = 8  # known words, to somebody who is told the one that he means
LIKE, VERY_LIKE = 0.5, 0.7  # from which ratio of difflib on a word is like another one
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")  # that TOML takes without quotes
UNSHOWABLE = ("Cc", "Cs", "Zl", "Zp")  # control characters, halves of characters, ends of lines
UNITS = {"_mbps": "Mbit/s", "_ms": "ms", "_s": "s", "_bytes": "bytes", "_percent": "%", "think_time": "ms"}


# What others call what we have another word for.
OTHER_WORDS = {
    **dict.fromkeys(("http2", "http/2", "http2.0", "https2"), "h2"),
    **dict.fromkeys(("http3", "http/3", "https3", "quic"), "h3"),
    **dict.fromkeys(("http", "http1.1", "http/1.1"), "http1"),
    **dict.fromkeys(("https", "tls", "https1.1"), "https1"),
    "http1.0": "http1-close",
    **dict.fromkeys(("chrome", "blink"), "chromium"),
    **dict.fromkeys(("original", "baseline", "none"), "plain"),
    **dict.fromkeys(("minified", "minification"), "minify"),
}


def nearest(key: str, known: Iterable[str], cutoff: float = LIKE) -> str:
    """` (did you mean x?)` when one of the known words is like the key, or is our word for it."""
    import difflib  # noqa: PLC0415  # of mistakes alone

    words = list(known)
    ours = OTHER_WORDS.get(key.lower())
    near = [ours] if ours in words else difflib.get_close_matches(key, words, n=1, cutoff=cutoff)
    return f" (did you mean {near[0]}?)" if near else ""


def listed(key: Any, known: Iterable[str]) -> str:
    """The known words, for who gave none of them: the first few where `nearest` names one, else all."""
    words = list(known)
    near = isinstance(key, str) and nearest(key, words)
    return shortened(words, TOLD) if near else ", ".join(words)


def refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """StudyError that names the first key that is not known."""
    for key in data:
        if key not in known:
            raise StudyError(
                f"unknown key {shown(key)} in {where}{nearest(key, known)}; known: {listed(key, known)}"
            )


def text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A text of one line that is not empty."""
    value = data.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise StudyError(f"{key} must be a text, found {shown(value)}")
    if any(unicodedata.category(character) in UNSHOWABLE for character in value):
        raise StudyError(f"{key} must be a text of one line without control characters, found {shown(value)}")
    return value


def table(key: str, value: Any, known: tuple[str, ...]) -> Mapping[str, Any]:
    """A table that says something, and nothing but what is known."""
    if not isinstance(value, dict) or not value:
        raise StudyError(
            f"{key} must be a table with some of {', '.join(known)}, found {shown(value)}; or leave {key} out"
        )
    refuse_unknown(value, known, f"[{key}]")
    return value


def truth(data: Mapping[str, Any], key: str, *, default: bool) -> bool:
    """True or false."""
    value = data.get(key, default)
    if not isinstance(value, bool):
        raise StudyError(f"{key} must be true or false, found {value!r}")
    return value


def number(
    data: Mapping[str, Any],
    key: str,
    default: float | None,
    least: float,
    most: float,
    *,
    whole: bool = False,
) -> float:
    """A number within a range, from a table that may lack it."""
    value = data.get(key, default)
    return checked_number(key, value, least, most, whole=whole)


def checked_number(key: str, value: Any, least: float, most: float, *, whole: bool = False) -> float:
    """A number within a range of two finite bounds. NaN is in none; a truth is no number."""
    _refuse_unless_number(key, value, whole=whole)
    if not least <= value <= most:
        raise _out_of_range(key, value, least, most)
    return float(value) if not whole else value


def positive(key: str, value: Any, least: float, most: float, *, zero: bool = False) -> float:
    """A number within a range above 0, or 0 itself if that is allowed.

    `least` is what still has an effect: what is smaller would be rounded to nothing without a word.
    """
    _refuse_unless_number(key, value)
    if not (least <= value <= most or (zero and value == 0)):
        raise _out_of_range(key, value, least, most, "0, or " if zero else "")
    return float(value)


def _refuse_unless_number(key: str, value: Any, *, whole: bool = False) -> None:
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        hint = " (write the bare number; the unit stands in the key)" if isinstance(value, str) else ""
        raise StudyError(f"{key} must be a {'whole ' if whole else ''}number, found {shown(value)}{hint}")


def _out_of_range(key: str, value: float, least: float, most: float, also: str = "") -> StudyError:
    return StudyError(
        f"{key} is {shown(value)}; it must be {also}{_plain(least)} to {_plain(most)}{_unit(key)}"
    )


def _plain(bound: float) -> str:
    """A bound without exponent: 0.0001, 10000000."""
    return str(bound) if isinstance(bound, int) else f"{bound:.6f}".rstrip("0").rstrip(".")


def _unit(key: str) -> str:
    """The unit that the key ends with."""
    return next((f" {unit}" for end, unit in UNITS.items() if key.endswith(end)), "")


def entries(data: Mapping[str, Any], key: str, default: list[Any] | None = None) -> list[Any]:
    """A list without repetitions; empty only by default."""
    value = data.get(key, default)
    if not isinstance(value, list) or (not value and key in data):
        raise StudyError(f"{key} must be a list with at least one entry, found {shown(value)}")
    if len(value) > MAX_ENTRIES:
        raise StudyError(f"{key} holds {len(value):,} entries; it may hold {MAX_ENTRIES:,}")
    for entry in value:
        if value.count(entry) > 1:
            raise StudyError(f"{key} holds {shown(entry)} twice")
    return value


def choice(key: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the known words."""
    if value not in known:
        near = nearest(value, known) if isinstance(value, str) else ""
        raise StudyError(f"{key}: unknown {shown(value)}{near}; known: {listed(value, known)}")
    return str(value)


def choices(
    data: Mapping[str, Any], key: str, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    """Some of the known words."""
    return tuple(choice(key, value, known) for value in entries(data, key, list(default)))


def enum(key: str, value: Any, members: Iterable[Member]) -> Member:
    """One of some members of an enum, by its value."""
    for member in members:
        if member.value == value:
            return member
    known = [member.value for member in members]
    near = nearest(value, known) if isinstance(value, str) else ""
    raise StudyError(f"{key}: unknown {shown(value)}{near}; known: {listed(value, known)}")


def enums(data: Mapping[str, Any], key: str, members: Iterable[Member]) -> list[Member]:
    """Some members of an enum, by their values."""
    among = tuple(members)
    return [enum(key, value, among) for value in entries(data, key)]


def each_named(
    noun: str, most: int, tables: Sequence[Any], read: Callable[[Any], HasName]
) -> tuple[HasName, ...]:
    """What tables as `[[claims]]` say, in their order: `most` of them, no two of one name.

    StudyError for a mistake, with the table that it is about.
    """
    if len(tables) > most:
        raise StudyError(f"{noun}s holds {len(tables)} {noun}s; it may hold {most}")
    made: list[HasName] = []
    for number, table in enumerate(tables, start=1):
        named = isinstance(table, dict) and isinstance(table.get("name"), str)
        try:
            made.append(read(table))
        except StudyError as error:
            raise StudyError(f"{noun} {shown(table['name']) if named else number}: {error}") from error
        if any(made[-1].name == other.name for other in made[:-1]):
            raise StudyError(f"two {noun}s have the name {shown(made[-1].name)}; change one of them")
    return tuple(made)

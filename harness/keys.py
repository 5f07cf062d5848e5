"""Values of a TOML table, checked one by one: every mistake becomes one line that names the key and what was found."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, TypeVar

from harness.errors import StudyError

Kind = TypeVar("Kind", bound=StrEnum)


def nearest(key: str, known: Iterable[str]) -> str:
    """` (did you mean x?)` when one of the known words is like the key."""
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    return f" (did you mean {near[0]}?)" if near else ""


def refuse_unknown(data: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """StudyError that names the first key that is not known."""
    for key in data:
        if key not in known:
            raise StudyError(
                f"unknown key {key!r} in {where}{nearest(key, known)}; known: {', '.join(known)}"
            )


def text(data: Mapping[str, Any], key: str, default: str | None = None) -> str:
    """A text that is not empty."""
    value = data.get(key, default)
    if not isinstance(value, str) or not value.strip():
        raise StudyError(f"{key} must be a text, found {value!r}")
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
    """A number within a range; NaN is in none."""
    kinds = (int,) if whole else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds):
        hint = " (write the bare number; the unit stands in the key)" if isinstance(value, str) else ""
        raise StudyError(f"{key} must be a {'whole ' if whole else ''}number, found {value!r}{hint}")
    if not least <= value <= most:
        raise StudyError(f"{key} is {value:g}; it must be {least:g} to {most:g}")
    return float(value) if not whole else value


def entries(data: Mapping[str, Any], key: str, default: list[Any] | None = None) -> list[Any]:
    """A list without repetitions; empty only by default."""
    value = data.get(key, default)
    if not isinstance(value, list) or (not value and key in data):
        raise StudyError(f"{key} must be a list with at least one entry, found {value!r}")
    for entry in value:
        if value.count(entry) > 1:
            raise StudyError(f"{key} holds {entry!r} twice")
    return value


def choice(key: str, value: Any, known: tuple[str, ...]) -> str:
    """One of the known words."""
    if value not in known:
        raise StudyError(f"{key}: unknown {value!r}; known: {', '.join(known)}")
    return str(value)


def choices(
    data: Mapping[str, Any], key: str, known: tuple[str, ...], default: tuple[str, ...]
) -> tuple[str, ...]:
    """Some of the known words."""
    return tuple(choice(key, value, known) for value in entries(data, key, list(default)))


def enum(key: str, value: Any, kind: type[Kind]) -> Kind:
    """A member of `kind` by its value."""
    try:
        return kind(value)
    except ValueError as error:
        known = [member.value for member in kind]
        near = nearest(value, known) if isinstance(value, str) else ""
        raise StudyError(f"{key}: unknown {value!r}{near}; known: {', '.join(known)}") from error


def enums(
    data: Mapping[str, Any], key: str, kind: type[Kind], default: list[Kind] | None = None
) -> list[Kind]:
    """Members of `kind` by their values."""
    return [enum(key, value, kind) for value in entries(data, key, default)]

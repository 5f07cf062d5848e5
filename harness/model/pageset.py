"""Sets of pages: several archives under one name, written `@name` in a study. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown

MARK = "@"
SETS = "sets"  # the key of a plan's header
Sets = Mapping[str, tuple[str, ...]]
"""The pages of each set, by its name. A page is of one set at most."""


def set_of(sets: Sets, page: str) -> str | None:
    """The name of the set that a page is of; None when it is of none."""
    return next((name for name, pages in sets.items() if page in pages), None)


def narrowed(sets: Sets, pages: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The sets with these pages alone; a set of which none is left goes."""
    left = {name: tuple(page for page in of_set if page in pages) for name, of_set in sets.items()}
    return {name: of_set for name, of_set in left.items() if of_set}


def to_json(sets: Sets) -> dict[str, list[str]]:
    """As in the header of a plan."""
    return {name: list(pages) for name, pages in sets.items()}


def sets_from_json(data: object) -> dict[str, tuple[str, ...]]:
    """Inverse of `to_json`; StudyError when these are no sets, or one page is of two."""
    if not isinstance(data, dict):
        raise StudyError(f"{SETS} is {shown(data)}; it must be a table of lists")
    found: dict[str, tuple[str, ...]] = {}
    for name in data:
        found[checked_name(name)] = names_of_pages(data, name)
    refuse_overlap(found)
    return found


def checked_name(name: object) -> str:
    """The name of a set; StudyError when it cannot be one."""
    if not isinstance(name, str) or not keys.NAME_PATTERN.fullmatch(name):
        raise StudyError(
            f"{shown(name)} cannot be the name of a set: letters, digits, '.', '_' and '-' can stand in it"
        )
    return name


def names_of_pages(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    """A list of names of archives, at least one."""
    found = keys.entries(data, key)
    for name in found:
        if not isinstance(name, str) or not keys.NAME_PATTERN.fullmatch(name):
            raise StudyError(f"{key} holds {shown(name)}, which cannot be the name of an archive")
    return tuple(found)


def refuse_overlap(sets: Sets) -> None:
    """StudyError when a page is of two sets: a trial of it would be counted in either."""
    seen: dict[str, str] = {}
    for name, pages in sets.items():
        for page in pages:
            if page in seen:
                raise StudyError(
                    f"page {shown(page)} is of {MARK}{seen[page]} and of {MARK}{name}; a study takes a page in one "
                    "set: leave one set out, or give one of them other pages"
                )
            seen[page] = name

"""Sets of pages: several archives under one name, written `@name` in a study, and told in the header of its plan.

A study can name files of the user's (`sets/*.toml`), then those that ship (configs/sets).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys, textfile
from harness.input.shown import shown
from harness.model.condition import SET_MARK, Sets

FOLDER = "sets"
SETS = "sets"  # the key of a plan's header
SET_KEYS = ("title", "pages")


@dataclass(frozen=True)
class PageSet:
    """A set as its file has it. `title` says what the pages have in common."""

    name: str
    title: str
    pages: tuple[str, ...]
    file: Path


def pages_of(data: Mapping[str, Any], folder: Path) -> tuple[tuple[str, ...], Sets]:
    """The pages of a study, `@name` replaced by the pages of the set, and its sets; a page is measured once.

    A page that is named by itself as well is one of the set. StudyError for a set that is not there.
    """
    pages: list[str] = []
    sets: dict[str, tuple[str, ...]] = {}
    for entry in keys.entries(data, "pages"):
        if isinstance(entry, str) and entry.startswith(SET_MARK):
            name = entry.removeprefix(SET_MARK)
            sets[name] = read_set(name, folder).pages
            pages.extend(sets[name])
        else:
            pages.extend(_names_of_pages({"pages": [entry]}, "pages"))
    refuse_overlap(sets)
    return tuple(dict.fromkeys(pages)), sets


def read_set(name: str, folder: Path) -> PageSet:
    """The set of that name; StudyError with those there are when it is not there, is empty or is no set."""
    known = set_files(folder)
    if name not in known:
        there = keys.listed(SET_MARK + name, [f"{SET_MARK}{set_name}" for set_name in known]) or "none"
        raise StudyError(
            f"pages: no set is named {shown(SET_MARK + name)}{keys.nearest(name, known)}; there are: {there}; "
            f"a set of your own is {FOLDER}/NAME.toml beside the study, with pages = [...]"
        )
    return _read(known[name])


def set_files(folder: Path = Path()) -> dict[str, Path]:
    """The file of each set by name: beside a study in `folder`, in the working directory, and those that ship.

    Of several of one name, the nearest to the study counts.
    """
    files: dict[str, Path] = {}
    for parent in (folder / FOLDER, Path(FOLDER), configs.FOLDER / FOLDER):
        for path in sorted(parent.glob("*.toml")):
            if keys.NAME_PATTERN.fullmatch(path.stem):
                files.setdefault(path.stem, path)
    return dict(sorted(files.items()))


def set_text(name: str, pages: tuple[str, ...]) -> str:
    """The file of a set with these pages, as a run keeps it."""
    listed = "".join(f'  "{page}",\n' for page in pages)
    return f"# {SET_MARK}{name} as the run found it.\npages = [\n{listed}]\n"


def all_sets() -> list[PageSet]:
    """Every set that a study in the working directory can name."""
    return [_read(path) for path in set_files().values()]


def _read(path: Path) -> PageSet:
    data = textfile.read_toml(path, "the set")
    try:
        keys.refuse_unknown(data, SET_KEYS, "the set")
        name = _checked_name(path.stem)
        return PageSet(name, keys.text(data, "title", name), _names_of_pages(data, "pages"), path)
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error


def narrowed_sets(sets: Sets, pages: Collection[str]) -> dict[str, tuple[str, ...]]:
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
    sets: dict[str, tuple[str, ...]] = {}
    for name in data:
        sets[_checked_name(name)] = _names_of_pages(data, name)
    refuse_overlap(sets)
    return sets


def _checked_name(name: object) -> str:
    """The name of a set; StudyError when it cannot be one."""
    if not isinstance(name, str) or not keys.NAME_PATTERN.fullmatch(name):
        raise StudyError(
            f"{shown(name)} cannot be the name of a set: letters, digits, '.', '_' and '-' can stand in it"
        )
    return name


def _names_of_pages(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    """A list of names of archives, at least one."""
    names = keys.entries(data, key)
    for name in names:
        if not isinstance(name, str) or not keys.NAME_PATTERN.fullmatch(name):
            raise StudyError(f"{key} holds {shown(name)}, which cannot be the name of an archive")
    return tuple(names)


def refuse_overlap(sets: Sets) -> None:
    """StudyError when a page is of two sets: a trial of it would be counted in either."""
    seen: dict[str, str] = {}
    for name, pages in sets.items():
        for page in pages:
            if page in seen:
                raise StudyError(
                    f"page {shown(page)} is of {SET_MARK}{seen[page]} and of {SET_MARK}{name}; a study takes a page in "
                    "one set: leave one set out, or give one of them other pages"
                )
            seen[page] = name

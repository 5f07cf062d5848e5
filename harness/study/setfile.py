"""The sets of pages that a study can name: files of the user's (`sets/*.toml`), then those that ship (configs/sets)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import configs
from harness.errors import StudyError
from harness.input import keys, tomltext
from harness.input.shown import shown
from harness.model.pageset import MARK, Sets, checked_name, names_of_pages, refuse_overlap

FOLDER = "sets"
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
        if isinstance(entry, str) and entry.startswith(MARK):
            name = entry.removeprefix(MARK)
            sets[name] = read_set(name, folder).pages
            pages.extend(sets[name])
        else:
            pages.extend(names_of_pages({"pages": [entry]}, "pages"))
    refuse_overlap(sets)
    return tuple(dict.fromkeys(pages)), sets


def read_set(name: str, folder: Path) -> PageSet:
    """The set of that name; StudyError with those there are when it is not there, is empty or is no set."""
    known = set_files(folder)
    if name not in known:
        there = ", ".join(f"{MARK}{each}" for each in known) or "none"
        raise StudyError(
            f"pages: no set is named {shown(MARK + name)}{keys.nearest(name, known)}; there are: {there}; "
            f"a set of your own is {FOLDER}/NAME.toml beside the study, with pages = [...]"
        )
    return _read(known[name])


def set_files(folder: Path = Path()) -> dict[str, Path]:
    """The file of each set by name: beside a study in `folder`, in the working directory, and those that ship.

    Of several of one name, the nearest to the study counts.
    """
    found: dict[str, Path] = {}
    for place in (folder / FOLDER, Path(FOLDER), configs.FOLDER / FOLDER):
        for path in sorted(place.glob("*.toml")):
            if keys.NAME_PATTERN.fullmatch(path.stem):
                found.setdefault(path.stem, path)
    return dict(sorted(found.items()))


def set_text(name: str, pages: tuple[str, ...]) -> str:
    """The file of a set with these pages, as a run keeps it."""
    listed = "".join(f'  "{page}",\n' for page in pages)
    return f"# {MARK}{name} as the run found it.\npages = [\n{listed}]\n"


def all_sets(folder: Path = Path()) -> list[PageSet]:
    """Every set that a study in `folder` can name."""
    return [_read(path) for path in set_files(folder).values()]


def _read(path: Path) -> PageSet:
    data = tomltext.read(path, "the set")
    try:
        keys.refuse_unknown(data, SET_KEYS, "the set")
        name = checked_name(path.stem)
        return PageSet(name, keys.text(data, "title", name), names_of_pages(data, "pages"), path)
    except StudyError as error:
        raise StudyError(f"{path}: {error}") from error

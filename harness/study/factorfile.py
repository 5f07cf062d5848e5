"""The factors of a study file: `[[factors]]`, tables that say what is measured once more, with something changed.

A factor is a study of its own: the file with the keys of its table in the place of the file's. So a factor can be
whatever a study can say of its conditions, and one factor changes one thing if its table has one key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import USUAL_FACTOR

MAX_FACTORS = 50
LONGEST_NAME = 60
# What a study says of its run and not of its conditions.
OF_THE_RUN = (
    "name",
    "title",
    "kind",
    "trials",
    "seed",
    "aa",
    "timeout_s",
    "keep",
    "vitals",
    "portraits",
    "claims",
    "figures",
    "only_figures",
    "published",
    "factors",
)
OF_ITSELF = ("claims", "figures", "only_figures", "published", "factors")  # of a study with all its factors
BY_ENGINE = ("server", "tls")  # may be a table with a value for each engine
LINK = "link"  # keys that every link of the study gets
TCP = "tcp"
MERGED = (TCP, "without")  # tables that keep what a factor's does not name
FILTER_TABLES = "filters"  # a table of such tables


def factors_in(data: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The name of every factor, and the study file as it would be with that factor alone."""
    if "factors" not in data:
        return
    tables = keys.entries(data, "factors")
    if len(tables) > MAX_FACTORS:
        raise StudyError(f"factors holds {len(tables)} tables; it may hold {MAX_FACTORS}")
    seen: list[str] = []
    for table in tables:
        name = _name(table)
        if name in (*seen, USUAL_FACTOR):
            raise StudyError(
                f"factors: two are called {shown(name)}, or it is the study as it is; rename one"
            )
        seen.append(name)
        try:
            yield name, _changed(data, {key: each for key, each in table.items() if key != "name"})
        except StudyError as error:
            raise StudyError(f"factor {name}: {error}") from error


def _name(table: Any) -> str:
    if not isinstance(table, dict):
        raise StudyError(f"factors holds {shown(table)}; an entry is a table, [[factors]]")
    name = keys.text(table, "name")
    if len(name) > LONGEST_NAME:
        raise StudyError(f"factors: a name has up to {LONGEST_NAME} characters, found {shown(name)}")
    return name


def _changed(data: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """The file with the table's keys; those of MERGED, `filters` and `link` go into the tables that are there."""
    if not table:
        raise StudyError("it changes nothing; give it a key of the study file, or leave it out")
    for key in table:
        if key in OF_THE_RUN:
            raise StudyError(f"{key} is the same for the whole run; leave it out")
    own = {key: each for key, each in data.items() if key not in OF_ITSELF}
    changed = {**own, **{key: each for key, each in table.items() if key != LINK}}
    if {"engine", "engines"} & table.keys():
        changed = _of_engines(changed, table)
    for key in (key for key in MERGED if key in table):
        changed[key] = {**_table(data.get(key, {}), key), **_table(table[key], key)}
    if FILTER_TABLES in table:
        there, new = (_table(each.get(FILTER_TABLES, {}), FILTER_TABLES) for each in (data, table))
        changed[FILTER_TABLES] = {
            **there,
            **{name: {**_table(there.get(name, {}), name), **_table(new[name], name)} for name in new},
        }
    if LINK in table:
        changed["links"] = [
            {**_table(each, "links"), **_table(table[LINK], LINK)} for each in changed.get("links", [])
        ]
    return changed


def _of_engines(changed: Mapping[str, Any], table: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the file says of engines that the factor leaves out."""
    left = table["engines"] if isinstance(table.get("engines"), list) else [table.get("engine")]
    kept: dict[str, Any] = {}
    for key, each in changed.items():
        if key in ("engine", "engines") and key not in table:
            continue
        by_engine = key in BY_ENGINE and isinstance(each, dict) and key not in table
        kept[key] = {name: value for name, value in each.items() if name in left} if by_engine else each
    return {key: each for key, each in kept.items() if key not in BY_ENGINE or each != {}}


def _table(value: Any, key: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise StudyError(f"{key} must be a table for a factor to change it, found {shown(value)}")
    return value

"""What claims and figures of a study file keep to: values of dimensions, each one that the study has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shortened, shown
from harness.model.compression import Compression
from harness.model.dimensions import SET, dimensions_by
from harness.model.kind import Kind
from harness.model.pageset import MARK
from harness.model.variant import parse_variant

SHOWN_VALUES = 12


class ValueLacking(StudyError):
    """The study has no such value of a dimension."""


@dataclass(frozen=True)
class Selectors:
    """Reads selectors for a study; `values` holds what its conditions have of every dimension."""

    values: Mapping[str, Sequence[Any]]

    @classmethod
    def of(cls, conditions: Sequence[Mapping[str, Any]], kind: Kind) -> Selectors:
        return cls({dimension: values_of(conditions, dimension) for dimension in dimensions_by(kind)})

    def one_each(self, key: str, table: Any) -> dict[str, Any]:
        """One value for some dimensions: a side of a claim, a series of a figure."""
        side = keys.table(key, table, tuple(self.values))
        return {dimension: self.known(key, dimension, each) for dimension, each in side.items()}

    def several(self, key: str, table: Any) -> dict[str, tuple[Any, ...]]:
        """One value or a list for some dimensions: `where`."""
        where = keys.table(key, table, tuple(self.values))
        return {
            dimension: tuple(
                self.known(key, dimension, value)
                for value in (keys.entries(where, dimension) if isinstance(each, list) else [each])
            )
            for dimension, each in where.items()
        }

    def known(self, key: str, dimension: str, found: Any) -> Any:
        """The study's own value of a dimension; ValueLacking with those it has when this is none of them."""
        if isinstance(found, bool) or not isinstance(found, str | int | float):
            raise StudyError(f"{key}: {dimension} is {shown(found)}; it must be one value of the study")
        wanted = _written_out(dimension, found)
        for each in self.values[dimension]:
            if each == wanted:
                return each
        there = [each for each in self.values[dimension] if each is not None]
        if not there and dimension == SET:
            raise ValueLacking(f'{key}: the study names no set; name one in pages, as in pages = ["@mobile"]')
        known = [f"{each:g}" if isinstance(each, float) else str(each) for each in there] or ["none"]
        near = keys.nearest(found, known) if isinstance(found, str) else ""
        raise ValueLacking(
            f"{key}: the study has no {dimension} {shown(found)}{near}; it has: {shortened(known, SHOWN_VALUES)}"
        )


def values_of(conditions: Sequence[Mapping[str, Any]], dimension: str) -> list[Any]:
    """Each value that conditions have of a dimension, once; None of one that the study does not have."""
    return list(dict.fromkeys(each.get(dimension) for each in conditions))


def _written_out(dimension: str, found: Any) -> Any:
    """A value as conditions have it: `gzip` is `gzip-6` there. What cannot be read stays as it is."""
    try:
        if isinstance(found, str) and dimension == "variant":
            return parse_variant(found).name
        if isinstance(found, str) and dimension == "compression":
            return str(Compression.parse(found))
        if isinstance(found, str) and dimension == SET:
            return found.removeprefix(MARK)
    except StudyError:
        pass  # what the study has is told then, not what it could have
    return found

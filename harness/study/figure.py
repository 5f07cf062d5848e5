"""A figure that a study asks for: which conditions it holds, what stands along its axis and what its series are. Pure.

Like claims (`harness.study.claim`), figures work on plain mappings of dimension to value.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import msgspec

from harness.errors import StudyError
from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import AMOUNTS, dimensions_by, is_again
from harness.model.kind import Kind
from harness.study.claim import selects
from harness.study.metrics import numeric_metric

AXES = (*AMOUNTS, "connections", "depth")  # dimensions along which a line can be drawn
FIGURE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")  # it names files


Value = str | int | float | bool | None  # of a dimension


class FigureKind(StrEnum):
    """How a figure shows its points."""

    LINES = "lines"  # over a dimension that is a number
    BARS = "bars"  # in groups, upright
    POINTS = "points"  # in rows, along the metric
    TABLE = "table"


@dataclass(frozen=True)
class FigureSeries:
    """One line, or one colour of bars: the conditions with these values. `label` is the study's word for it, if any."""

    values: Mapping[str, Value]
    label: str = ""

    def to_json(self) -> dict[str, Any]:
        return {"values": dict(self.values), **({"label": self.label} if self.label else {})}


@dataclass(frozen=True, kw_only=True)
class StudyFigure:
    """`series` over the values of the dimension `x`, of the conditions that `where` selects.

    With a `reference`, one of the series, points are ratios to it; otherwise medians of the metric.
    """

    name: str
    title: str
    kind: FigureKind
    x: str
    series: tuple[FigureSeries, ...]
    metric: str
    where: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    reference: FigureSeries | None = None

    def __post_init__(self) -> None:
        if not FIGURE_NAME.fullmatch(self.name):
            raise StudyError(
                f"name is {shown(self.name)}; it may hold small letters, digits and '-', 40 characters at most"
            )
        if self.kind is FigureKind.LINES and self.x not in AXES:
            raise StudyError(
                f"x is {self.x}, which is no number, and lines need one ({', '.join(AXES)}); choose kind = "
                f'"{FigureKind.BARS}" or "{FigureKind.POINTS}"'
            )
        if not self.series:
            raise StudyError("a figure needs at least one series")
        if self.reference is not None and self.reference not in self.series:
            raise StudyError("reference is none of the series")

    def series_of(self, dimensions: Mapping[str, Any]) -> FigureSeries | None:
        """The series that a condition belongs to; None when the figure does not hold it."""
        if is_again(dimensions) or not selects(self.where, dimensions):
            return None
        return next((each for each in self.series if selects(each.values, dimensions)), None)

    def holds(self, dimensions: Mapping[str, Any]) -> bool:
        """Whether a condition is a point of the figure."""
        return self.series_of(dimensions) is not None

    def to_json(self) -> dict[str, Any]:
        """As in the header of a plan."""
        return {
            "name": self.name,
            "title": self.title,
            "kind": self.kind.value,
            "x": self.x,
            "series": [each.to_json() for each in self.series],
            "where": {dimension: list(values) for dimension, values in self.where.items()},
            "metric": self.metric,
            **({"reference": self.series.index(self.reference)} if self.reference else {}),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any], kind: Kind = Kind.LOAD) -> StudyFigure:
        """Inverse of `to_json`; StudyError when this is no figure about the metrics and dimensions of the kind."""
        try:
            told = dict(data)
            reference = told.pop("reference", None)
            figure = msgspec.convert(told, cls)
            made = figure if reference is None else replace(figure, reference=figure.series[reference])
        except (ValueError, TypeError, IndexError) as error:
            raise StudyError(f"not a figure ({error}): {shown(data)}") from error
        known = dimensions_by(kind)
        for key in ("name", "title"):
            keys.text(data, key)
        for series in made.series:
            keys.refuse_unknown(series.values, known, "a figure's series")
            if series.label:
                keys.text({"label": series.label}, "label")
        keys.refuse_unknown(made.where, known, "a figure")
        keys.choice("x", made.x, known)
        numeric_metric(made.metric, kind)
        return made


def narrowed(figure: StudyFigure, conditions: Sequence[Mapping[str, Any]]) -> StudyFigure | None:
    """What is left of a figure when only some conditions of its study are measured; None when that is nothing.

    Without the conditions of its reference it shows the metric itself.
    """
    there = {id(found) for each in conditions if (found := figure.series_of(each)) is not None}
    left = tuple(each for each in figure.series if id(each) in there)
    if not left:
        return None
    return replace(figure, series=left, reference=figure.reference if figure.reference in left else None)

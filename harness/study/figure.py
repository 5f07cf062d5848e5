"""A figure that a study asks for: which conditions it holds, what stands along its axis and what its series are; and
how the table of a study file tells that. Pure.

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
from harness.model.condition import AMOUNTS, dimensions_by, follows, is_again
from harness.model.engine import Engine
from harness.model.kind import Kind, main_metric
from harness.study.claim import selects
from harness.study.claimfile import Selectors, values_of
from harness.study.metrics import numeric_metric, unobserved

AXES = (*AMOUNTS, "connections", "depth")  # dimensions along which a line can be drawn
FIGURE_KEYS = ("name", "title", "kind", "x", "series", "where", "metric", "reference")
LABEL = "label"
MAX_FIGURES = 40
MAX_SERIES = 16  # as many looks as a reader tells apart
FIGURE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")  # it names files

Value = str | int | float | bool | None  # of a dimension
Conditions = Sequence[Mapping[str, Any]]


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
        return next((series for series in self.series if selects(series.values, dimensions)), None)

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
            "series": [series.to_json() for series in self.series],
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


def narrowed_figure(figure: StudyFigure, conditions: Conditions) -> StudyFigure | None:
    """What is left of a figure when only some conditions of its study are measured; None when that is nothing.

    Without the conditions of its reference it shows the metric itself.
    """
    there = {id(match) for condition in conditions if (match := figure.series_of(condition)) is not None}
    left = tuple(series for series in figure.series if id(series) in there)
    if not left:
        return None
    return replace(figure, series=left, reference=figure.reference if figure.reference in left else None)


def figures_of(
    data: Mapping[str, Any], conditions: Conditions, kind: Kind = Kind.LOAD
) -> tuple[StudyFigure, ...]:
    """The figures of a study of a kind with these conditions (`dimensions_of`), in the order of the file."""
    read = _FigureReader(conditions, Selectors.of(conditions, kind), kind).figure
    return keys.each_named("figure", MAX_FIGURES, keys.entries(data, "figures", []), read)


@dataclass(frozen=True)
class _FigureReader:
    """Reads figures of a study with these conditions."""

    conditions: Conditions
    selectors: Selectors
    kind: Kind

    def figure(self, table: Any) -> StudyFigure:
        table = keys.table("figures", table, FIGURE_KEYS)
        kind = keys.enum("kind", table.get("kind", FigureKind.LINES), FigureKind)
        x = keys.choice("x", table.get("x"), tuple(self.selectors.values))
        where = self.selectors.where(table["where"]) if "where" in table else {}
        there = [condition for condition in self.conditions if selects(where, condition)]
        if not there:
            raise StudyError("where: no condition of the study has all of this")
        series = self._series(table, x, there)
        figure = StudyFigure(
            name=keys.text(table, "name"),
            title=keys.text(table, "title"),
            kind=kind,
            x=x,
            series=series,
            metric=numeric_metric(keys.text(table, "metric", main_metric(self.kind)), self.kind),
            where=where,
            reference=self._reference(table, series),
        )
        self._check(figure, there)
        return figure

    def _series(self, table: Mapping[str, Any], x: str, there: Conditions) -> tuple[FigureSeries, ...]:
        """Tables, one for each series; or names of dimensions, whose values make a series each."""
        entries = keys.entries(table, "series")
        if len(entries) > MAX_SERIES:
            raise StudyError(f"series holds {len(entries)} entries; it may hold {MAX_SERIES}")
        if all(isinstance(entry, str) for entry in entries):
            names = [keys.choice("series", entry, tuple(self.selectors.values)) for entry in entries]
            if x in names:
                raise StudyError(f"series holds {x}, which is the figure's x; leave it out of series")
            every = dict.fromkeys(tuple(condition.get(name) for name in names) for condition in there)
            if len(every) > MAX_SERIES:
                raise StudyError(
                    f"series: {len(every)} of them; a figure may have {MAX_SERIES}: narrow it by where"
                )
            return tuple(FigureSeries(dict(zip(names, values, strict=True))) for values in every)
        return tuple(self._one_series(entry, x, there) for entry in entries)

    def _one_series(self, entry: Any, x: str, there: Conditions) -> FigureSeries:
        if not isinstance(entry, dict):
            raise StudyError(
                f'series holds {shown(entry)}; it is a list of tables, as in [{{protocol = "h2"}}], or of dimensions'
            )
        values = self.selectors.one_each("series", {key: each for key, each in entry.items() if key != LABEL})
        if x in values:
            raise StudyError(f"series names {x}, which is the figure's x; leave it out of series")
        if not any(selects(values, condition) for condition in there):
            raise StudyError(f"series {_said(values)}: no condition of the study has all of this and where")
        return FigureSeries(values, keys.text(entry, LABEL) if LABEL in entry else "")

    def _reference(self, table: Mapping[str, Any], series: Sequence[FigureSeries]) -> FigureSeries | None:
        if "reference" not in table:
            return None
        values = self.selectors.one_each("reference", table["reference"])
        matches = [candidate for candidate in series if selects(values, candidate.values)]
        if len(matches) != 1:
            raise StudyError(
                f"reference {_said(values)} is {'several' if matches else 'none'} of the series; it must be one of them"
            )
        return matches[0]

    def _check(self, figure: StudyFigure, there: Conditions) -> None:
        """StudyError when a point would hold several conditions, or an engine does not tell the metric."""
        points: dict[tuple[Any, int], Mapping[str, Any]] = {}
        for condition in there:
            series = figure.series_of(condition)
            if series is None:
                continue
            first = points.setdefault((condition.get(figure.x), figure.series.index(series)), condition)
            if first is not condition:
                raise StudyError(
                    f"one point would hold several conditions, as they differ in {self._apart(first, condition)}; "
                    "name it in series, or one value of it in where"
                )
        for engine in values_of([condition for condition in there if figure.holds(condition)], "engine"):
            if figure.metric in unobserved(Engine(engine)):
                raise StudyError(f"metric: {engine} does not tell {figure.metric}; name another one")

    def _apart(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        names = [name for name in self.selectors.values if one.get(name) != other.get(name)]
        leading = [
            name
            for name in names
            if not any(follows(name, dimension) for dimension in names if dimension != name)
        ]
        return " and ".join(leading or names)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {each}" for name, each in values.items())

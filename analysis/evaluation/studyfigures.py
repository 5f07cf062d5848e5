"""The figures that a study asks for, as points: medians of conditions with their intervals, or ratios to a series."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.claims.claimresult import absence
from analysis.labels.conditions import value_text
from analysis.runs.exclude import TIMED, time_outs
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.compare import Blocks, Certainty, compare
from analysis.statistics.estimate import IntervalKind, estimate, is_open
from harness.model.condition import follows, value
from harness.model.variant import PLAIN
from harness.study.figure import FigureSeries, StudyFigure

POINT = ("x", "series", "cell", "n", "value", "low", "high", "interval", "absence")
HeldCells = Sequence[tuple[Mapping[str, Any], int, int]]
Sides = tuple[Mapping[str, Any], ...]  # the condition of a point; of a ratio that of its reference, too
PointWithSides = tuple[tuple[Any, ...], Sides]  # a point has the columns of `POINT`


@dataclass(frozen=True)
class FigurePoints:
    """A figure with its points: a row of `POINT` for each, `series` being the number of its series.

    `labels` names the series. Points without a trial that counts have no value, nor have those of an event
    that happened in none; `absence` tells of an event in how many trials it did not, else None. `certainty`: of the
    intervals of ratios. `differing`: in what conditions differ that are in the same place of the same series, as those
    of two runs can; `apart` of each point tells it in words. `timed_out`: how many of the trials timed out and have
    none of the metric.
    """

    figure: StudyFigure
    labels: tuple[str, ...]
    points: pd.DataFrame
    engines: tuple[str, ...]
    certainty: Certainty
    differing: tuple[str, ...] = ()
    timed_out: int = 0

    def label(self, point: Mapping[Any, Any]) -> str:
        """The series of a point, and what tells its condition from others in the same place."""
        return ", ".join(filter(None, (self.labels[point["series"]], point["apart"])))

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to draw: nothing counts, or time-outs leave every point open."""
        of_ratios = self.figure.reference is not None
        values = self.points["value"].dropna()
        return not any(math.isfinite(value) and not (of_ratios and is_open(value)) for value in values)

    @property
    def xs(self) -> list[Any]:
        """The values along the axis: numbers by size, names in their order."""
        coordinates = list(dict.fromkeys(self.points["x"]))
        return (
            sorted(coordinates)
            if all(isinstance(coordinate, int | float) for coordinate in coordinates)
            else coordinates
        )


def points_of(
    figures: Sequence[StudyFigure],
    conditions: Sequence[Mapping[str, Any]],
    cells: Sequence[int],
    kept: pd.DataFrame,
    certainty: Certainty,
) -> tuple[FigurePoints, ...]:
    """The figures of a study that measured these conditions, each with the number of its cell; `kept` are the trials
    that count.
    """
    return tuple(
        _points(figure, list(zip(conditions, cells, strict=True)), kept, certainty) for figure in figures
    )


def _points(
    figure: StudyFigure,
    conditions: Sequence[tuple[Mapping[str, Any], int]],
    kept: pd.DataFrame,
    certainty: Certainty,
) -> FigurePoints:
    held = [
        (each, figure.series.index(series), cell)
        for each, cell in conditions
        if (series := figure.series_of(each)) is not None and value(each, figure.x) is not None
    ]
    there = kept if figure.metric in kept else kept.assign(**{figure.metric: math.nan})
    found = _ratios(figure, held, there, certainty) if figure.reference else _medians(figure, held, there)
    points = pd.DataFrame([point for point, _ in found], columns=list(POINT))
    sides = [its for _, its in found]
    differing = _differing(points, sides)
    late = 0 if figure.metric in TIMED else time_outs(kept[kept["cell"].isin([cell for *_, cell in held])])
    return FigurePoints(
        figure,
        labels=tuple(_label(figure_series, _telling(figure.series)) for figure_series in figure.series),
        points=points.assign(apart=[_apart(its, differing) for its in sides]),
        engines=tuple(dict.fromkeys(str(each["engine"]) for each, _, _ in held)),
        certainty=certainty,
        differing=differing,
        timed_out=late,
    )


def _medians(figure: StudyFigure, held: HeldCells, kept: pd.DataFrame) -> list[PointWithSides]:
    values = {
        cell: trials.dropna().to_numpy(dtype=float) for cell, trials in kept.groupby("cell")[figure.metric]
    }
    rows: list[PointWithSides] = []
    for each, series, cell in held:
        summary = estimate(values.get(cell, []))
        bounds = (summary.low, summary.high, summary.interval)
        absent = absence(kept, figure.metric, [cell])
        point = (value(each, figure.x), series, cell, summary.n, summary.median, *bounds, absent)
        rows.append((point, (each,)))
    return rows


def _ratios(
    figure: StudyFigure, held: HeldCells, kept: pd.DataFrame, certainty: Certainty
) -> list[PointWithSides]:
    """Each condition in units of the reference at the same place; of several references, of those with which it shares
    blocks.
    """
    blocks = Blocks(kept, figure.metric)
    of_reference = figure.series.index(figure.reference) if figure.reference else None
    references: dict[Any, list[tuple[Mapping[str, Any], int]]] = defaultdict(list)
    for each, series, cell in held:
        if series == of_reference:
            references[value(each, figure.x)].append((each, cell))
    rows: list[PointWithSides] = []
    for each, series, cell in held:
        x = value(each, figure.x)
        if series == of_reference or x not in references:
            continue
        compared = [
            (condition, reference, compare(blocks, cell, reference, certainty))
            for condition, reference in references[x]
        ]
        sharing = [pair for pair in compared if pair[-1].n > 0]
        for condition, reference, comparison in sharing or compared[:1]:
            kind = IntervalKind.EXACT if comparison.n >= LEAST_PAIRS else IntervalKind.NONE
            bounds = (comparison.low, comparison.high, kind)
            absent = absence(kept, figure.metric, [cell, reference])
            point = (x, series, cell, comparison.n, comparison.ratio, *bounds, absent)
            rows.append((point, (each, condition)))
    return rows


def _differing(points: pd.DataFrame, sides: Sequence[Sides]) -> tuple[str, ...]:
    """In what the conditions of points in the same place of the same series differ; not what follows from another one,
    where that alone tells them apart.
    """
    places: dict[tuple[Any, Any], list[Sides]] = defaultdict(list)
    for place, its in zip(zip(points["x"], points["series"], strict=True), sides, strict=True):
        places[place].append(its)
    shared = [together for together in places.values() if len(together) > 1]
    every = dict.fromkeys(name for together in shared for its in together for side in its for name in side)
    names = [name for name in every if any(len(_values(together, [name])) > 1 for together in shared)]
    leading = [name for name in names if not any(follows(name, other) for other in names if other != name)]
    enough = all(len(_values(together, leading)) == len(together) for together in shared)
    return tuple(leading if enough else names)


def _values(together: Iterable[Sides], names: Sequence[str]) -> set[tuple[Any, ...]]:
    return {tuple(value(side, name) for side in its for name in names) for its in together}


def _apart(sides: Sides, names: Sequence[str]) -> str:
    """The values of a condition, and of its reference where it has others."""
    return ", ".join(dict.fromkeys(value_text(name, value(side, name)) for side in sides for name in names))


def _label(series: FigureSeries, telling: Collection[str]) -> str:
    """The study's own word, or the values that tell the series apart as readers know them; plain goes without saying
    beside another one.
    """
    if series.label:
        return series.label
    said = {name: each for name, each in series.values.items() if name in telling} or series.values
    if len(said) > 1 and said.get("variant") == PLAIN:
        said = {name: each for name, each in said.items() if name != "variant"}
    return ", ".join(value_text(dimension, each) for dimension, each in said.items())


def _telling(series: Sequence[FigureSeries]) -> set[str]:
    """The dimensions in which some series differ."""
    names = {name for figure_series in series for name in figure_series.values}
    return {
        name
        for name in names
        if any(figure_series.values.get(name) != series[0].values.get(name) for figure_series in series)
    }

"""The data of each figure that a study asks for, as a table of its own: `figure-NAME`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from analysis.charts import studyfigures
from analysis.evaluation.results import Results
from analysis.evaluation.studyfigures import FigurePoints
from analysis.labels import words
from analysis.labels.conditions import value_text
from analysis.tables.table import Shown, Table, with_interval
from harness.study.figure import FigureKind

PREFIX = "figure-"
DIGITS_OF_RATIO = 3


def figure_tables(results: Results) -> Iterator[Table]:
    """A row per point, in the order of the axis and the series."""
    for points in results.figures:
        ordered = _ordered(points)
        if not ordered:
            continue
        figure = points.figure
        ratio = figure.reference is not None
        yield Table(
            name=f"{PREFIX}{figure.name}",
            title=figure.title,
            note=_note(points),
            data=pd.DataFrame(_data(points, row) for row in ordered),
            head=(studyfigures.AXES.get(figure.x, figure.x.capitalize()), "Series", _head(points), "n"),
            rows=tuple(
                (
                    Shown(
                        words.plain(row["x"])
                        if figure.x in studyfigures.AXES
                        else value_text(figure.x, row["x"])
                    ),
                    Shown(points.labels[row["series"]]),
                    _value(row, DIGITS_OF_RATIO if ratio else words.decimals(row["value"])),
                    Shown(words.number(row["n"])),
                )
                for row in ordered
            ),
            keys=2,
        )


def _note(points: FigurePoints) -> str:
    """The caption; of a figure that no drawing has room for, that it is this table."""
    crowded = points.figure.kind is not FigureKind.TABLE and studyfigures.is_crowded(points)
    said = (
        f" A table, as {words.number(len(points.xs))} groups are more than a drawing has room for."
        if crowded
        else ""
    )
    return f"{studyfigures.caption(points)}{said}"


def _ordered(points: FigurePoints) -> list[dict[Any, Any]]:
    place = {x: number for number, x in enumerate(points.xs)}
    rows = points.points.to_dict("records")
    return sorted(rows, key=lambda row: (place[row["x"]], row["series"]))


def _head(points: FigurePoints) -> str:
    if points.figure.reference is None:
        return points.figure.metric
    return f"{points.figure.metric} / {studyfigures.reference_label(points)}"


def _value(row: dict[Any, Any], digits: int) -> Shown:
    return with_interval(row["value"], row["low"], row["high"], digits)


def _data(points: FigurePoints, row: dict[Any, Any]) -> dict[str, Any]:
    return {
        points.figure.x: row["x"],
        "series": points.labels[row["series"]],
        "metric": points.figure.metric,
        "relative_to": studyfigures.reference_label(points),
        **{name: row[name] for name in ("n", "value", "low", "high")},
        "interval": str(row["interval"]),
    }

"""The figure that a report opens with: what was measured of every protocol or variant, in seconds, with intervals.

A row per place (page, link and what else varies), in it a mark per protocol, or per variant of the only protocol. It is
as wide as a column of a paper, so that it can be read on a phone.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from analysis.charts import lines, plots
from analysis.charts.plots import Drawing, TimeUnit
from analysis.evaluation.results import Results
from analysis.labels import conditions, metrics
from harness.input.shown import shortened
from harness.model.kind import Kind

HEAD = "head"
MOST_NAMED = 4  # conditions in a caption
MOST_MARKS = 48  # of a figure that is one screen high
MARK_INCHES, GAP_INCHES, AROUND_INCHES, LEGEND_INCHES = 0.075, 0.06, 0.55, 0.16
LABEL_CHARACTERS, LABEL_LINE_INCHES = 22, 0.13
RULE = "#BBBBBB"


@dataclass(frozen=True)
class Marks:
    """What the figure shows: the cells of `Results`, each with the text of its `row`, and the column that its marks are
    of. `rows`: the rows from top to bottom. The median is NaN of what has no mark, as too many loads timed out.
    """

    cells: pd.DataFrame
    column: str
    rows: tuple[str, ...]


def marks(results: Results) -> Marks | None:
    """What was measured by row and mark; None of more conditions than one screen can hold, and where nothing counts."""
    cells = results.main_cells[results.main_cells["n"] > 0]
    if cells.empty or len(cells) > MOST_MARKS:
        return None
    column = _marks(cells)
    every = (*results.panel_columns, "protocol", "rtt_ms")
    worth = {*conditions.varying(cells, every), *results.split_columns} - {column}
    told = [name for name in every if name in worth]
    cells = cells.assign(row=[conditions.cell_text(cell, told) for cell in cells.to_dict("records")])
    return Marks(cells, column, tuple(map(str, cells["row"].unique())))


def head(results: Results) -> Iterator[Drawing]:
    """One figure; none where there are no `marks`, and of a study that draws figures of its own."""
    drawn = marks(results)
    if drawn is None or drawn.cells["median"].isna().all() or results.figures:
        return
    cells, column, rows = drawn.cells, drawn.column, list(drawn.rows)
    styles = lines.styles_of(cells, column)
    labels = [textwrap.fill(row, LABEL_CHARACTERS) for row in rows]
    longest = max(label.count("\n") + 1 for label in labels)
    row_inches = GAP_INCHES + max(MARK_INCHES * (len(styles) + 1), LABEL_LINE_INCHES * longest)
    height = AROUND_INCHES + LEGEND_INCHES * -(-len(styles) // 2) + len(rows) * row_inches
    figure = plots.new(plots.COLUMN_INCHES, height)
    axes = figure.subplots()
    unit = _unit(results.kind)
    plots.dots(axes, cells.assign(protocol=cells[column].astype(str)), styles, unit, rows, column="row")
    axes.set_yticks([n + 0.5 for n in range(len(rows))], labels)
    for number in range(1, len(rows)):
        axes.axhline(number, color=RULE, linewidth=0.6)
    plots.rows_alone(axes)
    axes.set_xlabel(f"{results.metric_label} ({unit.name})")
    named = [plots.handle(lines.label_of(name, column), style) for name, style in styles.items()]
    plots.fitted_legend(figure, named, 2, above=True)
    reading = plots.reading_of_trials(cells[cells["median"].notna()])
    caption = f"{results.metric_label} ({unit.name}): medians. {reading}{_without_mark(drawn)}"
    yield Drawing(HEAD, caption, figure)


def _without_mark(drawn: Marks) -> str:
    """The conditions without a mark, and why."""
    said = []
    for cell in drawn.cells[drawn.cells["median"].isna()].to_dict("records"):
        row = f", {cell['row']}" if len(drawn.rows) > 1 else ""
        said.append(f"{lines.label_of(str(cell[drawn.column]), drawn.column)}{row} ({late_text(cell)})")
    return f" No mark: {shortened(said, MOST_NAMED, separator='; ')}." if said else ""


def late_text(cell: Mapping[Any, Any]) -> str:
    """`12 of 20 timed out`."""
    return f"{cell['timed_out']:,} of {cell['n']:,} timed out"


def _marks(cells: pd.DataFrame) -> str:
    """What the marks of a row are: protocols, or where there is one alone what else varies."""
    several = (name for name in ("protocol", "variant", "compression", "server") if cells[name].nunique() > 1)
    return next(several, "protocol")


def _unit(kind: Kind) -> TimeUnit:
    """Seconds, whatever the size: one unit in all of a head."""
    return TimeUnit("s", 1e3) if kind is Kind.LOAD else TimeUnit(metrics.MAIN_UNITS[kind], 1.0)

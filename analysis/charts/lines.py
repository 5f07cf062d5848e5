"""What a figure of a server under load holds: the conditions that share its axes, and the look of each line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

from analysis.charts import plots
from analysis.evaluation.results import Results
from analysis.labels import conditions, words
from analysis.labels.conditions import (
    FURTHER,
    LINE_DASHES,
    STYLES,
    Style,
    engine_label,
    protocol_label,
    protocol_styles,
    told_apart,
)

GENERATOR = ("engine", "driver")
SERVER = "server"
CODING_STYLES = (Style("#000000", "s", "-"), *FURTHER, STYLES["http1-close"], STYLES["h2"], STYLES["spdy"])
FIRST = ("none", "recorded", "plain")  # before other codings and variants
THIN = 0.5
TRIAL_ALPHA = 0.35
BAND_ALPHA = 0.13
Thing = TypeVar("Thing")


@dataclass(frozen=True)
class SharedFigure:
    """The cells that share a figure. `title` says what they have in common."""

    title: str
    cells: pd.DataFrame

    @property
    def slug(self) -> str:
        return words.slug(self.title)


@dataclass(frozen=True)
class DrawnLine:
    """One line of a figure: a condition with its look."""

    cell: int
    label: str
    style: Style


def line_column(results: Results) -> str:
    """What the lines of a figure are: the protocols, or the compressions of the only protocol."""
    cells = results.main_cells
    codings = cells["compression"].nunique(dropna=False) > 1 and cells["protocol"].nunique() == 1
    return "compression" if codings else "protocol"


def groups(
    results: Results, *within: str, column: str | None = None, generators: bool = True
) -> Iterator[SharedFigure]:
    """The cells by everything but the lines, the generator and what else is `within` a figure.

    The lines are the values of `column`, None: of the usual one. `generators`: several of them may share a figure.
    """
    apart = (column or line_column(results), *(GENERATOR if generators else ()), *within)
    columns = [name for name in (*results.panel_columns, "protocol", "rtt_ms") if name not in apart]
    named = [name for name in results.split_columns if name in columns]
    named += ["protocol"] * ("protocol" in columns and results.main_cells["protocol"].nunique() > 1)
    several = results.main_cells["rtt_ms"].nunique() > 1
    for _, cells in results.main_cells.groupby(columns, dropna=False, sort=False):
        if cells["n"].max() == 0:
            continue
        place = cells.iloc[0].to_dict()
        at = [f"{words.plain(place['rtt_ms'])} ms RTT"] if several else []
        yield SharedFigure(", ".join([conditions.title(place, named), *at]), cells)


def beside(results: Results, *within: str) -> Iterator[SharedFigure]:
    """The cells of each protocol that is measured with several servers: these are the lines."""
    for group in groups(results, *within, column=SERVER):
        if group.cells.loc[group.cells["n"] > 0, SERVER].nunique() > 1:
            yield group


def first(found: Sequence[Thing], most: int, table: str) -> Iterator[tuple[Thing, str]]:
    """The first ones; with the last that is drawn a sentence for its caption, where there are more."""
    left = len(found) - most
    are = "is" if left == 1 else "are"
    further = f" {words.count(left, 'further figure')} like these {are} left out: the table “{table}” has the numbers."
    for number, each in enumerate(found[:most], start=1):
        yield each, further if left > 0 and number == most else ""


def entries(group: SharedFigure, column: str) -> list[DrawnLine]:
    """The lines of a group, in their order; where two generators speak the same, each is told and has its look."""
    cells = group.cells[group.cells["n"] > 0]
    styles = styles_of(cells, column)
    told = cells.groupby(column, dropna=False)["engine"].nunique().max() > 1
    order = list(styles)
    ordered = sorted(cells.to_dict("records"), key=lambda cell: order.index(str(cell[column])))
    looks = told_apart(styles[str(cell[column])] for cell in ordered)
    return [
        DrawnLine(
            int(cell["cell"]),
            label_of(str(cell[column]), column) + (f" ({engine_label(str(cell['engine']))})" if told else ""),
            look,
        )
        for cell, look in zip(ordered, looks, strict=True)
    ]


def styles_of(cells: pd.DataFrame, column: str) -> Mapping[str, Style]:
    """The look of each value, in order."""
    if column == "protocol":
        return protocol_styles(cells["protocol"].astype(str))
    names = sorted(cells[column].astype(str).unique(), key=lambda name: (name not in FIRST, name))
    looks = told_apart(CODING_STYLES[number % len(CODING_STYLES)] for number in range(len(names)))
    return dict(zip(names, looks, strict=True))


def label_of(name: str, column: str) -> str:
    return protocol_label(name) if column == "protocol" else name


def deep(style: Style, depths: Sequence[float], depth: float) -> Style:
    """The look of a line at a pipeline depth: solid at the least one."""
    rank = sorted(depths).index(depth)
    return replace(style, dash=LINE_DASHES[rank % len(LINE_DASHES)])


def legend(figure: Figure, shown: Iterable[tuple[str, Style]], columns: int, *, markers: bool) -> None:
    """The lines below everything: what stands above is the title."""
    handles = [plots.handle(label, style, width=1.2, marked=markers) for label, style in shown]
    plots.fitted_legend(figure, handles, columns)


def legend_inches(shown: Sized, beside: int) -> float:
    """The height of a legend with so many names beside each other."""
    return 0.16 * -(-len(shown) // beside)


def joined(
    axes: Axes, x: Sequence[float], cells: Sequence[Mapping[Any, Any]], style: Style, unit: float
) -> None:
    """Medians with their interval or range, joined."""
    medians = np.array([cell["median"] for cell in cells], dtype=float) / unit
    ends = [np.array([cell[name] for cell in cells], dtype=float) / unit for name in ("low", "high")]
    axes.errorbar(
        x,
        medians,
        yerr=np.nan_to_num([medians - ends[0], ends[1] - medians]),
        color=style.colour,
        linestyle=style.dash,
        linewidth=1.1,
        marker=style.marker,
        markersize=style.size(3.6),
        markeredgewidth=0.7,
        elinewidth=0.8,
        capsize=1.6,
        capthick=0.8,
    )


def round_number(value: float) -> str:
    """A tick of a logarithmic axis: 0.2, 30, 1,000."""
    return words.number(value) if value >= 1 else words.plain(round(value, 6))


def log_steps(axes: Axes, values: Iterable[float]) -> None:
    """A logarithmic x axis with a label at each value that was measured."""
    steps = sorted(set(values))
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(FixedLocator(steps))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())

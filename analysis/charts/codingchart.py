"""What compressing costs: the server's CPU against the bytes of an answer, by size of the file and coding."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

from analysis.charts import lines, plots
from analysis.charts.drawing import Drawing
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.protocols import Style
from harness.model.kind import Kind

ROOM_FOR_NAMES = 0.4  # of the least value: the axis goes on so far below it


@dataclass(frozen=True)
class AnswerCost:
    """What one answer is: the columns of its CPU, of the bytes of all, and of how many there were, failed ones too."""

    name: str
    cpu: str
    cpu_unit: str
    bytes_all: str
    counts: tuple[str, ...]


UNITS: Mapping[Kind, AnswerCost] = {
    Kind.USERS: AnswerCost("page", "server_cpu_ms_per_page", "ms", "bytes_down", ("pages", "pages_failed")),
    Kind.REQUESTS: AnswerCost("request", "server_cpu_us_per_request", "µs", "bytes_body", ("requests",)),
}


def cost_of_codings(results: Results) -> Iterator[Drawing]:
    """A figure per group that holds more than one coding; files of several sizes join to a line per coding."""
    unit = UNITS[results.kind]
    trials = _trials(results, unit)
    for group in lines.groups(results, "page", "compression"):
        if group.cells["compression"].nunique(dropna=False) < 2:
            continue
        mine = trials[trials["cell"].isin(group.cells["cell"])]
        if mine.empty:
            continue
        styles = lines.styles_of(group.cells, "compression")
        figure = plots.new(plots.COLUMN_INCHES, 2.75 + 0.16 * -(-len(styles) // 3))
        axes = figure.subplots()
        _draw(axes, mine, styles)
        axes.set_xlabel(f"Bytes a {unit.name} (kB, logarithmic)")
        axes.set_ylabel(f"Server's CPU a {unit.name} ({unit.cpu_unit}, logarithmic)")
        lines.legend(figure, list(styles.items()), 3, markers=True)
        what = (
            "on the link, headers included" if results.kind is Kind.USERS else "of bodies as they travelled"
        )
        several = mine["page"].nunique() > 1
        caption = (
            f"What compressing costs: {_place(group, several)}. To the left fewer bytes ({what}), upwards more CPU. "
            f"Marks: medians{', the pages of one coding joined' if several else ''}; faint dots: the trials."
        )
        yield Drawing(f"codings_{words.slug(_place(group, several))}", caption, figure)


def _place(group: lines.SharedFigure, several: bool) -> str:
    page = str(group.cells["page"].iloc[0])
    rest = group.title.removeprefix(page).removeprefix(", ")
    return rest if several else group.title


def _trials(results: Results, unit: AnswerCost) -> pd.DataFrame:
    """Of each trial that counts the CPU and the kilobytes of an answer."""
    kept = results.sifted.kept
    count = kept[list(unit.counts)].sum(axis=1)
    found = kept[["cell", "page", "compression"]].assign(
        cpu=kept[unit.cpu], kilobytes=kept[unit.bytes_all] / count.where(count > 0) / 1e3
    )
    return found[(found["cpu"] > 0) & (found["kilobytes"] > 0)]


def _draw(axes: Axes, trials: pd.DataFrame, styles: Mapping[str, Style]) -> None:
    for number, (name, style) in enumerate(styles.items()):
        mine = trials[trials["compression"].astype(str) == name]
        plots.scatter(axes, mine["kilobytes"].to_numpy(), mine["cpu"].to_numpy(), style.colour)
        medians = mine.groupby("page")[["kilobytes", "cpu"]].median().sort_values("kilobytes")
        axes.plot(
            medians["kilobytes"],
            medians["cpu"],
            color=style.colour,
            linestyle=style.dash,
            linewidth=1.1,
            marker=style.marker,
            markersize=4 if style.marker != "*" else 6,
        )
        if number == 0 and len(medians) > 1:
            _name(axes, medians.reset_index().to_dict("records"), style)
    for axis in (axes.xaxis, axes.yaxis):
        axis.grid(visible=True, color=plots.GUIDE, linewidth=0.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_locator(LogLocator(10, subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: lines.round_number(value)))
        axis.set_minor_locator(NullLocator())
    axes.margins(x=0.08, y=0.1)
    low, high = axes.get_ylim()
    axes.set_ylim(low * ROOM_FOR_NAMES, high)


def _name(axes: Axes, medians: Sequence[Mapping[Any, Any]], style: Style) -> None:
    """The files, at the marks of the first coding."""
    for each in medians:
        axes.annotate(
            str(each["page"]),
            (float(np.asarray(each["kilobytes"])), each["cpu"]),
            xytext=(0, -4),
            textcoords="offset points",
            ha="center",
            va="top",
            rotation=90,
            fontsize="x-small",
            color=style.colour,
        )

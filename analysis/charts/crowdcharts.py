"""Figures of crowds, as the studies of servers draw them: against time and against users, every trial visible."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.charts import lines, plots
from analysis.charts.lines import DrawnLine
from analysis.charts.plots import Drawing
from analysis.evaluation.curves import TIME, USERS, Curve, curve, drawable
from analysis.evaluation.results import Results
from analysis.labels import words

MOST_GROUPS = 8
BESIDE = 4  # names of a legend
CROWDS = "What the server gave a growing crowd"  # a table
NONE_LOADED = (
    " Where none did, a thin line and the band break; the thick one where that is so in half of the trials."
)
ROW_INCHES = 1.3
LOG_FROM = 20.0  # times its least value: an axis of page times that spans more is logarithmic
LIMIT_S = 3.0  # what a user is said to wait for a page
MINUTES_FROM_S = 300.0


@dataclass(frozen=True)
class Panel:
    """What one row of a figure shows: a column of the buckets. What is read `seldom` has no gaps."""

    column: str
    label: str
    seldom: bool = False


BEHAVIOUR: tuple[Panel, ...] = (
    Panel("pages_per_s", "Pages/s"),
    Panel("page_s", "Page time (s)"),
    Panel("failed_per_s", "Failed pages/s"),
    Panel("workers_busy", "Busy workers"),
)
COST: tuple[Panel, ...] = (
    Panel("idle_percent", "CPU idle (%)"),
    Panel("memory_mb", "Server's memory (MB)", seldom=True),
)


@dataclass(frozen=True)
class Crowds:
    """What a figure holds: the conditions that share it, a line each, and their buckets.

    `name` is of its kind of figure, `rest` says how many further ones are not drawn.
    """

    name: str
    group: lines.SharedFigure
    shown: Sequence[DrawnLine]
    buckets: pd.DataFrame
    rest: str


def behaviour(results: Results) -> Iterator[Drawing]:
    """Page rate, page time, failures and busy workers: a row each, against time and against users."""
    for crowds in _crowds(results):
        title, buckets = crowds.group.title, crowds.buckets
        panels = [panel for panel in BEHAVIOUR if buckets[panel.column].fillna(0).abs().max() > 0]
        failed = " Page times: of pages that loaded." if buckets["failed"].sum() else " No page failed."
        failed += NONE_LOADED * bool(np.isinf(buckets["page_s"]).any())
        busy = " Dotted in the bottom row: all workers." if _told(buckets, "workers", panels) else ""
        caption = (
            f"The server under a growing crowd: {title}. Left against time, right against the users at that "
            f"time. {_reading(buckets)} Dotted at {LIMIT_S:g} s: a page that users wait for.{busy}{failed}{crowds.rest}"
        )
        figure = _figure(panels, crowds.shown, buckets, (TIME, USERS), title)
        yield Drawing(f"crowd_{crowds.name}{crowds.group.slug}", caption, figure)


def cost(results: Results) -> Iterator[Drawing]:
    """What the crowd costs the server: idle CPU and memory of all lines side by side."""
    for crowds in _crowds(results):
        title, shown, buckets = crowds.group.title, crowds.shown, crowds.buckets
        if not any(_told(buckets, panel.column, COST) for panel in COST):
            continue
        caption = (
            f"What the crowd costs the server: {title}. Idle is the whole machine; memory is the server's, "
            f"pages that processes share divided among them. {_reading(buckets)}{crowds.rest}"
        )
        figure = plots.new(plots.PAGE_INCHES, 2.3 + lines.legend_inches(shown, BESIDE))
        for axes, panel in zip(figure.subplots(1, 2), COST, strict=True):
            _panel(axes, panel, shown, buckets, USERS)
            axes.set_xlabel("Users")
            axes.set_ylabel(panel.label)
        lines.legend(figure, [(line.label, line.style) for line in shown], BESIDE, markers=False)
        plots.title(figure, title)
        yield Drawing(f"cost_{crowds.name}{crowds.group.slug}", caption, figure)


def _crowds(results: Results) -> Iterator[Crowds]:
    """Protocols beside each other, then servers: the groups that have series."""
    yield from _first(results, "", lines.groups(results), lines.line_column(results))
    yield from _first(results, "servers_", lines.beside(results), lines.SERVER)


def _first(
    results: Results, name: str, groups: Iterable[lines.SharedFigure], column: str
) -> Iterator[Crowds]:
    buckets = drawable(results.buckets)
    pairs = [(group, buckets[buckets["cell"].isin(group.cells["cell"])]) for group in groups]
    there = [(group, mine) for group, mine in pairs if not mine.empty]
    for (group, mine), rest in lines.first(there, MOST_GROUPS, CROWDS):
        yield Crowds(name, group, lines.entries(group, column), mine, rest)


def _figure(
    panels: Sequence[Panel],
    shown: Sequence[DrawnLine],
    buckets: pd.DataFrame,
    against: Sequence[str],
    title: str,
) -> Figure:
    figure = plots.new(plots.PAGE_INCHES, 0.7 + ROW_INCHES * len(panels) + lines.legend_inches(shown, BESIDE))
    grid = figure.subplots(len(panels), len(against), squeeze=False, sharex="col", sharey="row")
    for row, panel in zip(grid, panels, strict=True):
        for axes, x in zip(row, against, strict=True):
            _panel(axes, panel, shown, buckets, x)
        logarithmic = row[0].get_yscale() == "log"
        row[0].set_ylabel(f"{panel.label}\n(logarithmic)" if logarithmic else panel.label)
    for axes, x in zip(grid[-1], against, strict=True):
        axes.set_xlabel("Users" if x == USERS else f"Time ({_time_unit(buckets)[0]})")
    figure.align_ylabels(grid[:, 0])
    lines.legend(figure, [(line.label, line.style) for line in shown], BESIDE, markers=False)
    plots.title(figure, title)
    return figure


def _panel(axes: Axes, panel: Panel, shown: Sequence[DrawnLine], buckets: pd.DataFrame, x: str) -> None:
    scale = _time_unit(buckets)[1] if x == TIME else 1.0
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    for line in shown:
        mine = buckets[buckets["cell"] == line.cell]
        if panel.seldom:
            mine = mine.dropna(subset=[panel.column])
        trace = curve(mine, x, panel.column)
        if not trace.is_empty:
            _curve(axes, trace, line, scale)
    axes.set_xlim(0, float(buckets[x].max()) / scale * 1.02)
    if panel.column == "workers_busy":
        for workers in buckets.groupby("cell")["workers"].max().dropna().unique():
            axes.axhline(workers, color="#555555", linewidth=0.8, linestyle=(0, (1.2, 1.6)))
    if panel.column == "page_s":
        axes.axhline(LIMIT_S, color="#555555", linewidth=0.8, linestyle=(0, (1.2, 1.6)))
        _maybe_logarithmic(axes, buckets["page_s"])
    if axes.get_yscale() == "linear":
        axes.set_ylim(0, None if panel.column != "idle_percent" else 102)
        plots.ticks(axes.yaxis)
    plots.ticks(axes.xaxis)


def _curve(axes: Axes, found: Curve, entry: DrawnLine, scale: float) -> None:
    colour = entry.style.colour
    if len(found.trials) > 1:
        for line in found.trials:
            axes.plot(
                line.x / scale,
                line.y,
                color=colour,
                linewidth=lines.THIN,
                alpha=lines.TRIAL_ALPHA,
                zorder=1.5,
            )
        axes.fill_between(
            found.x / scale,
            found.low,
            found.high,
            color=colour,
            alpha=lines.BAND_ALPHA,
            linewidth=0,
            zorder=1.4,
        )
    axes.plot(found.x / scale, found.median, color=colour, linestyle=entry.style.dash, linewidth=1.3)


def _maybe_logarithmic(axes: Axes, times: pd.Series[float]) -> None:
    known = times[(times > 0) & np.isfinite(times)]
    if known.empty or known.max() < LOG_FROM * known.min():
        return
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10, subs=(1.0, 3.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: lines.round_number(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _reading(buckets: pd.DataFrame) -> str:
    trials = buckets.groupby("cell")[["run", "trial"]].apply(lambda each: len(each.drop_duplicates()))
    least, most = int(trials.min()), int(trials.max())
    length = float(np.nanmedian(buckets["seconds"]))
    of = f"Buckets of {words.plain(round(length, 3))} s"
    if most == 1:
        return f"{of}; one trial."
    return f"{of}; thick: median of {words.between(least, most)} trials, band: their range, thin: each trial."


def _told(buckets: pd.DataFrame, column: str, panels: Sequence[Panel]) -> bool:
    return bool(panels) and bool(buckets[column].notna().any())


def _time_unit(buckets: pd.DataFrame) -> tuple[str, float]:
    return ("min", 60.0) if buckets[TIME].max() > MINUTES_FROM_S else ("s", 1.0)

"""Axes filled with medians and intervals, and figures saved for a paper.

Everything goes through matplotlib's objects, never through pyplot, so nothing is left behind in the process.
Text stays text in SVG and PDF; the same results give the same bytes.
"""

from __future__ import annotations

import contextlib
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pandas as pd
from fontTools import subset
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.lines import Line2D
from matplotlib.textpath import text_to_path
from matplotlib.ticker import FuncFormatter, MaxNLocator

from analysis.charts import openbars
from analysis.charts.openbars import BarEnds
from analysis.labels import metrics, words
from analysis.labels.conditions import Style, protocol_label
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.compare import WIDER, Certainty
from analysis.statistics.contrast import Sample
from analysis.statistics.estimate import LEAST_TRIALS, IntervalKind
from harness.model.kind import Kind

COLUMN_INCHES = 3.5  # one column of a two-column paper
PAGE_INCHES = 7.16  # both columns
PNG_DPI = 300
GUIDE = "#DDDDDD"
RTT_AXIS = "Round-trip time (ms)"
TIME = metrics.main_label(Kind.LOAD)
MEDIAN = f"Median {TIME.lower()}"
LEFT_OUT = "#8A8A8A"
LATE = " No point where half of the trials or more timed out."
MOST_VECTORS = 250  # dots of a row; more of them are drawn as pixels, so that files stay small
POINTS_PER_INCH = 72
FONT, FONT_POINTS = "DejaVu Sans", 7.5  # it comes with matplotlib: the same on every machine
# Of a legend, in units of the font's size: a line, what is between it and its name, between columns, at both edges.
LEGEND_LINE, LEGEND_PAD, LEGEND_COLUMNS, LEGEND_EDGES = 3.2, 0.5, 1.0, 2.0
ON_PIXELS = 1.03  # how much wider text can become whose letters begin at whole pixels
TITLE_CHARACTERS = 46  # of bold text across one column of a paper
LOOK = {
    "font.family": "sans-serif",
    "font.sans-serif": [FONT],
    "font.size": FONT_POINTS,
    "axes.titlesize": 7.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.linewidth": 0.6,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "legend.frameon": False,
    "legend.handlelength": LEGEND_LINE,
    "legend.handletextpad": LEGEND_PAD,
    "legend.columnspacing": LEGEND_COLUMNS,
    "svg.fonttype": "none",
    "svg.hashsalt": "coldload",
    "pdf.fonttype": 42,
    "text.parse_math": False,
}
LAYOUT_TABLES = ("GDEF", "GPOS", "GSUB", "kern")
NO_DATE: dict[str, dict[str, str | None]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}


@dataclass(frozen=True)
class TimeUnit:
    """What times are drawn in."""

    name: str
    ms: float

    @property
    def axis(self) -> str:
        """The label of an axis of medians."""
        return f"{MEDIAN} ({self.name})"


@dataclass(frozen=True)
class ValueAxis:
    """What values are drawn in, and from where to where their axis goes, whose ends open bars reach."""

    unit: TimeUnit
    ends: tuple[float, float] = (-np.inf, np.inf)


def unit_of(longest_ms: float) -> TimeUnit:
    """Seconds as soon as there is a whole one."""
    return TimeUnit("s", 1e3) if longest_ms >= 1_000 else TimeUnit("ms", 1.0)


@contextlib.contextmanager
def look() -> Iterator[None]:
    """Figures are made and saved inside this context."""
    with (
        mpl.rc_context(LOOK),  # type: ignore[arg-type, unused-ignore]  # matplotlib 3.11 names every key
        _fonts_without_layout(),
    ):
        yield


@contextlib.contextmanager
def _fonts_without_layout() -> Iterator[None]:
    """PDFs embed fonts without the tables that lay text out: their text is laid out.

    To cut these tables down to the glyphs of a figure took more than half of the time in which it was saved.
    """
    usual = subset.Options._drop_tables_default
    subset.Options._drop_tables_default = [*usual, *LAYOUT_TABLES]
    try:
        yield
    finally:
        subset.Options._drop_tables_default = usual


def lines(
    axes: Axes,
    cells: pd.DataFrame,
    styles: Mapping[str, Style],
    unit: TimeUnit,
    rtts: Sequence[float],
    top: float | None = None,
) -> None:
    """Median against RTT, one line per protocol; a line breaks where an RTT has no estimate.

    ValueError where a line has several estimates at one RTT.

    `rtts` are those of the whole figure: the x axis is the same for all its axes. `top`: where the y axis ends, if it
    is that of several axes.
    """
    axis = ValueAxis(unit, (0.0, top or end_of_axis(cells, unit)))
    times = sorted(cells["rtt_ms"].unique())
    for protocol, style in styles.items():
        mine = cells[cells["protocol"] == protocol].set_index("rtt_ms").reindex(times)
        if mine["median"].isna().all():
            continue
        axes.plot(times, mine["median"] / unit.ms, color=style.colour, linestyle=style.dash, linewidth=1.1)
        for _, part in mine.groupby(mine["interval"] != IntervalKind.EXACT):
            points(axes, part.index.to_numpy(), part, style, axis, vertical=True)
    axes.grid(axis="y", color=GUIDE, linewidth=0.5)
    axes.set_xlim(0, max(rtts) * 1.04)
    axes.set_ylim(*axis.ends)
    ticks(axes.yaxis)
    if min(np.diff(sorted(rtts)), default=0) >= max(rtts) / 12:
        axes.set_xticks(sorted(rtts))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value, 1 if value % 1 else 0)))


def dots(
    axes: Axes,
    cells: pd.DataFrame,
    styles: Mapping[str, Style],
    unit: TimeUnit,
    rows: Sequence[str],
    *,
    column: str = "page",
) -> None:
    """Medians at one RTT along the x axis; a row per value of `column`, in each the protocols below each other."""
    step, axis = 1 / (len(styles) + 1), ValueAxis(unit, (0.0, end_of_axis(cells, unit)))
    for row, value in enumerate(rows):
        for index, (protocol, style) in enumerate(styles.items(), start=1):
            mine = cells[(cells[column] == value) & (cells["protocol"] == protocol)].head(1)
            y = row + index * step
            axes.axhline(y, color=GUIDE, linewidth=0.5)
            points(axes, np.full(len(mine), y), mine, style, axis, vertical=False)
    axes.set_ylim(len(rows), 0)
    axes.set_xlim(*axis.ends)
    ticks(axes.xaxis)


def ticks(axis: Axis) -> None:
    """Round steps, thousands separated, every label with the same decimals."""
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))
    steps = np.asarray(axis.get_majorticklocs())
    digits = next(d for d in range(4) if d == 3 or np.allclose(steps, steps.round(d)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value, digits)))


def points(
    axes: Axes,
    along: np.ndarray,
    cells: pd.DataFrame,
    style: Style,
    axis: ValueAxis,
    *,
    vertical: bool,
) -> None:
    """Markers with their intervals; hollow ones stand for fewer trials than an interval needs."""
    hollow = bool((cells["interval"] != IntervalKind.EXACT).any())
    bars = BarEnds.of(cells, axis.unit.ms, axis.ends)
    drawn = axes.errorbar(
        along if vertical else bars.centre,
        bars.centre if vertical else along,
        yerr=bars.reach if vertical else None,
        xerr=None if vertical else bars.reach,
        **whiskers(style, hollow=hollow),
    )
    bars.arrows(axes, along, drawn, style.colour, vertical=vertical)


def whiskers(
    style: Style, *, hollow: bool = False, size: float = 4, thick: float = 0.8, cap: float = 2
) -> dict[str, Any]:
    """The look of a marker with its interval, for `Axes.errorbar`; `thick` are lines, `cap` is half an end's width."""
    return {
        "fmt": style.marker,
        "color": style.colour,
        "markersize": style.size(size),
        "markerfacecolor": "white" if hollow else style.colour,
        "markeredgewidth": 0.8,
        "elinewidth": thick,
        "capsize": cap,
        "capthick": thick,
    }


def scatter(axes: Axes, x: Sample, y: Sample, colour: str, *, marker: str = "o") -> None:
    """Single trials, small and pale: where many lie on each other, it gets darker."""
    if not x.size:
        return
    crosses = marker == "x"
    axes.plot(
        x,
        y,
        color=colour,
        linestyle="none",
        marker=marker,
        markersize=3 if crosses else 2.4,
        markeredgewidth=0.7 if crosses else 0,
        alpha=0.9 if crosses else max(0.15, min(0.7, 60 / x.size)),
        rasterized=x.size > MOST_VECTORS,
        zorder=1.5,  # all dots below all lines: then all pixels are one image
    )


def end_of_axis(cells: pd.DataFrame, unit: TimeUnit) -> float:
    """Above the highest time to draw, with more room where a bar is open; of 1 ms when there is none."""
    times = cells[["median", "high"]].to_numpy(dtype=float)
    finite = times[np.isfinite(times)]
    room = 1 + openbars.ROOM if openbars.reading(cells) else 1.05
    return (float(finite.max()) if finite.size else 1.0) / unit.ms * room


def legend_columns(names: Sequence[str], inches: float, most: int) -> int:
    """How many names of a legend stand beside each other in so many inches, `most` at most, by their width."""
    for columns in range(most, 1, -1):
        split = np.array_split(np.array(names, dtype=object), columns)  # as matplotlib does
        widest = [max(map(_points_wide, column)) for column in split if len(column)]
        if sum(widest) <= _room_points(inches, columns):
            return columns
    return 1


def _room_points(inches: float, columns: int) -> float:
    """What the lines of a legend leave to its names."""
    around = columns * (LEGEND_LINE + LEGEND_PAD) + (columns - 1) * LEGEND_COLUMNS + LEGEND_EDGES
    return inches * POINTS_PER_INCH - around * FONT_POINTS


@cache
def _points_wide(name: str) -> float:
    font = FontProperties(family=FONT, size=FONT_POINTS)
    width, _, _ = text_to_path.get_text_width_height_descent(name, font, ismath=False)
    return ON_PIXELS * float(width)


def _in_lines(name: str, points: float) -> str:
    """A name in lines that are no wider than that."""
    told = [name]
    for letters in range(len(name), 0, -1):
        if max(map(_points_wide, told), default=0) <= points:
            break
        told = textwrap.wrap(name, letters, break_on_hyphens=False)
    return "\n".join(told)


def fitted_legend(figure: Figure, shown: Sequence[Artist], most: int, *, above: bool = False) -> None:
    """Below or above everything; at most so many names beside each other, fewer where the figure is too narrow, and
    several lines for one that is too long for it by itself.
    """
    inches = figure.get_figwidth()
    columns = legend_columns([str(each.get_label()) for each in shown], inches, most)
    if columns == 1:
        for each in shown:
            each.set_label(_in_lines(str(each.get_label()), _room_points(inches, 1)))
    figure.legend(handles=shown, loc="outside upper left" if above else "outside lower left", ncols=columns)


def legend_above(figure: Figure, styles: Mapping[str, Style], columns: int) -> None:
    """The protocols in their fixed order, above everything."""
    fitted_legend(figure, handles(styles), columns, above=True)


def handles(styles: Mapping[str, Style]) -> list[Line2D]:
    """What a legend holds: a line with its marker for each name."""
    return [handle(protocol_label(name), style) for name, style in styles.items()]


def handle(label: str, style: Style, *, width: float = 1.1, marked: bool = True) -> Line2D:
    """A line with its marker, as a legend holds it."""
    marker = style.marker if marked else ""
    look: dict[str, Any] = {"color": style.colour, "linestyle": style.dash, "linewidth": width}
    return Line2D([], [], marker=marker, markersize=style.size(), label=label, **look)


def title(figure: Figure, text: str, characters: int = TITLE_CHARACTERS) -> None:
    """Above everything, at the left edge: wider than axes that have long labels beside them."""
    figure.suptitle(textwrap.fill(text, characters), x=0.01, ha="left", fontsize="medium", weight="bold")


def rows_alone(axes: Axes) -> None:
    """A y axis whose labels name rows: without line and ticks."""
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def stripe(axes: Axes, row: int, zorder: float = 1) -> None:
    """A pale band behind every other row, so that the eye stays in it."""
    if row % 2:
        axes.axhspan(row - 0.5, row + 0.5, color="#F5F5F5", linewidth=0, zorder=zorder)


def save(figure: Figure, directory: Path, name: str) -> dict[str, Path]:
    """name.svg, name.pdf and name.png in `directory`, by suffix."""
    directory.mkdir(parents=True, exist_ok=True)
    paths = {suffix: directory / f"{name}.{suffix}" for suffix in NO_DATE}
    for suffix, path in paths.items():
        figure.savefig(path, format=suffix, dpi=PNG_DPI, metadata=NO_DATE[suffix])
        figure.set_layout_engine("none")  # what the first save laid out also holds for the others
    return paths


def new(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


@dataclass(frozen=True)
class Drawing:
    """`name` is the stem of its files. `of_data`: it shows single trials, and stands behind what was estimated.

    `asked`: the name of the study's own figure that it is, `title` that figure's; empty of all others.
    """

    name: str
    caption: str
    figure: Figure
    of_data: bool = False
    asked: str = ""
    title: str = ""


def reading_of_trials(cells: pd.DataFrame) -> str:
    """How many trials a point stands for, what its bar is, and what time-outs leave open."""
    known = cells[cells["n"] > 0]
    late = LATE if known["median"].isna().any() else ""
    return f"{reading_of_bars(known)}{openbars.reading(known)}{late}"


def reading_of_bars(known: pd.DataFrame) -> str:
    """How many trials a point stands for and what its bar is."""
    size = f"n = {_span(known)} per point"
    if (known["interval"] == IntervalKind.EXACT).all():
        return f"{size}; bars: 95 % intervals."
    if known["n"].max() < LEAST_TRIALS:
        return f"{size}, too few for an interval; bars: range of the trials."
    return f"{size}; bars: 95 % intervals, at hollow markers (fewer than five trials) the range."


def reading_of_pairs(points: pd.DataFrame, certainty: Certainty, *, chosen: bool = False) -> str:
    """How many pairs a point stands for, and what its bar is. `chosen`: the interval of a choice, not a plain one."""
    few = "" if points["n"].min() >= LEAST_PAIRS else f", hollow without (fewer than {LEAST_PAIRS} pairs)"
    wider = f" ({WIDER})" if chosen else ""
    size = f"n = {_span(points)} pairs of loads, each inside one block"
    return f"{size}; bars: {certainty.interval}s{wider}{few}."


def _span(points: pd.DataFrame) -> str:
    return words.between(points["n"].min(), points["n"].max())

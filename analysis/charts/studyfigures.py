"""The figures that a study asks for (`[[figures]]`), in the house style: lines, bars, or rows of points.

A series that names a protocol has its colour. A protocol's further series, as its other variants, have another marker
and dash, and bars a hatching.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.charts import lines, openbars, plots
from analysis.charts.lines import CODING_STYLES
from analysis.charts.openbars import BarEnds
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import Absence
from analysis.evaluation.results import Results
from analysis.evaluation.studyfigures import FigurePoints
from analysis.labels import metrics, words
from analysis.labels.conditions import (
    Style,
    engine_label,
    engines_are_told,
    protocol_styles,
    told_apart,
    value_text,
)
from analysis.labels.metrics import IN_SENTENCES
from analysis.statistics.estimate import IntervalKind
from harness.input.shown import shortened
from harness.model.kind import MAIN_METRIC
from harness.model.metric import Unit
from harness.study.figure import FigureKind
from harness.study.metrics import metric_named

AXES = {
    "rtt_ms": plots.RTT_AXIS,
    "down_mbps": "Rate (Mbit/s)",
    "up_mbps": "Rate up (Mbit/s)",
    "connections": "Connections",
    "depth": "Requests under way on a connection",
}
LOGARITHMIC = ("connections", "depth")
HATCHES = (
    *("", "////", "....", "xxxx", "\\\\\\\\", "----", "||||", "++++", "oooo", "****"),
    *("//..", "\\\\..", "--..", "||..", "//oo", "--oo"),
)
WIDE_BARS = 14  # more of them need the width of a page
LINE_OF_ONE = "#8A8A8A"
TITLE_OF_A_PAGE = 100  # characters of bold text across both columns
UP_CHARACTERS = 28  # of the text along an upright axis
MOST_ALONG = 60  # values along an axis
MOST_GROUPS = 30  # of bars, with a name below each
MOST_ROWS_INCHES = 9.0  # of a drawing of rows: a page of a paper, with its caption
GROUP = 0.8  # of the room between two groups of bars
EDGE = 0.05  # of the width of all bars, left free on each side
MOST_NAMED = 6  # points in a caption
NEVER = "never"  # in place of a bar


@dataclass(frozen=True)
class Scale:
    """What values are drawn in, and how the axis is called."""

    axis: str
    unit: plots.TimeUnit


def _drawable(points: FigurePoints) -> pd.DataFrame:
    """The points that lie on the axis, their value as `median`; an end that is open is infinite."""
    rows = points.points
    if points.figure.reference is not None:
        rows = openbars.of_ratios(rows, "value")
    value = rows["value"].astype(float)
    return rows[np.isfinite(value)].rename(columns={"value": "median"})


def study_figures(results: Results) -> Iterator[Drawing]:
    """A drawing per figure of the study that has one."""
    for points in results.figures:
        if not is_drawn(points):
            continue
        known = _drawable(points)
        draw = DRAWN[points.figure.kind]
        scale = _scale(points, known)
        yield Drawing(
            f"study-{points.figure.name}",
            caption_drawn(points),
            draw(points, known, scale),
            asked=points.figure.name,
            title=points.figure.title,
        )


def is_drawn(points: FigurePoints) -> bool:
    """Whether there is a drawing: none of a table, of nothing to show, of what no page has room for, and of points that
    hold several conditions.
    """
    of_kind = points.figure.kind is not FigureKind.TABLE
    return of_kind and not (points.is_empty or points.differing or is_crowded(points))


def is_crowded(points: FigurePoints) -> bool:
    """Whether a drawing has no room for so much, so that a table stands for it."""
    if points.figure.kind is FigureKind.POINTS:
        return _rows_inches(points) > MOST_ROWS_INCHES
    return len(points.xs) > (MOST_GROUPS if points.figure.kind is FigureKind.BARS else MOST_ALONG)


def caption(points: FigurePoints) -> str:
    """What is drawn, by which engine, and of how many trials."""
    known = points.points[points.points["value"].notna()]
    label = metrics.subject(points.figure.metric)
    by = f" by {', '.join(map(engine_label, points.engines))}" if engines_are_told(points.engines) else ""
    absences, ended = _absences(points), metrics.ended_text(points.timed_out)
    if known.empty:
        return f"{label}{by}:{absences or ended or ' no trial of it counts.'}"
    if points.figure.reference is not None:
        pairs = plots.reading_of_pairs(known, points.certainty)
        return f"{label}{by} relative to {reference_label(points)}, inside blocks. {pairs}{ended}{absences}"
    return f"{label}{by}, medians. {plots.reading_of_bars(known)}{ended}{absences}"


def caption_drawn(points: FigurePoints) -> str:
    """The caption of the drawing, with what time-outs leave open in it."""
    known = _drawable(points)
    return f"{caption(points)}{openbars.reading(known)}{_without_point(points, known)}"


def _without_point(points: FigurePoints, known: pd.DataFrame) -> str:
    """Where there is no point, as too many loads timed out."""
    late = points.points[points.points["value"].notna() & ~points.points.index.isin(known.index)]
    silent = [f"{points.label(row)}, {_x_text(points, row['x'])}" for row in late.to_dict("records")]
    return (
        f" No point, as loads timed out: {shortened(silent, MOST_NAMED, separator='; ')}." if silent else ""
    )


def _absences(points: FigurePoints) -> str:
    """Of an event: where it did not happen, in how many trials. A median of the other trials tells it too early."""
    absences: dict[Absence, list[str]] = {}
    for row in points.points[points.points["absence"].notna()].to_dict("records"):
        label = f"{points.label(row)}, {_x_text(points, row['x'])}"
        absences.setdefault(row["absence"], []).append(label)
    early = ", so that the others tell it too early" if points.figure.reference is None else ""
    return "".join(
        f" {'; '.join(labels)}: {absent}{'' if absent.always else early}."
        for absent, labels in absences.items()
    )


def reference_label(points: FigurePoints) -> str:
    """The name of the series that others are divided by."""
    reference = points.figure.reference
    return "" if reference is None else points.labels[points.figure.series.index(reference)]


def _lines(points: FigurePoints, known: pd.DataFrame, scale: Scale) -> Figure:
    styles = _styles(points)
    figure = plots.new(plots.COLUMN_INCHES, 2.45 + 0.16 * math.ceil(len(styles) / _columns(points, styles)))
    axes = figure.subplots()
    xs, axis = points.xs, plots.ValueAxis(scale.unit, _ends_of_axis(points, known, scale))
    for number, style in styles.items():
        mine = known[known["series"] == number].set_index("x").reindex(xs)
        axes.plot(xs, mine["median"] / scale.unit.ms, color=style.colour, linestyle=style.dash, linewidth=1.1)
        for _, part in mine.dropna(subset=["median"]).groupby(mine["interval"] != IntervalKind.EXACT):
            plots.points(axes, part.index.to_numpy(), part, style, axis, vertical=True)
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    name = AXES.get(points.figure.x, points.figure.x)
    if points.figure.x in LOGARITHMIC:
        lines.log_steps(axes, xs)
        name = f"{name} (logarithmic)"
    else:
        axes.set_xlim(0, max(xs) * 1.04 or 1)
        axes.set_xticks(xs, [words.plain(x) for x in xs])
    axes.set_xlabel(name)
    _value_axis(axes, points, known, scale, vertical=True)
    plots.title(figure, points.figure.title)
    shown = [(points.labels[number], style) for number, style in styles.items()]
    lines.legend(figure, shown, _columns(points, styles), markers=True)
    return figure


def _bars(points: FigurePoints, known: pd.DataFrame, scale: Scale) -> Figure:
    styles, xs = _styles(points), points.xs
    wide = len(xs) * len(styles) > WIDE_BARS
    legend = 0.16 * math.ceil(len(styles) / _columns(points, styles, wide=wide))
    figure = plots.new(plots.PAGE_INCHES if wide else plots.COLUMN_INCHES, 2.5 + legend)
    axes = figure.subplots()
    width, hatches, axis = GROUP / len(styles), _hatches(styles), _ends_of_axis(points, known, scale)
    for index, (number, style) in enumerate(styles.items()):
        mine = known[known["series"] == number].set_index("x").reindex(xs)
        middle = np.arange(len(xs)) + (index - (len(styles) - 1) / 2) * width
        ends = BarEnds.of(mine, scale.unit.ms, axis)
        drawn = axes.bar(
            middle,
            ends.centre,  # NaN: no bar
            width,
            color=_bar_colours(points, xs, style, len(styles)),
            hatch=hatches[number],
            edgecolor="white",
            linewidth=0.3,
            yerr=np.where(np.isnan(ends.centre), np.nan, ends.reach),
            error_kw={"elinewidth": 0.8, "capsize": 1.5, "capthick": 0.8},
        )
        if drawn.errorbar is not None:
            ends.arrows(axes, middle, drawn.errorbar, "#000000", vertical=True)
        for x in _never(points, number):
            axes.annotate(
                NEVER,
                (middle[xs.index(x)], 0),
                (0, 2),
                textcoords="offset points",
                ha="center",
                va="bottom",
                rotation=90 if wide or len(styles) > 1 else 0,
                fontsize="small",
            )
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    side = GROUP / 2 + EDGE * (len(xs) - 1 + GROUP)
    axes.set_xlim(-side, len(xs) - 1 + side)  # with room for a bar that is not there
    axes.set_xticks(range(len(xs)), [_x_text(points, x) for x in xs])
    if max(len(_x_text(points, x)) for x in xs) * len(xs) > (90 if wide else 44):
        axes.tick_params(axis="x", labelrotation=30)
        for text in axes.get_xticklabels():
            text.set_horizontalalignment("right")
    axes.tick_params(axis="x", length=0)
    _value_axis(axes, points, known, scale, vertical=True)
    plots.title(figure, points.figure.title, TITLE_OF_A_PAGE if wide else plots.TITLE_CHARACTERS)
    handles = [
        Patch(facecolor=style.colour, hatch=hatches[n], edgecolor="white", label=points.labels[n])
        for n, style in styles.items()
    ]
    if len(styles) > 1 or points.figure.x != "protocol":  # one series over protocols: the axis names its bars
        plots.fitted_legend(figure, handles, _columns(points, styles, wide=wide))
    return figure


def _never(points: FigurePoints, series: int) -> list[Any]:
    """Where an event did not happen in any trial."""
    mine = points.points[(points.points["series"] == series) & points.points["absence"].notna()]
    return [x for x, absent in zip(mine["x"], mine["absence"], strict=True) if absent.always]


def _rows(points: FigurePoints, known: pd.DataFrame, scale: Scale) -> Figure:
    """A row per value of x, in each the series below each other."""
    styles, xs = _styles(points), points.xs
    figure = plots.new(plots.COLUMN_INCHES, _rows_inches(points))
    axes = figure.subplots()
    step, axis = 1 / (len(styles) + 1), plots.ValueAxis(scale.unit, _ends_of_axis(points, known, scale))
    for row, x in enumerate(xs):
        for index, (number, style) in enumerate(styles.items(), start=1):
            mine = known[(known["x"] == x) & (known["series"] == number)]
            y = row + index * step
            axes.axhline(y, color=plots.GUIDE, linewidth=0.5)
            if not mine.empty:
                plots.points(axes, np.full(len(mine), y), mine, style, axis, vertical=False)
    axes.set_ylim(len(xs), 0)
    axes.set_yticks([row + 0.5 for row in range(len(xs))], [_x_text(points, x) for x in xs])
    axes.tick_params(axis="y", length=0)
    _value_axis(axes, points, known, scale, vertical=False)
    plots.title(figure, points.figure.title)
    shown = [(points.labels[number], style) for number, style in styles.items()]
    lines.legend(figure, shown, _columns(points, styles), markers=True)
    return figure


def _rows_inches(points: FigurePoints) -> float:
    """The height of a drawing of rows."""
    drawn = _drawn(points)
    legend = math.ceil(len(drawn) / _columns(points, drawn)) if drawn else 0
    return 1.1 + len(points.xs) * (0.11 * len(drawn) + 0.1) + 0.16 * legend


DRAWN: Mapping[FigureKind, Callable[[FigurePoints, pd.DataFrame, Scale], Figure]] = {
    FigureKind.LINES: _lines,
    FigureKind.BARS: _bars,
    FigureKind.POINTS: _rows,
}


def _styles(points: FigurePoints) -> dict[int, Style]:
    """The look of each series that has points, by its number."""
    numbers = _drawn(points)
    return dict(zip(numbers, told_apart((_usual(points, n) for n in numbers), by=("marker",)), strict=True))


def _usual(points: FigurePoints, number: int) -> Style:
    """That of the protocol of a series, which others of the figure may have, too."""
    protocol = points.figure.series[number].values.get("protocol")
    if protocol is None:
        return CODING_STYLES[number % len(CODING_STYLES)]
    return protocol_styles([str(protocol)])[str(protocol)]


def _bar_colours(points: FigurePoints, xs: Sequence[Any], style: Style, count: int) -> list[str]:
    """The colour of the series, or of each bar's protocol where one series stands over the protocols."""
    if count > 1 or points.figure.x != "protocol":
        return [style.colour] * len(xs)
    return [protocol_styles([str(x)])[str(x)].colour for x in xs]


def _hatches(styles: Mapping[int, Style]) -> dict[int, str]:
    """No hatching at the first series of a colour, another one at each further."""
    hatches: dict[int, str] = {}
    used: Counter[str] = Counter()
    for number, style in styles.items():
        hatches[number] = HATCHES[used[style.colour] % len(HATCHES)]
        used[style.colour] += 1
    return hatches


def _columns(points: FigurePoints, numbers: Iterable[int], *, wide: bool = False) -> int:
    """Two names beside each other in a column of a paper, four in both, where they fit."""
    names = [points.labels[number] for number in numbers]
    return plots.legend_columns(names, plots.PAGE_INCHES if wide else plots.COLUMN_INCHES, 2 + 2 * wide)


def _drawn(points: FigurePoints) -> list[int]:
    told = points.points["value"].notna() | points.points["absence"].notna()
    there = set(points.points.loc[told, "series"])
    return [number for number in range(len(points.figure.series)) if number in there]


def _scale(points: FigurePoints, known: pd.DataFrame) -> Scale:
    ended = metrics.OF_ENDED * bool(points.timed_out)
    if points.figure.reference is not None:
        axis = f"{metrics.subject(points.figure.metric)} / {reference_label(points)}{ended}"
        return Scale(axis, plots.TimeUnit("", 1.0))
    metric = metric_named(points.figure.metric)
    unit = metric.unit if metric else Unit.COUNT
    label = f"{metrics.subject(points.figure.metric)}{ended}"
    if unit is Unit.MS:
        time = plots.unit_of(known["median"].max())
        named = plots.MEDIAN if points.figure.metric == MAIN_METRIC else label
        return Scale(f"{named} ({time.name})", time)
    if unit is Unit.BYTES:
        size = plots.TimeUnit("MB", 1e6) if known["median"].max() >= 1e6 else plots.TimeUnit("kB", 1e3)
        return Scale(f"{label} ({size.name})", size)
    unit_text = f" ({IN_SENTENCES[unit]})" if unit in IN_SENTENCES else ""
    return Scale(f"{label}{unit_text}", plots.TimeUnit("", 1.0))


def _ends_of_axis(points: FigurePoints, known: pd.DataFrame, scale: Scale) -> tuple[float, float]:
    """Of the axis of values, with more room where a bar is open."""
    ends = known[["median", "low", "high"]].to_numpy(dtype=float) / scale.unit.ms
    finite = ends[np.isfinite(ends)]
    low, high = float(finite.min()), float(finite.max())
    beyond = openbars.ROOM if openbars.reading(known) else 0.0
    if points.figure.reference is None:
        return 0.0, (high if high > 0 else 1.0) * max(1.05, 1 + beyond)
    low, high = min(low, 1.0), max(high, 1.0)
    room = max(0.08, beyond) * (high - low or 1.0)
    return 0.0 if points.figure.kind is FigureKind.BARS else low - room, high + room


def _value_axis(
    axes: Axes, points: FigurePoints, known: pd.DataFrame, scale: Scale, *, vertical: bool
) -> None:
    """From 0 for values; around 1 for ratios, with a line there."""
    if points.figure.reference is not None:
        (axes.axhline if vertical else axes.axvline)(1.0, color=LINE_OF_ONE, linewidth=0.8, zorder=1.8)
    (axes.set_ylim if vertical else axes.set_xlim)(*_ends_of_axis(points, known, scale))
    plots.ticks(axes.yaxis if vertical else axes.xaxis)
    label = textwrap.fill(scale.axis, UP_CHARACTERS if vertical else plots.TITLE_CHARACTERS)
    (axes.set_ylabel if vertical else axes.set_xlabel)(label)


def _x_text(points: FigurePoints, x: Any) -> str:
    if points.figure.x in AXES:
        unit = {"rtt_ms": " ms", "down_mbps": " Mbit/s", "up_mbps": " Mbit/s"}.get(points.figure.x, "")
        return f"{words.plain(x)}{unit}"
    return value_text(points.figure.x, x)

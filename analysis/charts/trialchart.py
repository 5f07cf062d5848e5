"""Every trial as a dot beside the median of its condition, and what was left out as a cross."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts import ecdfchart, plots
from analysis.charts.drawing import Drawing
from analysis.charts.plots import TimeUnit
from analysis.charts.samples import DrawnTrials, Group, drawn
from analysis.evaluation.results import Results
from analysis.labels import protocols, words
from analysis.labels.protocols import Style
from analysis.statistics.estimate import LEAST_TRIALS, Estimate, IntervalKind, estimate

ROW_INCHES = 0.34
ECDF_INCHES = 1.2
FIRST, LAST, BESIDE = -0.36, 0.16, 0.34  # of a row: where its first trial, its last and its median stand
LABEL_CHARACTERS = 21
FORMS_IN_A_ROW = 2


def every_trial(results: Results) -> Iterator[Drawing]:
    """A figure per page and link: a row of dots per condition, and below them the distributions on the same axis."""
    found = drawn(results)
    for group in found.groups:
        caption = (
            f"Every trial: {group.title}. {_reading(group)}{_left_out(group)} Bottom: the share of the trials that "
            f"took at most as long, in the colours of the rows. The axis of times does not start at 0.{found.note}"
        )
        yield Drawing(f"trials_{words.slug(group.title)}", caption, _chart(group), of_data=True)


def _chart(group: Group) -> Figure:
    rows = group.conditions
    height = ROW_INCHES * len(rows)
    forms = ecdfchart.handles(rows)
    figure = plots.new(
        plots.COLUMN_INCHES, height + ECDF_INCHES + 0.85 + 0.16 * -(-len(forms) // FORMS_IN_A_ROW)
    )
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(height, ECDF_INCHES))
    unit = plots.unit_of(group.times_ms)
    styles = protocols.styles(row.protocol for row in rows)
    for number, row in enumerate(rows):
        if number % 2:
            axes.axhspan(number - 0.5, number + 0.5, color="#F5F5F5", linewidth=0)
        _row(axes, number, row, styles[row.protocol], unit)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    labels = [textwrap.fill(row.label, LABEL_CHARACTERS, break_on_hyphens=False) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.tick_params(axis="both", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    ecdfchart.distributions(below, rows, styles, unit)
    below.margins(x=0.04)
    plots.ticks(below.xaxis)
    below.set_xlabel(f"{plots.TIME} ({unit.name})")
    if forms:
        figure.legend(handles=forms, loc="outside lower left", ncols=FORMS_IN_A_ROW)
    plots.title(figure, group.title)
    return figure


def _row(axes: Axes, number: int, row: DrawnTrials, style: Style, unit: TimeUnit) -> None:
    heights = number + np.linspace(FIRST, LAST, row.times_ms.size)
    times = row.times_ms / unit.ms
    plots.scatter(axes, times[row.counts], heights[row.counts], style.colour)
    plots.scatter(axes, times[~row.counts], heights[~row.counts], plots.LEFT_OUT, marker="x")
    found = estimate(row.kept_ms)
    left_out = row.times_ms.size - found.n
    text = f"n = {found.n:,}" + (f"\n{left_out:,} left out" if left_out else "")
    axes.annotate(
        text,
        (1.01, number),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize="small",
        annotation_clip=False,
    )
    if found.n:
        _median(axes, number + BESIDE, found, style, unit)


def _median(axes: Axes, height: float, found: Estimate, style: Style, unit: TimeUnit) -> None:
    spread = np.nan_to_num([[found.median - found.low], [found.high - found.median]]) / unit.ms
    axes.errorbar(
        [found.median / unit.ms],
        [height],
        xerr=spread,
        fmt=style.marker,
        color=style.colour,
        markersize=3.6 if style.marker != "*" else 5.4,
        markerfacecolor=style.colour if found.interval is IntervalKind.EXACT else "white",
        markeredgewidth=0.8,
        elinewidth=0.9,
        capsize=2,
        capthick=0.9,
    )


def _reading(group: Group) -> str:
    few = any(0 < int(row.counts.sum()) < LEAST_TRIALS for row in group.conditions)
    hollow = "; a hollow one stands for fewer than five trials, and its bar is their range" if few else ""
    return (
        "In a row the trials stand in the order of the run, the first on top, and below them their median with its "
        f"95 % interval{hollow}."
    )


def _left_out(group: Group) -> str:
    crosses = sum(int((~row.counts).sum()) for row in group.conditions)
    said = (
        f" Grey crosses: {words.count(crosses, 'attempt')} left out, by rules that do not look at the time."
    )
    untimed = f" {words.count(group.untimed, 'attempt')} left out without a time: not drawn."
    return f"{said if crosses else ''}{untimed if group.untimed else ''}"

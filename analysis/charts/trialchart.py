"""The data behind estimates: every trial.

A trial is a dot beside the median of its condition, or a cross when it was left out; the distributions are below.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from analysis.charts import openbars, plots
from analysis.charts.openbars import BarEnds
from analysis.charts.plots import Drawing, TimeUnit
from analysis.evaluation.results import Results
from analysis.labels import conditions, words
from analysis.labels.conditions import DASHES, LINE_DASHES, Dash, Style, protocol_label, protocol_styles
from analysis.statistics.contrast import Sample
from analysis.statistics.estimate import LEAST_TRIALS, Estimate, IntervalKind, estimate
from analysis.statistics.runorder import in_run_order
from harness.model.condition import AGAIN
from harness.study.defaultclaims import single_filters

FORM = ("variant", "compression")  # of a page: they share axes with the page as it is
MOST_CONDITIONS = 12  # on one axis
MOST_GROUPS = 4  # drawn of a report: a figure takes some 0.6 s to store
PARQUET = "records.parquet has every trial."
LEAST_OF_A_LINE = 2  # of a line
AGAIN_ALPHA = 0.45
ROW_INCHES = 0.34
ECDF_INCHES = 1.2
FIRST, LAST, BESIDE = -0.36, 0.16, 0.34  # of a row: where its first trial, its last and its median stand
LABEL_CHARACTERS = 21
FORMS_IN_A_ROW = 2


@dataclass(frozen=True)
class DrawnTrials:
    """The trials of one condition that have a time, in the order in which they ran. Of time-outs that is infinite.

    `form`: the variant and compression, as far as they vary in the group. `again`: a baseline, measured a second time.
    """

    label: str
    protocol: str
    form: str
    again: bool
    times_ms: Sample
    counts: NDArray[np.bool_]

    @property
    def kept_ms(self) -> Sample:
        return self.times_ms[self.counts]

    @property
    def late(self) -> int:
        """How many timed out."""
        return int(np.isinf(self.times_ms).sum())

    @cached_property
    def estimate(self) -> Estimate:
        return estimate(self.kept_ms)

    @property
    def is_open(self) -> bool:
        """Whether its bar has an end that time-outs leave open."""
        return math.isfinite(self.estimate.median) and math.isinf(self.estimate.high)


@dataclass(frozen=True)
class Group:
    """What shares an axis. `untimed`: how many attempts were left out that have no time. `drawn_again`: how many trials
    are no observations of their own.
    """

    title: str
    conditions: tuple[DrawnTrials, ...]
    untimed: int
    drawn_again: int

    @property
    def range_ms(self) -> tuple[float, float]:
        """The shortest time and the longest that did not time out."""
        times = np.concatenate([condition.times_ms for condition in self.conditions])
        times = times[np.isfinite(times)]
        return float(times.min()), float(times.max())


@dataclass(frozen=True)
class Drawn:
    """The groups that are drawn, of how many there are."""

    groups: tuple[Group, ...]
    of: int

    @property
    def note(self) -> str:
        """What is not drawn; empty when everything is."""
        if len(self.groups) == self.of:
            return ""
        return (
            f" {len(self.groups)} of {self.of} settings are drawn, spread evenly over their order; {PARQUET}"
        )


def drawn(results: Results) -> Drawn:
    """A group per page and link; where that would be too many conditions, one per variant and compression of it."""
    records = in_run_order(results.records)
    records = records[~records["variant"].isin(single_filters(set(results.cells["variant"])))]
    counts = records.index.isin(results.sifted.kept.index)
    times = records[results.metric].where(~counts, results.sifted.timed[results.metric])
    records = records.assign(counts=counts, time=times.where(times > 0), told=results.told)
    together = [name for name in results.panel_columns if name not in FORM]
    frames: list[tuple[list[str], pd.DataFrame]] = []
    for part in _parts(records, results, [*together, "rtt_ms"]):
        if part["cell"].nunique() <= MOST_CONDITIONS:
            frames.append((together, part))
        else:
            columns = list(results.panel_columns)
            frames += [(columns, section) for section in _parts(part, results, [*columns, "rtt_ms"])]
    frames = [
        (columns, part) for columns, part in frames if np.isfinite(part.loc[part["counts"], "time"]).any()
    ]
    picked = words.evenly(frames, MOST_GROUPS)
    return Drawn(tuple(_group(part, results, columns) for columns, part in picked), len(frames))


def _parts(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The records of each place that the columns name, in reading order."""
    order = {cell: number for number, cell in enumerate(results.cells["cell"])}
    groups = [part for _, part in records.groupby(list(columns), dropna=False, sort=False)]
    yield from sorted(groups, key=lambda part: part["cell"].map(order).min())


def _group(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Group:
    again, records = int((~records["told"]).sum()), records[records["told"]]
    place = records.iloc[0].to_dict()
    named = [name for name in results.split_columns if name in columns]
    title = f"{conditions.title(place, named)}, {words.plain(place['rtt_ms'])} ms RTT"
    first = records.drop_duplicates("cell")
    varying = [name for name in conditions.varying(first, FORM) if name not in columns]
    members = conditions.in_reading_order(first, [*FORM, "protocol", AGAIN])
    made: list[DrawnTrials] = []
    for member in members.to_dict("records"):
        mine = records[records["cell"] == member["cell"]]
        timed = mine[mine["time"].notna()]
        form = ", ".join(str(member[name]) for name in varying)
        made.append(
            DrawnTrials(
                label=_label(member, form),
                protocol=str(member["protocol"]),
                form=form,
                again=bool(member[AGAIN]),
                times_ms=timed["time"].to_numpy(dtype=float),
                counts=timed["counts"].to_numpy(dtype=bool),
            )
        )
    return Group(title, tuple(_told_apart(made)), int(records["time"].isna().sum()), again)


def _label(member: Mapping[Any, Any], form: str) -> str:
    parts = (protocol_label(str(member["protocol"])), form, "again" if member[AGAIN] else "")
    return ", ".join(part for part in parts if part)


def _told_apart(made: Sequence[DrawnTrials]) -> Iterator[DrawnTrials]:
    """Labels that say the same get a number."""
    seen: dict[str, int] = {}
    for condition in made:
        seen[condition.label] = number = seen.get(condition.label, 0) + 1
        yield condition if number == 1 else replace(condition, label=f"{condition.label} ({number})")


def distributions(
    axes: Axes, conditions: Sequence[DrawnTrials], styles: Mapping[str, Style], unit: TimeUnit
) -> None:
    """The trials that count, in the colours of their protocols; what was measured again is pale.

    A line ends below 1 where some timed out.
    """
    dashes = _dashes(conditions)
    for condition in conditions:
        known = condition.kept_ms[np.isfinite(condition.kept_ms)]
        if known.size < LEAST_OF_A_LINE:
            continue
        style = styles[condition.protocol]
        line = axes.ecdf(
            known / unit.ms,
            color=style.colour,
            linestyle=dashes.get(condition.form, style.dash),
            linewidth=1.1,
            alpha=AGAIN_ALPHA if condition.again else 1,
        )
        if condition.late:
            line.set_ydata(np.asarray(line.get_ydata()) * known.size / condition.kept_ms.size)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "½", "", "1"])
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    axes.set_ylabel("Share of trials")


def _handles(conditions: Sequence[DrawnTrials]) -> list[Line2D]:
    """What tells the forms of a page apart; empty when there is one."""
    return [
        Line2D([], [], color="#000000", linestyle=dash, linewidth=1.1, label=form)
        for form, dash in _dashes(conditions).items()
    ]


def _dashes(conditions: Sequence[DrawnTrials]) -> dict[str, Dash]:
    forms = list(dict.fromkeys(condition.form for condition in conditions))
    dashes = dict.fromkeys((*DASHES, *LINE_DASHES))  # at most as many forms as conditions share an axis
    return dict(zip(forms, dashes, strict=False)) if len(forms) > 1 else {}


def every_trial(results: Results) -> Iterator[Drawing]:
    """A figure per page and link: a row of dots per condition, and below them the distributions on the same axis."""
    selection = drawn(results)
    for group in selection.groups:
        caption = (
            f"Every trial: {group.title}. {_reading(group)}{_left_out(group)} Bottom: the share of the trials that "
            f"took at most as long, in the colours of the rows. The axis of times does not start at 0.{selection.note}"
        )
        yield Drawing(f"trials_{words.slug(group.title)}", caption, _chart(group), of_data=True)


def _chart(group: Group) -> Figure:
    rows = group.conditions
    height = ROW_INCHES * len(rows)
    forms = _handles(rows)
    figure = plots.new(
        plots.COLUMN_INCHES, height + ECDF_INCHES + 0.85 + 0.16 * -(-len(forms) // FORMS_IN_A_ROW)
    )
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(height, ECDF_INCHES))
    unit = plots.unit_of(group.range_ms[1])
    ends = _ends_of_axis(group, unit)
    styles = protocol_styles(row.protocol for row in rows)
    for number, row in enumerate(rows):
        plots.stripe(axes, number)
        _row(axes, number, row, styles[row.protocol], unit, ends)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    labels = [textwrap.fill(row.label, LABEL_CHARACTERS, break_on_hyphens=False) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.tick_params(axis="both", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    distributions(below, rows, styles, unit)
    below.margins(x=0.04)
    if any(row.is_open for row in rows):
        axes.set_xlim(*ends)
    plots.ticks(below.xaxis)
    below.set_xlabel(f"{plots.TIME} ({unit.name})")
    if forms:
        figure.legend(handles=forms, loc="outside lower left", ncols=FORMS_IN_A_ROW)
    plots.title(figure, group.title)
    return figure


def _ends_of_axis(group: Group, unit: TimeUnit) -> tuple[float, float]:
    """Of the axis of times where a bar is open."""
    low, high = (ms / unit.ms for ms in group.range_ms)
    room = high - low or high
    return low - 0.04 * room, high + openbars.ROOM * room


def _row(
    axes: Axes, number: int, row: DrawnTrials, style: Style, unit: TimeUnit, ends: tuple[float, float]
) -> None:
    heights = number + np.linspace(FIRST, LAST, row.times_ms.size)
    times = row.times_ms / unit.ms
    dots = row.counts & np.isfinite(times)
    plots.scatter(axes, times[dots], heights[dots], style.colour)
    plots.scatter(axes, times[~row.counts], heights[~row.counts], plots.LEFT_OUT, marker="x")
    summary = row.estimate
    left_out = row.times_ms.size - summary.n
    told = [f"{left_out:,} left out"] if left_out else []
    told += [f"{row.late:,} timed out"] if row.late else []
    axes.annotate(
        "\n".join([f"n = {summary.n:,}", *([", ".join(told)] if told else [])]),
        (1.01, number),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize="small",
        annotation_clip=False,
    )
    if math.isfinite(summary.median):
        _median(axes, number + BESIDE, row, style, unit, ends)


def _median(
    axes: Axes, height: float, row: DrawnTrials, style: Style, unit: TimeUnit, ends: tuple[float, float]
) -> None:
    summary = row.estimate
    bars = BarEnds.one(summary.median / unit.ms, summary.low / unit.ms, summary.high / unit.ms, ends)
    along = np.array([height])
    look = plots.whiskers(style, hollow=summary.interval is not IntervalKind.EXACT, size=3.6, thick=0.9)
    drawn = axes.errorbar(bars.centre, along, xerr=bars.reach, **look)
    bars.arrows(axes, along, drawn, style.colour, vertical=False)


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
    late = sum(row.late for row in group.conditions)
    arrows = openbars.ARROWS * any(row.is_open for row in group.conditions)
    timed_out = f" {late:,} timed out: the longest times, not drawn.{arrows}"
    same = words.count(group.drawn_again, "trial")
    again = f" {same} that lost the very packets of another run's: not drawn." * bool(group.drawn_again)
    return f"{said if crosses else ''}{timed_out if late else ''}{untimed if group.untimed else ''}{again}"

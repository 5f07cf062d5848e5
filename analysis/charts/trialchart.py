"""The data behind estimates and claims: every trial, and every pair of a block.

A trial is a dot beside the median of its condition, or a cross when it was left out; the distributions are below.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import NDArray

from analysis.charts import plots
from analysis.charts.plots import Drawing, TimeUnit
from analysis.claims.claimresult import ClaimRow, subject_text
from analysis.evaluation.results import Results
from analysis.labels import conditions, words
from analysis.labels.conditions import DASHES, Dash, Style, protocol_label, protocol_styles
from analysis.statistics.compare import Blocks, Comparison
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
PAIR_ROWS, MOST_PAIR_FIGURES = 12, 2  # rows of a figure
PAIR_INCHES = 0.56
# Of a row of pairs: its text, its first and last block, and its end.
TEXT_OF_PAIRS, FIRST_PAIR, LAST_PAIR, END_OF_PAIRS = -0.46, 0.02, 0.38, 0.46


@dataclass(frozen=True)
class DrawnTrials:
    """The trials of one condition that have a time, in the order in which they ran.

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


@dataclass(frozen=True)
class Group:
    """What shares an axis. `untimed`: how many trials were left out that have no time to draw."""

    title: str
    conditions: tuple[DrawnTrials, ...]
    untimed: int

    @property
    def longest_ms(self) -> float:
        return float(np.concatenate([each.times_ms for each in self.conditions]).max())


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
    records = records.assign(counts=counts, time=records[results.metric].where(records[results.metric] > 0))
    together = [name for name in results.panel_columns if name not in FORM]
    frames: list[tuple[list[str], pd.DataFrame]] = []
    for part in _parts(records, results, [*together, "rtt_ms"]):
        if part["cell"].nunique() <= MOST_CONDITIONS:
            frames.append((together, part))
        else:
            columns = list(results.panel_columns)
            frames += [(columns, each) for each in _parts(part, results, [*columns, "rtt_ms"])]
    frames = [(columns, part) for columns, part in frames if part.loc[part["counts"], "time"].notna().any()]
    picked = words.evenly(frames, MOST_GROUPS)
    return Drawn(tuple(_group(part, results, columns) for columns, part in picked), len(frames))


def _parts(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The records of each place that the columns name, in reading order."""
    order = {place: number for number, place in enumerate(results.cells["cell"])}
    groups = [part for _, part in records.groupby(list(columns), dropna=False, sort=False)]
    yield from sorted(groups, key=lambda part: part["cell"].map(order).min())


def _group(records: pd.DataFrame, results: Results, columns: Sequence[str]) -> Group:
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
    return Group(title, tuple(_told_apart(made)), int(records["time"].isna().sum()))


def _label(member: Mapping[Any, Any], form: str) -> str:
    parts = (protocol_label(str(member["protocol"])), form, "again" if member[AGAIN] else "")
    return ", ".join(part for part in parts if part)


def _told_apart(made: Sequence[DrawnTrials]) -> Iterator[DrawnTrials]:
    """Labels that say the same get a number."""
    seen: dict[str, int] = {}
    for each in made:
        seen[each.label] = number = seen.get(each.label, 0) + 1
        yield each if number == 1 else replace(each, label=f"{each.label} ({number})")


def distributions(
    axes: Axes, conditions: Sequence[DrawnTrials], styles: Mapping[str, Style], unit: TimeUnit
) -> None:
    """The trials that count, in the colours of their protocols; what was measured again is pale."""
    dashes = _dashes(conditions)
    for each in conditions:
        if each.kept_ms.size < LEAST_OF_A_LINE:
            continue
        style = styles[each.protocol]
        axes.ecdf(
            each.kept_ms / unit.ms,
            color=style.colour,
            linestyle=dashes.get(each.form, style.dash),
            linewidth=1.1,
            alpha=AGAIN_ALPHA if each.again else 1,
        )
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "", "½", "", "1"])
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    axes.set_ylabel("Share of trials")


def handles(conditions: Sequence[DrawnTrials]) -> list[Line2D]:
    """What tells the forms of a page apart; empty when there is one."""
    return [
        Line2D([], [], color="#000000", linestyle=dash, linewidth=1.1, label=form)
        for form, dash in _dashes(conditions).items()
    ]


def _dashes(conditions: Sequence[DrawnTrials]) -> dict[str, Dash]:
    forms = list(dict.fromkeys(each.form for each in conditions))
    return {form: DASHES[number % len(DASHES)] for number, form in enumerate(forms)} if len(forms) > 1 else {}


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
    forms = handles(rows)
    figure = plots.new(
        plots.COLUMN_INCHES, height + ECDF_INCHES + 0.85 + 0.16 * -(-len(forms) // FORMS_IN_A_ROW)
    )
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(height, ECDF_INCHES))
    unit = plots.unit_of(group.longest_ms)
    styles = protocol_styles(row.protocol for row in rows)
    for number, row in enumerate(rows):
        plots.stripe(axes, number)
        _row(axes, number, row, styles[row.protocol], unit)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    labels = [textwrap.fill(row.label, LABEL_CHARACTERS, break_on_hyphens=False) for row in rows]
    axes.set_yticks(range(len(rows)), labels)
    axes.tick_params(axis="both", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    distributions(below, rows, styles, unit)
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
        **plots.whiskers(style, hollow=found.interval is not IntervalKind.EXACT, size=3.6, thick=0.9),
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


@dataclass(frozen=True)
class PairRow:
    """A claim in one setting: by run, the log ratios of its pages, in the order of the blocks."""

    claim: ClaimRow
    comparison: Comparison
    colour: str
    runs: Mapping[str, Sequence[Sample]]

    @property
    def changes(self) -> Sample:
        """In per cent."""
        logs: Sample = np.concatenate([ratios for pages in self.runs.values() for ratios in pages])
        return 100 * np.expm1(logs)

    @property
    def places(self) -> Sample:
        """Of each change when it was measured, from 0 to 1; the pages of a block stand side by side."""
        start, found = 0, []
        for pages in self.runs.values():
            found += [np.arange(ratios.size) + start for ratios in pages]
            start += max(ratios.size for ratios in pages)
        return np.concatenate(found) / max(start - 1, 1)


def paired_differences(results: Results) -> Iterator[Drawing]:
    """A row of dots per claim and setting, in the order of the claims."""
    every = list(_pair_rows(results))
    shown = every[: MOST_PAIR_FIGURES * PAIR_ROWS]
    left = len(every) - len(shown)
    more = f" {words.count(left, 'further setting')} of the claims not drawn." if left else ""
    for start in range(0, len(shown), PAIR_ROWS):
        some = shown[start : start + PAIR_ROWS]
        pages = " Over several pages, a block has a dot for each." * any(
            len(row.claim.pages) > 1 for row in some
        )
        caption = (
            "Every pair behind the claims: a dot is the change inside one block, the first block on top; line and "
            f"band are the estimate with its interval, the grey line is no difference.{pages}{more}"
        )
        yield Drawing("pairs", caption, _pair_chart(some), of_data=True)


def _pair_rows(results: Results) -> Iterator[PairRow]:
    """The settings that have pairs: a budget has none."""
    styles = protocol_styles(results.protocols)
    spoken = dict(zip(results.cells["cell"], results.cells["protocol"].astype(str), strict=True))

    @lru_cache
    def blocks(metric: str) -> Blocks:
        return Blocks(results.sifted.kept, metric)

    for claim in results.claims:
        pairs = [(subject, reference) for subject, reference in claim.pairs if reference is not None]
        runs: dict[str, list[Sample]] = {}
        for subject, reference in pairs:
            for run, ratios in blocks(claim.claim.metric).by_run(subject, reference).items():
                runs.setdefault(run, []).append(ratios)
        if runs and claim.comparison is not None:
            yield PairRow(claim, claim.comparison, styles[spoken[pairs[0][0]]].colour, runs)


def _pair_chart(rows: Sequence[PairRow]) -> Figure:
    figure = plots.new(plots.COLUMN_INCHES, 0.45 + PAIR_INCHES * len(rows))
    axes = figure.subplots()
    for number, row in enumerate(rows):
        plots.stripe(axes, number)
        _pair_row(axes, number, row)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.04)
    plots.ticks(axes.xaxis)
    axes.set_xlabel("Change (%)")
    return figure


def _pair_row(axes: Axes, number: int, row: PairRow) -> None:
    low, centre, high = (
        100 * (bound - 1) for bound in (row.comparison.low, row.comparison.ratio, row.comparison.high)
    )
    top, end = number + FIRST_PAIR - 0.06, number + END_OF_PAIRS
    axes.vlines(0, top, end, color="#555555", linewidth=0.8)
    if not np.isnan(low):
        axes.fill_betweenx([top, end], low, high, color=row.colour, alpha=0.22, linewidth=0)
    axes.vlines(centre, top, end, color=row.colour, linewidth=1)
    plots.scatter(axes, row.changes, number + FIRST_PAIR + row.places * (LAST_PAIR - FIRST_PAIR), row.colour)
    for text, x, side in (
        (f"{subject_text(row.claim.claim)}\n{row.claim.where}", 0.0, "left"),
        (f"n = {row.changes.size:,}", 1.0, "right"),
    ):
        axes.text(
            x,
            number + TEXT_OF_PAIRS,
            text,
            transform=axes.get_yaxis_transform(),
            fontsize="small",
            va="top",
            ha=side,
        )

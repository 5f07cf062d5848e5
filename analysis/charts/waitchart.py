"""Where the time goes: a stacked bar per condition, and what a variant changes of each part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from analysis.charts import lines, plots
from analysis.charts.plots import Drawing, TimeUnit
from analysis.claims.claimresult import TWICE
from analysis.evaluation import waits
from analysis.evaluation.results import PAGE_AND_RATE, Results
from analysis.evaluation.waits import COLOURS, LABELS
from analysis.labels import conditions, metrics, words
from analysis.labels.conditions import protocol_styles
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.estimate import IntervalKind
from harness.model.kind import Waiting
from harness.model.variant import PLAIN

MOST_FIGURES = 4
MOST_LINKS = 8  # of one figure
MOST_BARS = 24  # of one link
WAITS, WAITS_CHANGED = "What loads waited for", "What a variant or a protocol changes of it"  # tables
WIDTH_INCHES = 1.25 * plots.COLUMN_INCHES  # readable on a phone, too
ROW_INCHES = 0.19
LEAST_LABELLED = 0.08  # of the axis: a part that holds its share as a text
BAR = 0.72
BELOW = 0.24  # of a row: how far below its middle a whisker lies, clear of the texts
LINK = ["down_mbps", "up_mbps", "rtt_ms"]
OF_A_BAR = ("variant", "protocol")


def where_the_time_goes(results: Results) -> Iterator[Drawing]:
    """A figure per page and setting, with all its links, variants and protocols; nothing of runs that do not tell."""
    means = waits.means(results)
    if means.empty:
        return
    groups = list(_groups(results, means))
    for (title, cells, setting), further in lines.first(groups, MOST_FIGURES, WAITS):
        mine = means[means["cell"].isin(cells["cell"])]
        caption = (
            f"Where the time goes: {title}. Each load is divided without remainder by what it waited for. Where "
            "several things went on at once, the one that is drawn further left is counted. Bars: means of "
            f"{_trials(mine)}; whiskers: {results.certainty.interval}s of the part that ends there; %: of the bar."
            f"{metrics.ended_text(_late(setting))}{_not_drawn(cells, WAITS)}{further}"
        )
        yield Drawing(f"waits_{words.slug(title)}", caption, chart(cells, mine, title))


def what_variants_change(results: Results) -> Iterator[Drawing]:
    """What each variant adds to or takes from each part, a figure per page and variant."""
    changes = waits.changes(results)
    changes = changes[changes["column"] == "variant"]
    if changes.empty:
        return
    changed = [
        (f"{variant} against plain: {title}", of_variant, mine, _late(setting, PLAIN, str(variant)))
        for title, cells, setting in _groups(results, changes)
        for variant, of_variant in cells.groupby("variant", sort=False)
        if not (mine := changes[changes["cell"].isin(of_variant["cell"])]).empty
    ]
    for (what, cells, mine, late), further in lines.first(changed, MOST_FIGURES, WAITS_CHANGED):
        same = f" This is {TWICE}." if all(waits.of_one_archive(results, mine)) else ""
        caption = (
            f"What {what}. Left of 0 loads wait less for it. Means of differences within blocks. "
            f"{plots.reading_of_pairs(mine, results.certainty)}{metrics.ended_text(late)}{same}"
            f"{_not_drawn(cells, WAITS_CHANGED)}{further}"
        )
        yield Drawing(f"waits-changed_{words.slug(what)}", caption, _changes(cells, mine, what))


def _late(setting: pd.DataFrame, *variants: str) -> int:
    """How many loads timed out in these variants, or in all."""
    chosen = setting[setting["variant"].isin(variants)] if variants else setting
    return int(chosen["timed_out"].sum())


def _not_drawn(cells: pd.DataFrame, table: str) -> str:
    """That the figure of these conditions has no room for some of them."""
    left = len(cells) - sum(len(bars) for _, bars in _links(cells))
    return f" Not drawn: {words.count(left, 'further condition')}, in the table “{table}”." if left else ""


def chart(cells: pd.DataFrame, means: pd.DataFrame, title: str) -> Figure:
    """A bar per variant and protocol, in an axis per link, each with its own scale of times."""
    links = _links(cells)
    most = max(len(bars) for _, bars in links)
    figure = plots.new(WIDTH_INCHES, 0.85 + len(links) * (0.55 + ROW_INCHES * most))
    grid = figure.subplots(len(links), squeeze=False, sharey=False)
    told = [column for column in OF_A_BAR if cells[column].nunique() > 1] or ["protocol"]
    unit = plots.unit_of(means.groupby("cell")["ms"].sum().max())
    for axes, (name, bars) in zip(grid.flat, links, strict=False):
        _bars(axes, bars, means, told, unit)
        axes.set_title(name)
    seen = set(means.loc[means["ms"] > 0, "waiting"])
    handles = [
        Patch(color=COLOURS[waiting], label=LABELS[waiting]) for waiting in Waiting if waiting.value in seen
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=min(3, len(handles)), handlelength=1.2)
    plots.title(figure, title)
    return figure


def _bars(axes: Axes, cells: pd.DataFrame, means: pd.DataFrame, told: Sequence[str], unit: TimeUnit) -> None:
    wide = means[means["cell"].isin(cells["cell"])]
    longest = float(wide.groupby("cell")["ms"].sum().max()) / unit.ms
    for row, cell in enumerate(cells["cell"]):
        left = 0.0
        for part in wide[wide["cell"] == cell].to_dict("records"):
            waiting = Waiting(part["waiting"])
            took = part["ms"] / unit.ms
            axes.barh([row], [took], left=[left], height=BAR, color=COLOURS[waiting], linewidth=0)
            if took > LEAST_LABELLED * longest:
                _label(axes, left + took / 2, row, part["share"])
            left += took
            if took > 0 and not np.isnan(part["low"]):
                bounds = [[took - part["low"] / unit.ms], [part["high"] / unit.ms - took]]
                axes.errorbar(
                    [left], [row + BELOW], xerr=bounds, fmt="none", color="black", elinewidth=0.6, capsize=1.2
                )
    labels = [", ".join(conditions.value_text(c, cell[c]) for c in told) for cell in cells.to_dict("records")]
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set_xlim(0, longest * 1.04)
    plots.rows_alone(axes)
    plots.ticks(axes.xaxis)
    ended = metrics.OF_ENDED * bool(cells["timed_out"].any())
    axes.set_xlabel(f"Mean {plots.TIME.lower()}{ended} ({unit.name})")


def _label(axes: Axes, x: float, row: int, share: float) -> None:
    axes.text(x, row, f"{100 * share:.0f} %", ha="center", va="center", fontsize=5.5)


def _changes(cells: pd.DataFrame, changes: pd.DataFrame, title: str) -> Figure:
    """Classes down, protocols as marks, links side by side."""
    links = _links(cells)
    columns = min(4, len(links))
    styles = protocol_styles(cells["protocol"])
    names = [*(waiting.value for waiting in Waiting), waits.ALL]
    rows = -(-len(links) // columns)
    figure = plots.new(plots.PAGE_INCHES, 0.8 + rows * (0.5 + 0.075 * len(names) * (len(styles) + 1)))
    grid = figure.subplots(rows, columns, squeeze=False, sharey=True)
    step, axis = 1 / (len(styles) + 1), plots.ValueAxis(TimeUnit("ms", 1.0))
    for axes, (name, bars) in zip(grid.flat, links, strict=False):
        axes.axvline(0, color="#555555", linewidth=0.8)
        for index, (protocol, style) in enumerate(styles.items(), start=1):
            mine = changes[changes["cell"].isin(bars.loc[bars["protocol"] == protocol, "cell"])]
            mine = mine.rename(columns={"ms": "median"})
            for enough, part in mine.groupby(mine["n"] >= LEAST_PAIRS):
                marks = part.assign(interval=IntervalKind.EXACT if enough else IntervalKind.NONE)
                rank = marks["waiting"].map(names.index).to_numpy(dtype=float)
                plots.points(axes, rank - 0.5 + index * step, marks, style, axis, vertical=False)
        axes.set_title(name)
        plots.ticks(axes.xaxis)
        axes.set_xlabel("Change (ms)")
        axes.grid(axis="x", color=plots.GUIDE, linewidth=0.4)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(len(names) - 0.5, -0.5)
    for axes in grid.flat[len(links) :]:
        axes.remove()
    labels = [*LABELS.values(), "the whole load"]
    for axes in grid[:, 0]:
        axes.set_yticks(range(len(names)), labels)
    plots.fitted_legend(figure, plots.handles(styles), 4)
    plots.title(figure, title)
    return figure


def _groups(results: Results, found: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame]]:
    """The conditions of one page in one setting, whatever their links, variants and protocols: what it is called, those
    with something to draw, and all.
    """
    alike = [column for column in results.panel_columns if column not in (*PAGE_AND_RATE[1:], *OF_A_BAR)]
    for _, setting in results.main_cells.groupby(alike, dropna=False, sort=False):
        group = setting[setting["cell"].isin(found["cell"])]
        if group.empty:
            continue
        where = {column: group.iloc[0][column] for column in alike}
        named = [column for column in results.split_columns if column in where]
        yield conditions.title(where, named), group, setting


def _links(cells: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """The conditions of each link, and what it is called."""
    links = []
    for _, bars in cells.groupby(LINK, dropna=False, sort=True):
        where = bars.iloc[0].to_dict()
        rate = words.rate_with_unit(where["down_mbps"], where["up_mbps"])
        linked = conditions.is_linked(where)
        name = f"{rate}, {words.plain(where['rtt_ms'])} ms RTT" if linked else conditions.NO_LINK
        links.append((name, bars.head(MOST_BARS)))
    return links[:MOST_LINKS]


def _trials(means: pd.DataFrame) -> str:
    least, most = int(means["n"].min()), int(means["n"].max())
    return words.count(most, "trial") if least == most else f"{least} to {most} trials"

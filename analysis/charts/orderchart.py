"""What the order of a run had to do with its times: residuals, autocorrelation, and the position inside a block."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from numpy.typing import NDArray

from analysis.charts import plots
from analysis.charts.plots import Drawing
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.statistics import runorder
from analysis.statistics.contrast import Sample
from analysis.statistics.plainly import signed
from analysis.statistics.runorder import Drift
from harness.model.kind import Kind

Flags = NDArray[np.bool_]

MOST_RUNS = 2
LEAST_TRIALS = 12
MOST_LAGS = 20
MOST_BINS = 24  # of the positions in a block
SHOWN = 0.95  # of the residuals lie in the inner half of the axis
DOT, LINE, BAND = "#0072B2", "#000000", "#E4E4E4"


@dataclass(frozen=True)
class Order:
    """A run in the order of its trials. `residual` is a log, NaN where there is none; `counts` are not left out."""

    residual: Sample
    counts: Flags
    position_in_block: Sample
    block: Sample

    @property
    def kept(self) -> Sample:
        return self.residual[self.used]

    @property
    def used(self) -> Flags:
        return self.counts & ~np.isnan(self.residual)

    @property
    def lags(self) -> int:
        return min(MOST_LAGS, self.kept.size // 4)


def order_of_trials(results: Results) -> Iterator[Drawing]:
    """A figure per run."""
    names = list(results.records["run"].unique())
    orders = {name: _order(results, name) for name in names}
    what = "Times" if results.kind is Kind.LOAD else f"{results.metric_label}s"
    enough = {name: order for name, order in orders.items() if order.kept.size >= LEAST_TRIALS}
    for name, order in list(enough.items())[:MOST_RUNS]:
        title = str(name) if len(names) > 1 else ""
        more = f" Drawn for the first {MOST_RUNS} of {len(enough)} runs." if len(enough) > MOST_RUNS else ""
        figure, window, beyond = _chart(order, title)
        caption = (
            f"{what} in the order of the run{f' {title}' if title else ''}. Top: how far each trial lies from the "
            f"median of its condition, with a running median of {window} trials (black)"
            f"{'; grey crosses are attempts left out' if (~order.counts & ~np.isnan(order.residual)).any() else ''}"
            f"{f'; triangles: {beyond} beyond the axis' if beyond else ''}. Middle: how alike trials are that "
            "lie 1, 2, ... places apart; the band holds 95 % of what chance gives. Bottom: by the place inside "
            f"the block, with medians. {_words(order, what)}{more}"
        )
        yield Drawing("order" + (f"_{words.slug(title)}" if title else ""), caption, figure, of_data=True)


def _order(results: Results, run: str) -> Order:
    records = runorder.in_run_order(results.records[results.records["run"] == run])
    counts = pd.Series(records.index.isin(results.sifted.kept.index), index=records.index)
    residual = runorder.residuals(records[results.metric], records["cell"], counts)
    residual = residual.where(results.told[records.index])
    return Order(
        residual=residual.to_numpy(dtype=float),
        counts=counts.to_numpy(dtype=bool),
        position_in_block=runorder.positions_in_block(records).astype(float).to_numpy(),
        block=records["block"].to_numpy(),
    )


def _words(order: Order, what: str) -> str:
    kept = order.kept
    return reading(
        runorder.drift(kept, order.block[order.used]),
        float(runorder.autocorrelation(kept, 1)[0]),
        runorder.chance_band(kept.size),
        what,
    )


def reading(drift: Drift, lag_1: float, chance: float, values: str = "Times") -> str:
    """What drift and lag-1 autocorrelation are, and what that means for the comparisons."""
    if math.isnan(drift.change):
        said = [f"Fewer than {runorder.LEAST_BLOCKS} blocks tell no drift"]
    else:
        change, low, high = (signed(math.exp(value)) for value in (drift.change, drift.low, drift.high))
        said = [f"Drift from the first trial to the last: {change} % [{low} to {high}]"]
    said.append(f"lag-1 autocorrelation {words.number(lag_1, 2)} (chance: up to {words.number(chance, 2)})")
    alike = abs(lag_1) > chance
    if drift.is_seen or alike:
        what = " and ".join(["drifted"] * drift.is_seen + ["were alike next to each other"] * alike)
        meaning = (
            f"{values} {what}: pairs inside blocks take out what a whole block shares; the spread of a single "
            "condition still holds it."
        )
    else:
        meaning = "No more than chance gives: the order of the run plays no part that shows."
    return f"{'; '.join(said)}. {meaning}"


def _chart(order: Order, title: str) -> tuple[Figure, int, int]:
    """The figure, how many trials a running median holds, and how many trials lie beyond the axis."""
    figure = plots.new(plots.COLUMN_INCHES, 5.2)
    top, middle, bottom = figure.subplots(3, 1, height_ratios=(1.25, 0.8, 1))
    reach = _reach(order.kept)
    trials = np.arange(1.0, order.residual.size + 1)
    beyond = _residuals(top, trials, order, reach)
    smooth, window = runorder.running_median(order.kept)
    top.plot(trials[order.used], _percent(smooth), color=LINE, linewidth=1.1)
    top.set_xlabel("Trial, in the order of the run")
    _autocorrelation(middle, order)
    _residuals(bottom, order.position_in_block, order, reach)
    bottom.plot(*_medians(order), color=LINE, linewidth=1.1, marker="o", markersize=2.2)
    bottom.set_xlabel("Place inside the block")
    for axes in (top, bottom):
        axes.set_ylabel("Off the median (%)")
        _whole_numbers(axes)
    if title:
        plots.title(figure, title)
    return figure, window, beyond


def _residuals(axes: Axes, x: Sample, order: Order, reach: float) -> int:
    """The trials, those beyond the reach as triangles at the edge; how many they are."""
    axes.axhline(0, color=plots.GUIDE, linewidth=0.8)
    y = _percent(order.residual)
    over, under = y > reach, y < -reach
    inside = ~(over | under)
    plots.scatter(axes, x[order.counts & inside], y[order.counts & inside], DOT)
    plots.scatter(axes, x[~order.counts & inside], y[~order.counts & inside], plots.LEFT_OUT, marker="x")
    for beyond, edge, marker in ((over, reach, "^"), (under, -reach, "v")):
        for counts, colour in ((order.counts, DOT), (~order.counts, plots.LEFT_OUT)):
            there = x[beyond & counts]
            plots.scatter(axes, there, np.full(there.size, edge), colour, marker=marker)
    axes.set_ylim(-1.08 * reach, 1.08 * reach)
    return int((over | under).sum())


def _reach(residual: Sample) -> float:
    """In per cent, so that one slow trial does not flatten all others."""
    return max(2 * float(np.quantile(np.abs(_percent(residual)), SHOWN)), 0.1)


def _autocorrelation(axes: Axes, order: Order) -> None:
    lags = np.arange(1, order.lags + 1)
    correlations = runorder.autocorrelation(order.kept, order.lags)
    chance = runorder.chance_band(order.kept.size)
    axes.axhspan(-chance, chance, color=BAND, linewidth=0)
    axes.axhline(0, color=plots.GUIDE, linewidth=0.8)
    axes.vlines(lags, 0, correlations, color=DOT, linewidth=0.9)
    axes.plot(lags, correlations, color=DOT, linestyle="none", marker="o", markersize=3)
    axes.set_xlabel("Trials apart")
    axes.set_ylabel("Autocorrelation")
    _whole_numbers(axes)


def _whole_numbers(axes: Axes) -> None:
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: words.number(value)))


def _medians(order: Order) -> tuple[Sample, Sample]:
    """The median residual by position in the block, several positions together where there are many."""
    positions, residual = order.position_in_block[order.used], _percent(order.kept)
    wide = math.ceil(positions.max() / MOST_BINS)
    frame = pd.DataFrame({"bin": (positions - 1) // wide, "position": positions, "residual": residual})
    medians = frame.groupby("bin").median()
    return medians["position"].to_numpy(), medians["residual"].to_numpy()


def _percent(log: Sample) -> Sample:
    """A log ratio as a change in per cent."""
    return 100 * np.expm1(log)

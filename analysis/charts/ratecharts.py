"""Figures of request rates: against connections, by percentile of latency, and protocols and pipelining side by side.

Generators never share a line: each has a panel or a marker of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from analysis.charts import lines, plots
from analysis.charts.plots import Drawing
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.conditions import Style, engine_label, engines_in_order
from analysis.statistics.contrast import Sample
from analysis.statistics.estimate import IntervalKind, medians_of_times

MOST_GROUPS = 6
BESIDE = 3  # names of a legend
RATES = "Requests a second"  # a table
MULTIPLEXED = ("h2", "h3", "spdy", "spdy-plain")
MOST_COLUMNS = 4  # connections side by side
ROW_INCHES = 0.2
PERCENTILES = {
    "latency_p50_ms": "50",
    "latency_p90_ms": "90",
    "latency_p99_ms": "99",
    "latency_p999_ms": "99.9",
}
GENERATOR_MARKERS = ("o", "s", "^", "D")
SAME = "The generators differ in what they cost and how they wait: comparisons are within one of them."
WITHIN = ("connections", "depth", "compression")


@dataclass(frozen=True)
class RateLine:
    """How requests are made: by a protocol, or of a server, so many deep. `column` says which of both."""

    column: str
    value: str
    depth: float
    label: str
    style: Style

    def of(self, cells: pd.DataFrame) -> pd.DataFrame:
        """The cells that are made so."""
        return cells[(cells[self.column] == self.value) & (cells["depth"] == self.depth)]


def against_connections(results: Results) -> Iterator[Drawing]:
    """Requests a second against connections, a panel per generator: protocols beside each other, then servers."""
    yield from _against_connections(results, "rates_", _groups(results), "protocol")
    yield from _against_connections(results, "rates_servers_", _beside(results), lines.SERVER)


def _against_connections(
    results: Results, name: str, groups: Iterable[RateGroup], column: str
) -> Iterator[Drawing]:
    for group in groups:
        if group.cells["connections"].nunique() < 2:
            continue
        series, generators = _series(group.cells, column), engines_in_order(group.cells["engine"].astype(str))
        figure = plots.new(_width(generators), 2.2 + lines.legend_inches(series, BESIDE))
        row = figure.subplots(1, len(generators), squeeze=False, sharey=True)[0]
        unit, axis = _unit(group.cells["median"])
        for axes, generator in zip(row, generators, strict=True):
            cells = group.cells[group.cells["engine"] == generator]
            _rates(axes, cells, results.sifted.kept, series, unit)
            lines.log_steps(axes, group.cells["connections"])
            axes.set_title(_generator(group.cells, generator))
            axes.set_xlabel("Connections (logarithmic)")
        row[0].set_ylabel(axis)
        _finish(figure, row[0], series, group.title)
        caption = (
            f"Requests a second against connections: {group.title}. {_reading(group.cells)} Faint dots: the trials."
            f"{_generators(generators)}{group.rest}"
        )
        yield Drawing(f"{name}{group.slug}", caption, figure)


def latencies(results: Results) -> Iterator[Drawing]:
    """Percentiles of the latency: connections across, generators down."""
    kept = results.sifted.kept
    for group in _groups(results):
        knows = kept[list(PERCENTILES)].notna().any(axis="columns").groupby(kept["cell"]).transform("any")
        told = kept[kept["cell"].isin(group.cells["cell"]) & knows]
        if told.empty:
            continue
        cells = group.cells[group.cells["cell"].isin(told["cell"])]
        columns = _some(cells["connections"])
        series, generators = _series(cells), engines_in_order(cells["engine"].astype(str))
        figure = plots.new(
            plots.PAGE_INCHES, 0.7 + 1.6 * len(generators) + lines.legend_inches(series, BESIDE)
        )
        grid = figure.subplots(len(generators), len(columns), squeeze=False, sharex=True, sharey=True)
        for axes, connections in zip(grid[0], columns, strict=True):
            axes.set_title(words.count(int(connections), "connection"))
        for row, generator in zip(grid, generators, strict=True):
            row[0].set_ylabel(_generator(group.cells, generator) if len(generators) > 1 else "")
            for axes, connections in zip(row, columns, strict=True):
                here = cells[(cells["engine"] == generator) & (cells["connections"] == connections)]
                _percentiles(axes, here, told, series)
        for axes in grid[-1]:
            axes.set_xlabel("Percentile")
        figure.supylabel("Latency (ms, logarithmic)", fontsize="medium")
        lines.legend(figure, [(line.label, line.style) for line in series], BESIDE, markers=True)
        plots.title(figure, group.title)
        silent = sorted(set(group.cells["cell"]) - set(told["cell"]))
        lacking = " Not every generator tells the latency of pipelined requests: those are missing." * bool(
            silent
        )
        caption = (
            f"Latency: {group.title}. So many per cent of the answers took at most as long. Marks: medians over the "
            f"trials; thin lines: the trials.{lacking}{_too_long(told)}{_left_out(columns, cells)}{group.rest}"
        )
        yield Drawing(f"latency_{group.slug}", caption, figure)


def matrix(results: Results) -> Iterator[Drawing]:
    """Every protocol and depth in a row: what pipelining, TLS and multiplexing do, side by side."""
    for group in _groups(results):
        series, generators = _series(group.cells), engines_in_order(group.cells["engine"].astype(str))
        columns = _some(group.cells["connections"])
        if len(series) < 2:
            continue
        figure = plots.new(plots.PAGE_INCHES, 1.0 + ROW_INCHES * len(series))
        row = figure.subplots(1, len(columns), squeeze=False, sharex=True, sharey=True)[0]
        unit, name = _unit(group.cells["median"])
        markers = dict(zip(generators, GENERATOR_MARKERS, strict=False))
        for axes, connections in zip(row, columns, strict=True):
            cells = group.cells[group.cells["connections"] == connections]
            _rows(axes, cells, results.sifted.kept, series, markers, unit)
            axes.set_title(words.count(int(connections), "connection"))
        row[0].set_yticks(range(len(series)), [line.label for line in series])
        row[0].set_ylim(len(series) - 0.5, -0.5)
        row[0].set_xlim(0, _farthest(row) * 1.06)
        for axes in row:
            plots.ticks(axes.xaxis)
            axes.set_xlabel(name)
        if len(generators) > 1:
            handles = [
                plots.handle(_generator(group.cells, generator), Style("#444444", markers[generator], "none"))
                for generator in generators
            ]
            plots.fitted_legend(figure, handles, len(generators))
        plots.title(figure, group.title)
        caption = (
            f"Protocols with and without TLS and pipelining: {group.title}. {_reading(group.cells)} Faint dots: the "
            f"trials.{_generators(generators, by='marker')}{_left_out(columns, group.cells)}"
            f"{group.rest}"
        )
        yield Drawing(f"matrix_{group.slug}", caption, figure)


@dataclass(frozen=True)
class RateGroup(lines.SharedFigure):
    """The cells that share a figure of rates. `rest` says what else there is: other codings, further figures."""

    rest: str = ""


def _groups(results: Results) -> Iterator[RateGroup]:
    """The cells that share axes, whatever their generator, connections and depth."""
    yield from _first(lines.groups(results, *WITHIN))


def _beside(results: Results) -> Iterator[RateGroup]:
    """The same of a protocol that is measured with several servers by a generator."""
    yield from _first(
        group
        for group in lines.beside(results, *WITHIN)
        if group.cells.groupby("engine")[lines.SERVER].nunique().max() > 1
    )


def _first(groups: Iterable[lines.SharedFigure]) -> Iterator[RateGroup]:
    for group, rest in lines.first(list(groups), MOST_GROUPS, RATES):
        cells = group.cells[group.cells["n"] > 0]
        codings = [str(coding) for coding in cells["compression"].dropna().unique()]
        shown = cells[cells["compression"].isin(codings[:1]) | cells["compression"].isna()]
        yield RateGroup(group.title, shown, f"{_coding_text(codings)}{rest}")


def _coding_text(codings: list[str]) -> str:
    """Which coding is drawn, where there are several."""
    first, others = codings[:1], words.listed(codings[1:])
    return f" Drawn is the compression {first[0]}; the table “{RATES}” also has {others}." if others else ""


def _series(cells: pd.DataFrame, column: str = "protocol") -> list[RateLine]:
    """As a reader compares them: without pipelining first, then deeper, one after the other."""
    depths = sorted(cells["depth"].unique())
    ways = []
    for value, style in lines.styles_of(cells, column).items():
        mine = cells[cells[column] == value]
        streams = mine["protocol"].isin(MULTIPLEXED).any()
        for depth in sorted(mine["depth"].unique()):
            deep = "" if depth == 1 else f", {depth:g} {'streams' if streams else 'deep'}"
            label = f"{lines.label_of(value, column)}{deep}"
            ways.append(RateLine(column, value, depth, label, lines.deep(style, depths, depth)))
    return ways


def _rates(
    axes: Axes, cells: pd.DataFrame, kept: pd.DataFrame, series: Sequence[RateLine], unit: float
) -> None:
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    for line in series:
        mine = line.of(cells).sort_values("connections")
        if mine.empty:
            continue
        trials = kept[kept["cell"].isin(mine["cell"])]
        plots.scatter(
            axes, _array(trials["connections"]), _array(trials["requests_per_s"]) / unit, line.style.colour
        )
        lines.joined(axes, _array(mine["connections"]).tolist(), mine.to_dict("records"), line.style, unit)


def _percentiles(axes: Axes, cells: pd.DataFrame, told: pd.DataFrame, series: Sequence[RateLine]) -> None:
    ticks = np.arange(len(PERCENTILES))
    axes.grid(axis="y", color=plots.GUIDE, linewidth=0.5)
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(10))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: lines.round_number(value)))
    axes.yaxis.set_minor_formatter(NullFormatter())
    for line in series:
        mine = line.of(cells)
        trials = told[told["cell"].isin(mine["cell"])][list(PERCENTILES)]
        if trials.empty:
            continue
        for values in trials.to_numpy(dtype=float) if len(trials) > 1 else ():
            axes.plot(ticks, values, color=line.style.colour, linewidth=lines.THIN, alpha=lines.TRIAL_ALPHA)
        axes.plot(
            ticks,
            medians_of_times(trials).to_numpy(dtype=float),
            color=line.style.colour,
            linestyle=line.style.dash,
            linewidth=1.1,
            marker=line.style.marker,
            markersize=3.4,
        )
    axes.set_xticks(ticks, list(PERCENTILES.values()))


def _rows(
    axes: Axes,
    cells: pd.DataFrame,
    kept: pd.DataFrame,
    series: Sequence[RateLine],
    markers: Mapping[str, str],
    unit: float,
) -> None:
    step = 0.5 / max(len(markers), 1)
    for number, line in enumerate(series):
        plots.stripe(axes, number)
        mine = line.of(cells)
        for index, (generator, marker) in enumerate(markers.items()):
            height = number + step * (index - (len(markers) - 1) / 2)
            for cell in mine[mine["engine"] == generator].to_dict("records"):
                _row(axes, cell, kept[kept["cell"] == cell["cell"]], height, (line.style, marker), unit)
    plots.rows_alone(axes)
    axes.grid(axis="x", color=plots.GUIDE, linewidth=0.5)


def _farthest(row: Sequence[Axes]) -> float:
    """The largest value that any of the axes holds."""
    return max(float(axes.dataLim.x1) for axes in row)


def _row(
    axes: Axes,
    cell: Mapping[Any, Any],
    trials: pd.DataFrame,
    height: float,
    look: tuple[Style, str],
    unit: float,
) -> None:
    style, marker = look
    values = _array(trials["requests_per_s"]) / unit
    plots.scatter(axes, values, np.full(values.size, height), style.colour)
    median = cell["median"] / unit
    spread = np.nan_to_num([[median - cell["low"] / unit], [cell["high"] / unit - median]])
    axes.errorbar(
        [median],
        [height],
        xerr=spread,
        fmt=marker,
        color=style.colour,
        markersize=3.6,
        elinewidth=0.8,
        capsize=1.6,
        capthick=0.8,
    )


def _finish(figure: Figure, first: Axes, series: Sequence[RateLine], title: str) -> None:
    first.set_ylim(bottom=0)
    plots.ticks(first.yaxis)
    lines.legend(figure, [(line.label, line.style) for line in series], BESIDE, markers=True)
    plots.title(figure, title)


def _some(connections: pd.Series[Any]) -> list[float]:
    """All numbers of connections, or so many that they fit side by side, spread evenly."""
    every = sorted(float(number) for number in connections.unique())
    return words.evenly(every, MOST_COLUMNS)


def _left_out(columns: Sequence[float], cells: pd.DataFrame) -> str:
    every = cells["connections"].nunique()
    return "" if len(columns) == every else f" {len(columns)} of {every} numbers of connections are drawn."


def _too_long(told: pd.DataFrame) -> str:
    """Why a percentile has no mark, where some have none."""
    missing = bool(told[list(PERCENTILES)].isna().any(axis=None))
    return " No mark: answers took over 2 s, which wrk does not time." if missing else ""


def _generator(cells: pd.DataFrame, generator: str) -> str:
    """A generator, with its server where the generators of a figure have different ones."""
    servers = cells.loc[cells["engine"] == generator, "server"].dropna().unique()
    label = engine_label(generator)
    if len(servers) != 1 or cells["server"].nunique() == 1:
        return label
    return f"{label} on {servers[0]}"


def _unit(rates: pd.Series[float]) -> tuple[float, str]:
    """The unit of an axis and its name: 1,000 requests/s when the highest rate is 10,000 or more, else requests/s."""
    return (1e3, "1,000 requests/s") if rates.max() >= 10_000 else (1.0, "Requests/s")


def _generators(generators: Sequence[str], by: str = "panel") -> str:
    return f" A {by} for each generator. {SAME}" if len(generators) > 1 else ""


def _reading(cells: pd.DataFrame) -> str:
    n = f"n = {words.between(int(cells['n'].min()), int(cells['n'].max()))}"
    exact = bool((cells["interval"] == IntervalKind.EXACT).all())
    bars = "95 % intervals" if exact else "95 % intervals, below five trials the range"
    return f"Medians, {n} trials; bars: {bars}."


def _array(values: pd.Series[Any]) -> Sample:
    return values.to_numpy(dtype=float)


def _width(generators: Sequence[str]) -> float:
    return plots.PAGE_INCHES if len(generators) > 1 else plots.COLUMN_INCHES * 1.3

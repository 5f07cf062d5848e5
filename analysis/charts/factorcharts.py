"""How much claims hang on a factor, as the length of a queue: their ratios with each factor, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts import claimcharts, plots
from analysis.charts.claimcharts import NEUTRAL
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import ClaimRow, subject_text
from analysis.claims.doubleratios import FACTOR, DoubleRatio
from analysis.evaluation.results import Results
from analysis.labels.protocols import FURTHER, Style
from analysis.statistics.compare import log_of
from harness.model.condition import USUAL_FACTOR

MOST_FACTORS = len(FURTHER)  # beside the usual; of more the table tells
MOST_ROWS = 40
MARKER_INCHES, GAP_INCHES = 0.13, 0.08

Row = tuple[str, dict[str, ClaimRow]]  # its name, and the claim by factor


def sensitivity(results: Results) -> Iterator[Drawing]:
    """One figure: a row per claim and place, in it the ratio of the study as it is, and that with each factor."""
    rows = _rows(results.factors)
    names = list(dict.fromkeys(name for _, found in rows for name in found))
    if not rows or len(names) - 1 > MOST_FACTORS:
        return
    drawn = rows[:MOST_ROWS]
    more = f" Drawn are the first {len(drawn)} of {len(rows)} rows." if len(rows) > len(drawn) else ""
    n = [row.comparison.n for _, found in drawn for row in found.values() if row.comparison is not None]
    pairs = f", n = {min(n)} to {max(n)} pairs of loads, each inside one block" if n else ""
    caption = (
        "How much the claims hang on a factor: every ratio as the study usually measures it, and with each factor. "
        f"Bars: 95 % intervals{pairs}. Band: {results.margin * 100:g} % either way, the margin. The table of factors "
        f"tests each change.{more}"
    )
    yield Drawing("factors", caption, _chart(drawn, names, results.margin))


def _rows(found: Sequence[DoubleRatio]) -> list[Row]:
    groups: dict[int, Row] = {}
    for each in found:
        name = ", ".join(filter(None, (subject_text(each.usual.claim), each.where)))
        _, claims = groups.setdefault(id(each.usual), (name, {USUAL_FACTOR: each.usual}))
        claims[str(each.changed.setting[FACTOR])] = each.changed
    return list(groups.values())


def _chart(rows: Sequence[Row], names: Sequence[str], margin: float) -> Figure:
    styles = dict(zip(names, (NEUTRAL, *FURTHER), strict=False))
    height = len(rows) * (MARKER_INCHES * len(names) + GAP_INCHES)
    figure = plots.new(plots.PAGE_INCHES, 0.75 + height)
    axes = figure.subplots()
    axes.axvspan(-math.log1p(margin), math.log1p(margin), color=claimcharts.MARGIN_BAND, linewidth=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for place, (_, found) in enumerate(rows):
        if place % 2:
            axes.axhspan(place - 0.5, place + 0.5, color="#F5F5F5", linewidth=0, zorder=0)
        for offset, name in zip(np.linspace(-0.32, 0.32, len(names) + 2)[1:-1], names, strict=True):
            if name in found:
                _marker(axes, place + float(offset), found[name], styles[name])
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    plots.rows_alone(axes)
    every = [row for _, found in rows for row in found.values() if row.comparison is not None]
    claimcharts.change_axis(axes, claimcharts.limits(every, margin), max(len(name) for name, _ in rows))
    handles = [
        axes.plot([], [], style.marker, color=style.colour, markersize=style.size(), label=name)[0]
        for name, style in styles.items()
    ]
    figure.legend(handles=handles, loc="outside lower left", ncols=min(3, len(handles)))
    return figure


def _marker(axes: Axes, place: float, row: ClaimRow, style: Style) -> None:
    seen = row.comparison
    if seen is None or not 0 < seen.ratio < math.inf:
        return
    centre = log_of(seen.ratio)
    known = seen.low > 0 and math.isfinite(seen.high)
    reach = [[centre - log_of(seen.low)], [log_of(seen.high) - centre]] if known else None
    axes.errorbar([centre], [place], xerr=reach, **plots.whiskers(style, hollow=not known, thick=0.9))

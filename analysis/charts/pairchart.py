"""What the claims rest on: the ratio inside every block, with the estimate over all of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts import plots
from analysis.charts.drawing import Drawing
from analysis.claims.claimresult import ClaimRow
from analysis.claims.claimtext import subject_text
from analysis.evaluation.results import Results
from analysis.labels import protocols, words
from analysis.statistics.compare import Blocks, Comparison
from analysis.statistics.contrast import Sample

ROWS = 12  # of a figure
MOST_FIGURES = 2
ROW_INCHES = 0.56
TEXT, FIRST, LAST, END = -0.46, 0.02, 0.38, 0.46  # of a row: its text, its first and last block, and its end


@dataclass(frozen=True)
class Row:
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
    every = list(_rows(results))
    drawn = every[: MOST_FIGURES * ROWS]
    for start in range(0, len(drawn), ROWS):
        some = drawn[start : start + ROWS]
        pages = " Over several pages, a block has a dot for each." * any(
            len(row.claim.pages) > 1 for row in some
        )
        left = len(every) - len(drawn)
        more = f" {words.count(left, 'further setting')} of the claims not drawn." if left else ""
        caption = (
            "Every pair behind the claims: a dot is the change inside one block, the first block on top; line and "
            f"band are the estimate with its interval, the grey line is no difference.{pages}{more}"
        )
        yield Drawing("pairs", caption, _chart(some), of_data=True)


def _rows(results: Results) -> Iterator[Row]:
    """The settings that have pairs: a budget has none."""
    styles = protocols.styles(results.protocols)
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
            yield Row(claim, claim.comparison, styles[spoken[pairs[0][0]]].colour, runs)


def _chart(rows: Sequence[Row]) -> Figure:
    figure = plots.new(plots.COLUMN_INCHES, 0.45 + ROW_INCHES * len(rows))
    axes = figure.subplots()
    for number, row in enumerate(rows):
        if number % 2:
            axes.axhspan(number - 0.5, number + 0.5, color="#F5F5F5", linewidth=0)
        _row(axes, number, row)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.04)
    plots.ticks(axes.xaxis)
    axes.set_xlabel("Change (%)")
    return figure


def _row(axes: Axes, number: int, row: Row) -> None:
    low, centre, high = (
        100 * (bound - 1) for bound in (row.comparison.low, row.comparison.ratio, row.comparison.high)
    )
    top, end = number + FIRST - 0.06, number + END
    axes.vlines(0, top, end, color="#555555", linewidth=0.8)
    if not np.isnan(low):
        axes.fill_betweenx([top, end], low, high, color=row.colour, alpha=0.22, linewidth=0)
    axes.vlines(centre, top, end, color=row.colour, linewidth=1)
    plots.scatter(axes, row.changes, number + FIRST + row.places * (LAST - FIRST), row.colour)
    for text, x, side in (
        (f"{subject_text(row.claim.claim)}\n{row.claim.where}", 0.0, "left"),
        (f"n = {row.changes.size:,}", 1.0, "right"),
    ):
        axes.text(
            x,
            number + TEXT,
            text,
            transform=axes.get_yaxis_transform(),
            fontsize="small",
            va="top",
            ha=side,
        )

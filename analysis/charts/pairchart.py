"""The data behind claims: every pair of a block.

A pair is a dot, behind it the estimate of its claim in a setting.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.markers import CARETLEFT, CARETRIGHT

from analysis.charts import openbars, plots
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import ClaimRow, subject_text
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.labels.conditions import protocol_styles
from analysis.statistics.compare import Blocks, Comparison
from analysis.statistics.contrast import Sample
from analysis.statistics.estimate import per_cent

ROWS, MOST_FIGURES = 12, 2  # rows of a figure
ROW_INCHES = 0.56
COLUMN_LETTERS, PAGE_LETTERS = 68, 140  # of a line above a row, in a figure of that width
OPEN = (
    " An arrow at an end of the axis: one side timed out. A band that goes on to that end is open there. Without a "
    "line nobody knows how large the change is."
)
# Of a row: its text, its first and last block, and its end.
TEXT, FIRST, LAST, END = -0.46, 0.02, 0.38, 0.46


@dataclass(frozen=True)
class PairRow:
    """A claim in one setting: by run, the log ratios of its pages, in the order of the blocks."""

    claim: ClaimRow
    comparison: Comparison
    colour: str
    runs: Mapping[str, Sequence[Sample]]

    @property
    def text(self) -> str:
        """The claim and where, a line each."""
        lines = subject_text(self.claim.claim), self.claim.where
        return "\n".join(
            textwrap.shorten(line, PAGE_LETTERS, placeholder=" \N{HORIZONTAL ELLIPSIS}") for line in lines
        )

    @property
    def changes(self) -> Sample:
        """In per cent; infinite where one side timed out."""
        logs: Sample = np.concatenate([ratios for pages in self.runs.values() for ratios in pages])
        return np.where(np.isinf(logs), logs, 100 * np.expm1(logs))

    @property
    def estimate(self) -> tuple[float, float, float]:
        """The ratio and its interval alike."""
        seen = self.comparison
        return per_cent(seen.ratio), per_cent(seen.low), per_cent(seen.high)

    @property
    def is_open(self) -> bool:
        """Whether time-outs leave a pair or the estimate open."""
        return bool(np.isinf([*self.changes, *self.estimate]).any())

    @property
    def moments(self) -> Sample:
        """Of each change when it was measured, from 0 to 1; the pages of a block stand side by side."""
        start, positions = 0, []
        for pages in self.runs.values():
            positions += [np.arange(ratios.size) + start for ratios in pages]
            start += max(ratios.size for ratios in pages)
        return np.concatenate(positions) / max(start - 1, 1)


def paired_differences(results: Results) -> Iterator[Drawing]:
    """A row of dots per claim and setting, in the order of the claims."""
    every = list(_rows(results))
    shown = every[: MOST_FIGURES * ROWS]
    left = len(every) - len(shown)
    more = f" {words.count(left, 'further setting')} of the claims not drawn." if left else ""
    for start in range(0, len(shown), ROWS):
        some = shown[start : start + ROWS]
        pages = " Over several pages, a block has a dot for each." * any(
            len(row.claim.pages) > 1 for row in some
        )
        caption = (
            "Every pair behind the claims: a dot is the change inside one block, the first block on top; line and "
            f"band are the estimate with its interval, the grey line is no difference.{pages}"
            f"{OPEN * any(row.is_open for row in some)}{more}"
        )
        yield Drawing("pairs", caption, _chart(some), of_data=True)


def _rows(results: Results) -> Iterator[PairRow]:
    """The settings that have pairs: a budget has none."""
    styles = protocol_styles(results.protocols)
    spoken = dict(zip(results.cells["cell"], results.cells["protocol"].astype(str), strict=True))

    @lru_cache
    def blocks(metric: str) -> Blocks:
        return Blocks(results.sifted.by_metric, metric)

    for claim in results.claims:
        pairs = [(subject, reference) for subject, reference in claim.pairs if reference is not None]
        runs: dict[str, list[Sample]] = {}
        for subject, reference in pairs:
            for run, ratios in blocks(claim.claim.metric).by_run(subject, reference).items():
                runs.setdefault(run, []).append(ratios)
        if runs and claim.comparison is not None:
            yield PairRow(claim, claim.comparison, styles[spoken[pairs[0][0]]].colour, runs)


def _chart(rows: Sequence[PairRow]) -> Figure:
    letters = max(len(line) for row in rows for line in row.text.splitlines())
    width = plots.COLUMN_INCHES if letters <= COLUMN_LETTERS else plots.PAGE_INCHES
    figure = plots.new(width, 0.45 + ROW_INCHES * len(rows))
    axes = figure.subplots()
    for number, row in enumerate(rows):
        plots.stripe(axes, number)
        _row(axes, number, row)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)
    axes.margins(x=0.04)
    if any(row.is_open for row in rows):
        ends = axes.get_xlim()
        axes.set_xlim(*ends)
        for number, row in enumerate(rows):
            _open_pairs(axes, number, row, ends)
    plots.ticks(axes.xaxis)
    axes.set_xlabel("Change (%)")
    return figure


def _row(axes: Axes, number: int, row: PairRow) -> None:
    """What is not open."""
    centre, low, high = row.estimate
    top, end = _height(number)
    axes.vlines(0, top, end, color="#555555", linewidth=0.8)
    if np.isfinite([low, high]).all():
        _band(axes, number, low, high, row.colour)
    if np.isfinite(centre):
        axes.vlines(centre, top, end, color=row.colour, linewidth=1)
    changes, heights = row.changes, number + FIRST + row.moments * (LAST - FIRST)
    known = np.isfinite(changes)
    plots.scatter(axes, changes[known], heights[known], row.colour)
    for text, x, side in (
        (row.text, 0.0, "left"),
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


def _open_pairs(axes: Axes, number: int, row: PairRow, ends: tuple[float, float]) -> None:
    """At the ends of the axis: a band that is open, and the pairs of which one side timed out."""
    _, low, high = row.estimate
    if np.isinf([low, high]).any():
        _band(axes, number, max(low, ends[0]), min(high, ends[1]), row.colour)
    changes, heights = row.changes, number + FIRST + row.moments * (LAST - FIRST)
    for infinite, edge, marker in zip((-np.inf, np.inf), ends, (CARETLEFT, CARETRIGHT), strict=True):
        openbars.arrows(axes, heights[changes == infinite], edge, row.colour, marker, vertical=False)


def _height(number: int) -> tuple[float, float]:
    """Where a row begins and ends below its text."""
    return number + FIRST - 0.06, number + END


def _band(axes: Axes, number: int, low: float, high: float, colour: str) -> None:
    axes.fill_betweenx(_height(number), low, high, color=colour, alpha=0.22, linewidth=0)

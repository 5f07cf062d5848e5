"""What is claimed of protocols, variants and codings: every ratio on one axis, and the pairs of blocks behind them.

The marker is the ratio, over several pages their geometric mean, with its interval; strokes are the pages. Links and
engines stand in groups below each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.charts import plots
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import ClaimRow, Wording, setting_text, subject_text
from analysis.evaluation.results import Results
from analysis.labels import metrics, protocols, words
from analysis.labels.protocols import Style
from analysis.statistics.compare import Blocks, Comparison, log_of
from analysis.statistics.contrast import Sample

WIDTH_INCHES = 1.25 * plots.COLUMN_INCHES  # readable on a phone, too
MOST_LETTERS = 44  # of a row's name in a figure of that width
ROW_INCHES = 0.165
MOST_ROWS = 48  # in one figure: a page of a paper
MOST_TICKS, TICK_INCHES, LETTER_INCHES = 9, 0.55, 0.052  # of an axis; its labels; a letter of a row's name
OF_A_ROW = ("protocol", "variant", "compression", "server")  # the others say in which group a row stands
NEUTRAL = Style("#000000", "s", "-")
MARGIN_BAND, FLOOR_BAND = "#EEEEE6", "#C6C6BA"
PER_CENT = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 600, 900, 1900, 4900, 9900)
TICKS = (
    *(1 - each / 100 for each in PER_CENT if each < 100),
    *(1 + each / 100 for each in PER_CENT),
    0.1,
    0.05,
    0.02,
)
ROWS = 12  # of a figure
MOST_FIGURES = 2
PAIR_INCHES = 0.56
TEXT, FIRST, LAST, END = -0.46, 0.02, 0.38, 0.46  # of a row: its text, its first and last block, and its end


@dataclass(frozen=True)
class Line:
    """A row of the chart: a claim in a setting, or the title of the rows below it."""

    label: str
    row: ClaimRow | None = None


def charts(rows: Sequence[ClaimRow], wording: Wording, margin: float) -> Iterator[Figure]:
    """The ratios among the claims, in as many figures as they need; all have the same axis."""
    lines = _lines([row for row in rows if not row.claim.is_budget], wording)
    known = [line.row for line in lines if line.row is not None and line.row.comparison is not None]
    if not known:
        return
    bounds = limits(known, margin)
    for start in range(0, len(lines), MOST_ROWS):
        yield _ratio_chart(lines[start : start + MOST_ROWS], bounds, margin)


def _lines(rows: Sequence[ClaimRow], wording: Wording) -> list[Line]:
    telling = wording.telling
    groups: dict[str, list[Line]] = {}
    outer = Wording(telling - set(OF_A_ROW), wording.links)
    inner = Wording(telling & set(OF_A_ROW))
    for row in rows:
        label = ", ".join(
            filter(None, (subject_text(row.claim), setting_text(row.setting, row.pages, inner)))
        )
        groups.setdefault(setting_text(row.setting, row.pages, outer), []).append(Line(label, row))
    return [line for title, lines in groups.items() for line in ([Line(title)] if title else []) + lines]


def limits(rows: Sequence[ClaimRow], margin: float) -> tuple[float, float]:
    """Of the axis, as logarithms: every ratio and interval, unless an interval is far wider than all ratios."""
    seen = [comparison for row in rows if (comparison := row.comparison) is not None]
    pages = [page.ratio for row in rows for _, page in row.by_page]
    known = [each for each in (*(each.ratio for each in seen), *pages) if 0 < each < math.inf]
    ratios = np.log([*known, 1 + margin, 1 / (1 + margin)])
    ends = np.log(
        [end for each in seen for end in (each.low, each.high) if end > 0 and math.isfinite(end)] or [1.0]
    )
    reach = max(3 * float(ratios.max() - ratios.min()), 0.1)
    low = max(min(ratios.min(), ends.min()), ratios.min() - reach)
    high = min(max(ratios.max(), ends.max()), ratios.max() + reach)
    room = 0.04 * (high - low)
    return float(low - room), float(high + room)


def _ratio_chart(lines: Sequence[Line], bounds: tuple[float, float], margin: float) -> Figure:
    letters = max(len(line.label) for line in lines)
    width = WIDTH_INCHES if letters <= MOST_LETTERS else plots.PAGE_INCHES
    figure = plots.new(width, 0.55 + ROW_INCHES * len(lines))
    axes = figure.subplots()
    axes.axvspan(-math.log1p(margin), math.log1p(margin), color=MARGIN_BAND, linewidth=0)
    for place, line in enumerate(lines):
        if line.row is not None:
            _floor(axes, place, line.row)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for place, line in enumerate(lines):
        if line.row is not None:
            _ratio_row(axes, place, line.row)
    axes.set_yticks(range(len(lines)), [line.label for line in lines])
    for text, line in zip(axes.get_yticklabels(), lines, strict=True):
        text.set_fontweight("bold" if line.row is None else "normal")
    axes.set_ylim(len(lines) - 0.4, -0.6)
    plots.rows_alone(axes)
    rows = [line.row for line in lines if line.row is not None]
    change_axis(axes, bounds, letters, width)
    axes.set_xlabel(_axis(rows), loc="right")
    return figure


def _axis(rows: Sequence[ClaimRow]) -> str:
    """What changes, where it is one thing, and that its axis is logarithmic."""
    named = {metrics.subject(row.claim.metric) for row in rows}
    what = named.pop().lower() if len(named) == 1 else ""
    return f"Change{f' of {what}' if what else ''} (%, logarithmic)"


def change_axis(
    axes: Axes, bounds: tuple[float, float], letters: int, width: float = plots.PAGE_INCHES
) -> None:
    """An axis of log ratios in per cent, beside names of rows with so many letters, in a figure of so many inches."""
    axes.set_xlim(*bounds)
    axes.xaxis.set_major_locator(FixedLocator(_ticks(bounds, width - LETTER_INCHES * letters)))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _per_cent(value)))
    axes.set_xlabel("Change against the reference (logarithmic)")


def _per_cent(log_ratio: float) -> str:
    change = round(100 * math.expm1(log_ratio), 1)
    return f"{change:+g} %".replace("-", words.MINUS) if change else "0"


def _ticks(bounds: tuple[float, float], inches: float) -> list[float]:
    """Round changes from 0 outwards, no closer than their labels need on an axis of so many inches."""
    room = (bounds[1] - bounds[0]) / min(MOST_TICKS, max(2, inches / TICK_INCHES))
    chosen = [0.0]
    for side in (1, -1):
        last = 0.0
        for tick in sorted((math.log(each) for each in TICKS if side * math.log(each) > 0), key=abs):
            if abs(tick - last) >= room and bounds[0] <= tick <= bounds[1]:
                chosen.append(tick)
                last = tick
    return sorted(chosen)


def _floor(axes: Axes, place: int, row: ClaimRow) -> None:
    """How large a difference equal conditions of this setting can show."""
    if row.floor is not None:
        reach = math.log(row.floor)
        axes.fill_betweenx([place - 0.5, place + 0.5], -reach, reach, color=FLOOR_BAND, linewidth=0)


def _ratio_row(axes: Axes, place: int, row: ClaimRow) -> None:
    style = _style(row)
    seen = row.comparison
    axes.axhline(place, color=plots.GUIDE, linewidth=0.4)
    if seen is None:
        _note(axes, place, "no data")
        return
    if len(row.by_page) > 1:
        dots = [log_of(page.ratio) for _, page in row.by_page]
        axes.plot(
            dots, [place] * len(dots), "|", color=style.colour, alpha=0.7, markersize=7, markeredgewidth=0.9
        )
    centre = log_of(seen.ratio)
    if not math.isfinite(centre):
        _note(axes, place, "timed out")
        return
    known = seen.low > 0 and math.isfinite(seen.high)
    axes.errorbar(
        [centre],
        [place],
        xerr=[[centre - math.log(seen.low)], [math.log(seen.high) - centre]] if known else None,
        **plots.whiskers(style, hollow=not known, thick=0.9),
    )


def _note(axes: Axes, place: int, text: str) -> None:
    """Why a row has no marker."""
    axes.annotate(
        text, (0.5, place), xycoords=("axes fraction", "data"), va="center", color="#8A8A8A", style="italic"
    )


def _style(row: ClaimRow) -> Style:
    protocol = row.claim.subject.get("protocol") or row.setting.get("protocol")
    return protocols.styles([str(protocol)])[str(protocol)] if protocol else NEUTRAL


def reading(rows: Sequence[ClaimRow], margin: float) -> str:
    """How the chart is read, for its caption."""
    pages = max((len(row.by_page) for row in rows), default=0)
    n = [row.comparison.n for row in rows if row.comparison is not None and not row.claim.is_budget]
    rates = any(metrics.more_is_better(row.claim.metric) for row in rows)
    parts = [
        f"Left of 0: the subject {'has' if rates else 'takes'} less than the reference.",
        f"Marker: geometric mean over {words.count(pages, 'page')}, with an interval for such pages; strokes: "
        "the pages."
        if pages > 1
        else "",
        f"Bars: 95 % intervals, n = {words.between(min(n), max(n))} pairs of loads, each inside one block."
        if n
        else "",
        f"Light band: {margin * 100:g} % either way, the margin.",
        "Dark band: the floor, which equal conditions can show."
        if any(row.floor is not None for row in rows)
        else "",
    ]
    return " ".join(filter(None, parts))


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
        yield Drawing("pairs", caption, _pair_chart(some), of_data=True)


def _pair_rows(results: Results) -> Iterator[PairRow]:
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
            yield PairRow(claim, claim.comparison, styles[spoken[pairs[0][0]]].colour, runs)


def _pair_chart(rows: Sequence[PairRow]) -> Figure:
    figure = plots.new(plots.COLUMN_INCHES, 0.45 + PAIR_INCHES * len(rows))
    axes = figure.subplots()
    for number, row in enumerate(rows):
        if number % 2:
            axes.axhspan(number - 0.5, number + 0.5, color="#F5F5F5", linewidth=0)
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

"""What is claimed of protocols, variants and codings: every ratio on one axis, and with each factor of a study.

The marker is the ratio, over several pages their geometric mean, with its interval; strokes are the pages. Links and
engines stand in groups below each other. Of factors, as the length of a queue, a figure tells how much the claims hang
on them.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from analysis.charts import plots
from analysis.charts.openbars import ROOM, BarEnds
from analysis.charts.plots import Drawing
from analysis.claims.claimresult import ClaimRow, Wording, setting_text, subject_text
from analysis.claims.doubleratios import FACTOR, DoubleRatio
from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.labels.conditions import FURTHER, Style, protocol_styles
from analysis.statistics.compare import WIDER, Comparison, log_of
from harness.model.condition import USUAL_FACTOR

WIDTH_INCHES = 1.25 * plots.COLUMN_INCHES  # readable on a phone, too
MOST_LETTERS = 44  # of a row's name in a figure of that width
LINE_LETTERS = 96  # of a line of such a name, at most: beside more of them the axis has no room
OF_A_WORD = 8
ROW_INCHES = 0.165  # of a line
MOST_ROWS = 48  # lines in one figure: a page of a paper
MOST_TICKS, TICK_INCHES, LETTER_INCHES = 9, 0.55, 0.052  # of an axis; its labels; a letter of a row's name
OF_A_ROW = ("protocol", "variant", "compression", "server")  # the others say in which group a row stands
NEUTRAL = Style("#000000", "s", "-")
MARGIN_BAND, FLOOR_BAND = "#EEEEE6", "#C6C6BA"
PER_CENT = (1, 2, 5, 10, 20, 30, 50, 75, 100, 150, 200, 300, 400, 600, 900, 1900, 4900, 9900)
TICKS = (
    *(1 - percent / 100 for percent in PER_CENT if percent < 100),
    *(1 + percent / 100 for percent in PER_CENT),
    0.1,
    0.05,
    0.02,
)
MOST_FACTORS = len(FURTHER)  # beside the usual; of more the table tells
MOST_FACTOR_ROWS = 40
MARKER_INCHES, GAP_INCHES = 0.13, 0.08
ARROWS = "An arrow: an end beyond the axis, or that time-outs leave open."

FactorRow = tuple[str, dict[str, ClaimRow]]  # its name, and the claim by factor


@dataclass(frozen=True)
class Line:
    """A row of the chart: a claim in a setting, or the title of the rows below it. Its label may have several lines."""

    label: str
    row: ClaimRow | None = None

    @property
    def height(self) -> int:
        return self.label.count("\n") + 1


def charts(rows: Sequence[ClaimRow], wording: Wording, margin: float, most: int) -> tuple[list[Figure], int]:
    """The ratios among the claims in `most` figures at most, which have the same axis; and how many are not drawn."""
    lines = _lines([row for row in rows if not row.claim.is_budget], wording)
    known = [line.row for line in lines if line.row is not None and line.row.comparison is not None]
    if not known:
        return [], 0
    bounds = limits(known, margin)
    sheets: list[list[Line]] = [[]]
    for line in lines:
        if sheets[-1] and sum(member.height for member in sheets[-1]) + line.height > MOST_ROWS:
            sheets.append([])
        sheets[-1].append(line)
    left = sum(line.row is not None for sheet in sheets[most:] for line in sheet)
    return [_ratio_chart(sheet, bounds, margin) for sheet in sheets[:most]], left


def _lines(rows: Sequence[ClaimRow], wording: Wording) -> list[Line]:
    telling = wording.telling
    groups: dict[str, list[Line]] = {}
    outer = Wording(telling - set(OF_A_ROW), wording.links)
    inner = Wording(telling & set(OF_A_ROW))
    for row in rows:
        label = ", ".join(
            filter(None, (subject_text(row.claim), setting_text(row.setting, row.pages, inner)))
        )
        groups.setdefault(setting_text(row.setting, row.pages, outer), []).append(Line(_wrapped(label), row))
    return [
        line for title, lines in groups.items() for line in ([Line(_wrapped(title))] if title else []) + lines
    ]


def _wrapped(label: str) -> str:
    """In lines of about the same length."""
    lines = math.ceil(len(label) / LINE_LETTERS)
    width = LINE_LETTERS if lines == 1 else math.ceil(len(label) / lines) + OF_A_WORD
    return textwrap.fill(label, min(width, LINE_LETTERS), break_on_hyphens=False)


def _letters(labels: Iterable[str]) -> int:
    """Of the longest line."""
    return max(len(line) for label in labels for line in label.splitlines())


def limits(rows: Sequence[ClaimRow], margin: float) -> tuple[float, float]:
    """Of the axis, as logarithms: every ratio and interval, unless an interval is far wider than all ratios."""
    seen = [comparison for row in rows if (comparison := row.comparison) is not None]
    pages = [page.ratio for row in rows for _, page in row.by_page]
    known = [ratio for ratio in (*(estimate.ratio for estimate in seen), *pages) if 0 < ratio < math.inf]
    ratios = np.log([*known, 1 + margin, 1 / (1 + margin)])
    ends = np.log(
        [end for estimate in seen for end in (estimate.low, estimate.high) if end > 0 and math.isfinite(end)]
        or [1.0]
    )
    reach = max(3 * float(ratios.max() - ratios.min()), 0.1)
    low = max(min(ratios.min(), ends.min()), ratios.min() - reach)
    high = min(max(ratios.max(), ends.max()), ratios.max() + reach)
    room = (ROOM if any(_has_arrow(row, (low, high)) for row in rows) else 0.04) * (high - low)
    return float(low - room), float(high + room)


def _ratio_chart(lines: Sequence[Line], bounds: tuple[float, float], margin: float) -> Figure:
    letters = _letters(line.label for line in lines)
    width = WIDTH_INCHES if letters <= MOST_LETTERS else plots.PAGE_INCHES
    heights = np.array([line.height for line in lines])
    middles = np.cumsum(heights) - heights / 2 - 0.5
    figure = plots.new(width, 0.55 + ROW_INCHES * int(heights.sum()))
    axes = figure.subplots()
    axes.axvspan(-math.log1p(margin), math.log1p(margin), color=MARGIN_BAND, linewidth=0)
    for middle, line in zip(middles, lines, strict=True):
        if line.row is not None:
            _floor(axes, middle, line.row)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for middle, line in zip(middles, lines, strict=True):
        if line.row is not None:
            _ratio_row(axes, middle, line.row, bounds)
    axes.set_yticks(middles, [line.label for line in lines])
    for text, line in zip(axes.get_yticklabels(), lines, strict=True):
        text.set_fontweight("bold" if line.row is None else "normal")
    axes.set_ylim(int(heights.sum()) - 0.4, -0.6)
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
        for tick in sorted((math.log(ratio) for ratio in TICKS if side * math.log(ratio) > 0), key=abs):
            if abs(tick - last) >= room and bounds[0] <= tick <= bounds[1]:
                chosen.append(tick)
                last = tick
    return sorted(chosen)


def _floor(axes: Axes, middle: float, row: ClaimRow) -> None:
    """How large a difference equal conditions of this setting can show."""
    if row.floor is not None:
        reach = math.log(row.floor)
        axes.fill_betweenx([middle - 0.5, middle + 0.5], -reach, reach, color=FLOOR_BAND, linewidth=0)


def _ratio_row(axes: Axes, middle: float, row: ClaimRow, bounds: tuple[float, float]) -> None:
    style = _style(row)
    seen = row.comparison
    axes.axhline(middle, color=plots.GUIDE, linewidth=0.4)
    if seen is None:
        _note(axes, middle, row.instead_text)
        return
    if len(row.by_page) > 1:
        dots = [log_of(page.ratio) for _, page in row.by_page]
        axes.plot(
            dots, [middle] * len(dots), "|", color=style.colour, alpha=0.7, markersize=7, markeredgewidth=0.9
        )
    if math.isfinite(log_of(seen.ratio)):
        _marker(axes, middle, seen, style, bounds)
    else:
        _note(axes, middle, "timed out")


def _note(axes: Axes, middle: float, text: str) -> None:
    """Why a row has no marker."""
    axes.annotate(
        text, (0.5, middle), xycoords=("axes fraction", "data"), va="center", color="#8A8A8A", style="italic"
    )


def _style(row: ClaimRow) -> Style:
    protocol = row.claim.subject.get("protocol") or row.setting.get("protocol")
    return protocol_styles([str(protocol)])[str(protocol)] if protocol else NEUTRAL


def reading(results: Results) -> str:
    """How the chart of the claims is read, for its caption."""
    rows = results.claims
    pages = max((len(row.by_page) for row in rows), default=0)
    n = [row.comparison.n for row in rows if row.comparison is not None and not row.claim.is_budget]
    rates = any(metrics.more_is_better(row.claim.metric) for row in rows)
    parts = [
        f"Left of 0: the subject {'has' if rates else 'takes'} less than the reference.",
        f"Marker: geometric mean over {words.count(pages, 'page')}, with an interval for such pages; strokes: "
        "the pages."
        if pages > 1
        else "",
        f"Bars: {_intervals(results)}, n = {words.between(min(n), max(n))} pairs of loads, each inside one block."
        if n
        else "",
        f"Light band: {results.margin * 100:g} % either way, the margin.",
        "Dark band: the floor, which equal conditions can show."
        if any(row.floor is not None for row in rows)
        else "",
        _arrows_told([row for row in rows if not row.claim.is_budget], results.margin),
    ]
    return " ".join(filter(None, parts))


def _intervals(results: Results) -> str:
    """What the bars of claims are: plain where the study named its claims, else those of a choice."""
    return f"{results.certainty.interval}s{'' if results.named else f' ({WIDER})'}"


def _arrows_told(rows: Sequence[ClaimRow], margin: float) -> str:
    """What arrows mean, where a bar of the chart of these rows has one."""
    known = [row for row in rows if row.comparison is not None]
    bounds = limits(known, margin) if known else (0.0, 0.0)
    return ARROWS if any(_has_arrow(row, bounds) for row in known) else ""


def sensitivity(results: Results) -> Iterator[Drawing]:
    """One figure: a row per claim and place, in it the ratio of the study as it is, and that with each factor."""
    rows = _factor_rows(results.factors)
    names = list(dict.fromkeys(name for _, found in rows for name in found))
    if not rows or len(names) - 1 > MOST_FACTORS:
        return
    drawn = rows[:MOST_FACTOR_ROWS]
    more = f" Drawn are the first {len(drawn)} of {len(rows)} rows." if len(rows) > len(drawn) else ""
    n = [row.comparison.n for _, found in drawn for row in found.values() if row.comparison is not None]
    pairs = f", n = {min(n)} to {max(n)} pairs of loads, each inside one block" if n else ""
    caption = (
        "How much the claims hang on a factor: every ratio as the study usually measures it, and with each factor. "
        f"Bars: {_intervals(results)}{pairs}. Band: {results.margin * 100:g} % either way, the margin. The table of "
        f"factors tests each change.{more}"
        f" {_arrows_told([row for _, found in drawn for row in found.values()], results.margin)}".rstrip()
    )
    yield Drawing("factors", caption, _factor_chart(drawn, names, results.margin))


def _factor_rows(found: Sequence[DoubleRatio]) -> list[FactorRow]:
    groups: dict[int, FactorRow] = {}
    for double_ratio in found:
        name = ", ".join(filter(None, (subject_text(double_ratio.usual.claim), double_ratio.where)))
        _, claims = groups.setdefault(
            id(double_ratio.usual), (_wrapped(name), {USUAL_FACTOR: double_ratio.usual})
        )
        claims[str(double_ratio.changed.setting[FACTOR])] = double_ratio.changed
    return list(groups.values())


def _factor_chart(rows: Sequence[FactorRow], names: Sequence[str], margin: float) -> Figure:
    styles = dict(zip(names, (NEUTRAL, *FURTHER), strict=False))
    height = len(rows) * (MARKER_INCHES * len(names) + GAP_INCHES)
    figure = plots.new(plots.PAGE_INCHES, 0.75 + height)
    axes = figure.subplots()
    every = [row for _, found in rows for row in found.values() if row.comparison is not None]
    bounds = limits(every, margin)
    axes.axvspan(-math.log1p(margin), math.log1p(margin), color=MARGIN_BAND, linewidth=0)
    axes.axvline(0, color="#555555", linewidth=0.8)
    for number, (_, found) in enumerate(rows):
        plots.stripe(axes, number, zorder=0)
        for offset, name in zip(np.linspace(-0.32, 0.32, len(names) + 2)[1:-1], names, strict=True):
            seen = found[name].comparison if name in found else None
            if seen is not None and 0 < seen.ratio < math.inf:
                _marker(axes, number + float(offset), seen, styles[name], bounds)
    axes.set_yticks(range(len(rows)), [name for name, _ in rows])
    axes.set_ylim(len(rows) - 0.5, -0.5)
    plots.rows_alone(axes)
    change_axis(axes, bounds, _letters(name for name, _ in rows))
    handles = [
        axes.plot([], [], style.marker, color=style.colour, markersize=style.size(), label=name)[0]
        for name, style in styles.items()
    ]
    plots.fitted_legend(figure, handles, min(3, len(handles)))
    return figure


def _marker(axes: Axes, middle: float, seen: Comparison, style: Style, bounds: tuple[float, float]) -> None:
    """A ratio with its interval; hollow without one."""
    low, high = _ends(seen, bounds)
    bars = BarEnds.one(log_of(seen.ratio), low, high, bounds)
    known, row = not math.isnan(seen.low), np.array([middle])
    look = plots.whiskers(style, hollow=not known, thick=0.9)
    drawn = axes.errorbar(bars.centre, row, xerr=bars.reach if known else None, **look)
    if known:
        bars.arrows(axes, row, drawn, style.colour, vertical=False)


def _ends(seen: Comparison, bounds: tuple[float, float]) -> tuple[float, float]:
    """The ends of its interval as logarithms; one beyond the axis is infinite, as one that time-outs leave open."""
    low, high = log_of(seen.low), log_of(seen.high)
    return -math.inf if low < bounds[0] else low, math.inf if high > bounds[1] else high


def _has_arrow(row: ClaimRow, bounds: tuple[float, float]) -> bool:
    """Whether its bar has an arrow, on an axis with these bounds."""
    seen = row.comparison
    if seen is None or not math.isfinite(log_of(seen.ratio)):
        return False
    return any(map(math.isinf, _ends(seen, bounds)))

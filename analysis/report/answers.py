"""The head of a report: a sentence for each question of the study, in words of the web, and what counts against them.

A question is a claim; its settings are pages, links and whatever else a study varies. Two of them are told one by one,
of more how many came out how, with the least and the greatest effect by name. The amounts are those of
`analysis.statistics.plainly`; every figure behind them stands in the table of the claims.

The same in a few lines of Markdown is for the page of a CI job or a comment: the answers, the first figure as a table
(`analysis.charts.headchart`), and the gravest of what counts against them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from analysis.charts.headchart import Marks, late_text, marks
from analysis.charts.lines import label_of
from analysis.claims.claimresult import ClaimRow, expectations, side_text
from analysis.claims.published import counted
from analysis.evaluation.results import Results
from analysis.labels import metrics, words
from analysis.report import facts, summary
from analysis.report.facts import unchanged
from analysis.report.summary import NOTHING, Said, by_claim, tone
from analysis.report.summary import PLAIN as NEUTRAL
from analysis.statistics.compare import MARGIN, log_of
from analysis.statistics.estimate import is_open, size
from analysis.statistics.plainly import (
    UNNOTICED,
    AnswerKind,
    ToldEffect,
    bounds_text,
    signed,
    size_text,
    value_text,
)
from analysis.tables.table import escape_markdown
from harness.input.shown import shortened
from harness.model.kind import MAIN_METRIC, Kind
from harness.model.protocol import Protocol
from harness.model.variant import PLAIN

MOST_QUESTIONS = 6  # in the head
MOST_TOLD = 2  # settings of a question that are told one by one
FOUND = (AnswerKind.LESS, AnswerKind.MORE)
SEVERAL_PAGES = re.compile(r"\A\d+ pages\b")  # how a place begins that is none of one page
FEW = 10  # trials of a condition: with fewer, small differences stay unknown
GRAVE = 0.2  # share of attempts left out from which on the rest may be no fair sample
APACHE = (
    "Apache answers the first request of HTTP/2 one round trip later than that of HTTP/1.1 + TLS, which other servers "
    "do not: HTTP/2 looks slower here by that much, on every page and link."
)


def answers(results: Results) -> list[Said]:
    """What was found of each question, what others published first, then the limits that a command ends with 1 for.

    All of them; a head shows `MOST_QUESTIONS`.
    """
    said = [Said(text, NEUTRAL) for text in _of_published(results)]
    medians = _Medians(results)
    for rows in sorted(by_claim(results.claims), key=lambda rows: not any(_exceeds(row) for row in rows)):
        said.append(Said(_question(rows, medians, unchanged(results)), tone(rows)))
    return said or [Said(NOTHING, NEUTRAL)]


def _of_published(results: Results) -> Iterator[str]:
    if results.published:
        claims, told = counted(results.published)
        yield f"What others published, {words.count(claims, 'claim')}: {told}."


class _Medians:
    """What a condition's median is in a metric."""

    def __init__(self, results: Results) -> None:
        self._results, self.margin = results, results.margin

    @cached_property
    def _kept(self) -> dict[str, dict[int, float]]:
        return {}

    def compared(self, row: ClaimRow) -> list[tuple[int, int | None]]:
        """The pairs of those pages that the ratio is of."""
        pages = self._results.cells.set_index("cell")["page"]
        return [pair for pair in row.pairs if str(pages[pair[0]]) in dict(row.by_page)]

    def of(self, cells: Iterable[int], metric: str) -> float:
        """Over several conditions, pages, the geometric mean; NaN where one of them has none."""
        if metric not in self._kept:
            trials = self._results.sifted.by_metric
            there = trials.groupby("cell")[metric].median() if metric in trials else pd.Series(dtype=float)
            self._kept[metric] = dict(zip(map(int, there.index), map(float, there), strict=True))
        medians = np.array([self._kept[metric].get(cell, math.nan) for cell in cells])
        if not medians.size or not np.isfinite(medians).all() or (medians <= 0).any():
            return math.nan
        return float(np.exp(np.log(medians).mean()))


def _question(rows: Sequence[ClaimRow], medians: _Medians, why: dict[tuple[str, str], str]) -> str:
    """A claim in all its settings."""
    claim = rows[0].claim
    if claim.is_budget:
        gravest = sorted(rows, key=lambda row: not _exceeds(row))
        return " ".join(row.sentence for row in gravest[:MOST_TOLD]) + _further(gravest[MOST_TOLD:])
    metric = "" if claim.metric == MAIN_METRIC else f"{metrics.subject(claim.metric)}: "
    effects = [(row, _effect(row, medians, why)) for row in rows]
    if len(rows) == 1:
        at = _at(rows[0])
        where = f"{at[0].upper()}{at[1:]}: " if rows[0].where else ""
        text = f"{metric}{where}{effects[0][1].sentence}"
    else:
        text = f"{metric}{effects[0][1].subject}{_against(effects[0][1])}: {'; '.join(_parts(effects))}."
    return text + _expected(rows)


def _exceeds(row: ClaimRow) -> bool:
    return row.claim.is_budget and row.went_wrong


def _further(rows: Sequence[ClaimRow]) -> str:
    """As `3 further settings: holds in 2 and not known yet in 1`."""
    if not rows:
        return ""
    return f" {words.count(len(rows), 'further setting')}: {_verdicts(rows)}."


def _verdicts(rows: Sequence[ClaimRow]) -> str:
    verdicts = [str(row.verdict) for row in rows]
    told = [f"{verdict} in {verdicts.count(verdict)}" for verdict in dict.fromkeys(verdicts)]
    return verdicts[0] if len(set(verdicts)) == 1 else words.listed(told)


def _expected(rows: Sequence[ClaimRow]) -> str:
    """What the study expected, and whether it is so."""
    if not rows[0].expects:
        return ""
    return f" Expected {' and '.join(expectations(rows[0].claim))}: {_verdicts(rows)}."


def _effect(row: ClaimRow, medians: _Medians, why: dict[tuple[str, str], str]) -> ToldEffect:
    claim = row.claim
    subject, against = side_text(claim.subject), side_text(claim.reference)
    reasons = [why.get((page, str(claim.subject.get("variant"))), "") for page in row.pages]
    references = [cell for _, cell in medians.compared(row) if cell is not None]
    if row.comparison is None or row.judgement is None:
        missing = shortened(row.notes, MOST_TOLD, separator="; ")
        return ToldEffect.missing(subject, "" if against == PLAIN else against, missing)
    return ToldEffect(
        subject,
        row.comparison,
        row.judgement,
        medians.of(references, claim.metric),
        "" if against == PLAIN else against,
        metric=claim.metric,
        margin=medians.margin,
        floor=row.floor,
        same=row.idle,
        why=words.distinct(reasons, "; "),
    )


def _against(effect: ToldEffect) -> str:
    return f" against {effect.against}" if effect.against else ""


def _at(row: ClaimRow) -> str:
    """`at 20 ms RTT`, `on agency, 20 ms RTT`, `over 4 pages of @desktop, 20 ms RTT`."""
    compared = words.count(len(row.by_page) or len(row.pages), "page")  # of the others nothing is known
    where = SEVERAL_PAGES.sub(compared, row.where)
    over = "over" if SEVERAL_PAGES.match(row.where) else "at" if row.where[:1].isdigit() else "on"
    return f"{over} {where}"


ClaimEffects = Sequence[tuple[ClaimRow, ToldEffect]]


def _parts(effects: ClaimEffects) -> Iterator[str]:
    """What came out how, in how many settings."""
    short = [(row, replace(effect, against="")) for row, effect in effects]
    for kind in AnswerKind:
        mine = [(row, effect) for row, effect in short if effect.kind is kind]
        if not mine:
            continue
        if len(mine) <= MOST_TOLD and (kind in FOUND or len(mine) == 1):
            yield "; ".join(f"{effect.predicate.replace(': ', ', ')}, {_at(row)}" for row, effect in mine)
        else:
            yield f"{_of_many(kind, mine)} in {_settings(len(mine), len(effects))}{_ends(kind, mine)}"


def _settings(count: int, of: int) -> str:
    if count < of:
        return f"{count} of {of}"
    return "both settings" if of == MOST_TOLD else f"all {of} settings"


def _of_many(kind: AnswerKind, mine: ClaimEffects) -> str:
    if kind in FOUND:
        metric = mine[0][1].metric
        less = kind is AnswerKind.LESS
        if metrics.is_time(metric):
            return f"{'saves' if less else 'adds'} {_range(mine)}"
        return f"{_range(mine)} {'less' if less else 'more'}"
    margin = mine[0][1].margin
    return {
        AnswerKind.SMALL: UNNOTICED if margin == MARGIN else f"within the margin of {100 * margin:g} %",
        AnswerKind.CHANCE: "no more than equal conditions can differ",
        AnswerKind.SAME: "the page is its original",
        AnswerKind.OPEN: "not known yet",
        AnswerKind.NOTHING: words.distinct((row.instead_text for row, _ in mine), " or "),
    }[kind]


def _range(mine: ClaimEffects) -> str:
    """`10 to 40 %`; where time-outs leave one of them open, the least that all are: `at least 7 %`."""
    seen = [effect.comparison for _, effect in mine]
    sizes = sorted(size(comparison.ratio) for comparison in seen)
    if math.isfinite(sizes[-1]):
        digits = _digits(sizes[-1])
        ends = dict.fromkeys(words.number(end, digits) for end in (sizes[0], sizes[-1]))
        return f"{' to '.join(ends)} %"
    least = min(
        min(size(comparison.low), size(comparison.high))
        if is_open(comparison.ratio)
        else size(comparison.ratio)
        for comparison in seen
    )
    return _at_least(least) if math.isfinite(least) else "an unknown amount"


def _digits(percent: float) -> int:
    """A decimal below 10 %."""
    return 0 if percent >= 10 else 1


def _rounded_down(percent: float, digits: int) -> float:
    """What is off by the rounding of floats alone stays."""
    scale = float(10**digits)
    return math.floor(round(percent * scale, 6)) / scale


def _at_least(percent: float) -> str:
    digits = _digits(percent)
    return f"at least {words.number(_rounded_down(percent, digits), digits)} %"


def _ends(kind: AnswerKind, mine: ClaimEffects) -> str:
    """The least and the greatest effect by name, and what holds all intervals; where there are none the reasons."""
    if kind is AnswerKind.NOTHING:
        reasons = list(dict.fromkeys(effect.why for _, effect in mine if effect.why))
        return f" ({shortened(reasons, MOST_TOLD, separator='; ')})" if reasons else ""
    known = [end for _, effect in mine for end in _bounds(effect)]
    if kind in FOUND:
        ordered = sorted(mine, key=lambda each: abs(log_of(each[1].comparison.ratio)))
        least, most = (f"{_amount(effect)} {_at(row)}" for row, effect in (ordered[0], ordered[-1]))
        digits = _digits(size(ordered[-1][1].comparison.ratio))
        return f"{_inside(list(map(size, known)), digits)}: from {least} to {most}"
    if kind is not AnswerKind.OPEN or not known:
        return ""
    if any(map(is_open, known)):
        return f" (intervals: {bounds_text(min(known), max(known))})"
    return f" (intervals reach from {signed(min(known))} to {signed(max(known))} %)"


def _inside(ends: Sequence[float], digits: int) -> str:
    """Between which sizes all intervals lie, rounded outwards; where time-outs leave an end open, from which on. Empty
    where they are one size.
    """
    if not ends or math.isinf(min(ends)):
        return ""
    if math.isinf(max(ends)):
        return f" (all intervals {_at_least(min(ends))})"
    low, high = _rounded_down(min(ends), digits), -_rounded_down(-max(ends), digits)
    if low == high:
        return ""
    return f" (all intervals between {words.number(low, digits)} and {words.number(high, digits)} %)"


def _bounds(effect: ToldEffect) -> list[float]:
    return [end for end in (effect.comparison.low, effect.comparison.high) if not math.isnan(end)]


def _amount(effect: ToldEffect) -> str:
    """`0.05 s of 0.80 s`; without a median, and of what time-outs leave open, the per cent."""
    ratio = effect.comparison.ratio
    amount = abs(effect.reference * (1 - ratio))
    if is_open(ratio) or not math.isfinite(amount):
        return size_text(effect.comparison)
    joint = "of" if ratio < 1 else "on top of"
    return f"{value_text(amount, effect.metric)} {joint} {effect.base}"


def cautions(results: Results) -> list[str]:
    """What counts against the answers, the gravest first; what is only a fact about the run last."""
    return [
        *facts.timed_out(results),
        *_left_out(results),
        *facts.of_the_runs(results),
        *_few(results),
        *_server(results),
        *_equal(results),
    ]


def _left_out(results: Results) -> Iterator[str]:
    losses = results.left_out
    if not losses.lost:
        yield f"Nothing was left out: all {words.count(losses.attempts, 'attempt')} count."
        return
    share = losses.lost / losses.attempts
    why = ", ".join(f"{rule} {count}" for rule, count in results.sifted.by_rule().items() if count)
    were = "was" if losses.lost == 1 else "were"
    yield (
        f"{losses.lost:,} of {words.count(losses.attempts, 'attempt')} {were} left out ({why})."
        + (" So many are gone that the rest may be no fair sample." if share >= GRAVE else "")
    )
    if losses.differing:
        unlike = "; ".join(summary.unlike(loss) for loss in losses.differing)
        yield f"Some conditions lost more than others: {unlike}."
    if results.otherwise:
        yield (
            f"With nothing left out {len(results.otherwise)} of {words.count(len(results.claims), 'answer')} would "
            "come out otherwise."
        )


def _few(results: Results) -> Iterator[str]:
    least, most = results.trials
    empty = int((results.cells["n"] == 0).sum())
    if empty:
        has = "has" if empty == 1 else "have"
        yield f"{words.count(empty, 'condition')} of {len(results.cells)} {has} no trial that counts."
    if 0 < least < FEW:
        yield (
            f"Few trials: {words.between(least, most)} for each condition. What differs by little stays unknown, and "
            "another run may come out otherwise."
        )


def _server(results: Results) -> Iterator[str]:
    kept = results.sifted.kept
    slower = kept["server"].eq("apache") & kept["protocol"].eq(Protocol.H2)
    if results.kind is Kind.LOAD and slower.any() and len(results.protocols) > 1:
        yield APACHE


def _equal(results: Results) -> Iterator[str]:
    """How far two equal conditions lie apart."""
    reach = results.floors.floors.range
    if reach is not None:
        yield f"One condition measured twice, as if it were two, can differ by {signed(reach[1]).removeprefix('+')} %."
    elif results.kind is Kind.LOAD:
        yield "No condition was measured twice, so nobody knows how far two equal ones lie apart here."


MOST_CAUTIONS = 2


def to_markdown(results: Results) -> str:
    """Heading, a line per answer, the table, and what counts against it. Ends with a line break."""
    said = answers(results)
    lines = [f"### {_text(facts.title(results))}", ""]
    provisional = facts.progress(results)
    if provisional:
        lines += [f"**Provisional.** {_text(provisional)}", ""]
    lines += [f"- {_text(answer.text)}" for answer in said[:MOST_QUESTIONS]]
    if len(said) > MOST_QUESTIONS:
        lines.append(f"- {words.count(len(said) - MOST_QUESTIONS, 'further answer')} in the report")
    drawn = marks(results)
    if drawn is not None:
        lines += ["", *_table(results, drawn)]
    lines += ["", *(_text(caution) for caution in cautions(results)[:MOST_CAUTIONS])]
    return "\n".join(lines) + "\n"


def _table(results: Results, drawn: Marks) -> Iterator[str]:
    """A row per place of the figure, a column per mark: the median and its interval."""
    cells, rows = drawn.cells, drawn.rows
    names = list(map(str, cells[drawn.column].unique()))
    yield _line([results.metric_label, *(label_of(name, drawn.column) for name in names)])
    yield _line(["---", *("---:" for _ in names)], as_it_is=True)
    by_place = {(cell["row"], str(cell[drawn.column])): cell for cell in cells.to_dict("records")}
    for row in rows:
        row_cells = [by_place.get((row, name)) for name in names]
        yield _line([row, *("" if cell is None else _value(cell, results.metric) for cell in row_cells)])


def _value(cell: Mapping[Any, Any], metric: str) -> str:
    """`1.17 s (1.15 to 1.20 s)`; the median alone of one trial; `∞ (12 of 20 timed out)`."""
    if math.isnan(cell["median"]):
        return f"{words.INFINITE} ({late_text(cell)})"
    median, low, high = (value_text(float(cell[name]), metric) for name in ("median", "low", "high"))
    if math.isnan(cell["low"]):
        return median
    number, _, unit = low.rpartition(" ")
    return f"{median} ({number if number and high.endswith(f' {unit}') else low} to {high})"


def _line(cells: list[str], *, as_it_is: bool = False) -> str:
    return f"| {' | '.join(cells if as_it_is else map(_text, cells))} |"


def _text(text: str) -> str:
    """As it is read, also where a name after an `@` would call somebody of that name."""
    return re.sub(r"@(?=\w)", "@\u200b", escape_markdown(text))

"""What is known of a comparison in words: its verdict, how much, in per cent, how sure.

`ToldEffect` is for somebody who knows the web and no statistics: `core saves 1.17 s of 3.78 s (31 %, between 29 and
33).` An amount is the ratio times the median of the reference, so that amount and per cent always agree; the difference
of two medians, which come from different blocks, need not. All bounds are those of `told` in `compare.py`: what was
picked out because it looks large has the wider interval that is due to it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from analysis.labels import metrics, words
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.compare import (
    FIGURES,
    MARGIN,
    MOST_TRIALS_FORETOLD,
    NOTHING,
    UNTOLD,
    Comparison,
    Judgement,
    Verdict,
    log_of,
    told_alone,
)
from analysis.statistics.estimate import is_open, size
from harness.model.kind import MAIN_METRIC
from harness.model.metric import Unit
from harness.study.metrics import metric_named

UNKNOWN_AMOUNT = "an unknown amount"
NO_END = f"{UNKNOWN_AMOUNT}: loads timed out"
NO_BOUNDS = "no bounds: loads timed out"
NO_RATIO = "a page or a run has no finite ratio: loads timed out"
ALONE = " by itself, but the correction for many comparisons leaves the direction open"
UNNOTICED = "too little to notice"
MANY = 10  # of a count: no decimals from here on


class AnswerKind(StrEnum):
    """What kind of answer a comparison gives. `CHANCE`: equal conditions can differ as much."""

    LESS = "less"
    MORE = "more"
    SMALL = "small"
    CHANCE = "chance"
    SAME = "the same archive"
    OPEN = "not known yet"
    NOTHING = "no data"


@dataclass(frozen=True)
class ToldEffect:
    """A comparison that can be told: its subject by name, set against the reference.

    `reference`: the median of the reference in the unit of the metric, NaN where it is not known; `against`: its name,
    empty where it goes without saying. `margin`: the difference that is declared not to matter; the usual one is too
    little to notice. `floor`: how large a ratio equal conditions can show. `same`: both sides were served the very same
    archive; `why`: the reason of that, or why there is no ratio, where it is known.
    """

    subject: str
    comparison: Comparison
    judgement: Judgement
    reference: float = math.nan
    against: str = ""
    metric: str = MAIN_METRIC
    margin: float = MARGIN
    floor: float | None = None
    same: bool = False
    why: str = ""

    @classmethod
    def missing(cls, subject: str, against: str = "", why: str = "") -> ToldEffect:
        """Of what has no ratio."""
        return cls(subject, NOTHING, UNTOLD, against=against, why=why)

    @property
    def kind(self) -> AnswerKind:
        seen, judgement = self.comparison, self.judgement
        if self.same:
            return AnswerKind.SAME
        if seen.n == 0:
            return AnswerKind.NOTHING
        if judgement.verdict is Verdict.UNKNOWN:
            return AnswerKind.OPEN
        if judgement.small or judgement.verdict is Verdict.WITHIN:
            return AnswerKind.SMALL
        if seen.below(self.floor):
            return AnswerKind.CHANCE
        return AnswerKind.LESS if judgement.verdict is Verdict.FASTER else AnswerKind.MORE

    @property
    def sentence(self) -> str:
        return f"{self.subject}{':' * (self.kind is AnswerKind.OPEN)} {self.predicate}."

    @property
    def predicate(self) -> str:
        """The sentence without its subject and its full stop."""
        return {
            AnswerKind.SAME: f"changed nothing: {self.why or 'the page is its original'}",
            AnswerKind.NOTHING: f"could not be compared: {self.why or 'no block holds a value of both'}",
            AnswerKind.OPEN: f"not known yet, {self._open}",
            AnswerKind.SMALL: self._small,
            AnswerKind.CHANCE: f"{self.change}: no finding, equal conditions can differ as much",
        }.get(self.kind) or self.change

    @property
    def change(self) -> str:
        """`saves 1.17 s of 3.78 s (31 %, between 29 and 33)`, for a direction that is known."""
        less, amount = self.comparison.ratio < 1, self._amount
        if metrics.is_time(self.metric):
            verb = f"saves {amount} of" if less else f"takes {amount} more than"
        else:
            verb = f"{_verb(self.metric)} {amount} {'less' if less else 'more'} than"
        return f"{verb} {self.base} ({size_text(self.comparison)})"

    @property
    def _amount(self) -> str:
        """`1.17 s`; where time-outs leave it open `at least 0.05 s`, the end of the interval that is known."""
        seen = self.comparison
        least = is_open(seen.ratio)
        known = min((seen.low, seen.high), key=size) if least else seen.ratio
        amount = abs(self.reference * (1 - known))
        if is_open(known) or not math.isfinite(amount):
            return UNKNOWN_AMOUNT
        return f"{'at least ' * least}{value_text(amount, self.metric)}"

    @property
    def base(self) -> str:
        """`3.78 s`, `the 3.78 s with HTTP/1.1`."""
        if not math.isfinite(self.reference):
            return self.against or "its reference"
        value = value_text(self.reference, self.metric)
        return f"the {value} with {self.against}" if self.against else value

    @property
    def _small(self) -> str:
        seen = self.comparison
        small = UNNOTICED if self.margin == MARGIN else f"within the margin of {100 * self.margin:g} %"
        if self.judgement.verdict is not Verdict.WITHIN:
            return f"{self.change}: {small}"
        return f"changes {self.base} by {signed(seen.low)} to {signed(seen.high)} %: {small}"

    @property
    def _open(self) -> str:
        """Between which bounds it lies, and what would tell."""
        seen, trials = self.comparison, self.judgement.trials
        if math.isnan(seen.low):
            return no_interval_text(seen)
        ends = bounds_text(seen.low, seen.high)
        if math.isfinite(self.reference) and not (is_open(seen.low) or is_open(seen.high)):
            low, high = (self._relative(ratio) for ratio in (seen.low, seen.high))
            ends = f"between {low} and {high} than {self.base} ({signed(seen.low)} to {signed(seen.high)} %)"
        ends += ALONE * told_alone(seen.low, seen.high, seen.p)
        if trials is not None:
            return f"{ends}; {trials_text(trials)} would tell"
        return f"{ends}; {further_text(seen)}" if seen.levels else ends

    def _relative(self, ratio: float) -> str:
        """`0.10 s less`."""
        amount = value_text(abs(self.reference * (1 - ratio)), self.metric)
        return f"{amount} {'less' if ratio < 1 else 'more'}"


def _verb(metric: str) -> str:
    """`gives` of a rate, `has` of a count, `takes` of what is used up."""
    known = metric_named(metric)
    unit = known.unit if known else Unit.SCORE
    return "gives" if unit is Unit.PER_S else "has" if unit in (Unit.COUNT, Unit.SCORE) else "takes"


def size_text(seen: Comparison) -> str:
    """`31 %, between 29 and 33`, `at least 7 %`: without a sign, of a change whose direction is known."""
    centre = size(seen.ratio)
    low, high = sorted(map(size, (seen.low, seen.high)))
    digits = 0 if centre >= 10 else 1
    if math.isinf(centre) or math.isinf(high):
        return f"at least {words.number(low, digits)} %" if math.isfinite(low) else "how much is not known"
    ends = list(dict.fromkeys(words.number(end, digits) for end in (low, high)))
    text = f"{words.number(centre, digits)} %"
    return f"{text}, between {ends[0]} and {ends[1]}" if len(ends) == 2 else text


def value_text(value: float, metric: str) -> str:
    """`1.17 s`, `0.06 s`, `8 ms`, `182 kB`, `4.2 MB`, `1,240 requests/s`, `26`; of layout shifts `0.020`."""
    known = metric_named(metric)
    unit = known.unit if known else Unit.SCORE
    if not math.isfinite(value):
        return words.number(value)
    if unit in (Unit.MS, Unit.S):
        return seconds_text(value / 1e3 if unit is Unit.MS else value)
    if unit is Unit.BYTES:
        return f"{value / 1e6:,.1f} MB" if value >= 999_500 else f"{words.kilobytes(value)} kB"
    whole = round(value, 6) % 1 == 0  # a ratio times 24 is 3 but for rounding
    whole |= unit is Unit.COUNT and value >= MANY
    digits = 0 if whole else metrics.digits(value, unit)
    return f"{words.number(value, digits)} {metrics.short_unit(metric)}".rstrip()


def seconds_text(seconds: float) -> str:
    """`1.17 s`, `0.06 s`; below a hundredth of a second `8 ms`, from ten seconds on `12.4 s`."""
    if seconds < 0.0095:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:,.1f} s"


def verdict_text(row: Mapping[Any, Any], margin: float, metric: str = MAIN_METRIC) -> str:
    """What is known of a comparison: a row with the fields of `Comparison` and `Judgement`.

    A column of verdicts holds their values (pandas makes them plain text).
    """
    verdict, within = row["verdict"], f"{margin * 100:g} %"
    if verdict == Verdict.WITHIN:
        return f"within {within} of each other"
    if verdict == Verdict.UNKNOWN:
        return unknown_text(row)
    direction = direction_text(Verdict(verdict), metric)
    if row["small"]:
        return f"{direction} by less than {within}"
    low, high = row["low"], row["high"]
    # Wider than the interval of the verdict: the size was picked out once more.
    if low <= 1 <= high and not (is_open(low) and is_open(high)):
        return f"{direction}, by {UNKNOWN_AMOUNT}"
    return f"{direction}, by {change_text(low, high)}"


def direction_text(verdict: Verdict, metric: str = MAIN_METRIC) -> str:
    """`faster` of what somebody waits for, `lower` of a rate, `less` of anything else."""
    words_of = metrics.direction(metric)
    return {Verdict.FASTER: words_of.below, Verdict.SLOWER: words_of.above}.get(verdict, str(verdict))


def unknown_text(row: Mapping[Any, Any]) -> str:
    """What is not known yet, and what would tell."""
    if row["n"] == 0:
        return "not known: no block holds a value above 0 of both"
    seen = Comparison(**{name: row[name] for name in FIGURES})
    if math.isnan(seen.low):
        return f"not known yet: {no_interval_text(seen)}"
    ends = bounds_text(seen.low, seen.high)
    text = f"not known yet: {ends}{ALONE if told_alone(seen.low, seen.high, seen.p) else ''}"
    trials = row["trials"]
    if words.is_number(trials):
        return f"{text} (a run with {trials_text(trials)} would tell)"
    return f"{text} ({further_text(seen)})" if seen.levels else text


def no_interval_text(seen: Comparison) -> str:
    """Why there is none, of a comparison that has a pair."""
    if seen.n < LEAST_PAIRS:
        return f"{words.count(seen.n, 'block')} of at least {LEAST_PAIRS}"
    if not math.isfinite(log_of(seen.ratio)):
        return NO_RATIO
    return f"a page or a run has fewer than {LEAST_PAIRS} blocks"


def further_text(seen: Comparison) -> str:
    """`further pages would tell`."""
    return f"further {words.listed(list(seen.levels))} would tell"


def trials_text(trials: float) -> str:
    """`about 25 trials`."""
    return f"{'over' if trials >= MOST_TRIALS_FORETOLD else 'about'} {int(trials):,} trials"


def change_text(low: float, high: float) -> str:
    """The size of a change that both bounds agree on: `1.2 to 3.4 %`; of time-outs what is known of it."""
    ends = sorted(map(size, (low, high)))
    if math.isinf(ends[1]):
        return f"at least {words.number(ends[0], _decimals(ends[0]))} %" if math.isfinite(ends[0]) else NO_END
    texts = [words.number(end, _decimals(ends[1])) for end in ends]
    return f"{texts[0]} %" if texts[0] == texts[1] else f"{texts[0]} to {texts[1]} %"


def bounds_text(low: float, high: float) -> str:
    """`between -2 and +4 %`; with an end that time-outs leave open `at least -2 %`, `at most +4 %`."""
    if is_open(low) and is_open(high):
        return NO_BOUNDS
    if is_open(high):
        return f"at least {signed(low)} %"
    return f"at most {signed(high)} %" if is_open(low) else f"between {signed(low)} and {signed(high)} %"


def signed(ratio: float) -> str:
    """A ratio as a change in per cent with its sign."""
    percent = 100 * (ratio - 1)
    if math.isinf(percent):
        return words.INFINITE
    text = words.number(percent, _decimals(abs(percent)))
    return f"+{text}" if percent > 0 else text


def _decimals(percent: float) -> int:
    """A decimal below 10 %, two below 0.1 %."""
    return 0 if percent >= 10 else 1 if percent >= 0.1 else 2

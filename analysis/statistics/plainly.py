"""What is known of a comparison, for somebody who knows the web and no statistics: how much, in per cent, how sure.

`core saves 1.17 s of 3.78 s (31 %, between 29 and 33).` An amount is the ratio times the median of the reference, so
that amount and per cent always agree; the difference of two medians, which come from different blocks, need not. All
bounds are those of `told` in `compare.py`: what was picked out because it looks large has the wider interval that is
due to it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from analysis.labels import metrics, words
from analysis.statistics.compare import (
    ALONE,
    MARGIN,
    NOTHING,
    UNTOLD,
    Comparison,
    Judgement,
    Verdict,
    further_text,
    no_interval_text,
    signed,
    told_alone,
    trials_text,
)
from harness.model.kind import MAIN_METRIC
from harness.model.metric import Unit
from harness.study.metrics import metric_named

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
    archive; `why`: the reason, where that is known.
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
    def missing(cls, subject: str, against: str = "") -> ToldEffect:
        """Of what has no data."""
        return cls(subject, NOTHING, UNTOLD, against=against)

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
            AnswerKind.NOTHING: "could not be compared: no block holds a value of both",
            AnswerKind.OPEN: f"not known yet, {self._open}",
            AnswerKind.SMALL: self._small,
            AnswerKind.CHANCE: f"{self.change}: no finding, equal conditions can differ as much",
        }.get(self.kind) or self.change

    @property
    def change(self) -> str:
        """`saves 1.17 s of 3.78 s (31 %, between 29 and 33)`, for a direction that is known."""
        less = self.comparison.ratio < 1
        size = abs(self.reference * (1 - self.comparison.ratio))
        amount = value_text(size, self.metric) if math.isfinite(size) else "an unknown amount"
        if metrics.is_time(self.metric):
            verb = f"saves {amount} of" if less else f"takes {amount} more than"
        else:
            verb = f"{_verb(self.metric)} {amount} {'less' if less else 'more'} than"
        return f"{verb} {self.base} ({size_text(self.comparison)})"

    @property
    def base(self) -> str:
        """`3.78 s`, `the 3.78 s with HTTP/1.1`."""
        if math.isnan(self.reference):
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
        ends = f"between {signed(seen.low)} and {signed(seen.high)} %"
        if math.isfinite(self.reference) and math.isfinite(seen.high):
            low, high = (self._relative(ratio) for ratio in (seen.low, seen.high))
            ends = f"between {low} and {high} than {self.base} ({signed(seen.low)} to {signed(seen.high)} %)"
        ends += ALONE * told_alone(seen.low, seen.high, seen.p)
        if trials is not None:
            return f"{ends}; {trials_text(trials)} would tell"
        return f"{ends}; {further_text(seen)}" if seen.levels else ends

    def _relative(self, ratio: float) -> str:
        """`0.10 s less`."""
        size = value_text(abs(self.reference * (1 - ratio)), self.metric)
        return f"{size} {'less' if ratio < 1 else 'more'}"


def _verb(metric: str) -> str:
    """`gives` of a rate, `has` of a count, `takes` of what is used up."""
    known = metric_named(metric)
    unit = known.unit if known else Unit.SCORE
    return "gives" if unit is Unit.PER_S else "has" if unit in (Unit.COUNT, Unit.SCORE) else "takes"


def size_text(seen: Comparison) -> str:
    """`31 %, between 29 and 33`: without a sign, of a change whose direction is known."""
    centre = abs(100 * (seen.ratio - 1))
    low, high = sorted(abs(100 * (bound - 1)) for bound in (seen.low, seen.high))
    digits = 0 if centre >= 10 else 1
    if math.isinf(centre) or math.isinf(high):
        return f"at least {words.number(low, digits)} %" if math.isfinite(low) else "how much is not known"
    ends = list(dict.fromkeys(words.number(end, digits) for end in (low, high)))
    size = f"{words.number(centre, digits)} %"
    return f"{size}, between {ends[0]} and {ends[1]}" if len(ends) == 2 else size


def value_text(value: float, metric: str) -> str:
    """`1.17 s`, `0.06 s`, `8 ms`, `182 kB`, `4.2 MB`, `1,240 requests/s`, `26`."""
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
    digits = 0 if whole else words.decimals(value)
    return f"{words.number(value, digits)} {metrics.short_unit(metric)}".rstrip()


def seconds_text(seconds: float) -> str:
    """`1.17 s`, `0.06 s`; below a hundredth of a second `8 ms`, from ten seconds on `12.4 s`."""
    if seconds < 0.0095:
        return f"{1e3 * seconds:.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:,.1f} s"

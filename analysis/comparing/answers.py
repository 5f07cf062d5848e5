"""What B is in units of A, in the same words for two runs of a study and for two releases within one run. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from analysis.comparing.between import Bounded, Change, outcome_of
from analysis.labels import metrics, words
from analysis.statistics.compare import Certainty, Comparison, Judgement, Verdict
from analysis.statistics.estimate import is_open
from analysis.statistics.plainly import (
    AnswerKind,
    ToldEffect,
    bounds_text,
    direction_text,
    signed,
    value_text,
)
from harness.input.shown import shortened
from harness.model.condition import dimensions_by, value
from harness.model.kind import FELT, Kind, main_metric

# Of what is asked most, the shortest word; others have their label.
LABELS: Mapping[str, str] = {"plt_ms": "Load", "bytes_down": "Bytes"}
NAMED = 3  # sentences that a verdict names
LOST = "no data in B"
OUTCOMES = {Bounded.WITHIN: 0, Bounded.ABOVE: 1, Bounded.UNKNOWN: 4}  # exit codes of --fail-on


@dataclass(frozen=True)
class Place:
    """What was compared at one place (a page, a link), metric by metric; `text` is empty of the only one."""

    text: str
    changes: tuple[Change, ...]


@dataclass(frozen=True)
class Answered:
    """`names` of A, the reference, and of B. `margin`: the difference that is declared not to matter, as a share.

    `lacking`: metrics of which A has no value, so that there is nothing to compare with; `unseen`: those of which B has
    none, as it was run without vitals. `missing`: conditions of A that B has not. `certainty`: how sure intervals are
    of what was not picked out. `alike`: no file of B differs from that of A, so that what loads do not tell is within
    every bound.
    """

    kind: Kind
    names: tuple[str, str]
    margin: float
    places: tuple[Place, ...]
    lacking: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    certainty: Certainty = field(default_factory=Certainty)
    alike: bool = False

    @property
    def interval(self) -> str:
        """Of which level intervals are, in words."""
        return self.certainty.interval

    @property
    def has_wider(self) -> bool:
        """Whether some intervals are wider than that, as what they are of was picked out."""
        seen = [change.comparison for change in self.changes if change.comparison.n]
        return any(comparison.confidence > self.certainty.confidence for comparison in seen)

    @property
    def changes(self) -> tuple[Change, ...]:
        return tuple(change for place in self.places for change in place.changes)

    @property
    def floor(self) -> float | None:
        """How large a difference equal conditions can show at most in the main metric, as a ratio of at least 1."""
        main = self.changes[0].metric if len(self.metrics) == 1 else main_metric(self.kind)
        floors = [
            change.floor for change in self.changes if change.metric == main and change.floor is not None
        ]
        return max(floors, default=None)

    @property
    def metrics(self) -> tuple[str, ...]:
        """What is compared, in the order of the sentences."""
        return tuple(dict.fromkeys(change.metric for change in self.changes))

    @property
    def left_out_texts(self) -> list[str]:
        """Which metrics are not compared and why, as `Not observed in A, so not compared: blocked time.` says it."""
        reasons = {"in A": self.lacking, "in B, which was run without vitals": self.unseen}
        return [
            f"Not observed {why}, so not compared: {words.listed([label(metric).lower() for metric in names])}."
            for why, names in reasons.items()
            if names
        ]

    def outcome(self, limit: float) -> Bounded:
        """All of it against a bound in per cent; what B has not is not known to be within."""
        outcome = outcome_of(self.changes, limit)
        if self.alike and outcome is Bounded.UNKNOWN:
            return Bounded.WITHIN
        return Bounded.UNKNOWN if outcome is Bounded.WITHIN and self.missing else outcome

    def head(self, change: Change) -> str:
        """Which metric, and where there are several places which."""
        place = next(candidate.text for candidate in self.places if change in candidate.changes)
        return f"{place}: {label(change.metric).lower()}" if place else label(change.metric).lower()

    def bound_text(self, limit: float) -> str:
        """What a bound in per cent comes to, with the exit code: the last line of a command."""
        outcome, changes = self.outcome(limit), self.changes
        matches = [change for change in changes if change.against(limit) is outcome]
        head = f"--fail-on {limit:g} %: {outcome}, exit code {OUTCOMES[outcome]}"
        if self.alike and outcome is Bounded.WITHIN:
            return f"{head}: no file differs, and no difference is known to be above it"
        if not changes:
            return f"{head}: A has no value of any metric"
        if outcome is Bounded.WITHIN:
            are = words.count(len(matches), "difference is", "differences are")
            return f"{head}: {are} {_within_text(matches, limit)}"
        named = shortened(
            [f"{self.head(change)}, {against_text(change, limit)} ({ends(change)})" for change in matches],
            NAMED,
            separator="; ",
            noun="difference",
        )
        texts = [f"{len(matches)} of {len(changes)}: {named}"] if matches else []
        if self.missing and outcome is Bounded.UNKNOWN:
            conditions = words.count(len(self.missing), "condition")
            named = shortened(self.missing, NAMED, separator="; ", noun="condition")
            texts.append(f"{conditions} of A not measured in B: {named}")
        return ": ".join([head, "; ".join(texts)])


def felt(kind: Kind) -> Sequence[str]:
    """The metrics that are compared unless others are named: of loads what a visitor feels."""
    return FELT if kind is Kind.LOAD else (main_metric(kind),)


def label(metric: str) -> str:
    """`First paint`, `Load`, `Blocked time`."""
    return LABELS.get(metric) or metrics.subject(metric)


def sentence(change: Change, margin: float) -> str:
    """What is known of B against A: how much in the metric's own unit, in per cent, how sure."""
    seen = change.comparison
    if seen.n == 0:
        return _without_ratio(change)
    if seen.low == seen.high == 1 and all(map(math.isfinite, change.medians)):
        return f"the same, {value_text(change.medians[0], change.metric)} in both"
    told = ToldEffect(
        subject="B",
        comparison=seen,
        judgement=change.judgement,
        reference=change.medians[0],
        against="A",
        metric=change.metric,
        margin=margin,
        floor=change.floor,
    )
    if told.kind is AnswerKind.OPEN:
        return told.predicate
    return f"B {told.predicate}{_relative_text(change)}"


def verdict_text(change: Change) -> str:
    """In which direction it changed, in the metric's own word; of what B has no values of any more `no data in B`."""
    return LOST if change.lost else direction_text(change.verdict, change.metric)


def against_text(change: Change, limit: float) -> str:
    """A difference against a bound in per cent, in words."""
    outcome, bound = change.against(limit), f"{limit:g} %"
    if change.lost:
        return LOST
    if change.unmeasured:
        return "not known" if change.n[1] else "not measured in B"
    if change.only_always_within(limit):
        return f"{outcome} {_always_text(change)}"
    if outcome is not Bounded.UNKNOWN:
        return f"{outcome} {bound}"
    seen = change.difference or change.comparison
    if math.isnan(seen.low) or (seen.low <= 0 and math.isinf(seen.high)):
        return f"not known to be within {bound}"
    return f"above {bound}, but no finding" if change.beyond(limit) else f"above {bound} in part"


def bound_note(change: Change, limit: float | None) -> str:
    """Behind a sentence: that it is not within the bound."""
    if limit is None or change.against(limit) is Bounded.WITHIN:
        return ""
    return f" [{against_text(change, limit)}]"


def _within_text(changes: Sequence[Change], limit: float) -> str:
    """`at most 3 % worse`; with what passes by its amount alone also `, or up to 50 ms of blocked time`."""
    spared = dict.fromkeys(_always_text(change) for change in changes if change.only_always_within(limit))
    return ", or ".join([f"at most {limit:g} % worse", *(f"up to {text}" for text in spared)])


def _always_text(change: Change) -> str:
    """What is within every bound: `50 ms of blocked time`."""
    return f"{words.duration(change.always_within)} of {label(change.metric).lower()}"


class JudgedJson(TypedDict):
    """A comparison, in what `--json` prints."""

    ratio: float | None
    """B in units of A"""
    low: float | None
    """lower end of its interval"""
    high: float | None
    """upper end of its interval"""
    method: str
    """how the interval was found"""
    q: float
    """corrected p-value of the direction"""
    q_size: float
    """corrected p-value of the size"""
    small: bool
    """whether the difference is below the margin"""
    verdict: str
    """`faster`, `slower`; rates `lower`, `higher`; else `less`, `more`; `within the margin`; `no data in B`;
    `not known yet`"""


class RelativeJson(JudgedJson):
    """A comparison in units of that of the baseline."""

    baseline: Mapping[str, Any]
    """dimensions of the baseline"""


class ChangeJson(JudgedJson):
    """What became of a metric under a condition."""

    place: str
    """condition in words"""
    condition: Mapping[str, Any]
    """dimensions of the condition"""
    metric: str
    """key of the metric"""
    n: list[int]
    """trials of A and of B"""
    medians: list[float | None]
    """medians of A and of B"""
    difference: Mapping[str, float | None] | None
    """`value`, `low` and `high` of B less A in the metric's unit where a value of 0 has no ratio; null for others"""
    floor: float | None
    """largest difference that equal conditions can show, as a ratio of at least 1"""
    relative: RelativeJson | None
    """the same in units of the baseline; null for the baseline, and of `versus`"""
    sentence: str
    """what is known, in words"""
    outcome: str | None
    """what `--fail-on` makes of it: `within`, `above`, `not known`; null without"""


class AnswersJson(TypedDict):
    """What `coldload compare --json` and `coldload versus --json` have in common."""

    metrics: list[str]
    """metrics that were compared"""
    margin: float
    """difference that is declared not to matter, as a share"""
    floor: float | None
    """largest difference that equal conditions can show in the main metric, as a ratio of at least 1"""
    conditions: list[ChangeJson]
    """one for each condition and metric"""
    fail_on: float | None
    """limit in per cent; null without `--fail-on`"""
    outcome: str | None
    """what the limit comes to: `within` (exit code 0), `above` (1), `not known` (4); null without"""


def change_json(change: Change, answers: Answered, place: str, limit: float | None) -> ChangeJson:
    """The keys are those of docs/reference/files.md."""
    difference = change.difference
    return {
        "place": place,
        "condition": dimensions_json(change.condition, answers.kind),
        "metric": change.metric,
        "n": list(change.n),
        "medians": [known(median) for median in change.medians],
        **_judged(change.comparison, change.judgement, verdict_text(change)),
        "difference": None
        if difference is None
        else {name: known(end) for name, end in vars(difference).items()},
        "floor": change.floor,
        "relative": _relative(change, answers.kind),
        "sentence": sentence(change, answers.margin),
        "outcome": None if limit is None else change.against(limit),
    }


def _relative(change: Change, kind: Kind) -> RelativeJson | None:
    relative = change.relative
    if relative is None:
        return None
    return {
        "baseline": dimensions_json(relative.baseline, kind),
        **_judged(
            relative.comparison,
            relative.judgement,
            direction_text(relative.judgement.verdict, change.metric),
        ),
    }


def answers_json(answers: Answered, limit: float | None) -> AnswersJson:
    """Every difference, and what --fail-on makes of it."""
    return {
        "metrics": list(answers.metrics),
        "margin": answers.margin,
        "floor": answers.floor,
        "conditions": [
            change_json(change, answers, place.text, limit)
            for place in answers.places
            for change in place.changes
        ],
        "fail_on": limit,
        "outcome": None if limit is None else answers.outcome(limit),
    }


def dimensions_json(condition: Mapping[str, Any], kind: Kind) -> dict[str, Any]:
    """A condition by its dimensions."""
    return {name: value(condition, name) for name in dimensions_by(kind)}


def known(found: Any) -> Any:
    """A value as JSON has it: what is not known is null."""
    return None if isinstance(found, float) and not math.isfinite(found) else found


def lines(places: Iterable[Place], margin: float, limit: float | None) -> Iterable[tuple[str, str]]:
    """Of each place its text as a heading (beside an empty text), then each metric with its sentence."""
    for place in places:
        if place.text:
            yield place.text, ""
        for change in place.changes:
            told = sentence(change, margin)
            yield label(change.metric), f"{told}{bound_note(change, limit)}"


def _judged(comparison: Comparison, judgement: Judgement, verdict: str) -> JudgedJson:
    return {
        "ratio": known(comparison.ratio),
        "low": known(comparison.low),
        "high": known(comparison.high),
        "method": comparison.method,
        "q": known(judgement.q),
        "q_size": known(judgement.q_size),
        "small": judgement.small,
        "verdict": verdict,
    }


def _relative_text(change: Change) -> str:
    """Whether it also changed against the baseline of its setting, of which a slower machine is no cause."""
    if change.relative is None or change.judgement.verdict not in (Verdict.SLOWER, Verdict.FASTER):
        return ""
    verdict = change.relative.judgement.verdict
    if verdict is change.judgement.verdict:
        return ", also against its baseline"
    return (
        ", not known against its baseline" if verdict is Verdict.UNKNOWN else ", but not against its baseline"
    )


def ends(change: Change) -> str:
    """Between what a difference lies: per cent, or the metric's unit where there is no ratio; or why nobody knows."""
    if change.unmeasured:
        return change.unmeasured
    seen, absolute = change.comparison, change.difference
    if absolute is not None and not math.isnan(absolute.low):
        texts = [_signed_amount(change.metric, end) for end in (absolute.low, absolute.high)]
        return f"between {texts[0]} and {texts[1]}"
    if math.isnan(seen.low):
        return words.count(min(change.n), "trial")
    low, high = signed(seen.low), signed(seen.high)
    one = low == high and not is_open(seen.low)
    return f"{high} %" if one else bounds_text(seen.low, seen.high)


def _without_ratio(change: Change) -> str:
    """Of values among which there is a 0 how much B is above A; or why nothing is known."""
    seen, (before, after) = (
        change.difference,
        (value_text(median, change.metric) for median in change.medians),
    )
    if change.unmeasured:
        return f"not known: {'' if change.n[1] else 'no value in B, '}{change.unmeasured}"
    if seen is None:
        without = [letter for letter, n in zip("AB", change.n, strict=True) if n == 0]
        return (
            f"not known: no value in {' and '.join(without)}" if without else "not known: no block holds both"
        )
    if math.isnan(seen.low):
        return f"not known yet: {before} in A, {after} in B, of too few trials"
    if seen.low == seen.high == 0:
        return f"the same, {before} in both"
    return f"{before} in A, {after} in B ({ends(change)} on average)"


def _signed_amount(metric: str, value: float) -> str:
    sign = "+" if value > 0 else words.MINUS if value < 0 else ""
    return f"{sign}{value_text(abs(value), metric)}"

"""Two runs of a study against each other, condition by condition: run B in units of run A, the reference. Pure.

Blocks of two runs have nothing in common, so nothing pairs: the logarithms of the times, one value per block, are two
independent samples (Welch 1947). A second figure sets the distance of a condition to the baseline of its setting, a log
ratio inside the blocks of each run, against the same distance in the other run (a difference of differences). What
changes all loads of a run alike, as a slower machine or a drift does, cancels out of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Never

import numpy as np

from analysis.claims.claimresult import absence
from analysis.comparing.matching import ConditionKey, ConditionRow, Matched, Side, key
from analysis.labels import metrics
from analysis.runs.exclude import left_out_text
from analysis.statistics import LEAST_PAIRS
from analysis.statistics.compare import (
    ALPHA,
    NOTHING,
    Blocks,
    Certainty,
    Comparison,
    JudgedComparison,
    Judgement,
    Verdict,
    described,
    level_of_choice,
    told,
)
from analysis.statistics.contrast import Sample, Statistic, mean_of, welch
from analysis.statistics.floor import Floors, floors
from harness.errors import RecordsError
from harness.study.defaultclaims import Compared, baseline_among

SETTING = (
    *("page", "link", "rtt_ms", "down_mbps", "up_mbps", "engine", "driver", "device"),
    *("cpu_slowdown", "cache"),
    *("users", "connections", "depth"),
)


Levels = Mapping[str, Sample]  # by machine or lane
# A difference up to this is within every bound: blocked time is what tasks take beyond 50 ms, so a few ms are chance.
ALWAYS_WITHIN: Mapping[str, float] = {"tbt_ms": 50.0}
# What vitals alone tell; a first paint after the load event is one of them.
OF_VITALS = frozenset({"fcp_ms", "lcp_ms", "cls", "tbt_ms"})
WITHOUT_VITALS = "it was run without vitals"


class Bounded(StrEnum):
    """A difference against a bound of so many per cent: its whole interval lies within it, or above it, or neither."""

    WITHIN = "within"
    ABOVE = "above"
    UNKNOWN = "not known"


@dataclass(frozen=True)
class Relative:
    """A change in units of the change of the setting's baseline."""

    baseline: ConditionRow
    comparison: Comparison
    judgement: Judgement


@dataclass(frozen=True)
class Distance:
    """B less A in the metric's unit, with its interval: what is known where a value of 0 has no ratio."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, statistic: Statistic, confidence: float) -> Distance:
        return cls(statistic.centre, *statistic.interval(confidence))


@dataclass(frozen=True)
class Change:
    """A metric of a condition that A and B both hold: B in units of A. `n` and `medians` are of A and of B.

    `relative` is None for the baseline itself, and where there is none. `floor`: how large a difference equal
    conditions of the setting can show, as a ratio of at least 1; None where none was measured twice. `difference`: of
    values among which there is a 0; None of all others. `unmeasured`: why nothing is known of it, as
    `6 of 6 attempts left out: busy-machine` of B, or an event that did not happen in some trials; empty where it is.
    """

    condition: ConditionRow
    metric: str
    n: tuple[int, int]
    medians: tuple[float, float]
    comparison: Comparison
    judgement: Judgement
    relative: Relative | None = None
    floor: float | None = None
    difference: Distance | None = None
    unmeasured: str = ""

    @property
    def lost(self) -> bool:
        """Whether A has values and B, which had a chance to show some, has none any more."""
        return bool(self.n[0]) and not self.n[1] and not self.unmeasured

    @property
    def below_floor(self) -> bool:
        """Whether equal conditions show as much."""
        return self.comparison.below(self.floor)

    @property
    def verdict(self) -> Verdict:
        """That of the ratio; where a value of 0 has no ratio, that of the difference."""
        if self.difference is None:
            return self.judgement.verdict
        if self.difference.low == self.difference.high == 0:
            return Verdict.WITHIN
        if self.judgement.q >= ALPHA:
            return Verdict.UNKNOWN
        return Verdict.SLOWER if self.difference.value > 0 else Verdict.FASTER

    @property
    def changed(self) -> bool:
        """Whether it has a direction that pays for all others, or B has no values any more."""
        return self.lost or self.verdict in (Verdict.SLOWER, Verdict.FASTER)

    @property
    def is_finding(self) -> bool:
        """Whether its direction is known and it is larger than what equal conditions show. There is no floor of
        differences, as equal conditions tell ratios.
        """
        return self.verdict in (Verdict.SLOWER, Verdict.FASTER) and not self.below_floor

    @property
    def worse(self) -> int:
        """Where B is worse than A: 1 above it, -1 below it, as of a rate."""
        return -1 if metrics.more_is_better(self.metric) else 1

    @property
    def always_within(self) -> float:
        """The difference in the metric's unit that is within every bound."""
        return ALWAYS_WITHIN.get(self.metric, 0.0)

    def bound(self, percent: float) -> float:
        """The ratio beyond which B is worse than A by more than so many per cent and by more than is always within."""
        return self._bound(percent, self.always_within)

    def beyond(self, percent: float) -> bool | None:
        """Whether the whole interval has B worse than A (slower, more, a lower rate) by more than so many per cent, or
        the whole interval has not; None where it lies on both sides, and where there is none.
        """
        return self._beyond(percent, self.always_within)

    def only_always_within(self, percent: float) -> bool:
        """Whether it is within the bound, and by its per cent alone would not be."""
        return self.beyond(percent) is False and self._beyond(percent, 0.0) is not False

    def against(self, percent: float) -> Bounded:
        """Whether B is worse than A by more than so many per cent.

        Above needs a finding, which pays for all others, and within an interval: that all of several are within is
        wrong only if one of them is.
        """
        if self.lost:
            return Bounded.ABOVE
        beyond = self.beyond(percent)
        if beyond is False:
            return Bounded.WITHIN
        return Bounded.ABOVE if beyond and self.is_finding else Bounded.UNKNOWN

    def _bound(self, percent: float, always: float) -> float:
        before = self.medians[0]
        return 1 + self.worse * max(percent / 100, always / before if before else 0.0)

    def _beyond(self, percent: float, always: float) -> bool | None:
        if self.difference is not None:
            seen = self.difference.low, self.difference.high
            bound = max(percent / 100 * self.medians[0], always)
        else:
            seen = self.comparison.low, self.comparison.high
            bound = self.worse * self._bound(percent, always)
        nearest, farthest = seen if self.worse > 0 else (-seen[1], -seen[0])
        return False if farthest <= bound else True if nearest > bound else None


def outcome_of(changes: Sequence[Change], percent: float) -> Bounded:
    """Above when one is; within when all are, and there are any."""
    outcomes = {change.against(percent) for change in changes} or {Bounded.UNKNOWN}
    return next(
        (outcome for outcome in (Bounded.ABOVE, Bounded.UNKNOWN) if outcome in outcomes), Bounded.WITHIN
    )


def changes(a: Side, b: Side, found: Matched, metric: str, certainty: Certainty) -> tuple[Change, ...]:
    """What became of the conditions that both runs hold.

    All verdicts pay for each other, and sizes that are told of them have intervals that cover after that choice
    (`analysis.statistics.compare.told`), also in the metric's unit; those relative to baselines pay among themselves.

    RecordsError when A has no value of the metric, or machine and testbed kept all of B from counting. Where else B has
    none, a condition is lost, unless they kept it from counting, or B was run without vitals.
    """
    _refuse_without(a, metric)
    if b.sifted.lost_to_the_machine:
        _refuse(b)
    blocks = [_blocks(side, metric) for side in (a, b)]
    equal = [_floors(side, each, certainty) for side, each in zip((a, b), blocks, strict=True)]
    values = [(blocks[0].values(one["cell"]), blocks[1].values(other["cell"])) for one, other in found.pairs]
    levels = [
        (blocks[0].values_by_run(one["cell"]), blocks[1].values_by_run(other["cell"]))
        for one, other in found.pairs
    ]
    absent = [absent_text((a, b), pair, metric) for pair in found.pairs]
    comparisons = [
        NOTHING if why else _compared(before, after, certainty)
        for why, (before, after) in zip(absent, levels, strict=True)
    ]
    said = _told(comparisons, certainty)
    relatives = _relatives(blocks, found.pairs, certainty)
    chosen = level_of_choice(certainty.confidence, sum(_directed(*verdict) for verdict in said), len(said))
    blind = WITHOUT_VITALS if metric in vitals_missing(a, b) else ""
    return tuple(
        Change(
            condition=pair[0],
            metric=metric,
            n=(samples[0].size, samples[1].size),
            medians=(median(samples[0]), median(samples[1])),
            comparison=comparison,
            judgement=judgement,
            relative=relatives.get(number),
            floor=max(
                (
                    floor
                    for side_floors in equal
                    if (floor := side_floors.of([key(pair[0], SETTING)])) is not None
                ),
                default=None,
            ),
            difference=None
            if why
            else difference(*by_level, chosen if judgement.q < ALPHA else certainty.confidence),
            unmeasured=why or ("" if samples[1].size else blind or b.sifted.unmeasured(pair[1]["cell"])),
        )
        for number, (pair, samples, by_level, why, (comparison, judgement)) in enumerate(
            zip(found.pairs, values, levels, absent, said, strict=True)
        )
    )


def absent_text(sides: Sequence[Side], pair: Sequence[ConditionRow], metric: str) -> str:
    """In how many trials of A and of B an event did not happen; empty where it happened in all.

    The others are no sample of all: it is those in which it came first.
    """
    seen = [
        absence(side.sifted.by_metric, metric, [row["cell"]]) for side, row in zip(sides, pair, strict=True)
    ]
    return "; ".join(f"{each} of {letter}" for letter, each in zip("AB", seen, strict=True) if each)


def vitals_missing(a: Side, b: Side) -> frozenset[str]:
    """The metrics that B may lack as it was run without vitals, and A with them."""
    return OF_VITALS if b.without_vitals and not a.without_vitals else frozenset()


def _told(comparisons: Sequence[Comparison], certainty: Certainty) -> list[JudgedComparison]:
    """Without how many trials would tell: further trials of one run tell nothing of the other."""
    return [
        (seen, replace(judgement, trials=None)) for seen, judgement in told(comparisons, certainty.margin)
    ]


def _directed(seen: Comparison, judgement: Judgement) -> bool:
    """Whether a direction is told: of a ratio, or of a difference of values that have none."""
    return judgement.verdict in (Verdict.SLOWER, Verdict.FASTER) or (seen.n == 0 and judgement.q < ALPHA)


def _refuse_without(side: Side, metric: str) -> None:
    """RecordsError when nothing of the reference counts, or nothing that counts has the metric."""
    if side.sifted.by_metric.empty:
        _refuse(side)
    if not side.observed(metric):
        raise RecordsError(f"{side.name}: no trial that counts has {metric}; compare another metric")


def _refuse(side: Side) -> Never:
    why = left_out_text(side.sifted.by_rule(), len(side.sifted.excluded))
    raise RecordsError(f"{side.name}: no trial counts, {why}; run the study again")


def _blocks(side: Side, metric: str) -> Blocks:
    """The values of a run by its machines and lanes, which are called alike in either run."""
    counted = side.sifted.by_metric.assign(run="")
    return Blocks(counted if metric in counted else counted.assign(**{metric: math.nan}), metric)


def direction_alone(a: Levels, b: Levels, certainty: Certainty) -> Comparison:
    """Of values among which there is one of 0 or less: no ratio, but the p-value of the direction of their difference,
    so that it pays for others as they do for it.
    """
    if not _without_ratio(a, b):
        return NOTHING
    of, _ = _apart(a, b)
    return replace(NOTHING, p=certainty.p(min(1.0, 2 * min(of.p_not_above(0.0), of.p_not_below(0.0)))))


def _compared(a: Levels, b: Levels, certainty: Certainty) -> Comparison:
    """Two runs' times by machine or lane; without any, or with a value of 0 or less, there is no ratio."""
    if not a or not b or _without_ratio(a, b):
        return direction_alone(a, b, certainty)
    logs_a, logs_b = ({name: np.log(values) for name, values in of.items()} for of in (a, b))
    return _described(logs_a, logs_b, certainty)


def _without_ratio(a: Levels, b: Levels) -> bool:
    """Whether both have values, among which there is one of 0 or less."""
    return bool(a) and bool(b) and min(float(pooled(of).min()) for of in (a, b)) <= 0


def _described(a: Levels, b: Levels, certainty: Certainty) -> Comparison:
    """How far the logarithms of B lie above those of A, as a ratio."""
    statistic, n = _apart(a, b)
    return described(statistic, n, 2, certainty)


def _apart(a: Levels, b: Levels) -> tuple[Statistic, int]:
    """How far B lies above A, both independent, and by how many values. Machines or lanes that both have are set
    against themselves: of which blocks each makes is chance, and one may be the faster.
    """
    shared = [name for name in a if name in b and min(a[name].size, b[name].size) >= LEAST_PAIRS]
    parts = [welch(b[name], a[name]) for name in shared]
    if len(parts) > 1 and all(math.isfinite(part.centre) for part in parts):
        return mean_of(parts, random=False), min(sum(of[name].size for name in shared) for of in (a, b))
    every_a, every_b = pooled(a), pooled(b)
    return welch(every_b, every_a), min(every_a.size, every_b.size)


def pooled(levels: Levels) -> Sample:
    """The values of all machines and lanes."""
    return np.concatenate([*levels.values(), np.array([])])


def difference(a: Levels, b: Levels, confidence: float) -> Distance | None:
    """B less A, of values among which there is one of 0 or less; None where there is a ratio, or nothing to compare."""
    return Distance.of(_apart(a, b)[0], confidence) if _without_ratio(a, b) else None


def _relatives(
    blocks: Sequence[Blocks], pairs: Sequence[tuple[ConditionRow, ConditionRow]], certainty: Certainty
) -> dict[int, Relative]:
    """By the number of its pair: a condition in units of its setting's baseline, inside the blocks of each run."""
    baselines = _baselines(pairs)
    comparisons: dict[int, tuple[ConditionRow, Comparison]] = {}
    for number, pair in enumerate(pairs):
        base = baselines[key(pair[0], SETTING)]
        if base is pair:
            continue
        a, b = (
            each.by_run(mine["cell"], its["cell"]) for each, mine, its in zip(blocks, pair, base, strict=True)
        )
        comparison = _described(a, b, certainty) if a and b else NOTHING
        comparisons[number] = (base[0], comparison)
    said = _told([comparison for _, comparison in comparisons.values()], certainty)
    return {
        number: Relative(base, comparison, judgement)
        for (number, (base, _)), (comparison, judgement) in zip(comparisons.items(), said, strict=True)
    }


def _baselines(
    pairs: Sequence[tuple[ConditionRow, ConditionRow]],
) -> Mapping[ConditionKey, tuple[ConditionRow, ConditionRow]]:
    """Of each setting the baseline among what both runs hold."""
    settings: dict[ConditionKey, list[tuple[ConditionRow, ConditionRow]]] = {}
    for pair in pairs:
        settings.setdefault(key(pair[0], SETTING), []).append(pair)
    return {setting: baseline_among(group, _compared_by) for setting, group in settings.items()}


def _compared_by(pair: tuple[ConditionRow, ConditionRow]) -> Compared:
    return Compared(*(pair[0][name] for name in ("protocol", "variant", "compression")))


def _floors(side: Side, blocks: Blocks, certainty: Certainty) -> Floors:
    """Of a run, by setting."""
    first = {key(condition, side.columns): condition["cell"] for condition in side.conditions}
    measured: dict[ConditionKey, list[Sample]] = {}
    for twin in side.again:
        ratios = blocks.by_run(twin["cell"], first.get(key(twin, side.columns), -1))
        measured.setdefault(key(twin, SETTING), []).extend(ratios.values())
    return floors(measured, certainty.confidence)


def median(sample: Sample) -> float:
    """NaN of nothing."""
    return float(np.median(sample)) if sample.size else math.nan

"""Two runs of a study against each other, condition by condition: run B in units of run A, the reference. Pure.

Blocks of two runs have nothing in common, so nothing pairs: the logarithms of the times, one value per block, are two
independent samples (Welch 1947). A second figure sets the distance of a condition to the baseline of its setting, a log
ratio inside the blocks of each run, against the same distance in the other run (a difference of differences). What
changes all loads of a run alike, as a slower machine or a drift does, cancels out of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.comparing.matching import Condition, Key, Matched, Side, key
from analysis.runs.exclude import left_out_text
from analysis.statistics.compare import (
    NOTHING,
    Blocks,
    Certainty,
    Comparison,
    Judgement,
    Verdict,
    described,
    told,
)
from analysis.statistics.contrast import Sample, welch
from analysis.statistics.floor import Floors, floors
from harness.errors import RecordsError
from harness.study.defaultclaims import Compared, baseline_among

SETTING = (
    *("page", "link", "rtt_ms", "down_mbps", "up_mbps", "engine", "driver", "device"),
    *("cpu_slowdown", "cache"),
    *("users", "connections", "depth"),
)


@dataclass(frozen=True)
class Relative:
    """A change in units of the change of the setting's baseline."""

    baseline: Condition
    comparison: Comparison
    judgement: Judgement


@dataclass(frozen=True)
class Change:
    """A condition that both runs hold: B in units of A. `n` and `medians` are of A and of B.

    `relative` is None for the baseline itself. `floor`: how large a difference equal conditions of the setting can show
    inside either run, as a ratio of at least 1; None where none was measured twice.
    """

    condition: Condition
    n: tuple[int, int]
    medians: tuple[float, float]
    comparison: Comparison
    judgement: Judgement
    relative: Relative | None = None
    floor: float | None = None

    def worse_by(self, percent: float, *, more_is_better: bool) -> bool:
        """Whether B is worse (verdict) by more than so many per cent of A (estimate)."""
        ratio = self.comparison.ratio
        if more_is_better:
            return self.judgement.verdict is Verdict.FASTER and ratio < 1 - percent / 100
        return self.judgement.verdict is Verdict.SLOWER and ratio > 1 + percent / 100


def changes(a: Side, b: Side, found: Matched, metric: str, certainty: Certainty) -> tuple[Change, ...]:
    """What became of the conditions that both runs hold.

    All verdicts pay for each other; those relative to baselines pay among themselves. RecordsError when a run has no
    value of the metric.
    """
    blocks = [_blocks(side, metric) for side in (a, b)]
    equal = [_floors(side, each, certainty) for side, each in zip((a, b), blocks, strict=True)]
    values = [(blocks[0].values(one["cell"]), blocks[1].values(other["cell"])) for one, other in found.pairs]
    comparisons = [_compared(before, after, certainty) for before, after in values]
    relatives = _relatives(blocks, found.pairs, certainty)
    return tuple(
        Change(
            condition=pair[0],
            n=(samples[0].size, samples[1].size),
            medians=(_median(samples[0]), _median(samples[1])),
            comparison=comparison,
            judgement=judgement,
            relative=relatives.get(number),
            floor=max(
                (floor for each in equal if (floor := each.of([key(pair[0], SETTING)])) is not None),
                default=None,
            ),
        )
        for number, (pair, samples, (comparison, judgement)) in enumerate(
            zip(found.pairs, values, told(comparisons, certainty.margin), strict=True)
        )
    )


def _blocks(side: Side, metric: str) -> Blocks:
    counted = side.sifted.by_metric
    if counted.empty:
        why = left_out_text(side.sifted.by_rule(), len(side.sifted.excluded))
        raise RecordsError(f"{side.name}: no trial counts, {why}; run the study again")
    if counted[metric].isna().all():
        raise RecordsError(f"{side.name}: no trial that counts has {metric}; compare another metric")
    return Blocks(counted, metric)


def _compared(a: Sample, b: Sample, certainty: Certainty) -> Comparison:
    """Two independent samples of times; without any, or with a value of 0 or less, there is no ratio."""
    if not a.size or not b.size or min(a.min(), b.min()) <= 0:
        return NOTHING
    return described(welch(np.log(b), np.log(a)), min(a.size, b.size), 2, certainty)


def _relatives(
    blocks: Sequence[Blocks], pairs: Sequence[tuple[Condition, Condition]], certainty: Certainty
) -> dict[int, Relative]:
    """By the number of its pair: a condition in units of its setting's baseline, inside the blocks of each run."""
    baselines = _baselines(pairs)
    found: dict[int, tuple[Condition, Comparison]] = {}
    for number, pair in enumerate(pairs):
        base = baselines[key(pair[0], SETTING)]
        if base is pair:
            continue
        a, b = (
            each.ratios(mine["cell"], its["cell"]) for each, mine, its in zip(blocks, pair, base, strict=True)
        )
        there = a.size and b.size
        comparison = described(welch(b, a), min(a.size, b.size), 2, certainty) if there else NOTHING
        found[number] = (base[0], comparison)
    said = told([comparison for _, comparison in found.values()], certainty.margin)
    return {
        number: Relative(base, comparison, judgement)
        for (number, (base, _)), (comparison, judgement) in zip(found.items(), said, strict=True)
    }


def _baselines(
    pairs: Sequence[tuple[Condition, Condition]],
) -> Mapping[Key, tuple[Condition, Condition]]:
    """Of each setting the baseline among what both runs hold."""
    settings: dict[Key, list[tuple[Condition, Condition]]] = {}
    for pair in pairs:
        settings.setdefault(key(pair[0], SETTING), []).append(pair)
    return {setting: baseline_among(group, _compared_by) for setting, group in settings.items()}


def _compared_by(pair: tuple[Condition, Condition]) -> Compared:
    return Compared(*(pair[0][name] for name in ("protocol", "variant", "compression")))


def _floors(side: Side, blocks: Blocks, certainty: Certainty) -> Floors:
    """Of a run, by setting."""
    first = {key(each, side.columns): each["cell"] for each in side.conditions}
    measured: dict[Key, list[Sample]] = {}
    for twin in side.again:
        ratios = blocks.by_run(twin["cell"], first.get(key(twin, side.columns), -1))
        measured.setdefault(key(twin, SETTING), []).extend(ratios.values())
    return floors(measured, certainty.confidence)


def _median(sample: Sample) -> float:
    return float(np.median(sample)) if sample.size else math.nan

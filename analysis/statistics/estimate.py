"""The median of a sample of trials, and how far it can be trusted.

The interval comes from order statistics: whatever the distribution, the k-th smallest and the k-th largest value hold
the true median between them with the chance that a fair coin gives (Hettmansperger and Sheather 1986 between two such
pairs). Two values taken out of n miss it with a probability of at least 2 * 0.5^n: even the whole range of 4 values
holds it in 87.5 % of samples only (3: 75 %, 2: 50 %). Below five trials the interval is therefore the range and is
labelled so; one trial has none. At five it is the range, too, which covers 93.75 %; from six on it covers 95 %.

A load that timed out took longer than any other of its condition, and no more is known. So a time may be infinite;
beside it, the bound of a median is the outer one of the two values that it lies between. A ratio is infinite where its
subject timed out, and 0 where its reference did. Such an estimate or bound is open: its size is not known. A text says
"at least" and the end that is known, and a figure draws a bar to the end of its axis (`analysis.charts.openbars`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

import numpy as np
import pandas as pd
from scipy import stats

from analysis.statistics import CONFIDENCE
from analysis.statistics.contrast import Sample

LEAST_TRIALS = 5  # for an interval


class IntervalKind(StrEnum):
    """What the two bounds beside a median are."""

    EXACT = "95 %"
    RANGE = "range"
    NONE = "none"


@dataclass(frozen=True)
class Interval:
    low: float = math.nan
    high: float = math.nan
    kind: IntervalKind = IntervalKind.NONE


@dataclass(frozen=True)
class Estimate:
    """A sample in short. What its n does not allow is NaN; what time-outs leave open is infinite."""

    n: int
    median: float
    low: float
    high: float
    interval: IntervalKind
    q1: float
    q3: float
    cv: float


def estimate(values: Sequence[float] | Sample) -> Estimate:
    """Median with its interval, quartiles (linear interpolation) and coefficient of variation.

    The coefficient of variation is the sample's standard deviation (n - 1) over its mean.
    """
    sample = np.asarray(values, dtype=float)
    if sample.size == 0:
        return Estimate(0, math.nan, math.nan, math.nan, IntervalKind.NONE, math.nan, math.nan, math.nan)
    bounds = interval(sample)
    q1, median, q3 = (quantile(sample, share) for share in (0.25, 0.5, 0.75))
    mean = float(sample.mean())
    spread = float(sample.std(ddof=1)) if sample.size > 1 and math.isfinite(mean) else math.nan
    cv = spread / mean if mean else math.nan
    return Estimate(int(sample.size), median, bounds.low, bounds.high, bounds.kind, q1, q3, cv)


def interval(sample: Sample) -> Interval:
    """The interval of the sample's median, of the kind its size allows."""
    n = sample.size
    if n < 2:
        return Interval()
    ordered = np.sort(sample)
    if n < LEAST_TRIALS:
        return Interval(float(ordered[0]), float(ordered[-1]), IntervalKind.RANGE)
    depth, share = _depth(n)
    low = _bound(ordered[depth - 1], ordered[depth], share)
    high = _bound(ordered[n - depth], ordered[n - depth - 1], share)
    return Interval(low, high, IntervalKind.EXACT)


def _bound(outer: float, inner: float, share: float) -> float:
    """So far on the way from the outer value to the inner one; the outer where one of them is infinite, which covers
    more.
    """
    return float(outer) if math.isinf(outer) or math.isinf(inner) else _between(outer, inner, share)


def _between(one: float, other: float, share: float) -> float:
    """So far on the way from one value to another; on the way to an infinite one is infinite."""
    if share in (0, 1) or one == other:
        return float(other if share == 1 else one)
    return (
        float(max(one, other)) if math.isinf(one) or math.isinf(other) else float(one + share * (other - one))
    )


def quantile(sample: Sample, share: float) -> float:
    """Linear interpolation between the two values beside it."""
    if np.isfinite(sample).all():
        return float(np.quantile(sample, share))
    ordered, index = np.sort(sample), share * (sample.size - 1)
    below = math.floor(index)
    return _between(ordered[below], ordered[min(below + 1, sample.size - 1)], index - below)


@lru_cache
def _depth(n: int) -> tuple[int, float]:
    """Between which order statistics the bound lies: the number of the outer one, and how far towards the inner one.

    The coverage of a pair of order statistics is that of a fair coin; between two pairs it is interpolated as
    Hettmansperger and Sheather (1986) do, which holds within a thousandth for common distributions (Nyblom 1992).
    """

    def coverage(depth: int) -> float:
        return 1 - 2 * float(stats.binom.cdf(depth - 1, n, 0.5))

    depth = max(int(stats.binom.ppf((1 - CONFIDENCE) / 2, n, 0.5)), 1)
    if coverage(depth) <= CONFIDENCE:
        return depth, 0.0
    excess = (coverage(depth) - CONFIDENCE) / (coverage(depth) - coverage(depth + 1))
    return depth, (n - depth) * excess / (depth + (n - 2 * depth) * excess)


def estimates(records: pd.DataFrame, by: Sequence[str], metric: str) -> pd.DataFrame:
    """One row per group: `by`, then the fields of `Estimate` of the metric where it was observed."""
    rows = [
        {**dict(zip(by, key, strict=True)), **vars(estimate(values.dropna().to_numpy(dtype=float)))}
        for key, values in records.groupby(list(by), dropna=False)[metric]
    ]
    return pd.DataFrame(rows, columns=[*by, *Estimate.__dataclass_fields__])


def medians_of_times(trials: pd.DataFrame) -> pd.Series[float]:
    """The median of each column. A time that is missing was too long to be told, so it is the longest; NaN where the
    median itself is such a time.
    """
    return trials.astype(float).fillna(math.inf).median().replace(math.inf, math.nan)


def is_open(ratio: float) -> bool:
    """Whether time-outs leave a ratio, or a bound of one, open; NaN is not known for other reasons."""
    return ratio == 0 or math.isinf(ratio)


def per_cent(ratio: float) -> float:
    """A ratio as a change in per cent, infinite where it is open."""
    return -math.inf if ratio == 0 else 100 * (ratio - 1)


def size(ratio: float) -> float:
    """How large a change is, in per cent without a sign."""
    return abs(per_cent(ratio))

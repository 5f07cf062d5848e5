"""The median of a sample of trials, and how far it can be trusted.

The interval is the percentile bootstrap of the median (Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 13): 9,999 resamples, a fixed seed, so the same records always give the same
interval. BCa is not used: its acceleration comes from the jackknife, which is inconsistent for a median (same
book, section 11.6) and is 0/0 as soon as the middle values tie.

Small samples are not dressed up. Two bounds taken from n values miss the true median with a probability of at
least 2 * 0.5^n: even the whole range of 4 values covers it in 87.5 % of samples only (3: 75 %, 2: 50 %).
Below five trials the interval is therefore the range and is labelled so; one trial has none. From five on it is
the bootstrap's, which at five equals the range and covers 93.75 %. Being made of a few order statistics, it
stays a little short of its name for a while: 87 to 95 % for 5 to 12 trials (least at 7), about 95 % from 15 on
(simulated, normal log times). Verdicts of faster and slower also need a test that is exact at these sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy has no types of its own

from analysis.reach import LEAST_TRIALS
from harness.model.observation import MAIN_METRIC

CONFIDENCE = 0.95
RESAMPLES = 9_999
SEED = 2012
Sample = NDArray[np.floating[Any]]


class IntervalKind(StrEnum):
    """What the two bounds beside a median are."""

    BOOTSTRAP = "95 % bootstrap"
    RANGE = "range"
    NONE = "none"


@dataclass(frozen=True)
class Interval:
    low: float = math.nan
    high: float = math.nan
    kind: IntervalKind = IntervalKind.NONE


@dataclass(frozen=True)
class Estimate:
    """A sample in short. What its n does not allow is NaN."""

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
    q1, median, q3 = (float(q) for q in np.quantile(sample, (0.25, 0.5, 0.75)))
    mean = float(sample.mean())
    cv = float(sample.std(ddof=1)) / mean if sample.size > 1 and mean else math.nan
    return Estimate(int(sample.size), median, bounds.low, bounds.high, bounds.kind, q1, q3, cv)


def interval(sample: Sample) -> Interval:
    """The interval of the sample's median, of the kind its size allows."""
    if sample.size < 2:
        return Interval()
    if sample.size < LEAST_TRIALS:
        return Interval(float(sample.min()), float(sample.max()), IntervalKind.RANGE)
    return bootstrap((sample,), np.median)


def bootstrap(samples: tuple[Sample, ...], statistic: Callable[..., object]) -> Interval:
    """Percentile bootstrap interval of a statistic of one or more independent samples."""
    bounds = stats.bootstrap(
        samples,
        statistic,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
    ).confidence_interval
    return Interval(float(bounds.low), float(bounds.high), IntervalKind.BOOTSTRAP)


def estimates(records: pd.DataFrame, by: Sequence[str], metric: str = MAIN_METRIC) -> pd.DataFrame:
    """One row per group: `by`, then the fields of `Estimate` of the metric where it was observed."""
    rows = [
        {**dict(zip(by, key, strict=True)), **asdict(estimate(group[metric].dropna().to_numpy(dtype=float)))}
        for key, group in records.groupby(list(by), dropna=False)
    ]
    return pd.DataFrame(rows, columns=[*by, *Estimate.__dataclass_fields__])

"""What trials have to do with the time at which they ran: residuals, drift and autocorrelation.

A residual is the logarithm of a trial's time minus that of the median of its condition in its run. What is left then
is chance, and what the machine did to all conditions alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.statistics import CONFIDENCE
from analysis.statistics.contrast import Sample, StudentT

WITHIN_CHANCE = 1.96  # standard errors
LEAST_BLOCKS = 3  # for a drift with an interval
LEAST_WINDOW = 5  # trials of a running median


@dataclass(frozen=True)
class Drift:
    """The change of log times from the first trial of a run to its last; NaN where there are too few blocks."""

    change: float
    low: float
    high: float

    @property
    def is_seen(self) -> bool:
        """Whether there is more of it than chance would give."""
        return self.low > 0 or self.high < 0


def in_run_order(records: pd.DataFrame) -> pd.DataFrame:
    """The records as they were made, run by run: by their start, or by the order of the plan where one has none."""
    keys = pd.DataFrame({"run": pd.factorize(records["run"])[0]}, index=records.index)
    started = records.get("started_utc")
    if started is not None and started.notna().all():
        keys["started"] = started.astype(str)
    for name in ("block", "order", "attempt"):
        if name in records:
            keys[name] = pd.to_numeric(records[name], errors="coerce")
    return records.loc[keys.sort_values(list(keys.columns), kind="stable").index]


def positions_in_block(ordered: pd.DataFrame) -> pd.Series[int]:
    """Of each record the number, from 1, that it has inside its block; records are in the order of the run."""
    return ordered.groupby(["run", "block"]).cumcount() + 1


def residuals(
    times: pd.Series[float], condition: pd.Series[int], counts: pd.Series[bool]
) -> pd.Series[float]:
    """Log times minus the median of what counts of their condition; NaN where less than two trials of it count."""
    logs = pd.Series(np.log(times.where(times > 0)), index=times.index)
    counted = logs.where(counts).groupby(condition)
    return logs - counted.transform("median").where(counted.transform("count") >= 2)


def drift(residual: Sample, block: NDArray[Any]) -> Drift:
    """The straight line through the blocks, from end to end of a run; residuals are in the order of the run.

    The blocks' means are the points, since what hits a block hits many of its trials: they do not count singly.
    """
    last = max(residual.size - 1, 1)
    positions = pd.Series(np.arange(residual.size) / last)
    means = pd.DataFrame({"position": positions, "residual": residual}).groupby(block).mean()
    x, y = (means[name].to_numpy() - means[name].mean() for name in ("position", "residual"))
    spread = float(x @ x)
    if len(means) < LEAST_BLOCKS or spread == 0:
        return Drift(math.nan, math.nan, math.nan)
    slope = float(x @ y) / spread
    rest = y - slope * x
    freedom = len(means) - 2
    error = math.sqrt(float(rest @ rest) / freedom / spread)
    return Drift(slope, *StudentT(slope, error, freedom).interval(CONFIDENCE))


def autocorrelation(values: Sample, lags: int) -> Sample:
    """How alike values are that lie 1 to `lags` steps apart: 0 by chance alone, 1 at most; NaN when all are equal."""
    centred = values - values.mean()
    total = float(centred @ centred)
    if total == 0:
        return np.full(lags, math.nan)
    return np.array([float(centred[:-lag] @ centred[lag:]) / total for lag in range(1, lags + 1)])


def chance_band(n: int) -> float:
    """Within this of 0 lie 95 % of the autocorrelations of n values that have nothing to do with each other."""
    return WITHIN_CHANCE / math.sqrt(n)


def running_median(values: Sample) -> tuple[Sample, int]:
    """The median of the trials around each trial, and of how many."""
    window = max(LEAST_WINDOW, values.size // 15) | 1
    smooth = pd.Series(values).rolling(window, center=True, min_periods=window // 2 + 1).median()
    return smooth.to_numpy(), window

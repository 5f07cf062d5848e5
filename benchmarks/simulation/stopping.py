"""Studies that stop at a look: coverage, false verdicts, and how many trials they take."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.claims.stopping import LOOKED, is_narrow
from benchmarks.simulation import arrays
from benchmarks.simulation.arrays import Array, lognormal
from benchmarks.simulation.families import FAMILIES, false_shares, rows, settings
from benchmarks.simulation.shares import Share, Table
from harness.model.trials import Trials

MOST = 60
LEASTS = (5, 10)
UNTILS = (0.01, 0.02)
CVS = (0.01, 0.02, 0.03, 0.05)


@dataclass(frozen=True)
class Ended:
    """Of every row the trials at which it ended, the interval and the p-value that it then has."""

    trials: NDArray[np.integer[Any]]
    low: Array
    high: Array
    p: Array


def until_narrow(ratios: Array, trials: Trials) -> Ended:
    """Rows that are measured until a look finds their interval narrow enough, or to the last trial."""
    count = len(ratios)
    found = Ended(np.zeros(count, dtype=int), *(np.full(count, math.nan) for _ in range(3)))
    going = np.arange(count)
    for look in trials.looks:
        low, high = arrays.intervals(ratios[going, :look], LOOKED.confidence)
        narrow = [is_narrow(width, look, trials.until or 0) for width in np.expm1((high - low) / 2).tolist()]
        ends = np.array(narrow) | (look == trials.most)
        ended = going[ends]
        found.trials[ended], found.low[ended], found.high[ended] = look, low[ends], high[ends]
        if ended.size:
            found.p[ended] = arrays.p_values(ratios[ended, :look]) * LOOKED.p(1e-3) / 1e-3
        going = going[~ends]
        if not going.size:
            break
    return found


def coverage(random: np.random.Generator, times: int) -> tuple[Table, Table]:
    """Of the interval that the report gives, and the mean number of trials."""
    columns = [f"{100 * until:g} %, CV {100 * cv:g} %" for until in UNTILS for cv in CVS]
    table = Table(f"Coverage with looks, at most {MOST} trials", ["until", *columns])
    means = Table(f"Trials of a condition with looks, at most {MOST}: mean", ["until", *columns])
    for least in LEASTS:
        shares: list[Share | str] = []
        taken: list[Share | str] = []
        for until in UNTILS:
            for cv in CVS:
                ratios = random.normal(0, cv * math.sqrt(2), (times, MOST))
                ended = until_narrow(ratios, Trials(least, MOST, until))
                shares.append(Share.of((ended.low <= 0) & (ended.high >= 0), 0.94))
                taken.append(f"{ended.trials.mean():.1f}")
        name = f"at least {least} ({len(Trials(least, MOST, UNTILS[0]).looks)} looks)"
        table.add(name, shares)
        means.add(name, taken)
    return table, means


def false_verdicts(random: np.random.Generator, times: int) -> Table:
    """A/A studies that stop at a look and tell of any difference."""
    table = Table("False verdicts with looks, until 2 %", ["comparisons", *map(str, FAMILIES)])
    for cv in (0.01, 0.02, 0.03):
        for least in LEASTS:
            studies = settings(lognormal, random, (times, MOST, max(FAMILIES)), cv)
            ended = until_narrow(rows(studies), Trials(least, MOST, 0.02))
            table.add(f"CV {100 * cv:g} %, at least {least}", false_shares(ended.p.reshape(times, -1)))
    return table

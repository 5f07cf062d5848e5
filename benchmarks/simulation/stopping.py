"""Studies that stop at a look: coverage, false verdicts, and how many trials they take."""

from __future__ import annotations

import math

import numpy as np

from analysis.compare import described
from analysis.contrast import contrast
from analysis.stopping import LOOKED, is_narrow, of_logs
from benchmarks.simulation.families import FAMILIES, false_shares, settings
from benchmarks.simulation.table import Share, Table
from benchmarks.simulation.times import Array, lognormal
from harness.study.trials import Trials

MOST = 60
LEASTS = (5, 10)
UNTILS = (0.01, 0.02)
CVS = (0.01, 0.02, 0.03, 0.05)


def until_narrow(ratios: Array, trials: Trials) -> Array:
    """The log ratios that are measured until a look finds their interval narrow enough."""
    for look in trials.looks:
        low, high = contrast(ratios[:look]).interval(LOOKED.confidence)
        if trials.until is not None and is_narrow(of_logs(low, high), trials.until):
            return ratios[:look]
    return ratios


def coverage(random: np.random.Generator, times: int) -> tuple[Table, Table]:
    """Of the interval that the report gives, and the mean number of trials."""
    columns = [f"{100 * until:g} %, CV {100 * cv:g} %" for until in UNTILS for cv in CVS]
    table = Table(f"Coverage with looks, at most {MOST} trials", ["until", *columns])
    means = Table(f"Trials of a condition with looks, at most {MOST}: mean", ["until", *columns])
    for least in LEASTS:
        shares: list[Share | str] = []
        taken: list[Share | str] = []
        for until in UNTILS:
            trials = Trials(least, MOST, until)
            for cv in CVS:
                ends = [until_narrow(each, trials) for each in _ratios(random, times, cv)]
                shares.append(Share.of((_covers(each) for each in ends), 0.94))
                taken.append(f"{np.mean([each.size for each in ends]):.1f}")
        name = f"at least {least} ({len(Trials(least, MOST, UNTILS[0]).looks)} looks)"
        table.add(name, shares)
        means.add(name, taken)
    return table, means


def false_verdicts(random: np.random.Generator, times: int) -> Table:
    """A/A studies that stop at a look and tell of any difference."""
    columns = [str(size) for size in FAMILIES]
    table = Table("False verdicts with looks, until 2 %", ["comparisons", *columns])
    for cv, least in ((0.01, 5), (0.02, 5), (0.02, 10), (0.03, 5)):
        trials = Trials(least, MOST, 0.02)
        studies = settings(lognormal, random, times, MOST, max(FAMILIES), cv)
        ends = ([until_narrow(each, trials) for each in study.T] for study in studies)
        told = [[described(contrast(each), each.size, 1, LOOKED) for each in study] for study in ends]
        table.add(f"CV {100 * cv:g} %, at least {least}", false_shares(told))
    return table


def _ratios(random: np.random.Generator, times: int, cv: float) -> Array:
    found: Array = random.normal(0, cv * math.sqrt(2), (times, MOST))
    return found


def _covers(ratios: Array) -> bool:
    low, high = contrast(ratios).interval(LOOKED.confidence)
    return low <= 0 <= high

"""Comparisons judged together: false verdicts among equals, true differences found, studies that stop at a look.

A family is that of a study: settings in which a few protocols are set against the one baseline of the setting.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.claims.stopping import LOOKED, is_narrow
from benchmarks.simulation import arrays
from benchmarks.simulation.arrays import Array, Shape, bursty, drifting, lognormal
from benchmarks.simulation.shares import Share, Table
from harness.model.trials import Trials

AGAINST = 4  # protocols, each against the baseline of its setting
FAMILIES = (4, 12, 24, 40)
COMPARISONS = 24
NUMBERS = range(5, 21)
AT_THE_CHANGE = range(10, 21)  # of the method, at 15
LEAST_POWER = 0.97
SLOWER = 1
MOST = 60  # trials of a study that stops at a look
LEASTS = (5, 10)
UNTILS = (0.01, 0.02)
CVS = (0.01, 0.02, 0.03, 0.05)


def differences(logs: Array) -> Array:
    """Of settings (the last axis but one) the log ratios to their first condition, all in one row per block."""
    ratios = logs[..., 1:] - logs[..., :1]
    return ratios.reshape(*ratios.shape[:-2], -1)


def settings(shape: Shape, random: np.random.Generator, size: tuple[int, int, int], cv: float) -> Array:
    """Log ratios by simulation, block and comparison; `size` says how many of each."""
    times, n, comparisons = size
    count = comparisons // AGAINST
    logs = shape(random, (times * count, n, AGAINST + 1), cv).reshape(times, count, n, AGAINST + 1)
    return differences(logs.swapaxes(1, 2))


def rows(families: Array) -> Array:
    """Every comparison of every family as a row."""
    return families.swapaxes(1, 2).reshape(-1, families.shape[1])


def directions(families: Array, p_values: Callable[[Array], Array] = arrays.p_values) -> arrays.Told:
    """The direction that is told of every comparison, by family."""
    count = families.shape[2]
    return arrays.directions(p_values(rows(families)).reshape(-1, count), families.mean(axis=1))


def false_verdicts(random: np.random.Generator, times: int) -> Table:
    """Studies of equal conditions that tell of any difference."""
    numbers = (5, 10, 20)
    columns = [f"{size}, n = {n}" for n in numbers for size in FAMILIES]
    table = Table("False verdicts: A/A studies with any, by comparisons, CV 2 %", ["comparisons", *columns])
    for shape in (lognormal, drifting, bursty):
        cells = []
        for n in numbers:
            families = settings(shape, random, (times, n, max(FAMILIES)), 0.02)
            p = arrays.p_values(rows(families)).reshape(times, -1)
            cells += false_shares(p)
        table.add(shape.__name__, cells)
    return table


def false_shares(p: Array) -> list[Share]:
    """Of A/A studies, one in a row, the share that tell of any direction: with their first few comparisons alone."""
    return [
        Share.of(
            (np.abs(arrays.directions(p[:, :size], np.ones((len(p), size)))).sum(axis=1) > 0).tolist(),
            0,
            0.05,
        )
        for size in FAMILIES
    ]


def power(random: np.random.Generator, times: int) -> Table:
    """The share of true differences of 5 % that are called slower, at every n."""
    table = Table(f"Power: a true 5 % among {COMPARISONS} comparisons, CV 1 %", ["n", *map(str, NUMBERS)])
    for name, true, least in (
        ("a quarter of them", range(0, COMPARISONS, AGAINST), LEAST_POWER),
        ("one of them", range(1), 0.0),
    ):
        shares = [_found(random, (times, n, COMPARISONS), true, least) for n in NUMBERS]
        table.add(name, shares)
        table.never_falls(name, shares)
    return table


def _found(
    random: np.random.Generator, size: tuple[int, int, int], true: Sequence[int], least: float
) -> Share:
    families = settings(lognormal, random, size, 0.01)
    families[..., list(true)] += math.log(1.05)
    return Share.of((directions(families)[:, list(true)] == SLOWER).ravel(), least)


def at_the_change(random: np.random.Generator, times: int) -> Table:
    """Whether power falls where the signed rank takes over."""
    table = Table("Power of one comparison, CV 1 %", ["n", *map(str, AT_THE_CHANGE)])
    for percent in (0.8, 1.0, 1.2):
        shares = [Share.of(_told(random, times, n, percent)) for n in AT_THE_CHANGE]
        table.add(f"a true {percent:g} %", shares)
        table.never_falls(f"power at {percent:g} %", shares)
    return table


def _told(random: np.random.Generator, times: int, n: int, percent: float) -> list[bool]:
    """Whether a comparison that is alone is called slower, at CV 1 %."""
    logs = lognormal(random, (times, n, 2), 0.01)
    ratios = logs[..., :1] - logs[..., 1:] + math.log1p(percent / 100)
    return [direction == SLOWER for direction in directions(ratios)[:, 0]]


def plain_to_see(random: np.random.Generator, times: int) -> Table:
    """4 protocols at 4 places, one of them 55 % slower, all against all; and a true 2 % at n = 30."""
    numbers = (3, 5, 6, 7, 8)
    table = Table("What is plain to see, CV 1 %", ["n", *map(str, numbers), "30"])
    pairs = list(itertools.combinations(range(4), 2))
    slow = [index for index, (one, _) in enumerate(pairs * 4) if one == 0]
    cells: list[Share | str] = []
    for n in numbers:
        logs = lognormal(random, (times * 4, n, 4), 0.01)
        logs[..., 0] += math.log(1.55)
        ratios = np.stack([logs[..., one] - logs[..., other] for one, other in pairs], axis=-1)
        families = ratios.reshape(times, 4, n, len(pairs)).swapaxes(1, 2).reshape(times, n, -1)
        cells.append(Share.of((directions(families)[:, slow] == SLOWER).all(axis=1), 0.97))
    table.add("one of 4 protocols at 4 places is 55 % slower: told of all 12 pairs", [*cells, ""])
    told = Share.of(_told(random, times, 30, 2), 0.95)
    table.add("a true 2 % is called slower", [*([""] * len(numbers)), told])
    return table


def ranked_from_six(random: np.random.Generator, times: int) -> Share:
    """What a quarter of 24 comparisons would have of the signed rank at n = 6."""
    families = settings(lognormal, random, (times, 6, COMPARISONS), 0.01)
    families[..., ::AGAINST] += math.log(1.05)
    return Share.of((directions(families, arrays.ranked_p)[:, ::AGAINST] == SLOWER).ravel())


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
    outcome = Ended(np.zeros(count, dtype=int), *(np.full(count, math.nan) for _ in range(3)))
    going = np.arange(count)
    for look in trials.looks:
        low, high = arrays.intervals(ratios[going, :look], LOOKED.confidence)
        narrow = [is_narrow(width, look, trials.until or 0) for width in np.expm1((high - low) / 2).tolist()]
        ends = np.array(narrow) | (look == trials.most)
        ended = going[ends]
        outcome.trials[ended], outcome.low[ended], outcome.high[ended] = look, low[ends], high[ends]
        if ended.size:
            outcome.p[ended] = arrays.p_values(ratios[ended, :look]) * LOOKED.p(1e-3) / 1e-3
        going = going[~ends]
        if not going.size:
            break
    return outcome


def coverage_at_looks(random: np.random.Generator, times: int) -> tuple[Table, Table]:
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


def false_at_looks(random: np.random.Generator, times: int) -> Table:
    """A/A studies that stop at a look and tell of any difference."""
    table = Table("False verdicts with looks, until 2 %", ["comparisons", *map(str, FAMILIES)])
    for cv in (0.01, 0.02, 0.03):
        for least in LEASTS:
            studies = settings(lognormal, random, (times, MOST, max(FAMILIES)), cv)
            ended = until_narrow(rows(studies), Trials(least, MOST, 0.02))
            table.add(f"CV {100 * cv:g} %, at least {least}", false_shares(ended.p.reshape(times, -1)))
    return table

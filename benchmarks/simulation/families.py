"""Comparisons judged together: false verdicts among equals, and true differences that are found.

A family is that of a study: settings in which a few protocols are set against the one baseline of the setting.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np

from analysis.compare import Certainty, Comparison, Judgement, Verdict, described, judged
from analysis.contrast import SignedRank, Statistic, contrast
from benchmarks.simulation.table import Share, Table
from benchmarks.simulation.times import Array, bursty, drifting, lognormal

AGAINST = 4  # protocols, each against the baseline of its setting
FAMILIES = (4, 12, 24, 40)
COMPARISONS = 24
NUMBERS = range(5, 21)
AT_THE_CHANGE = range(10, 21)  # of the method, at 15
CERTAINTY = Certainty()
LEAST_POWER = 0.97
RANKED_FROM = 15


def differences(logs: Array) -> Array:
    """Of settings (the last axis but one) the log ratios to their first condition, all in one row per block."""
    ratios = logs[..., 1:] - logs[..., :1]
    return ratios.reshape(*ratios.shape[:-2], -1)


def settings(
    shape: Callable[..., Array], random: np.random.Generator, times: int, n: int, comparisons: int, cv: float
) -> Array:
    """Log ratios by simulation, block and comparison."""
    count = comparisons // AGAINST
    logs = shape(random, (times * count, n, AGAINST + 1), cv).reshape(times, count, n, AGAINST + 1)
    return differences(logs.swapaxes(1, 2))


def verdicts(
    family: Array, certainty: Certainty = CERTAINTY, statistic: Callable[[Array], Statistic] = contrast
) -> list[Judgement]:
    """The judgements on the columns of a family."""
    n = len(family)
    return judged([described(statistic(column), n, 1, certainty) for column in family.T])


def is_false(judgements: Sequence[Judgement]) -> bool:
    """Whether some direction is told among equals."""
    return any(each.verdict in (Verdict.FASTER, Verdict.SLOWER) for each in judgements)


def false_verdicts(random: np.random.Generator, times: int) -> Table:
    """Studies of equal conditions that tell of any difference."""
    numbers = (5, 10, 20)
    columns = [f"{size}, n = {n}" for n in numbers for size in FAMILIES]
    table = Table("False verdicts: A/A studies with any, by comparisons, CV 2 %", ["comparisons", *columns])
    for shape in (lognormal, drifting, bursty):
        cells = []
        for n in numbers:
            some = times if n < RANKED_FROM else max(times // 5, 10)
            studies = settings(shape, random, some, n, max(FAMILIES), 0.02)
            told = [[described(contrast(each), n, 1, CERTAINTY) for each in study.T] for study in studies]
            cells += false_shares(told)
        table.add(shape.__name__, cells)
    return table


def false_shares(studies: Sequence[Sequence[Comparison]]) -> list[Share]:
    """Of A/A studies the share that tell of any direction: with all their comparisons, or with the first few alone."""
    return [
        Share.of((is_false(judged(comparisons[:size])) for comparisons in studies), 0, 0.05)
        for size in FAMILIES
    ]


def power(random: np.random.Generator, times: int) -> Table:
    """The share of true differences of 5 % that are called slower, at every n."""
    table = Table(f"Power: a true 5 % among {COMPARISONS} comparisons, CV 1 %", ["n", *map(str, NUMBERS)])
    for name, true, least in (
        ("a quarter of them", range(0, COMPARISONS, AGAINST), LEAST_POWER),
        ("one of them", range(1), 0.0),
    ):
        shares = [_found(random, times if n < 8 else max(times // 8, 10), n, true, least) for n in NUMBERS]
        table.add(name, shares)
        table.never_falls(name, shares)
    return table


def _found(random: np.random.Generator, times: int, n: int, true: Sequence[int], least: float) -> Share:
    families = settings(lognormal, random, times, n, COMPARISONS, 0.01)
    families[..., list(true)] += math.log(1.05)
    told = (verdicts(each) for each in families)
    return Share.of((each[index].verdict is Verdict.SLOWER for each in told for index in true), least)


def at_the_change(random: np.random.Generator, times: int) -> Table:
    """Whether power falls where the signed rank takes over."""
    table = Table("Power of one comparison, CV 1 %", ["n", *map(str, AT_THE_CHANGE)])
    for percent in (0.8, 1.0, 1.2):
        shares = []
        for n in AT_THE_CHANGE:
            found = settings(lognormal, random, times, n, AGAINST, 0.01)[..., :1] + math.log1p(percent / 100)
            shares.append(Share.of(verdicts(each)[0].verdict is Verdict.SLOWER for each in found))
        table.add(f"a true {percent:g} %", shares)
        table.never_falls(f"power at {percent:g} %", shares)
    return table


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
        told = (verdicts(each) for each in families)
        cells.append(
            Share.of((all(each[index].verdict is Verdict.SLOWER for index in slow) for each in told), 0.97)
        )
    table.add("one of 4 protocols at 4 places is 55 % slower: told of all 12 pairs", [*cells, ""])
    found = settings(lognormal, random, times, 30, AGAINST, 0.01)[..., :1] + math.log(1.02)
    told_2 = Share.of((verdicts(each)[0].verdict is Verdict.SLOWER for each in found), 0.95)
    table.add("a true 2 % is called slower", [*([""] * len(numbers)), told_2])
    return table


def ranked_from_six(random: np.random.Generator, times: int) -> Share:
    """What a quarter of 24 comparisons would have of the signed rank at n = 6."""
    families = settings(lognormal, random, times, 6, COMPARISONS, 0.01)
    families[..., ::AGAINST] += math.log(1.05)
    told = (verdicts(each, statistic=SignedRank) for each in families)
    return Share.of(one.verdict is Verdict.SLOWER for each in told for one in each[::AGAINST])

"""What a study of so many trials can find, known before the first of them. Pure.

A difference is found when its direction gets a verdict: a two-sided paired t test of the log ratios of n blocks
(`analysis.contrast`), at the level that is left to one difference among equals, 5 % / comparisons. CV is that of the
times of one condition inside a block, so a log ratio spreads by CV * sqrt(2). Where the signed rank takes over, its
efficiency of 0.955 (Hodges and Lehmann 1956) counts.
"""

from __future__ import annotations

import math
from functools import partial
from itertools import count

from scipy import optimize, special  # type: ignore[import-untyped, unused-ignore]  # scipy has no types of its own

ALPHA = 0.05
LEAST_PAIRS = 3
LEAST_PAIRS_RANKED = 15
RANKED_EFFICIENCY = 0.955
POWER = 0.8
MOST_TRIALS = 10_000
LARGEST = 10.0  # of a log ratio: 22,000 times as long


def power(difference: float, trials: int, cv: float, comparisons: int = 1) -> float:
    """The chance that a true `difference` (0.03: 3 % longer) is found; 0 below 3 trials."""
    if trials < LEAST_PAIRS:
        return 0.0
    telling = trials * (RANKED_EFFICIENCY if trials >= LEAST_PAIRS_RANKED else 1)
    shift = abs(math.log1p(difference)) / (cv * math.sqrt(2 / telling))
    limit = float(special.stdtrit(trials - 1, 1 - ALPHA / comparisons / 2))
    if shift > limit + 35:  # the distribution is not reckoned that far out
        return 1.0
    return float(1 - special.nctdtr(trials - 1, shift, limit))


def smallest_difference(trials: int, cv: float, comparisons: int = 1) -> float | None:
    """The least true difference that is found with 80 % power; None when none is."""
    if trials < LEAST_PAIRS:
        return None

    def short(log_ratio: float) -> float:
        return power(math.expm1(log_ratio), trials, cv, comparisons) - POWER

    if short(LARGEST) < 0:
        return None
    return math.expm1(float(optimize.brentq(short, 0.0, LARGEST)))


def trials_needed(difference: float, cv: float, comparisons: int = 1) -> int | None:
    """The least number of trials per condition that finds a true difference with 80 % power; None beyond 10,000."""
    enough = partial(power, difference, cv=cv, comparisons=comparisons)
    if enough(MOST_TRIALS) < POWER:
        return None
    above = next(2**step for step in count(2) if enough(min(2**step, MOST_TRIALS)) >= POWER)
    low, high = LEAST_PAIRS, min(above, MOST_TRIALS)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) >= POWER else (middle + 1, high)
    return low

"""What a study of so many trials can find, known before the first of them. Pure, and quick to import.

A difference is found when its direction gets a verdict: a two-sided paired t test of the log ratios of n blocks
(`analysis.statistics.contrast`), at the level that is left to one difference among equals, 5 % / comparisons, or less
in a study that looks. CV is that of the times of one condition inside a block, so a log ratio spreads by CV * sqrt(2).
Where the signed rank takes over, its efficiency of 0.955 (Hodges and Lehmann 1956) counts.

The noncentral t distribution is integrated here: SciPy takes longer to import than all of a plan.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import count
from math import erfc
from statistics import NormalDist

from analysis.statistics import CONFIDENCE, CONFIDENCE_WITH_LOOKS, LEAST_PAIRS, LEAST_PAIRS_RANKED

RANKED_EFFICIENCY = 0.955
POWER = 0.8
MOST_TRIALS = 10_000
LARGEST = 10.0  # of a log ratio: 22,000 times as long


@dataclass(frozen=True)
class Question:
    """One of so many comparisons that pay for each other, between conditions of that CV. `looked`: see `Certainty`."""

    cv: float
    comparisons: int = 1
    looked: bool = False

    def limit(self, trials: int) -> float:
        """The least t that gets a verdict."""
        level = (1 - (CONFIDENCE_WITH_LOOKS if self.looked else CONFIDENCE)) / self.comparisons
        return _quantile(level / 2, trials - 1)

    def error(self, trials: int) -> float:
        """Standard error of the log ratio."""
        telling = trials * (RANKED_EFFICIENCY if trials >= LEAST_PAIRS_RANKED else 1)
        return self.cv * math.sqrt(2 / telling)


def power(difference: float, trials: int, question: Question) -> float:
    """The chance that a true `difference` (0.03: 3 % longer) is found; 0 below 3 trials."""
    if trials < LEAST_PAIRS:
        return 0.0
    shift, limit = abs(math.log1p(difference)) / question.error(trials), question.limit(trials)
    if shift > limit + 35:  # the distribution is not reckoned that far out
        return 1.0
    return _beyond(limit, trials - 1, shift)


def smallest_difference(trials: int, question: Question) -> float | None:
    """The least true difference that is found with 80 % power; None when none is."""
    if trials < LEAST_PAIRS:
        return None
    log_ratio = _shift(question.limit(trials), trials - 1) * question.error(trials)
    return math.expm1(log_ratio) if log_ratio < LARGEST else None


def trials_needed(difference: float, question: Question) -> int | None:
    """The least number of trials per condition that finds a true difference with 80 % power; None beyond 10,000."""
    enough = partial(power, difference, question=question)
    if enough(MOST_TRIALS) < POWER:
        return None
    above = next(2**step for step in count(2) if enough(min(2**step, MOST_TRIALS)) >= POWER)
    low, high = LEAST_PAIRS, min(above, MOST_TRIALS)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) >= POWER else (middle + 1, high)
    return low


def _beyond(limit: float, df: int, shift: float = 0.0) -> float:
    """The chance that a noncentral t of `df` degrees of freedom is above a limit: that Z + shift > limit * S."""
    fine = max(math.sqrt(2 * df), shift + 5)  # what changes within 1 / fine of log S
    values = _spread(df, 2.0 ** math.floor(math.log2(1 / fine)))
    slope, start = limit / math.sqrt(2), shift / math.sqrt(2)
    return sum(weight * erfc(slope * s - start) for s, weight in values) / 2


@lru_cache(maxsize=256)
def _spread(df: int, step: float) -> list[tuple[float, float]]:
    """S = sqrt(chi square / df): values with their weights, in equal steps of the logarithm (trapezoidal rule)."""
    tail = 9 / math.sqrt(2 * df)
    low, high = -26 / df - tail, math.log1p(60 / df) / 2 + tail
    constant = math.log(2 * step) + df / 2 * math.log(df / 2) - math.lgamma(df / 2)
    logs = (low + step * number for number in range(math.ceil((high - low) / step) + 1))
    return [(math.exp(log), math.exp(constant + df * (log - math.exp(2 * log) / 2))) for log in logs]


@lru_cache(maxsize=256)
def _quantile(level: float, df: int) -> float:
    """What Student's t is above with this chance: Newton's method on logarithms, from the normal quantile."""
    constant = math.lgamma((df + 1) / 2) - math.lgamma(df / 2) - math.log(df * math.pi) / 2
    t, before = NormalDist().inv_cdf(1 - level), 0.0
    while abs(t - before) > 1e-11 * t:
        chance = _beyond(t, df)
        density = math.exp(constant - (df + 1) / 2 * math.log1p(t * t / df))
        t, before = t * (chance / level) ** (chance / (t * density)), t
    return t


@lru_cache(maxsize=256)
def _shift(limit: float, df: int) -> float:
    """The shift whose noncentral t is above the limit with 80 % power, by halving."""
    low, high = 0.0, 2 * limit + 2
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(limit, df, middle) >= POWER else (middle, high)
    return high

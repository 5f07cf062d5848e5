"""What a study of so many trials can find, known before the first of them. Pure, and quick to import.

A difference is found when its direction gets a verdict: a two-sided paired t test of the log ratios of n blocks
(`analysis.statistics.contrast`), at the level that is left to one difference among equals, 5 % / comparisons, or less
in a study that looks. CV is that of the times of one condition inside a block, so a log ratio spreads by CV * sqrt(2).
Where the signed rank takes over, its efficiency of 0.955 (Hodges and Lehmann 1956) counts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from itertools import count

from scipy import special

from analysis.statistics.contrast import CONFIDENCE, CONFIDENCE_WITH_LOOKS, LEAST_PAIRS, LEAST_PAIRS_RANKED

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
        return float(special.stdtrit(trials - 1, 1 - level / 2))

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
    return float(1 - special.nctdtr(trials - 1, shift, limit))


def smallest_difference(trials: int, question: Question) -> float | None:
    """The least true difference that is found with 80 % power; None when none is."""
    if trials < LEAST_PAIRS:
        return None
    shift = float(special.nctdtrinc(trials - 1, 1 - POWER, question.limit(trials)))
    log_ratio = shift * question.error(trials)
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

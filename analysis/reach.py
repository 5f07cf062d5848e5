"""What a comparison of so many trials can show at all, known before the first of them. Pure, and quick to import.

The tests are those of `analysis.compare`.
"""

from __future__ import annotations

import math
from itertools import count

ALPHA = 0.05
LEAST_TRIALS = 5  # for an interval
LEAST_PAIRS_WILCOXON = 6


def clear_ones_needed(comparisons: int, trials: int) -> int | None:
    """How many of so many comparisons must differ in every one of their blocks, for any of them to get a verdict.

    None: no number is enough. Fewer than LEAST_TRIALS have no interval; beyond that the least p-value that so many
    blocks can give has to pass Benjamini-Hochberg, which asks the less of each the more of them are as clear.
    """
    if trials < LEAST_TRIALS:
        return None
    paired = trials >= LEAST_PAIRS_WILCOXON
    least_p = 2 * 0.5**trials if paired else 2 / math.comb(2 * trials, trials)
    needed = math.floor(least_p * comparisons / ALPHA) + 1  # q < ALPHA
    return needed if needed <= comparisons else None


def least_trials(comparisons: int, clear: int) -> int:
    """The least number of trials with which that many clear differences get their verdict; at least one each."""
    return next(
        n for n in count(LEAST_TRIALS) if (clear_ones_needed(comparisons, n) or math.inf) <= max(1, clear)
    )

"""One statistic for a ratio of two conditions: estimate, interval and test come from the same numbers.

The numbers are log ratios, one per block that holds both conditions: what a whole block shares (a drift, a busy hour)
cancels out. Which statistic it is depends on n alone, known before any value is seen:

  fewer than 15 pairs   mean of the log ratios with Student's t (the paired t test)
  15 pairs or more      Hodges-Lehmann estimate with the exact signed-rank distribution (Hodges and Lehmann 1963)

The t interval holds its 95 % at every n from 3, also where two conditions spread differently, and it can reach any
p-value: at n = 6 the least p-value of the signed rank is 0.031, which no correction for many comparisons forgives. From
15 pairs on the signed rank reaches 0.00006; it then costs 2 % of width when times are lognormal and gives 10 to 15 %
back when bursts hit some of them. A variance pooled over all conditions of a block would be narrower at small n, but
its interval is wrong wherever conditions spread differently. `benchmarks/statistics.py` prints all this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

Sample = NDArray[np.floating[Any]]

CONFIDENCE = 0.95
# A study that stops as soon as an interval is narrow enough stops a little more often when it is narrow by chance. With
# up to 8 looks, the first that counts at 10 pairs, intervals of 97.5 % cover the truth in over 95 % of the studies, and
# false verdicts stay below 5 %, also where many comparisons pay for each other (benchmarks/statistics.py).
CONFIDENCE_WITH_LOOKS = 0.975
LEAST_PAIRS_LOOKED = 10
LEAST_PAIRS = 3  # for an interval
LEAST_PAIRS_RANKED = 15
MOST_PAIRS_RANKED = 400  # 80,000 Walsh averages; beyond them the mean of so many pairs is as good
ROUNDING = 1e-12  # of a log ratio: what is smaller is no difference


class Method(StrEnum):
    """How an estimate was come by."""

    PAIRED_T = "paired t"
    SIGNED_RANK = "signed rank"
    WELCH = "Welch t"
    LEVELS_T = "t over levels"
    NONE = "too few"


class Statistic(Protocol):
    """An estimated log ratio that can be asked for intervals and one-sided p-values."""

    @property
    def method(self) -> Method: ...

    @property
    def centre(self) -> float: ...

    @property
    def error(self) -> float:
        """About the standard error of `centre`."""
        ...

    def interval(self, confidence: float) -> tuple[float, float]:
        """Two-sided; NaN twice when there are too few values."""
        ...

    def p_not_above(self, value: float) -> float:
        """One-sided p-value of the hypothesis that the true log ratio is `value` or less: small when it is above."""
        ...

    def p_not_below(self, value: float) -> float:
        """One-sided p-value of the hypothesis that the true log ratio is `value` or more: small when it is below."""
        ...


@dataclass(frozen=True)
class StudentT:
    """A mean with its standard error: infinitely sure of it when that is 0, not sure at all when it is NaN."""

    centre: float
    error: float
    freedom: float
    method: Method = Method.PAIRED_T

    def interval(self, confidence: float) -> tuple[float, float]:
        if math.isnan(self.error):
            return math.nan, math.nan
        reach = float(special.stdtrit(self.freedom, (1 + confidence) / 2)) * self.error
        return self.centre - reach, self.centre + reach

    def p_not_above(self, value: float) -> float:
        return self._tail(self.centre - value)

    def p_not_below(self, value: float) -> float:
        return self._tail(value - self.centre)

    def _tail(self, distance: float) -> float:
        """Probability of a distance this large or larger by chance."""
        if math.isnan(self.error):
            return 1.0
        if self.error == 0:
            return 0.0 if distance > ROUNDING else 1.0
        return float(special.stdtr(self.freedom, -distance / self.error))


@dataclass(frozen=True, eq=False)
class SignedRank:
    """Hodges-Lehmann estimate of differences, with the exact distribution of the signed-rank sum, ties included."""

    differences: Sample
    method: Method = Method.SIGNED_RANK

    @cached_property
    def _walsh(self) -> Sample:
        """All pairwise averages, sorted."""
        first, second = _pairs(self.differences.size)
        averages: Sample = np.sort((self.differences[first] + self.differences[second]) / 2)
        return averages

    @property
    def centre(self) -> float:
        walsh = self._walsh
        return float((walsh[(walsh.size - 1) // 2] + walsh[walsh.size // 2]) / 2)

    @property
    def error(self) -> float:
        low, high = self.interval(CONFIDENCE)
        return (high - low) / (2 * float(special.ndtri((1 + CONFIDENCE) / 2)))

    def interval(self, confidence: float) -> tuple[float, float]:
        step = _walsh_step(self.differences.size, confidence)
        return float(self._walsh[step - 1]), float(self._walsh[-step])

    def p_not_above(self, value: float) -> float:
        return _signed_rank_tail(self.differences - value)

    def p_not_below(self, value: float) -> float:
        return _signed_rank_tail(value - self.differences)


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The places of the two of each pair of n, each with itself, too. Conditions of a run have nearly equal n."""
    first, second = np.triu_indices(n)
    return first, second


@lru_cache(maxsize=MOST_PAIRS_RANKED)
def _walsh_step(n: int, confidence: float) -> int:
    """Which Walsh average from either end bounds the interval of n differences."""
    below = _rank_sums(tuple(range(2, 2 * n + 1, 2))).cumsum()[::2]
    return max(int(np.searchsorted(below, (1 - confidence) / 2, side="right")), 1)


def _signed_rank_tail(differences: Sample) -> float:
    """Exact probability of a sum of positive ranks this large or larger, when signs fall by chance.

    Differences of 0 say nothing and are left out (Wilcoxon 1945); equal ones share their ranks.
    """
    # Differences of metrics that are whole numbers tie; rounding must not tell them apart.
    rounded = np.round(differences, 12)
    telling = rounded[rounded != 0]
    if telling.size == 0:
        return 1.0
    sizes = np.abs(telling)
    smaller, up_to = (np.searchsorted(np.sort(sizes), sizes, side) for side in ("left", "right"))
    doubled = smaller + up_to + 1  # twice the mean rank, which may end in .5
    chances = _rank_sums(tuple(np.sort(doubled).tolist()))
    return min(1.0, float(chances[int(doubled[telling > 0].sum()) :].sum()))


@lru_cache(maxsize=32)
def _rank_sums(ranks: tuple[int, ...]) -> Sample:
    """The distribution of the sum of those ranks that a fair coin picks: chance of 0, 1, 2, ..."""
    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    top = 0
    for rank in ranks:
        top += rank
        chances[rank : top + 1] = (chances[rank : top + 1] + chances[: top - rank + 1]) / 2
        chances[:rank] /= 2
    return chances


def contrast(differences: Sample) -> Statistic:
    """The statistic of paired differences (log ratios), chosen by their number. At least one is needed."""
    n = differences.size
    if LEAST_PAIRS_RANKED <= n <= MOST_PAIRS_RANKED:
        return SignedRank(differences)
    return mean(differences)


def mean(sample: Sample) -> StudentT:
    """The mean with Student's t, whatever the number of values; at least one is needed."""
    centre = float(sample.mean())
    if sample.size < LEAST_PAIRS:
        return StudentT(centre, math.nan, math.nan, Method.NONE)
    return StudentT(centre, _standard_error(sample), sample.size - 1)


def welch(subject: Sample, reference: Sample) -> Statistic:
    """The difference of two independent means that may spread differently (Welch 1947)."""
    centre = float(subject.mean() - reference.mean())
    if min(subject.size, reference.size) < LEAST_PAIRS:
        return StudentT(centre, math.nan, math.nan, Method.NONE)
    parts = [(_standard_error(side) ** 2, side.size - 1) for side in (subject, reference)]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return StudentT(centre, 0.0, 1.0, Method.WELCH)
    freedom = variance**2 / sum(part**2 / count for part, count in parts)
    return StudentT(centre, math.sqrt(variance), freedom, Method.WELCH)


def _standard_error(sample: Sample) -> float:
    """Of the mean; what is only the rounding of equal values is 0."""
    spread = float(sample.std(ddof=1))
    return (
        0.0 if spread < ROUNDING * max(1.0, float(np.abs(sample).max())) else spread / math.sqrt(sample.size)
    )


LEAST_LEVELS = 3


def mean_of(parts: Sequence[Statistic], *, random: bool = True) -> Statistic:
    """The mean of estimates; of log ratios it is the geometric mean of ratios. At least one is needed.

    `random`: the parts stand for others of their kind, so their spread counts as soon as it can be seen.
    """
    if len(parts) == 1:
        return parts[0]
    centres = np.array([part.centre for part in parts])
    errors = np.array([part.error for part in parts])
    centre = float(centres.mean())
    within = float(np.sqrt((errors**2).sum())) / len(parts)
    if not random or len(parts) < LEAST_LEVELS:
        return StudentT(centre, within, _freedom(parts), Method.LEVELS_T)
    between = float(centres.std(ddof=1)) / math.sqrt(len(parts))
    error = between if math.isnan(within) else max(between, within)
    return StudentT(centre, error, len(parts) - 1, Method.LEVELS_T)


def _freedom(parts: Sequence[Statistic]) -> float:
    """Degrees of freedom of the sum of the parts' variances (Satterthwaite 1946)."""
    variances = [(part.error**2, part.freedom if isinstance(part, StudentT) else math.inf) for part in parts]
    total = sum(variance for variance, _ in variances)
    share = sum(variance**2 / freedom for variance, freedom in variances)
    return total**2 / share if share > 0 else 1e9

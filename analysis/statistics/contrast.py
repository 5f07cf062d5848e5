"""One statistic for a ratio of two conditions: estimate, interval and test come from the same numbers.

The numbers are log ratios, one per block that holds both conditions: what a whole block shares (a drift, a busy hour)
cancels out. Which statistic it is depends on n alone, known before any value is seen:

  fewer than 15 pairs   mean of the log ratios with Student's t (the paired t test)
  15 pairs or more      Hodges-Lehmann estimate with the exact signed-rank distribution (Hodges and Lehmann 1963)

The t interval holds its 95 % at every n from 3, also where two conditions spread differently, and it can reach any
p-value: at n = 6 the least p-value of the signed rank is 0.031, which no correction for many comparisons forgives. From
15 pairs on the signed rank reaches 0.00006; it then costs 2 % of width when times are lognormal and gives 10 to 15 %
back when bursts hit some of them. A variance pooled over all conditions of a block would be narrower at small n, but
its interval is wrong wherever conditions spread differently. `benchmarks/simulation` prints all this.

A load that timed out took longer than any other of its condition, and no more is known: its log ratio is infinite.
Then ranks are taken at every n, which need no more than that.
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
from scipy import special, stats

from analysis.statistics import CONFIDENCE, LEAST_LEVELS, LEAST_PAIRS, LEAST_PAIRS_RANKED

Sample = NDArray[np.floating[Any]]

MOST_PAIRS_RANKED = 400  # 80,000 Walsh averages; beyond them the mean of so many pairs is as good
ROUNDING = 1e-12  # of a log ratio: what is smaller is no difference


class Method(StrEnum):
    """How an estimate was come by."""

    PAIRED_T = "paired t"
    SIGNED_RANK = "signed rank"
    RANK_SUM = "rank sum"
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


@dataclass(frozen=True)
class LeastSure:
    """One mean as several statistics see it: at every level as sure as the least sure of them."""

    parts: tuple[Statistic, ...]
    method: Method = Method.LEVELS_T

    @property
    def centre(self) -> float:
        return self.parts[0].centre

    @property
    def error(self) -> float:
        return max(part.error for part in self.parts)

    def interval(self, confidence: float) -> tuple[float, float]:
        lows, highs = zip(*(part.interval(confidence) for part in self.parts), strict=True)
        return min(lows), max(highs)

    def p_not_above(self, value: float) -> float:
        return max(part.p_not_above(value) for part in self.parts)

    def p_not_below(self, value: float) -> float:
        return max(part.p_not_below(value) for part in self.parts)


@dataclass(frozen=True, eq=False)
class SignedRank:
    """Hodges-Lehmann estimate of differences, with the exact distribution of the signed-rank sum, ties included.

    A difference may be infinite. An interval that so few differences cannot give is that of all numbers.
    """

    differences: Sample
    method: Method = Method.SIGNED_RANK

    @cached_property
    def _walsh(self) -> Sample:
        """All pairwise averages, sorted; that of two infinite ones of opposite signs is 0."""
        first, second = _pairs(self.differences.size)
        return np.sort(_averages(self.differences[first], self.differences[second]))

    @property
    def centre(self) -> float:
        return _middle(self._walsh)

    @property
    def error(self) -> float:
        return _error_of(self.interval(CONFIDENCE))

    def interval(self, confidence: float) -> tuple[float, float]:
        step = _walsh_step(self.differences.size, confidence)
        if step == 0:
            return -math.inf, math.inf
        return float(self._walsh[step - 1]), float(self._walsh[-step])

    def p_not_above(self, value: float) -> float:
        return _signed_rank_tail(self.differences - value)

    def p_not_below(self, value: float) -> float:
        return _signed_rank_tail(value - self.differences)


@lru_cache(maxsize=8)
def _pairs(n: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The indices of the two of each pair of n, each with itself, too. Conditions of a run have nearly equal n."""
    first, second = np.triu_indices(n)
    return first, second


@lru_cache(maxsize=MOST_PAIRS_RANKED)
def _walsh_step(n: int, confidence: float) -> int:
    """Which Walsh average from either end bounds the interval of n differences; 0: none of them does."""
    below = _rank_sums(tuple(range(2, 2 * n + 1, 2))).cumsum()[::2]
    return int(np.searchsorted(below, (1 - confidence) / 2, side="right"))


@dataclass(frozen=True, eq=False)
class RankSum:
    """How far one sample lies above another: Hodges-Lehmann estimate, with the test of Mann and Whitney (1947).

    For values of which some are infinite. The interval is that of the normal approximation. Nobody knows which of two
    time-outs took longer: an interval leaves open how far they lie apart, and a test takes the less telling order.
    """

    subject: Sample
    reference: Sample
    method: Method = Method.RANK_SUM

    @cached_property
    def _shifts(self) -> Sample:
        """Every value of the one minus every value of the other, sorted; that of two infinite ones is 0."""
        return self._sorted_shifts(0.0)

    @cached_property
    def _bounds(self) -> tuple[Sample, Sample]:
        """The shifts that the lower end of an interval is taken from, and those of the upper end."""
        return self._sorted_shifts(-math.inf), self._sorted_shifts(math.inf)

    def _sorted_shifts(self, of_infinite: float) -> Sample:
        """The shifts, sorted. `of_infinite`: the shift between two infinite values."""
        return np.sort(2 * _averages(self.subject[:, None], -self.reference[None, :], of_infinite).ravel())

    @property
    def centre(self) -> float:
        return _middle(self._shifts)

    @property
    def error(self) -> float:
        return _error_of(self.interval(CONFIDENCE))

    def interval(self, confidence: float) -> tuple[float, float]:
        m, n = self.subject.size, self.reference.size
        reach = float(special.ndtri((1 + confidence) / 2)) * math.sqrt(m * n * (m + n + 1) / 12)
        step = math.floor(m * n / 2 - reach)
        if step < 1:
            return -math.inf, math.inf
        lower, upper = self._bounds
        return float(lower[step - 1]), float(upper[-step])

    def p_not_above(self, value: float) -> float:
        subject = _below_infinite(self.subject - value)
        return float(stats.mannwhitneyu(subject, self.reference, alternative="greater").pvalue)

    def p_not_below(self, value: float) -> float:
        reference = _below_infinite(self.reference)
        return float(stats.mannwhitneyu(self.subject - value, reference, alternative="less").pvalue)


def _below_infinite(sample: Sample) -> Sample:
    """The sample with its infinite values above all others and below those of another sample: of two time-outs the one
    counts as longer that makes a test less sure.
    """
    return np.nan_to_num(sample, posinf=float(np.finfo(float).max), neginf=-math.inf)


def _averages(one: Sample, other: Sample, of_infinite: float = 0.0) -> Sample:
    """The average of each pair. `of_infinite`: that of two infinite values of opposite signs."""
    with np.errstate(invalid="ignore"):
        averages: Sample = (one + other) / 2
    return np.nan_to_num(averages, nan=of_infinite, posinf=math.inf, neginf=-math.inf)


def _middle(ordered: Sample) -> float:
    """The median of sorted values."""
    return float(_averages(ordered[(ordered.size - 1) // 2], ordered[ordered.size // 2]))


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


def mean(sample: Sample) -> Statistic:
    """The mean with Student's t, whatever the number of values; at least one is needed. Of infinite ones the ranks."""
    if sample.size < LEAST_PAIRS:
        return StudentT(_mean(sample), math.nan, math.nan, Method.NONE)
    if not np.isfinite(sample).all():
        return SignedRank(sample)
    centre = float(sample.mean())
    return StudentT(centre, _standard_error(sample), sample.size - 1)


def welch(subject: Sample, reference: Sample) -> Statistic:
    """The difference of two independent means that may spread differently (Welch 1947); of infinite ones the ranks."""
    centre = _mean(subject) - _mean(reference)
    if min(subject.size, reference.size) < LEAST_PAIRS:
        return StudentT(centre, math.nan, math.nan, Method.NONE)
    if not math.isfinite(centre):
        return RankSum(subject, reference)
    parts = [(_standard_error(side) ** 2, side.size - 1) for side in (subject, reference)]
    variance = sum(part for part, _ in parts)
    if variance == 0:
        return StudentT(centre, 0.0, 1.0, Method.WELCH)
    freedom = variance**2 / sum(part**2 / count for part, count in parts)
    return StudentT(centre, math.sqrt(variance), freedom, Method.WELCH)


def _error_of(interval: tuple[float, float]) -> float:
    """The standard error of a normal estimate with this interval at CONFIDENCE."""
    low, high = interval
    return (high - low) / (2 * float(special.ndtri((1 + CONFIDENCE) / 2)))


def _standard_error(sample: Sample) -> float:
    """Of the mean; what is only the rounding of equal values is 0."""
    spread = float(sample.std(ddof=1))
    return (
        0.0 if spread < ROUNDING * max(1.0, float(np.abs(sample).max())) else spread / math.sqrt(sample.size)
    )


def _mean(sample: Sample) -> float:
    with np.errstate(invalid="ignore"):  # infinite ones of both signs
        return float(sample.mean())


def mean_of(parts: Sequence[Statistic], *, random: bool = True) -> Statistic:
    """The mean of estimates; of log ratios it is the geometric mean of ratios. At least one is needed.

    `random`: the parts stand for others of their kind, as pages and runs do. From three on the interval is that of
    Student's t over the parts: exact where all have the same n and spread (a random level in a balanced design), and
    within 94 to 97 % where they have not (`benchmarks/simulation`). What chance does inside the parts is in their
    spread. Fewer parts speak of themselves alone.
    """
    if len(parts) == 1:
        return parts[0]
    centres = np.array([part.centre for part in parts])
    centre = _mean(centres)
    if not math.isfinite(centre):
        return StudentT(centre, math.nan, math.nan, Method.NONE)
    if random and len(parts) >= LEAST_LEVELS:
        return StudentT(centre, _standard_error(centres), len(parts) - 1, Method.LEVELS_T)
    errors = np.array([part.error for part in parts])
    within = float(np.sqrt((errors**2).sum())) / len(parts)
    return StudentT(centre, within, _freedom(parts), Method.LEVELS_T)


def crossed(centres: Sample) -> Statistic:
    """The mean of estimates in rows and columns, as of pages in runs, both of which stand for others of their kind.

    `centres`: rows x columns, at least three of either, NaN where there is none. Rows and columns each err by
    themselves, so their variances add up; what is left in the cells is in both and is taken off once where no cell is
    empty (the two-way layout with random effects, Searle 1971), but never below the greater of the two. Degrees of
    freedom are those of the sum (Satterthwaite 1946).
    """
    rows, columns = np.nanmean(centres, axis=1), np.nanmean(centres, axis=0)
    of_rows, of_columns = _standard_error(rows) ** 2, _standard_error(columns) ** 2
    rest = centres - rows[:, None] - columns[None, :] + rows.mean()
    freedom = (rows.size - 1) * (columns.size - 1)
    of_cells = 0.0 if np.isnan(centres).any() else float((rest**2).sum()) / freedom / centres.size
    variance = max(of_rows + of_columns - of_cells, of_rows, of_columns)
    share = of_rows**2 / (rows.size - 1) + of_columns**2 / (columns.size - 1)
    total = of_rows + of_columns
    return StudentT(
        float(rows.mean()),
        math.sqrt(variance),
        total**2 / share if share > 0 else freedom,
        Method.LEVELS_T,
    )


def _freedom(parts: Sequence[Statistic]) -> float:
    """Degrees of freedom of the sum of the parts' variances (Satterthwaite 1946)."""
    variances = [(part.error**2, part.freedom if isinstance(part, StudentT) else math.inf) for part in parts]
    total = sum(variance for variance, _ in variances)
    if math.isinf(total):
        return 1.0
    share = sum(variance**2 / freedom for variance, freedom in variances)
    return total**2 / share if share > 0 else 1e9

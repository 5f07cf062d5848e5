"""Conditions against each other: ratios inside blocks, their intervals, and their p-values corrected for many.

A ratio is how long the subject takes in units of the reference: 0.8 is a fifth less time. Direction and size are two
statements, each with a p-value of its own:

  direction   the true ratio is not 1 (two-sided)
  size        the true ratio lies within 1/(1 + margin) .. 1 + margin (two one-sided tests, Schuirmann 1987)

`told` is what reports, figures and `coldload compare` call: verdicts, with intervals that cover after the choice.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import special, stats

from analysis.runs.rundirectory import EXECUTOR, LEVEL, in_levels
from analysis.statistics import CONFIDENCE, CONFIDENCE_WITH_LOOKS, LEAST_LEVELS
from analysis.statistics.contrast import Method, Sample, Statistic, contrast, mean_of

ALPHA = 1 - CONFIDENCE
MARGIN = 0.03
LEAST_PAIRS_FORETOLD = 5
MOST_TRIALS_FORETOLD = 1_000
WIDER = "wider where something was found"  # how a text tells that intervals are those of a choice (`told`)


class Verdict(StrEnum):
    """What is known of a comparison. Whether the difference is also small is told apart (`small`)."""

    FASTER = "faster"
    SLOWER = "slower"
    WITHIN = "within the margin"
    UNKNOWN = "not known yet"

    @property
    def flipped(self) -> Verdict:
        return {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(self, self)


@dataclass(frozen=True)
class Comparison:
    """Subject against reference: `n` pairs in `runs` runs, the ratio with its interval, and two p-values.

    `p` is of the direction, `p_size` of the size. What n does not allow is NaN, and 1 for a p-value. `confidence`: of
    the interval. `pages`: how many it rests on. `statistic`: what all this comes from.
    """

    n: int
    runs: int
    ratio: float
    low: float
    high: float
    method: Method
    p: float
    p_size: float
    confidence: float = CONFIDENCE
    pages: int = 1
    statistic: Statistic | None = field(default=None, repr=False, compare=False)

    @property
    def levels(self) -> tuple[str, ...]:
        """What the interval is over: `pages`, `runs`, both, or neither. More trials of these need not narrow it."""
        if self.method != Method.LEVELS_T:  # rows of tables hold plain text
            return ()
        return tuple(name for name in ("pages", "runs") if getattr(self, name) >= LEAST_LEVELS)

    @property
    def figures(self) -> dict[str, Any]:
        """Every field but the statistic, by its name."""
        return {name: getattr(self, name) for name in FIGURES}

    def below(self, floor: float | None) -> bool:
        """Whether equal conditions show as much; False where none was measured twice."""
        return floor is not None and abs(log_of(self.ratio)) <= math.log(floor)

    def chosen(self, told: int, among: int) -> Comparison:
        """With the interval that is due to one of `told` that were chosen `among` so many."""
        return self if told == among else self.at(level_of_choice(self.confidence, told, among))

    def at(self, confidence: float) -> Comparison:
        """With the interval of another level; as it is where there is no statistic to ask."""
        if self.statistic is None:
            return self
        low, high = self.statistic.interval(confidence)
        return replace(self, low=math.exp(low), high=math.exp(high), confidence=confidence)


FIGURES = tuple(name for name in Comparison.__dataclass_fields__ if name != "statistic")


def level_of_choice(confidence: float, told: int, among: int) -> float:
    """The level of the intervals of `told` that were chosen `among` so many (Benjamini and Yekutieli 2005)."""
    return 1 - (1 - confidence) * told / among


def log_of(ratio: float) -> float:
    """The logarithm; of 0, a bound that time-outs leave open, minus infinity."""
    return -math.inf if ratio == 0 else math.log(ratio)


NOTHING = Comparison(0, 0, math.nan, math.nan, math.nan, Method.NONE, 1.0, 1.0)


@dataclass(frozen=True)
class Certainty:
    """How sure intervals and tests are to be, and which difference is declared not to matter.

    `looked`: trials ended at a look at the data, for which intervals and p-values pay.
    """

    margin: float = MARGIN
    looked: bool = False

    @property
    def confidence(self) -> float:
        return CONFIDENCE_WITH_LOOKS if self.looked else CONFIDENCE

    @property
    def level(self) -> str:
        """`95 %`."""
        return f"{100 * self.confidence:g} %"

    @property
    def interval(self) -> str:
        """What a reader is told that an interval of a comparison or a mean is; those of medians are always of 95 %."""
        return f"{self.level} interval"

    def p(self, value: float) -> float:
        """A p-value that has paid for the looks."""
        return min(1.0, value * ALPHA / (1 - self.confidence))


class Blocks:
    """Every condition's values of one metric, block by block: the logarithm of what was measured.

    A machine of a run on several, or a lane of a run in several, is a level like a run of its own. Nothing is paired
    across them (`analysis.runs.rundirectory.in_levels`).
    """

    def __init__(self, records: pd.DataFrame, metric: str) -> None:
        """`records` have columns run, block, cell and the metric; attempts of one block count as their median."""
        wanted = [name for name in (*LEVEL, *EXECUTOR) if name in records]
        values = in_levels(records[[*wanted, "cell", metric]].dropna(subset=["run", "block", "cell", metric]))
        wide = values.pivot_table(index=list(LEVEL), columns="cell", values=metric, aggfunc="median")
        self._runs = wide.index.get_level_values("run").to_numpy()
        self._columns: dict[int, Sample] = {
            int(cell): wide[cell].to_numpy(dtype=float) for cell in wide.columns
        }

    def by_run(self, subject: int, reference: int) -> dict[str, Sample]:
        """Of each run, the log ratios of its blocks that hold both cells; runs without any are left out.

        A value of 0 or less has no ratio: then there are none at all. A time-out is infinite; blocks in which both
        sides timed out are left out.
        """
        return self.sums_by_run([(subject, 1), (reference, -1)])

    def ratios(self, subject: int, reference: int) -> Sample:
        """The log ratios of all blocks that hold both cells."""
        return np.concatenate([*self.by_run(subject, reference).values(), np.array([])])

    def sums_by_run(self, signs: Sequence[tuple[int, int]]) -> dict[str, Sample]:
        """Of each run, the sum of the cells' logarithms with their signs, in the blocks that hold all of them."""
        if any(cell not in self._columns for cell, _ in signs):
            return {}
        columns = np.array([self._columns[cell] for cell, _ in signs])
        there = ~np.isnan(columns).any(axis=0)
        if not there.any() or columns[:, there].min() <= 0:
            return {}
        with np.errstate(invalid="ignore"):  # of two time-outs nobody knows which took longer
            sums = (np.array([[sign] for _, sign in signs]) * np.log(columns)).sum(axis=0)
        there &= ~np.isnan(sums)
        return self._in_runs(sums[there], there)

    def zeros(self, subject: int, reference: int) -> tuple[int, int]:
        """In how many of the blocks that hold both cells a value of 0 or less has no ratio, and how many hold both."""
        if any(cell not in self._columns for cell in (subject, reference)):
            return 0, 0
        columns = np.array([self._columns[cell] for cell in (subject, reference)])
        both = columns[:, ~np.isnan(columns).any(axis=0)]
        return int((both <= 0).any(axis=0).sum()), both.shape[1]

    def values(self, cell: int) -> Sample:
        """What was measured of a cell, a value per block."""
        return np.concatenate([*self.values_by_run(cell).values(), np.array([])])

    def values_by_run(self, cell: int) -> dict[str, Sample]:
        """Of each run, what was measured of a cell, a value per block; runs without any are left out."""
        values = self._columns.get(cell, np.full(self._runs.size, math.nan))
        there = ~np.isnan(values)
        return self._in_runs(values[there], there)

    def _in_runs(self, values: Sample, there: NDArray[np.bool_]) -> dict[str, Sample]:
        """The values of those blocks that are `there`, by their run."""
        runs = self._runs[there]
        return {str(run): values[runs == run] for run in dict.fromkeys(runs)}


def over_runs(
    runs: Sequence[Sample], of: Callable[[Sample], Statistic] = contrast, *, random: bool = True
) -> Statistic:
    """What one run or several give together: a log ratio; three or more runs each count once.

    `of`: the statistic of one sample; `mean` for values that are no log ratios. `random`: as of `mean_of`.
    """
    if len(runs) >= LEAST_LEVELS:
        return mean_of([of(sample) for sample in runs], random=random)
    return of(np.concatenate(list(runs)))


def compare(blocks: Blocks, subject: int, reference: int, certainty: Certainty) -> Comparison:
    """Two cells against each other."""
    runs = list(blocks.by_run(subject, reference).values())
    if not runs:
        return NOTHING
    return described(over_runs(runs), sum(sample.size for sample in runs), len(runs), certainty)


def described(statistic: Statistic, n: int, runs: int, certainty: Certainty, pages: int = 1) -> Comparison:
    """A statistic as ratio, interval and p-values."""
    low, high = statistic.interval(certainty.confidence)
    above, below = statistic.p_not_above(0.0), statistic.p_not_below(0.0)
    edge = math.log1p(certainty.margin)
    size = max(statistic.p_not_below(edge), statistic.p_not_above(-edge))
    return Comparison(
        n=n,
        runs=runs,
        ratio=math.exp(statistic.centre),
        low=math.exp(low),
        high=math.exp(high),
        method=statistic.method,
        p=certainty.p(min(1.0, 2 * min(above, below))),
        p_size=certainty.p(size),
        confidence=certainty.confidence,
        pages=pages,
        statistic=statistic,
    )


@dataclass(frozen=True)
class Judgement:
    """The verdict on a comparison among others. `q` and `q_size` are its p-values, corrected over all of them.

    `small`: the difference is less than the margin, whatever its direction. `trials`: about how many per condition a
    run of its own would need to know more, when it pays for as many comparisons; None where there is no telling, and
    over pages or runs, of which more trials need not tell more.
    """

    q: float
    q_size: float
    verdict: Verdict
    small: bool
    trials: int | None = None


UNTOLD = Judgement(1.0, 1.0, Verdict.UNKNOWN, small=False)  # of what cannot be compared
JudgedComparison = tuple[Comparison, Judgement]


def told(
    found: Sequence[Comparison], margin: float = MARGIN, *, beforehand: bool = False
) -> list[JudgedComparison]:
    """What is said of each comparison: its verdict, and its interval.

    The size of what a verdict picks out is told because it looks large: plain 95 % intervals of such sizes hold the
    truth in far fewer than 95 %. So R directions that are told among m comparisons have intervals of the level
    1 - 5 % R/m (false coverage rate, Benjamini and Yekutieli 2005), and so have those that are told to be within the
    margin. No such interval holds 1 where the direction is told. What is not known yet has a plain one.

    `beforehand`: named before the run and told whatever comes out, so that nothing was chosen: all are plain.
    """
    judgements = judged(found, margin)
    if beforehand:
        return list(zip(found, judgements, strict=True))
    counts = Counter(_choice(ruling.verdict) for ruling in judgements)
    return [
        (
            seen
            if judgement.verdict is Verdict.UNKNOWN
            else seen.chosen(counts[_choice(judgement.verdict)], len(found)),
            judgement,
        )
        for seen, judgement in zip(found, judgements, strict=True)
    ]


def _choice(verdict: Verdict) -> Verdict:
    """Either direction is one choice."""
    return Verdict.SLOWER if verdict is Verdict.FASTER else verdict


def judged(found: Sequence[Comparison], margin: float = MARGIN) -> list[Judgement]:
    """A verdict on each comparison; all of them pay for each other (Benjamini and Hochberg 1995)."""
    directions = benjamini_hochberg([comparison.p for comparison in found])
    sizes = benjamini_hochberg([comparison.p_size for comparison in found])
    shares = _share_of_one_more(directions), _share_of_one_more(sizes)
    return [
        _judged(each, q, q_size, margin, shares)
        for each, q, q_size in zip(found, directions, sizes, strict=True)
    ]


def _share_of_one_more(q_values: Sequence[float]) -> float:
    """The share of 5 % that the correction leaves to one more verdict: (R + 1) / m where R of m have one."""
    told = sum(q < ALPHA for q in q_values)
    return min(told + 1, len(q_values)) / max(len(q_values), 1)


def _judged(
    comparison: Comparison, q: float, q_size: float, margin: float, shares: tuple[float, float]
) -> Judgement:
    small = q_size < ALPHA
    if q < ALPHA and comparison.low > 1:
        return Judgement(q, q_size, Verdict.SLOWER, small)
    if q < ALPHA and comparison.high < 1:
        return Judgement(q, q_size, Verdict.FASTER, small)
    if small:
        return Judgement(q, q_size, Verdict.WITHIN, small)
    return Judgement(q, q_size, Verdict.UNKNOWN, small, _trials_needed(comparison, margin, shares))


def _trials_needed(comparison: Comparison, margin: float, shares: tuple[float, float]) -> int | None:
    """About how many trials of a condition a run of its own needs, if what was seen holds: an order of magnitude.

    Intervals shrink with the square root of n. One has to shrink until it excludes 1, another one until it fits the
    margin; whichever is nearer tells. Each is of the level that the correction leaves to one more verdict of its kind
    (`shares` of 5 %: direction, size), so it is wider than a plain one, by the ratio of normal quantiles. Below five
    pairs of a page the spread that was seen says too little.
    """
    n = comparison.n / max(comparison.pages, 1)
    if n < LEAST_PAIRS_FORETOLD or math.isnan(comparison.low) or comparison.levels:
        return None
    centre, low, high = (log_of(x) for x in (comparison.ratio, comparison.low, comparison.high))
    if not math.isfinite(high - low):
        return None
    of_direction, of_size = (_wider(comparison.confidence, share) for share in shares)
    distance = max(abs(centre) / of_direction, (math.log1p(margin) - abs(centre)) / of_size)
    wanted = n * ((high - low) / 2 / distance) ** 2
    return math.ceil(min(max(wanted, n + 1), MOST_TRIALS_FORETOLD))


def _wider(confidence: float, share: float) -> float:
    """How many times as wide an interval becomes whose miss is a `share` of what it was."""
    plain, paid = (special.ndtri(1 - miss * (1 - confidence) / 2) for miss in (1, share))
    return float(paid / plain)


def compared(
    blocks: Blocks, pairs: Iterable[tuple[dict[str, Any], int, int]], certainty: Certainty
) -> pd.DataFrame:
    """One row per pair of cells: what the caller says of it, then the figures of `Comparison` and `Judgement`."""
    says, comparisons = [], []
    for row, subject, reference in pairs:
        says.append(row)
        comparisons.append(compare(blocks, subject, reference, certainty))
    return pd.DataFrame(
        {**row, **seen.figures, **vars(judgement)}
        for row, (seen, judgement) in zip(says, told(comparisons, certainty.margin), strict=True)
    )


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg 1995)."""
    if not p_values:
        return []
    return [float(q) for q in stats.false_discovery_control(p_values, method="bh")]


def told_alone(low: float, high: float, p: float) -> bool:
    """Whether a comparison with these figures would have a direction if it did not pay for others."""
    return p < ALPHA and (low > 1 or high < 1)

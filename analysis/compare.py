"""Two samples of trials against each other: a ratio with its interval, a test, and one of four verdicts.

The ratio is how long the subject takes in units of the reference: 0.8 is a fifth less time. Trials of one
block ran close together in time, so where blocks hold both sides the ratio is taken inside each block, and
the estimate is exp(median of log ratios): for odd n the median ratio itself, and always the exact inverse
when the two sides are swapped. Where blocks do not pair it is the ratio of the two medians.

The test is chosen by n alone, before any value is seen:
  6 or more pairs   Wilcoxon signed rank of the log ratios (Wilcoxon 1945)
  otherwise         Mann-Whitney (Mann and Whitney 1947)
because the signed rank of five pairs cannot give less than p = 2 * 0.5^5 = 0.0625, whatever was measured,
while five against five trials reach 0.008. Blocks that vary together only make the unpaired test the more
cautious one.

The effect size is Cliff's delta (Cliff 1993): the share of pairs in which the subject takes longer minus the
share in which it takes less time; -1 means that its every trial was faster.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy has no types of its own

from analysis.estimate import Interval, IntervalKind, Sample, bootstrap, interval
from analysis.reach import ALPHA, LEAST_PAIRS_WILCOXON, LEAST_TRIALS
from harness.model.observation import MAIN_METRIC

MARGIN = 0.03
MOST_TRIALS_FORETOLD = 1_000
BLOCK = ("run", "block")


class Verdict(StrEnum):
    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference"
    INCONCLUSIVE = "inconclusive"

    @property
    def flipped(self) -> Verdict:
        return {Verdict.FASTER: Verdict.SLOWER, Verdict.SLOWER: Verdict.FASTER}.get(self, self)


@dataclass(frozen=True)
class Comparison:
    """Subject against reference. `n` counts pairs when `paired`, else the trials of the smaller sample."""

    n: int
    paired: bool
    ratio: float
    low: float
    high: float
    interval: IntervalKind
    test: str
    p: float
    delta: float

    @property
    def flipped(self) -> Comparison:
        """The reference against the subject."""
        return replace(
            self, ratio=1 / self.ratio, low=1 / self.high, high=1 / self.low, delta=-self.delta or 0.0
        )


def compare(subject: pd.Series[float], reference: pd.Series[float]) -> Comparison:
    """Compare two samples of times (> 0), each indexed by its block. Neither may be empty."""
    a: Sample = subject.to_numpy(dtype=float)
    b: Sample = reference.to_numpy(dtype=float)
    pairs = log_ratios(subject, reference)
    paired = 0 < pairs.size >= min(LEAST_TRIALS, a.size, b.size)
    if paired:
        centre, bounds = float(np.median(pairs)), interval(pairs)
    else:
        centre, bounds = float(_log_ratio_of_medians(a, b)), Interval()
        if min(a.size, b.size) >= LEAST_TRIALS:
            bounds = bootstrap((a, b), _log_ratio_of_medians)
    u, p = stats.mannwhitneyu(a, b, alternative="two-sided")
    test = "Mann-Whitney"
    if paired and pairs.size >= LEAST_PAIRS_WILCOXON:
        test, p = "Wilcoxon", stats.wilcoxon(pairs).pvalue if pairs.any() else 1.0
    return Comparison(
        n=int(pairs.size) if paired else int(min(a.size, b.size)),
        paired=paired,
        ratio=math.exp(centre),
        low=math.exp(bounds.low),
        high=math.exp(bounds.high),
        interval=bounds.kind,
        test=test,
        p=float(p),
        delta=float(2 * u / (a.size * b.size) - 1),
    )


def log_ratios(subject: pd.Series[float], reference: pd.Series[float]) -> Sample:
    """log(subject / reference) of each block that holds both; trials of one block count as their median."""
    left, right = (side.groupby(side.index).median() for side in (subject, reference))
    left, right = left.align(right, join="inner")
    return np.log(left.to_numpy(dtype=float)) - np.log(right.to_numpy(dtype=float))


def _log_ratio_of_medians(a: Sample, b: Sample, axis: int = -1) -> Sample | float:
    ratio: Sample = np.log(np.median(a, axis=axis)) - np.log(np.median(b, axis=axis))
    return ratio


def judge(comparison: Comparison, q: float, margin: float = MARGIN) -> Verdict:
    """The verdict, given the p-value corrected for many comparisons.

    No difference larger than the margin: the whole interval lies within 1/(1 + margin) .. 1 + margin, also
    when it excludes 1, because a difference that small was declared not to matter.
    Faster or slower: the interval excludes 1 and q < 0.05.
    """
    if comparison.interval is not IntervalKind.BOOTSTRAP:
        return Verdict.INCONCLUSIVE
    if 1 / (1 + margin) <= comparison.low and comparison.high <= 1 + margin:
        return Verdict.NO_DIFFERENCE
    if q < ALPHA and comparison.high < 1:
        return Verdict.FASTER
    if q < ALPHA and comparison.low > 1:
        return Verdict.SLOWER
    return Verdict.INCONCLUSIVE


def more_trials(comparison: Comparison, q: float, margin: float = MARGIN) -> int:
    """About how many more trials an inconclusive comparison needs, if what was seen holds.

    Intervals shrink, and test statistics grow, with the square root of n. Where the interval still spans 1 it
    has to shrink until it either excludes 1 or fits the margin, whichever is nearer; where only the test is
    short, its z has to reach the p-value that Benjamini-Hochberg asks for. An order of magnitude, no power
    analysis.
    """
    n = comparison.n
    if comparison.interval is not IntervalKind.BOOTSTRAP:
        return max(1, LEAST_TRIALS - n)
    centre, low, high = (math.log(x) for x in (comparison.ratio, comparison.low, comparison.high))
    if low <= 0 <= high:
        distance = max(abs(centre), math.log1p(margin) - abs(centre))
        wanted = n * (max(high - centre, centre - low) / distance) ** 2
    else:
        needed, seen = stats.norm.isf(ALPHA * comparison.p / q / 2), stats.norm.isf(comparison.p / 2)
        wanted = n * (needed / seen) ** 2 if seen > 0 else math.inf
    return max(1, math.ceil(min(wanted, MOST_TRIALS_FORETOLD + n) - n))


def comparisons(
    records: pd.DataFrame,
    by: Sequence[str],
    order: Sequence[str],
    metric: str = MAIN_METRIC,
    margin: float = MARGIN,
) -> pd.DataFrame:
    """Every protocol against every other within each group, both ways round.

    Columns: `by`, protocol, reference, the fields of `Comparison`, q, verdict, more. q is the p-value after
    Benjamini and Hochberg (1995) over all pairs of all groups, so that a verdict on any pair, also one that
    was picked because it looks extreme, has paid for the choice.
    """
    found: list[tuple[dict[str, object], str, str, Comparison]] = []
    for key, group in records.groupby(list(by), dropna=False):
        samples = {
            str(protocol): trials.set_index(list(BLOCK))[metric]
            for protocol, trials in group.groupby("protocol")
        }
        for subject, reference in combinations([name for name in order if name in samples], 2):
            place: dict[str, object] = dict(zip(by, key, strict=True))
            found.append((place, subject, reference, compare(samples[subject], samples[reference])))
    rows: list[dict[str, object]] = []
    verdicts = judged([comparison for *_, comparison in found], margin)
    for (place, subject, reference, comparison), (q, verdict, more) in zip(found, verdicts, strict=True):
        for one, other, seen, says in (
            (subject, reference, comparison, verdict),
            (reference, subject, comparison.flipped, verdict.flipped),
        ):
            names = {"protocol": one, "reference": other}
            rows.append({**place, **names, **asdict(seen), "q": q, "verdict": says, "more": more})
    return pd.DataFrame(
        rows,
        columns=[*by, "protocol", "reference", *Comparison.__dataclass_fields__, "q", "verdict", "more"],
    )


def judged(found: Sequence[Comparison], margin: float) -> list[tuple[float, Verdict, int]]:
    """Of each comparison q, verdict, and about how many more trials it needs; all of them pay for each other."""
    verdicts = []
    for comparison, q in zip(found, benjamini_hochberg([each.p for each in found]), strict=True):
        verdict = judge(comparison, q, margin)
        more = more_trials(comparison, q, margin) if verdict is Verdict.INCONCLUSIVE else 0
        verdicts.append((q, verdict, more))
    return verdicts


def benjamini_hochberg(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values that control the false discovery rate (Benjamini and Hochberg 1995)."""
    if not p_values:
        return []
    return [float(q) for q in stats.false_discovery_control(p_values, method="bh")]

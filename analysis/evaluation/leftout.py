"""What was left out, set against what was not: whether some conditions lost more, and whether it took longer.

A rule that leaves attempts out sees no time. It may still take more of one condition than of another, and then what is
left of the two is no longer alike. Both questions have a test here, so that no reader has to count by himself.

Shares: of each dimension that varies, the losses of every trial (attempts that were left out) are shuffled inside their
blocks, since a bad spell of the machine hits a block's trials together. The statistic is chi square of the losses by
value. Times: logarithms, minus the median of what counts of the same condition in the same run, since runs may differ
and lose different shares.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.runs.exclude import Sifted
from analysis.statistics.compare import ALPHA, Certainty, Comparison, benjamini_hochberg, described
from analysis.statistics.contrast import welch
from analysis.statistics.runorder import residuals
from harness.model.condition import NUMBERS, SET

SHUFFLES, FEWER_SHUFFLES, MANY_TRIALS = 1_999, 499, 20_000
SEED = 2012
CONDITION = "condition"  # all dimensions together


@dataclass(frozen=True)
class Share:
    """Of a value of a dimension: so many attempts, of which so many were left out."""

    value: Any
    lost: int
    attempts: int

    @property
    def share(self) -> float:
        return self.lost / self.attempts


@dataclass(frozen=True)
class Losses:
    """A dimension: what its values lost, the greatest share first, and whether chance explains the difference.

    `p` is of the shuffled blocks; `q` the same, corrected for all dimensions.
    """

    dimension: str
    shares: tuple[Share, ...]
    p: float
    q: float = math.nan

    @property
    def differ(self) -> bool:
        return self.q < ALPHA


@dataclass(frozen=True)
class LeftOut:
    """`times`: attempts left out that have a value of the main metric, in units of those of their condition and run
    that count; None without.
    """

    lost: int
    attempts: int
    losses: tuple[Losses, ...] = ()
    times: Comparison | None = None

    @property
    def differing(self) -> tuple[Losses, ...]:
        """The dimensions whose values lost different shares; all of them together only where no single one did."""
        findings = tuple(loss for loss in self.losses if loss.differ)
        return tuple(loss for loss in findings if loss.dimension != CONDITION) or findings

    @property
    def bias(self) -> float:
        """About how far leaving out moves a time, as a ratio: the share of those with a time that was lost, times how
        much longer they took.
        """
        if self.times is None:
            return math.nan
        lost = self.times.n
        return 1 + lost / (lost + self.attempts - self.lost) * (1 - self.times.ratio)


def left_out(
    records: pd.DataFrame, sifted: Sifted, dimensions: Sequence[str], metric: str, certainty: Certainty
) -> LeftOut:
    """`records`: every attempt with its `cell`; `dimensions`: the columns that tell conditions apart."""
    lost = records.index.isin(sifted.excluded.index)
    if not lost.any():
        return LeftOut(0, len(records))
    flagged = records.assign(lost=lost)
    tests = [
        Losses(name, _shares(flagged, column), _p_value(flagged, column))
        for name, column in _dimensions(records, dimensions)
    ]
    qs = benjamini_hochberg([test.p for test in tests])
    losses = tuple(Losses(each.dimension, each.shares, each.p, q) for each, q in zip(tests, qs, strict=True))
    return LeftOut(int(lost.sum()), len(records), losses, _times(records, sifted, metric, certainty))


def _dimensions(records: pd.DataFrame, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Those that vary, each with its column, but for what follows from others; of several that split records alike the
    first.
    """
    seen: list[NDArray[np.intp]] = []
    told = [name for name in names if name not in (SET, *NUMBERS) or "link" not in names]
    for name, column in (*((name, name) for name in told), (CONDITION, "cell")):
        numbers = pd.factorize(records[column])[0]
        if numbers.max(initial=0) > 0 and not any(np.array_equal(numbers, split) for split in seen):
            seen.append(numbers)
            yield name, column


def _shares(flagged: pd.DataFrame, column: str) -> tuple[Share, ...]:
    counts = flagged.groupby(column, dropna=False)["lost"].agg(["sum", "size"])
    shares = [Share(value, int(row["sum"]), int(row["size"])) for value, row in counts.iterrows()]
    return tuple(sorted(shares, key=lambda each: -each.share))


def _p_value(flagged: pd.DataFrame, column: str) -> float:
    """The chance of losses this uneven when those of a block fall on any of its trials."""
    groups = flagged.assign(group=pd.factorize(flagged[column])[0])
    trials = groups.groupby(["run", "block", "trial"], dropna=False, sort=False)[["lost", "group"]].agg(
        {"lost": "sum", "group": "first"}
    )
    count = int(trials["group"].max()) + 1
    times = SHUFFLES if len(trials) <= MANY_TRIALS else FEWER_SHUFFLES
    random = np.random.default_rng(SEED)
    seen, expected, shuffled = np.zeros(count), np.zeros(count), np.zeros((times, count))
    for _, block in trials.groupby(level=["run", "block"], sort=False):
        ordered = block.sort_values("group", kind="stable")
        losses, group = ordered["lost"].to_numpy(dtype=float), ordered["group"].to_numpy()
        if losses.sum() == 0:
            continue
        there, starts, sizes = np.unique(group, return_index=True, return_counts=True)
        seen[there] += np.add.reduceat(losses, starts)
        expected[there] += losses.mean() * sizes
        mixed = random.permuted(np.tile(losses, (times, 1)), axis=1)
        shuffled[:, there] += np.add.reduceat(mixed, starts, axis=1)
    known = expected > 0
    statistic = (((seen - expected)[known]) ** 2 / expected[known]).sum()
    others = ((shuffled - expected)[:, known] ** 2 / expected[known]).sum(axis=1)
    return float((1 + (others >= statistic * (1 - 1e-9)).sum()) / (1 + times))


def _times(records: pd.DataFrame, sifted: Sifted, metric: str, certainty: Certainty) -> Comparison | None:
    counts = pd.Series(records.index.isin(sifted.kept.index), index=records.index)
    condition = records.groupby(["run", "cell"], dropna=False).ngroup()
    residual = residuals(pd.to_numeric(records[metric], errors="coerce"), condition, counts)
    known = residual[np.isfinite(residual)]
    lost, others = (known[counts[known.index] == kept] for kept in (False, True))
    if not lost.size or not others.size:
        return None
    # What disturbs a block disturbs several of its attempts alike: they are one observation.
    blocks = lost.groupby([records.loc[lost.index, name] for name in ("run", "block")]).mean()
    statistic = welch(blocks.to_numpy(dtype=float), others.to_numpy(dtype=float))
    return described(statistic, int(lost.size), 1, certainty)

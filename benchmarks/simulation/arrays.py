"""Many samples at once: load times whose truth is known, and the statistic and correction of `analysis.statistics`.

Load times are logarithms, by simulation, block and condition. The conditions of a block run in random order. All have
the same distribution, unless a shape says otherwise.

A row of the statistic is a sample of log ratios, without ties. These are some hundred times as fast as the report's own
functions, which are asked for the first rows of every array: a difference ends the benchmark (`Differs`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from analysis.statistics import LEAST_PAIRS_RANKED
from analysis.statistics.compare import ALPHA
from analysis.statistics.contrast import contrast

Array = NDArray[np.floating[Any]]
Size = tuple[int, int, int]  # simulations, blocks, conditions
Shape = Callable[[np.random.Generator, Size, float], Array]

DRIFT = 0.10  # from the first trial of a run to its last
HIT = 0.2  # share of the trials that a burst hits
BURST = 4.0  # trials, on average
LONGER = (0.05, 0.15)  # what a hit adds
WILD = 3.0  # times the CV of the others
ASKED = 20  # rows of an array that the report's functions are asked for
CHUNK = 2_000  # rows whose pairwise averages are held at once
Told = NDArray[np.signedinteger[Any]]


def lognormal(random: np.random.Generator, size: Size, cv: float) -> Array:
    return random.normal(0, cv, size)


def drifting(random: np.random.Generator, size: Size, cv: float) -> Array:
    """10 % longer at the end of the run than at its beginning."""
    _, blocks, conditions = size
    when = np.arange(blocks)[None, :, None] * conditions + _positions(random, size)
    return lognormal(random, size, cv) + np.log1p(DRIFT * when / (blocks * conditions))


def bursty(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Bursts of 4 trials on average hit a fifth of them, which take 5 to 15 % longer."""
    simulations, blocks, conditions = size
    hits = _markov(random, simulations, blocks * conditions).reshape(size)
    hits = np.take_along_axis(hits, _positions(random, size), axis=2)
    return lognormal(random, size, cv) + np.log1p(hits * random.uniform(*LONGER, size))


def skewed(random: np.random.Generator, size: Size, cv: float) -> Array:
    """A least time, and an exponential wait."""
    return np.log1p(cv * (random.exponential(1, size) - 1))


def heavy_tailed(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Student's t with 3 degrees of freedom."""
    return random.standard_t(3, size) * cv / math.sqrt(3)


def unequal(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Lognormal; the first condition has three times the CV."""
    logs = lognormal(random, size, cv)
    logs[..., 0] *= WILD
    return logs


SHAPES: dict[str, Shape] = {
    "lognormal": lognormal,
    "drifting": drifting,
    "bursty": bursty,
    "skewed": skewed,
    "t3": heavy_tailed,
    "unequal spread": unequal,
}


def _positions(random: np.random.Generator, size: Size) -> NDArray[np.intp]:
    """At which position of its block a condition runs."""
    return random.random(size).argsort(axis=2)


def _markov(random: np.random.Generator, runs: int, trials: int) -> NDArray[np.bool_]:
    """Whether a burst hits a trial."""
    begins = HIT / (1 - HIT) / BURST
    hit = random.random(runs) < HIT
    hits = np.empty((runs, trials), dtype=bool)
    for trial in range(trials):
        hits[:, trial] = hit
        hit = random.random(runs) < np.where(hit, 1 - 1 / BURST, begins)
    return hits


class Differs(AssertionError):
    """An array's figure is not that of the report."""


def intervals(rows: Array, confidence: float) -> tuple[Array, Array]:
    """The bounds of the interval of every row."""
    bounds = np.column_stack(_intervals(rows, confidence))
    _check(bounds, [contrast(row).interval(confidence) for row in rows[:ASKED]])
    return bounds[:, 0], bounds[:, 1]


def p_values(rows: Array) -> Array:
    """The two-sided p-value of the direction of every row."""
    values = _p_values(rows)
    asked = [contrast(row) for row in rows[:ASKED]]
    _check(
        values,
        [min(1.0, 2 * min(statistic.p_not_above(0.0), statistic.p_not_below(0.0))) for statistic in asked],
    )
    return values


def _check(found: Array, known: Sequence[object]) -> None:
    if not np.allclose(found[: len(known)], np.array(known), rtol=1e-7, atol=1e-12):
        raise Differs(f"{found[: len(known)]} is not what the report says: {known}")


def _intervals(rows: Array, confidence: float) -> tuple[Array, Array]:
    n = rows.shape[1]
    if n >= LEAST_PAIRS_RANKED:
        chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        bounds = [_ranked_intervals(chunk, confidence) for chunk in chunks]
        return np.concatenate([low for low, _ in bounds]), np.concatenate([high for _, high in bounds])
    centre, error = _mean_and_error(rows)
    reach = special.stdtrit(n - 1, (1 + confidence) / 2) * error
    return centre - reach, centre + reach


def _p_values(rows: Array) -> Array:
    n = rows.shape[1]
    if n >= LEAST_PAIRS_RANKED:
        return ranked_p(rows)
    centre, error = _mean_and_error(rows)
    values: Array = 2 * special.stdtr(n - 1, -np.abs(centre) / error)
    return values


def ranked_p(rows: Array) -> Array:
    """The p-value of the signed rank, whatever the number of pairs."""
    ranks = np.abs(rows).argsort(axis=1).argsort(axis=1) + 1
    sums = (ranks * (rows > 0)).sum(axis=1)
    up_to = _chances(rows.shape[1]).cumsum()
    values: Array = np.minimum(1.0, 2 * up_to[np.minimum(sums, len(up_to) - 1 - sums)])
    return values


def directions(p: Array, centres: Array) -> Told:
    """1 for slower, -1 for faster, 0 for no direction: a row is a family that pays for itself (Benjamini-Hochberg)."""
    count = p.shape[1]
    order = p.argsort(axis=1)
    ranked = np.take_along_axis(p, order, axis=1) * count / np.arange(1, count + 1)
    q = np.minimum.accumulate(ranked[:, ::-1], axis=1)[:, ::-1]
    told = np.zeros(p.shape, dtype=bool)
    np.put_along_axis(told, order, q < ALPHA, axis=1)
    signs: Told = np.where(told, np.sign(centres), 0).astype(int)
    return signs


def _mean_and_error(rows: Array) -> tuple[Array, Array]:
    return rows.mean(axis=1), rows.std(axis=1, ddof=1) / np.sqrt(rows.shape[1])


@cache
def _chances(n: int) -> Array:
    """Of every sum of positive ranks the chance, by counting subsets of 1 to n."""
    counts = np.ones(1)
    for rank in range(1, n + 1):
        counts = np.pad(counts, (0, rank)) + np.pad(counts, (rank, 0))
    chances: Array = counts / 2.0**n
    return chances


def _ranked_intervals(rows: Array, confidence: float) -> tuple[Array, Array]:
    first, second = np.triu_indices(rows.shape[1])
    walsh = (rows[:, first] + rows[:, second]) / 2
    below = _chances(rows.shape[1]).cumsum()
    step = max(int((below <= (1 - confidence) / 2).sum()), 1)
    walsh.partition((step - 1, walsh.shape[1] - step), axis=1)
    return walsh[:, step - 1], walsh[:, -step]

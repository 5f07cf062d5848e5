"""Load times whose truth is known: logarithms, by simulation, block and condition.

The conditions of a block run in random order. All have the same distribution, unless a shape says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating[Any]]
Size = tuple[int, int, int]  # simulations, blocks, conditions
Shape = Callable[[np.random.Generator, Size, float], Array]

DRIFT = 0.10  # from the first trial of a run to its last
HIT = 0.2  # share of the trials that a burst hits
BURST = 4.0  # trials, on average
LONGER = (0.05, 0.15)  # what a hit adds
WILD = 3.0  # times the CV of the others


def lognormal(random: np.random.Generator, size: Size, cv: float) -> Array:
    return random.normal(0, cv, size)


def drifting(random: np.random.Generator, size: Size, cv: float) -> Array:
    """10 % longer at the end of the run than at its beginning."""
    _, blocks, conditions = size
    when = np.arange(blocks)[None, :, None] * conditions + _places(random, size)
    return lognormal(random, size, cv) + np.log1p(DRIFT * when / (blocks * conditions))


def bursty(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Bursts of 4 trials on average hit a fifth of them, which take 5 to 15 % longer."""
    simulations, blocks, conditions = size
    hits = _markov(random, simulations, blocks * conditions).reshape(size)
    hits = np.take_along_axis(hits, _places(random, size), axis=2)
    return lognormal(random, size, cv) + np.log1p(hits * random.uniform(*LONGER, size))


def skewed(random: np.random.Generator, size: Size, cv: float) -> Array:
    """A least time, and an exponential wait."""
    return np.log1p(cv * (random.exponential(1, size) - 1))


def heavy_tailed(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Student's t with 3 degrees of freedom."""
    return random.standard_t(3, size) * cv / math.sqrt(3)


def unequal(random: np.random.Generator, size: Size, cv: float) -> Array:
    """Lognormal; the first condition has three times the CV."""
    found = lognormal(random, size, cv)
    found[..., 0] *= WILD
    return found


SHAPES: dict[str, Shape] = {
    "lognormal": lognormal,
    "drifting": drifting,
    "bursty": bursty,
    "skewed": skewed,
    "t3": heavy_tailed,
    "unequal spread": unequal,
}


def _places(random: np.random.Generator, size: Size) -> NDArray[np.intp]:
    """At which place of its block a condition runs."""
    return random.random(size).argsort(axis=2)


def _markov(random: np.random.Generator, runs: int, trials: int) -> NDArray[np.bool_]:
    """Whether a burst hits a trial."""
    begins = HIT / (1 - HIT) / BURST
    hit = random.random(runs) < HIT
    found = np.empty((runs, trials), dtype=bool)
    for trial in range(trials):
        found[:, trial] = hit
        hit = random.random(runs) < np.where(hit, 1 - 1 / BURST, begins)
    return found

"""Whether noise makes "reproduced" more frequent: the report's own verdicts of a published range and of a bound."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.claims.measured import Measured
from analysis.claims.published import PublishedVerdict, against_published
from analysis.statistics.compare import Certainty
from benchmarks.simulation.arrays import Array, lognormal
from benchmarks.simulation.shares import Share, Table
from harness.study.claim import Claim
from harness.study.published import PublishedClaim

SPREADS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2)  # standard deviation of the logarithm of a load
N = 10
CLAIM = Claim(name="ratio", subject={"protocol": "spdy"}, reference={"protocol": "http1"})
RANGE = PublishedClaim.of(CLAIM, name="range", text="15 to 25 % longer", stands="", low=1.15, high=1.25)
BOUND = PublishedClaim.of(
    replace(CLAIM, ratio_within=(1.0, 1000.0)), name="bound", text="longer", stands="", low=1.0
)
INSIDE = 1.2
WAS = "true 1.35, the interval meets the range (was)"


def verdicts(random: np.random.Generator, times: int) -> tuple[Table, ...]:
    """Verdicts on one claim, by the true ratio and the spread of loads."""
    return _range(random, times), _bound(random, times)


def _range(random: np.random.Generator, times: int) -> Table:
    columns = [f"{100 * spread:g} %" for spread in SPREADS]
    table = Table(f"Published: 1.15 to 1.25, n = {N}, by the spread of a load", ["verdict", *columns])
    for truth, limits in ((INSIDE, (0.0, 1.0)), (1.25, (0.0, 0.05)), (1.35, (0.0, 0.05))):
        found = [_asked(RANGE, random, times, truth, spread) for spread in SPREADS]
        reproduced = [_share(each, PublishedVerdict.REPRODUCED, *limits) for each in found]
        table.add(f"true {truth:g}: reproduced", reproduced)
        table.add(
            f"true {truth:g}: compatible", [_share(each, PublishedVerdict.COMPATIBLE) for each in found]
        )
        if truth == INSIDE:
            table.never_falls(f"true {truth:g}: reproduced, with less noise", reproduced[::-1])
    table.add(WAS, [Share.of(_meets(random, times, 1.35, spread)) for spread in SPREADS])
    return table


def _bound(random: np.random.Generator, times: int) -> Table:
    columns = [f"{100 * spread:g} %" for spread in SPREADS]
    table = Table(f"Published: above 1, n = {N}, by the spread of a load", ["verdict", *columns])
    for truth, limits in ((1.05, (0.0, 1.0)), (1.0, (0.0, 0.05)), (0.95, (0.0, 0.05))):
        found = [_asked(BOUND, random, times, truth, spread) for spread in SPREADS]
        reproduced = [_share(each, PublishedVerdict.REPRODUCED, *limits) for each in found]
        table.add(f"true {truth:g}: reproduced", reproduced)
        if truth > 1:
            table.never_falls(f"true {truth:g}: reproduced, with less noise", reproduced[::-1])
    return table


def _share(
    found: Sequence[PublishedVerdict], wanted: PublishedVerdict, low: float = 0.0, high: float = 1.0
) -> Share:
    return Share(Counter(found)[wanted], len(found), low, high)


def _asked(
    claim: PublishedClaim, random: np.random.Generator, times: int, truth: float, spread: float
) -> list[PublishedVerdict]:
    """What the report says of so many studies of one claim."""
    return [
        row.verdict
        for each in _studies(random, times, truth, spread)
        for row in against_published([claim], each)
    ]


def _meets(random: np.random.Generator, times: int, truth: float, spread: float) -> Iterator[bool]:
    """Whether the interval meets the range, which was enough once."""
    for each in _studies(random, times, truth, spread):
        (row,) = against_published([RANGE], each)
        _, low, high = row.interval or (math.nan,) * 3
        least, most = RANGE.bounds
        yield low <= most and least <= high


def _studies(random: np.random.Generator, times: int, truth: float, spread: float) -> Iterator[Measured]:
    logs: Array = lognormal(random, (times, N, 2), spread)
    conditions = pd.DataFrame(
        {"page": "p", "engine": "qtwebkit", "protocol": ["http1", "spdy"], "cell": [0, 1]}
    )
    for study in logs:
        times_ms = np.exp(study + np.log([1.0, truth]))
        kept = pd.DataFrame(
            {
                "run": "r",
                "block": np.repeat(np.arange(N), 2),
                "cell": np.tile([0, 1], N),
                "plt_ms": 1000 * times_ms.ravel(),
            }
        )
        yield Measured(conditions, kept, Certainty())

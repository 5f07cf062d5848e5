"""What leaving attempts out does to a ratio, and what time-outs do to verdicts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.runs.exclude import sift
from analysis.statistics.compare import Blocks, Certainty, Verdict, compare, judged
from benchmarks.simulation.shares import ERRORS, Share, Table

CVS = (0.02, 0.05, 0.08)
LOST = (0.153, 0.065)  # the shares that two conditions lost in a run of spdy-2012
SECONDS = (4.2, 1.5)
MOST_BIAS = 0.002
ATTEMPTS = 3
STALLED = 0.05  # share of a hit load: above the limit of the rule
LONGER = 0.03  # the most that a hit adds
TRUTH = math.log(SECONDS[0] / SECONDS[1])
CERTAINTY = Certainty()


def bias(random: np.random.Generator, times: int) -> Table:
    """One very long study: the longer a load, the more likely it is hit, left out by its rule, and made anew."""
    table = Table(
        "What leaving out moves a ratio, in per cent: one condition lost 15.3 % of its attempts, the other 6.5 %",
        ["CV", *(f"{100 * cv:g} %" for cv in CVS)],
    )
    found = [_ratios(random, times, cv) for cv in CVS]
    for name, which in (("what counts, attempts made anew", 0), ("nothing left out", 1)):
        table.add(name, [f"{100 * (math.exp(each[which][0]) - 1):+.2f}" for each in found])
    for cv, each in zip(CVS, found, strict=True):
        centre, error = each[0]
        if abs(centre) > math.log1p(MOST_BIAS) + ERRORS * error:
            table.fail(f"CV {100 * cv:g} %: {100 * centre:.3f} %, more than {100 * MOST_BIAS:g} %")
    return table


def _ratios(
    random: np.random.Generator, times: int, cv: float
) -> tuple[tuple[float, float], tuple[float, float]]:
    """Off the truth by how much, with its error: by what counts, and by the first attempts."""
    records = pd.concat([_attempts(random, times, cv, cell) for cell in (0, 1)], ignore_index=True)
    kept = sift(records).by_metric
    found = []
    for each in (kept, records[records["attempt"] == 1]):
        ratios = Blocks(each, "plt_ms").ratios(0, 1) - TRUTH
        found.append((float(ratios.mean()), float(ratios.std() / math.sqrt(ratios.size))))
    return found[0], found[1]


def _attempts(random: np.random.Generator, times: int, cv: float, cell: int) -> pd.DataFrame:
    """Of every block the attempts until one is not hit, three at most."""
    noise = random.normal(0, cv, (times, ATTEMPTS))
    rate = -math.log1p(-LOST[cell])
    hit = random.random((times, ATTEMPTS)) < -np.expm1(-rate * np.exp(noise))  # Poisson in time
    longer = np.log1p(hit * random.uniform(0, LONGER, (times, ATTEMPTS)))
    ms = 1000 * SECONDS[cell] * np.exp(noise + longer)
    made = np.cumprod(np.column_stack([np.ones(times, dtype=bool), hit[:, :-1]]), axis=1).astype(bool)
    block, attempt = np.nonzero(made)
    values: dict[str, Any] = {
        "run": "run",
        "block": block,
        "cell": cell,
        "trial": block * 2 + cell,
        "attempt": attempt + 1,
        "page": "page",
        "variant": "plain",
        "engine": "chromium",
        "outcome": "ok",
        "requests": 20,
        "fcp_ms": 100.0,
        "plt_ms": ms[made],
        "link_reading_down_stalled_us": (hit * STALLED * ms * 1000)[made],
    }
    return pd.DataFrame(values)


def time_outs(random: np.random.Generator, times: int) -> Table:
    """Two equal conditions of which a tenth of the loads time out, and one that is 10 % slower."""
    numbers = (10, 20)
    table = Table(
        "A direction is told where a tenth of all loads time out, CV 2 %", ["n", *map(str, numbers)]
    )
    for name, effect, limits in (
        ("equal conditions", 0.0, (0.0, 0.05)),
        ("one 10 % slower", 0.10, (0.0, 1.0)),
    ):
        table.add(
            name, [Share.of((_told(random, n, effect) for _ in range(times)), *limits) for n in numbers]
        )
    return table


def _told(random: np.random.Generator, n: int, effect: float) -> bool:
    logs = random.normal(0, 0.02, (n, 2)) + np.array([math.log1p(effect), 0.0])
    logs[random.random((n, 2)) < 0.1] = math.inf
    frame = pd.DataFrame(
        {
            "run": "run",
            "block": np.repeat(np.arange(n), 2),
            "cell": np.tile([0, 1], n),
            "plt_ms": np.exp(logs).ravel(),
        }
    )
    found = compare(Blocks(frame, "plt_ms"), 0, 1, CERTAINTY)
    return judged([found])[0].verdict in (Verdict.SLOWER, Verdict.FASTER)

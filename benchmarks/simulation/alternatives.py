"""What was not chosen: the same questions to other statistics."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from benchmarks.simulation.families import ranked_from_six
from benchmarks.simulation.shares import Share, Table
from benchmarks.simulation.times import Array, lognormal, unequal

NUMBERS = (5, 6, 7, 8, 12, 20)
RESAMPLES = 1000
CV = 0.02


def others(random: np.random.Generator, times: int) -> tuple[Table, Table]:
    table = Table("Coverage of intervals that were not chosen, CV 2 %", ["n", *map(str, NUMBERS)])
    for name, subject, reference in (
        ("variance pooled over 4 conditions, two calm ones beside one with three times the CV", 1, 2),
        ("the same, the one with three times the CV against a calm one", 0, 1),
    ):
        table.add(name, [_pooled(random, times, n, subject, reference) for n in NUMBERS])
    table.add(
        "bootstrap of the median ratio", [_bootstrapped(random, max(times // 8, 10), n) for n in NUMBERS]
    )
    ranked = Table(
        "Power at a true 5 % that was not chosen: signed rank at n = 6", ["of 24 comparisons", "told"]
    )
    ranked.add("a quarter of them", [ranked_from_six(random, times)])
    return table, ranked


def _pooled(random: np.random.Generator, times: int, n: int, subject: int, reference: int) -> Share:
    """Condition and block as effects, one residual variance."""
    logs = unequal(random, (times, n, 4), CV)
    residuals = logs - logs.mean(axis=1, keepdims=True) - logs.mean(axis=2, keepdims=True)
    residuals += logs.mean(axis=(1, 2), keepdims=True)
    freedom = 3 * (n - 1)
    spread = np.sqrt((residuals**2).sum(axis=(1, 2)) / freedom)
    reach = float(special.stdtrit(freedom, 0.975)) * spread * math.sqrt(2 / n)
    centre = (logs[..., subject] - logs[..., reference]).mean(axis=1)
    return Share.of(np.abs(centre) <= reach)


def _bootstrapped(random: np.random.Generator, times: int, n: int) -> Share:
    logs = lognormal(random, (times, n, 2), CV)
    return Share.of(_holds_zero(random, each[:, 0] - each[:, 1]) for each in logs)


def _holds_zero(random: np.random.Generator, ratios: Array) -> bool:
    medians = np.median(random.choice(ratios, (RESAMPLES, ratios.size)), axis=1)
    low, high = np.quantile(medians, (0.025, 0.975))
    return bool(low <= 0 <= high)

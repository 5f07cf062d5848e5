"""How often a 95 % interval holds the truth: of a ratio, and of the median of one condition."""

from __future__ import annotations

import math

import numpy as np

from analysis.statistics.contrast import Statistic
from analysis.statistics.estimate import interval
from analysis.statistics.levels import CONFIDENCE
from benchmarks.simulation import arrays
from benchmarks.simulation.shares import Share, Table
from benchmarks.simulation.times import SHAPES, Array

NUMBERS = (5, 6, 7, 8, 10, 12, 14, 15, 16, 20, 30, 40)
AIM = (0.94, 0.97)
HELD_TO = ("lognormal", "drifting", "bursty")
CONDITIONS = 4  # of a block
TRUTH = math.log(1.05)
CV = 0.02


def covers(statistic: Statistic, truth: float, confidence: float = CONFIDENCE) -> bool:
    low, high = statistic.interval(confidence)
    return low <= truth <= high


def of_ratios(random: np.random.Generator, times: int) -> Table:
    """The first condition of a block against the second, 5 % faster one."""
    table = Table("Coverage of the 95 % interval of a ratio, CV 2 %", ["n", *map(str, NUMBERS)])
    for name, shape in SHAPES.items():
        aim = AIM if name in HELD_TO else (0.0, 1.0)
        cells = []
        for n in NUMBERS:
            logs = shape(random, (times, n, CONDITIONS), CV)
            differences = logs[..., 0] + TRUTH - logs[..., 1]
            low, high = arrays.intervals(differences, CONFIDENCE)
            cells.append(Share.of((low <= TRUTH) & (high >= TRUTH), *aim))
        table.add(name, cells)
    return table


def of_medians(random: np.random.Generator, times: int) -> Table:
    """The median of one condition. Bursts that last several trials make neighbours alike, which widens no interval."""
    table = Table("Coverage of the 95 % interval of a median, CV 2 %", ["n", *map(str, NUMBERS)])
    for name, shape in SHAPES.items():
        aim = (0.9375 if n == 5 else 0.94 for n in NUMBERS)
        cells = []
        for n, low in zip(NUMBERS, aim, strict=True):
            found = np.exp(shape(random, (times, n, CONDITIONS), CV)[..., 1:])
            truth = float(np.median(found))  # of all simulations: its error is far below that of one
            limits = (low, 1.0) if name == "lognormal" else (0.0, 1.0)
            cells.append(Share.of((_holds(each, truth) for each in found[..., 0]), *limits))
        table.add(name, cells)
    return table


def _holds(sample: Array, truth: float) -> bool:
    found = interval(sample)
    return found.low <= truth <= found.high

"""Runs that lose attempts: whether the report's test of different shares tells of equal ones, and finds unequal ones.

Attempts are hit by chance, left out by the rule for late packets, and made anew, three times at most.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.evaluation.leftout import left_out
from analysis.runs.exclude import sift
from benchmarks.simulation.arrays import Array
from benchmarks.simulation.asrecords import ATTEMPTS, CERTAINTY, LOST, STALLED
from benchmarks.simulation.shares import Share, Table
from harness.model.kind import MAIN_METRIC

NUMBERS = (5, 10)
PROTOCOLS, LINKS = 4, 10
CONDITIONS = PROTOCOLS * LINKS
EQUAL = 0.08
# The share of blocks in a bad spell, and what is lost there and elsewhere.
SPELLS, IN_A_SPELL, ELSE = 0.2, 0.32, 0.02
CV = 0.02
Rates = Callable[[np.random.Generator, int], Array]  # of every block and condition the share that is hit


def everywhere(_random: np.random.Generator, n: int) -> Array:
    return np.full((n, CONDITIONS), EQUAL)


def in_spells(random: np.random.Generator, n: int) -> Array:
    of_blocks = np.where(random.random(n) < SPELLS, IN_A_SPELL, ELSE)
    return np.repeat(of_blocks[:, None], CONDITIONS, axis=1)


def one_protocol_more(_random: np.random.Generator, n: int) -> Array:
    more, others = LOST[0]
    return np.tile(np.where(np.arange(CONDITIONS) % PROTOCOLS == 0, more, others), (n, 1))


ROWS: Mapping[str, tuple[Rates, float]] = {  # with the most reports that may tell of a difference
    f"equal shares of {100 * EQUAL:g} %": (everywhere, 0.05),
    f"equal shares of {100 * EQUAL:g} %, most in a fifth of the blocks": (in_spells, 0.05),
    f"{100 * LOST[0][0]:g} % of one protocol, {100 * LOST[0][1]:g} % of the others": (one_protocol_more, 1.0),
}


def different_shares(random: np.random.Generator, times: int) -> Table:
    table = Table(
        f"Reports that tell of different shares of attempts left out: {PROTOCOLS} protocols over {LINKS} links",
        ["n", *map(str, NUMBERS)],
    )
    for name, (rates, most) in ROWS.items():
        table.add(
            name,
            [
                Share.of((tells_of_a_difference(random, rates(random, n)) for _ in range(times)), 0.0, most)
                for n in NUMBERS
            ],
        )
    return table


def tells_of_a_difference(random: np.random.Generator, rates: Array) -> bool:
    """Whether the report of one made-up run does."""
    records = attempts(random, rates)
    answer = left_out(records, sift(records), ("protocol", "link"), MAIN_METRIC, CERTAINTY)
    return bool(answer.differing)


def attempts(random: np.random.Generator, rates: Array) -> pd.DataFrame:
    """Of every trial the attempts until one is not hit, three at most."""
    size = (*rates.shape, ATTEMPTS)
    hit = random.random(size) < rates[..., None]
    ms = 1000 * np.exp(random.normal(0, CV, size))
    made = np.ones(size, dtype=bool)
    made[..., 1:] = np.logical_and.accumulate(hit[..., :-1], axis=-1)
    block, cell, attempt = np.nonzero(made)
    values: dict[str, Any] = {
        "run": "run",
        "block": block + 1,
        "cell": cell,
        "trial": block * CONDITIONS + cell,
        "attempt": attempt + 1,
        "page": "page",
        "variant": "plain",
        "engine": "chromium",
        "protocol": [f"protocol {number % PROTOCOLS}" for number in cell],
        "link": [f"link {number // PROTOCOLS}" for number in cell],
        "outcome": "ok",
        "requests": 20,
        "fcp_ms": 100.0,
        MAIN_METRIC: ms[made],
        "link_reading_down_stalled_us": (hit * STALLED * ms * 1000)[made],
    }
    return pd.DataFrame(values)

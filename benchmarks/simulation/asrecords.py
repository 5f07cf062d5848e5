"""Whether records, read as the report reads them, give the very numbers that the simulations use."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis.claims.claims import evaluated, over_pages
from analysis.claims.measured import Measured
from analysis.claims.stopping import LOOKED, half_width, is_narrow
from analysis.statistics.compare import (
    Blocks,
    Certainty,
    Comparison,
    Verdict,
    compare,
    described,
    judged,
    over_runs,
)
from analysis.statistics.contrast import contrast
from benchmarks.simulation.arrays import Array, bursty
from benchmarks.simulation.families import directions, settings
from benchmarks.simulation.stopping import until_narrow
from harness.model.trials import Trials
from harness.study.claim import Claim

CERTAINTY = Certainty()
ALIKE: dict[str, Any] = {
    "variant": "plain", "compression": "recorded", "engine": "chromium", "driver": "playwright", "server": "apache",
    "device": "desktop", "link": "usual", "rtt_ms": 50.0, "down_mbps": 10.0, "up_mbps": 10.0, "origins": "single",
}  # fmt: skip
SIGNS = {Verdict.SLOWER: 1, Verdict.FASTER: -1}


def frame(logs: Array, random: np.random.Generator) -> pd.DataFrame:
    """Records of log times by run, block and cell, in any order."""
    runs, blocks, cells = logs.shape
    rows = [
        {
            "run": f"run {run}",
            "block": block + 1,
            "cell": cell,
            "plt_ms": 1000 * np.exp(logs[run, block, cell]),
        }
        for run in range(runs)
        for block in range(blocks)
        for cell in range(cells)
    ]
    return pd.DataFrame(rows).sample(frac=1, random_state=int(random.integers(1 << 31)))


def disagreements(random: np.random.Generator) -> list[str]:
    """One line per figure that records, or the report's functions, give differently from arrays."""
    return [*_of_records(random), *_of_arrays(random)]


def _of_arrays(random: np.random.Generator) -> list[str]:
    found = []
    for n in (3, 5, 10, 14, 15, 20, 40, 60):
        families = settings(bursty, random, (5, n, 12), 0.02)
        families[..., ::4] += 0.02
        for family, told in zip(families, directions(families), strict=True):
            judgements = judged([described(contrast(each), n, 1, CERTAINTY) for each in family.T])
            if [SIGNS.get(each.verdict, 0) for each in judgements] != told.tolist():
                found.append(f"FAILED verdicts on arrays of {n} blocks: {told}")
    trials = Trials(5, 60, 0.02)
    ratios = random.normal(0, 0.03, (20, 60))
    for row, look in zip(ratios, until_narrow(ratios, trials).trials, strict=True):
        widths = [half_width(described(contrast(row[:each]), each, 1, LOOKED)) for each in trials.looks]
        first = next(
            (each for each, width in zip(trials.looks, widths, strict=True) if is_narrow(width, each, 0.02)),
            60,
        )
        if first != look:
            found.append(f"FAILED a look at {look} blocks that should be at {first}")
    return found


def _of_records(random: np.random.Generator) -> list[str]:
    found = []
    for runs, n in ((1, 3), (1, 5), (1, 14), (1, 15), (1, 40), (2, 10), (3, 8), (5, 20)):
        logs = bursty(random, (runs, n, 4), 0.02)
        differences = list(logs[..., 0] - logs[..., 1])
        statistic = contrast(differences[0]) if runs == 1 else over_runs(differences)
        told = compare(Blocks(frame(logs, random), "plt_ms"), 0, 1, CERTAINTY)
        if not _same(told, described(statistic, runs * n, runs, CERTAINTY)):
            found.append(f"FAILED records of {runs} runs with {n} blocks give {told}")
    for pages in (3, 20):
        logs = bursty(random, (1, 6, 2 * pages), 0.02)
        expected = over_pages([{"run": each} for each in (logs[0, :, ::2] - logs[0, :, 1::2]).T])
        assert expected is not None
        cells: list[dict[str, Any]] = [
            ALIKE | {"page": f"page {number // 2}", "protocol": ("h2", "http1")[number % 2], "cell": number}
            for number in range(2 * pages)
        ]
        claim = Claim(name="it", subject={"protocol": "h2"}, reference={"protocol": "http1"})
        (row,) = evaluated([claim], Measured(pd.DataFrame(cells), frame(logs, random), CERTAINTY))
        if row.comparison is None or not _same(
            row.comparison, described(expected, 6 * pages, 1, CERTAINTY, pages)
        ):
            found.append(f"FAILED records of {pages} pages give {row.comparison}")
    return found


def _same(one: Comparison, other: Comparison) -> bool:
    mine, its = one.figures, other.figures
    return all(
        mine[key] == its[key]
        if isinstance(mine[key], str | int)
        else np.isclose(mine[key], its[key], rtol=1e-9)
        for key in mine
    )

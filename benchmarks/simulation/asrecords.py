"""Whether records, read as the report reads them, give the very numbers that the simulations use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from analysis.claims import Measured, evaluated, over_pages
from analysis.compare import Blocks, Certainty, Comparison, compare, described, over_runs
from analysis.contrast import contrast
from benchmarks.simulation.times import Array, bursty
from harness.model.claim import Claim

CERTAINTY = Certainty()


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
    """One line per figure that records give differently."""
    found = []
    for runs, n in ((1, 3), (1, 5), (1, 14), (1, 15), (1, 40), (2, 10), (3, 8), (5, 20)):
        logs = bursty(random, (runs, n, 4), 0.02)
        differences = list(logs[..., 0] - logs[..., 1])
        statistic = contrast(differences[0]) if runs == 1 else over_runs(differences)
        told = compare(Blocks(frame(logs, random), "plt_ms"), 0, 1, CERTAINTY)
        if not _same(told, described(statistic, runs * n, runs, CERTAINTY)):
            found.append(f"FAILED records of {runs} runs with {n} blocks give {told}")
    for pages in (2, 3, 20):
        logs = bursty(random, (1, 6, 2 * pages), 0.02)
        expected = over_pages([{"run": each} for each in (logs[0, :, ::2] - logs[0, :, 1::2]).T])
        assert expected is not None
        cells: list[dict[str, Any]] = [
            {"page": f"page {number // 2}", "protocol": ("h2", "http1")[number % 2], "cell": number}
            for number in range(2 * pages)
        ]
        claim = Claim(name="it", subject={"protocol": "h2"}, reference={"protocol": "http1"})
        (row,) = evaluated([claim], Measured(pd.DataFrame(cells), frame(logs, random), CERTAINTY))
        if row.comparison is None or not _same(row.comparison, described(expected, 6 * pages, 1, CERTAINTY)):
            found.append(f"FAILED records of {pages} pages give {row.comparison}")
    return found


def _same(one: Comparison, other: Comparison) -> bool:
    mine, its = asdict(one), asdict(other)
    return all(
        mine[key] == its[key]
        if isinstance(mine[key], str | int)
        else np.isclose(mine[key], its[key], rtol=1e-9)
        for key in mine
    )

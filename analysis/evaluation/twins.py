"""Baselines that were measured twice under two names (A/A): how far two equal conditions lie apart by chance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from analysis.statistics.compare import Blocks, Certainty, Comparison, Judgement, compared
from harness.model.condition import AGAIN

FLOOR_OF = ("page", "link", "rtt_ms", "down_mbps", "engine", "driver", "device", "cpu_slowdown", "cache")
JUDGED = (*Comparison.__dataclass_fields__, *Judgement.__dataclass_fields__)


def twins(
    every: pd.DataFrame, condition: Sequence[str], blocks: Blocks, certainty: Certainty
) -> pd.DataFrame:
    """Each baseline that was measured twice: the second in units of the first, which differ by chance alone."""
    keys = list(condition)
    again = every[every[AGAIN]]
    both = again[[*keys, "place", "cell"]].merge(
        every.loc[~every[AGAIN], [*keys, "cell"]], on=keys, suffixes=("", "_first")
    )
    pairs = [
        ({name: row[name] for name in (*keys, "place")}, int(row["cell"]), int(row["cell_first"]))
        for row in both.to_dict("records")
    ]
    return compared(blocks, pairs, certainty).reindex(columns=[*keys, "place", *JUDGED])


def floors(found: pd.DataFrame, cells: pd.DataFrame) -> dict[int, float]:
    """Of each cell how far the two equal baselines of its page, link and browser lie apart, as a ratio from 1 on."""
    same = [name for name in FLOOR_OF if name in cells]
    known = found.dropna(subset=["ratio"]).groupby(same, dropna=False)["ratio"]
    apart = known.agg(lambda ratios: float(np.exp(np.abs(np.log(ratios)).max()))).rename("floor")
    there = cells.merge(apart.reset_index(), on=same, how="inner") if len(apart) else cells.head(0)
    return dict(zip(there["cell"].astype(int), there.get("floor", ()), strict=True))

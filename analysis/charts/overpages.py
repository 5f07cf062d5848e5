"""Many pages as one: the middle of their medians, for reports whose pages have no room for a figure each."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.labels import words
from analysis.statistics.estimate import IntervalKind

READING = (
    "Every page counts once: the median of the pages' medians, and bars that hold the middle half of the pages. "
    "median-times.csv has every page."
)


def folded(cells: pd.DataFrame) -> pd.DataFrame:
    """One row per rate, RTT and protocol, with the median over the pages; the quartiles stand for the interval."""
    known = cells.dropna(subset=["median"])
    medians = known.groupby(["down_mbps", "up_mbps", "rtt_ms", "protocol"], dropna=False, sort=False)[
        "median"
    ]
    found = (
        medians.quantile(np.array([0.25, 0.5, 0.75]))
        .unstack()
        .set_axis(["low", "median", "high"], axis="columns")
    )
    first = cells.iloc[0]
    return found.reset_index().assign(
        page=words.count(cells["page"].nunique(), "page"),
        interval=IntervalKind.EXACT,
        engine=first["engine"],
        panel=0,
    )

"""Many pages as one: every page counts once."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd

from analysis.charts.overpages import folded
from analysis.statistics.estimate import IntervalKind

PLACE = {"down_mbps": 10.0, "up_mbps": 10.0, "rtt_ms": 20.0, "protocol": "h2", "engine": "chromium", "n": 5}


def cells(*medians: float, **place: Any) -> pd.DataFrame:
    """A page for each median."""
    return pd.DataFrame(
        [{**PLACE, **place, "page": f"page-{n}", "median": median} for n, median in enumerate(medians)]
    )


def test_the_middle_of_the_pages_with_the_middle_half_as_bars() -> None:
    (row,) = folded(cells(100, 200, 300, 400, 5000)).to_dict("records")
    assert (row["low"], row["median"], row["high"]) == (200, 300, 400)
    assert (row["page"], row["interval"]) == ("5 pages", IntervalKind.EXACT)


def test_a_row_for_each_protocol_link_and_rate() -> None:
    other = [cells(1, 2, protocol="h3"), cells(3, 4, rtt_ms=50.0), cells(5, 6, down_mbps=1.0)]
    rows = folded(pd.concat([cells(7, 8), *other]))
    assert sorted(rows["median"]) == [1.5, 3.5, 5.5, 7.5]


def test_a_page_without_an_estimate_moves_nothing() -> None:
    rows = folded(cells(100, math.nan, 300))
    assert rows["median"].tolist() == [200]


def test_links_without_a_rate_up_are_kept() -> None:
    assert len(folded(cells(100, 300, up_mbps=math.nan))) == 1

"""The order in which conditions are read."""

from __future__ import annotations

import pandas as pd
import pytest

from analysis.labels.conditions import in_reading_order


@pytest.mark.parametrize(
    ("column", "ordered"),
    [
        ("compression", ["none", "brotli-5", "brotli-11", "gzip-6"]),
        ("factor", ["usual", "initial window 3", "initial window 10"]),
        ("variant", ["plain", "core", "level-9", "level-10"]),
    ],
)
def test_the_usual_stands_first_and_the_others_by_their_numbers(column: str, ordered: list[str]) -> None:
    frame = pd.DataFrame({"protocol": "h2", column: sorted(ordered)})
    assert list(in_reading_order(frame, [column])[column]) == ordered

"""Percentiles of counted microseconds."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from harness.capacity.closedloop import Latency, percentiles, there_were


@given(st.lists(st.integers(0, 10**7), min_size=1))
def test_percentiles_are_those_of_the_sorted_values(taken: list[int]) -> None:
    values = sorted(taken)
    wanted = [values[math.ceil(share / 100 * len(values)) - 1] / 1000 for share in (50, 90, 99, 99.9)]
    assert percentiles(Counter(taken)) == Latency(*wanted)


def test_errors_that_did_not_happen_are_left_out() -> None:
    assert there_were(status=0, timeout=2) == {"timeout": 2}

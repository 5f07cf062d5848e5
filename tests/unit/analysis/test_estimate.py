"""Medians and their intervals against known answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.estimate import IntervalKind, estimate, estimates, interval

times = st.floats(min_value=1, max_value=1e6, allow_nan=False)


def test_known_answer() -> None:
    found = estimate([100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0])
    assert (found.n, found.median, found.q1, found.q3) == (7, 130.0, 115.0, 145.0)
    assert found.cv == pytest.approx(np.std([100, 110, 120, 130, 140, 150, 160], ddof=1) / 130)
    # The bootstrap median of 7 values is below the 2nd with p = 0.012 and at or below it with p = 0.104 (binomial).
    assert (found.low, found.high) == (110.0, 150.0)


def test_five_trials_have_the_range_as_their_bootstrap_interval() -> None:
    found = estimate([5.0, 1.0, 4.0, 2.0, 3.0])
    assert (found.low, found.median, found.high, found.interval) == (1.0, 3.0, 5.0, IntervalKind.BOOTSTRAP)


@pytest.mark.parametrize("values", [[1.0, 2.0], [1.0, 2.0, 9.0], [4.0, 1.0, 2.0, 9.0]])
def test_fewer_than_five_trials_are_labelled_as_a_range(values: list[float]) -> None:
    found = interval(np.array(values))
    assert (found.low, found.high, found.kind) == (min(values), max(values), IntervalKind.RANGE)


def test_one_trial_has_no_interval_and_none_has_nothing() -> None:
    one = estimate([7.0])
    assert (one.n, one.median, one.interval) == (1, 7.0, IntervalKind.NONE)
    assert math.isnan(one.low)
    assert math.isnan(one.cv)
    assert math.isnan(estimate([]).median)


@pytest.mark.thorough
def test_the_interval_covers_the_true_median() -> None:
    random = np.random.default_rng(7)
    bounds = [interval(np.exp(random.normal(0, 0.3, size=20))) for _ in range(200)]
    covered = sum(found.low <= 1.0 <= found.high for found in bounds)
    assert 180 <= covered < 200  # 190 expected, three standard deviations below are 181


@settings(max_examples=40, deadline=None)
@given(st.lists(times, min_size=2, max_size=12))
def test_the_median_lies_within_its_interval(values: list[float]) -> None:
    found = estimate(values)
    rounding = 1e-12 * max(values)
    assert min(values) <= found.low <= found.median + rounding
    assert found.median - rounding <= found.high <= max(values)


def test_the_same_sample_gives_the_same_interval() -> None:
    sample = np.random.default_rng(1).normal(100, 5, size=20)
    assert interval(sample) == interval(sample)


def test_one_row_per_group_also_where_nothing_was_observed() -> None:
    frame = pd.DataFrame({"page": ["a", "a", "b"], "server": [None] * 3, "plt_ms": [1.0, 3.0, math.nan]})
    found = estimates(frame, ["page", "server"])
    assert found["page"].tolist() == ["a", "b"]
    assert found["n"].tolist() == [2, 0]
    assert found["median"].tolist()[0] == 2.0

"""Medians and their intervals against known answers."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.estimate import (
    IntervalKind,
    estimate,
    estimates,
    interval,
    medians_of_times,
)

times = st.floats(min_value=1, max_value=1e6, allow_nan=False)


def test_known_answer() -> None:
    found = estimate([100.0, 110.0, 120.0, 130.0, 140.0, 150.0, 160.0])
    assert (found.n, found.median, found.q1, found.q3) == (7, 130.0, 115.0, 145.0)
    assert found.cv == pytest.approx(np.std([100, 110, 120, 130, 140, 150, 160], ddof=1) / 130)
    # The ends cover 1 - 2/128 = 98.4 %, the second values 1 - 16/128 = 87.5 %; 95 % lies 11/35 of the chances
    # in between, which by Hettmansperger and Sheather (1986) is so far of the way:
    share = 6 * (11 / 35) / (1 + 5 * (11 / 35))
    assert (found.low, found.high) == pytest.approx((100 + 10 * share, 160 - 10 * share))


@pytest.mark.parametrize("n", range(6, 60))
def test_the_bounds_lie_between_the_order_statistics_that_cover_more_and_less(n: int) -> None:
    """Of a binomial with a fair coin: the outer pair covers 95 % or more, the inner one less."""
    found = interval(np.arange(1.0, n + 1))
    outer, inner = math.floor(found.low), math.ceil(found.low)
    cover = [1 - 2 * float(stats.binom.cdf(depth - 1, n, 0.5)) for depth in (outer, inner)]
    assert cover[0] >= 0.95 - 1e-12 >= cover[1] - (outer == inner)
    assert found.high == pytest.approx(n + 1 - found.low)


def test_five_trials_have_their_range_which_covers_93_75_percent() -> None:
    found = estimate([5.0, 1.0, 4.0, 2.0, 3.0])
    assert (found.low, found.median, found.high, found.interval) == (1.0, 3.0, 5.0, IntervalKind.EXACT)


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
@pytest.mark.parametrize("n", [6, 7, 12, 20])
def test_the_interval_covers_the_true_median(n: int) -> None:
    random = np.random.default_rng(7)
    bounds = [interval(np.exp(random.normal(0, 0.3, size=n))) for _ in range(2000)]
    covered = sum(found.low <= 1.0 <= found.high for found in bounds)
    assert 1865 <= covered <= 1935  # 1900 expected, standard deviation 10


@pytest.mark.parametrize("n", range(5, 60))
def test_the_lower_end_is_known_as_soon_as_so_many_loads_ended_as_it_takes(n: int) -> None:
    """Of as many loads as the outer value stands for the others timed out: a fair coin misses below it in 2.5 %."""
    share = 0.025 if n > 5 else 0.5**5  # the range of five
    ended = max(depth for depth in range(1, n) if stats.binom.cdf(depth - 1, n, 0.5) <= share + 1e-12)
    values = [3000.0] * ended + [math.inf] * (n - ended)
    found = estimate(values)
    assert (found.low, found.high, found.interval) == (3000.0, math.inf, IntervalKind.EXACT)
    assert math.isinf(found.median)
    fewer = interval(np.array([*values[1:], math.inf]))
    assert (fewer.low, fewer.high) == (math.inf, math.inf)


@pytest.mark.thorough
@pytest.mark.parametrize("n", [6, 12, 20])
def test_the_lower_end_covers_where_many_loads_time_out(n: int) -> None:
    random = np.random.default_rng(7)
    times = np.exp(random.normal(0, 0.3, size=(4000, n)))
    lows = [interval(np.where(sample > 1.01, math.inf, sample)).low for sample in times]
    assert sum(low > 1 for low in lows) <= 130  # 100 expected at most, standard deviation 10


@settings(max_examples=40, deadline=None)
@given(st.lists(times, min_size=2, max_size=40), st.randoms())
def test_the_median_lies_within_its_interval_whatever_the_order(values: list[float], random: object) -> None:
    found = estimate(values)
    rounding = 1e-12 * max(values)
    assert min(values) <= found.low <= found.median + rounding
    assert found.median - rounding <= found.high <= max(values)
    random.shuffle(values)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    again = estimate(values)
    assert (again.low, again.median, again.high) == (found.low, found.median, found.high)


def test_zeros_have_an_interval_and_no_coefficient_of_variation() -> None:
    found = estimate([0.0] * 6)
    assert (found.low, found.median, found.high) == (0.0, 0.0, 0.0)
    assert math.isnan(found.cv)


def test_one_row_per_group_also_where_nothing_was_observed() -> None:
    frame = pd.DataFrame({"page": ["a", "a", "b"], "server": [None] * 3, "plt_ms": [1.0, 3.0, math.nan]})
    found = estimates(frame, ["page", "server"], "plt_ms")
    assert found["page"].tolist() == ["a", "b"]
    assert found["n"].tolist() == [2, 0]
    assert found["median"].tolist()[0] == 2.0


@pytest.mark.parametrize(
    ("values", "median"),
    [
        ([1.0, 2.0, 4.0], 2.0),
        ([1.0, 2.0, None], 2.0),
        ([1.0, None], None),
        ([1.0, None, None], None),
        ([None], None),
    ],
)
def test_a_time_that_is_too_long_to_be_told_is_the_longest(
    values: list[float | None], median: float | None
) -> None:
    (found,) = medians_of_times(pd.DataFrame({"ms": values}))
    assert found == median if median is not None else math.isnan(found)

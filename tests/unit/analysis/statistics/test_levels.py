"""Runs and pages as levels: each counts once, and from three on their own spread counts."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.statistics.contrast import Method, Sample, Statistic, contrast
from analysis.statistics.levels import mean_of


def level(centre: float, n: int = 10, spread: float = 0.01, seed: int = 1) -> Statistic:
    """Pairs whose mean is exactly `centre`."""
    values: Sample = np.random.default_rng(seed).normal(0, spread, n)
    return contrast(values - values.mean() + centre)


def width(statistic: Statistic) -> float:
    low, high = statistic.interval(0.95)
    return high - low


def test_a_single_level_is_itself() -> None:
    only = level(0.05)
    assert mean_of([only]) is only


def test_each_level_counts_once_however_many_pairs_it_has() -> None:
    found = mean_of([level(0.02, n=4), level(0.04, n=14), level(0.06, n=7)])
    assert found.centre == pytest.approx(0.04)


def test_three_levels_have_the_t_interval_of_their_centres() -> None:
    found = mean_of([level(centre, spread=1e-4) for centre in (0.0, 0.03, 0.06)])
    low, high = found.interval(0.95)
    reach = 4.302653 * 0.03 / math.sqrt(3)  # t with 2 degrees of freedom
    assert (low, high) == pytest.approx((0.03 - reach, 0.03 + reach), rel=1e-5)


def test_levels_that_agree_are_no_surer_than_their_pairs() -> None:
    """Three equal centres do not show that the true ones are equal."""
    parts = [level(0.03, seed=seed) for seed in (1, 2, 3)]
    within = math.sqrt(sum(part.error**2 for part in parts)) / 3
    assert mean_of(parts).error == pytest.approx(within)


def test_two_levels_speak_of_themselves_alone() -> None:
    """However far two runs lie apart, nothing tells how far a third would lie."""
    near, far = (mean_of([level(0.0), level(centre, seed=2)]) for centre in (0.01, 0.5))
    assert width(near) == pytest.approx(width(far))
    assert near.method is Method.LEVELS_T


def test_levels_that_are_all_there_are_have_the_error_of_their_pairs() -> None:
    parts = [level(centre) for centre in (0.0, 0.5, 1.0)]
    assert mean_of(parts, random=False).error < 0.01 < mean_of(parts).error


def test_welch_satterthwaite_degrees_of_freedom() -> None:
    """Two equal variances of 9 degrees of freedom each have 18 together."""
    found = mean_of([level(0.0), level(0.1)])
    low, high = found.interval(0.95)
    assert (high - low) / 2 == pytest.approx(2.100922 * found.error, rel=1e-5)  # t with 18


def test_levels_of_one_block_count_when_there_are_three() -> None:
    single = [contrast(np.array([centre])) for centre in (0.01, 0.02, 0.03)]
    assert mean_of(single).interval(0.95) == pytest.approx(
        contrast(np.array([0.01, 0.02, 0.03])).interval(0.95)
    )
    assert all(map(math.isnan, mean_of(single[:2]).interval(0.95)))
    assert mean_of(single[:2]).p_not_above(-1.0) == 1.0


def test_levels_that_never_vary_are_known() -> None:
    parts = [contrast(np.full(5, log_ratio)) for log_ratio in (math.log(1.1), -math.log(1.1))]
    found = mean_of(parts)
    assert found.interval(0.95) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert found.p_not_above(0.0) == found.p_not_below(0.0) == 1.0


def test_many_pairs_and_few_pairs_together() -> None:
    """A signed rank has no degrees of freedom of its own."""
    low, high = mean_of([level(0.05, n=30), level(0.05, n=5)]).interval(0.95)
    assert low < 0.05 < high

"""Residuals, drift and autocorrelation: known answers, and what chance may and may not give."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from analysis.statistics import runorder
from analysis.statistics.runorder import autocorrelation, chance_band, drift, in_run_order, residuals


def trials(**columns: list[object]) -> pd.DataFrame:
    return pd.DataFrame(columns)


def test_records_stand_in_the_order_of_their_start() -> None:
    records = trials(
        run=["b", "b", "a"],
        block=[1, 1, 1],
        order=[1, 2, 1],
        started_utc=["2026-01-01T00:02:00Z", "2026-01-01T00:01:00Z", "2026-01-01T00:00:00Z"],
    )
    assert list(in_run_order(records).index) == [1, 0, 2]


def test_without_a_start_the_plan_tells_the_order_and_attempts_follow_each_other() -> None:
    records = trials(
        run=["a"] * 4,
        block=[1, 1, 1, 1],
        order=[2, 1, 1, 3],
        attempt=[1, 2, 1, 1],
        started_utc=[None, "2026-01-01T00:00:00Z", None, None],
    )
    assert list(in_run_order(records).index) == [2, 1, 0, 3]


def test_positions_are_counted_inside_blocks_of_a_run() -> None:
    ordered = trials(run=["a", "a", "a", "b"], block=[1, 1, 2, 1])
    assert list(runorder.positions_in_block(ordered)) == [1, 2, 1, 1]


def test_residuals_are_distances_from_the_median_of_what_counts() -> None:
    times = pd.Series([100.0, 200.0, 400.0, 900.0, 50.0, math.nan])
    condition = pd.Series([1, 1, 1, 1, 2, 2])
    counts = pd.Series([True, True, True, False, True, False])
    found = residuals(times, condition, counts)
    assert found[:4].tolist() == pytest.approx(np.log([0.5, 1, 2, 4.5]).tolist())
    assert found[4:].isna().all()  # one trial is its own median and tells nothing


def test_times_of_zero_have_no_residual() -> None:
    found = residuals(pd.Series([0.0, 10.0, 10.0]), pd.Series([1, 1, 1]), pd.Series([True] * 3))
    assert math.isnan(found[0])
    assert found[1:].tolist() == [0, 0]


def test_a_straight_drift_is_found_exactly() -> None:
    block = np.repeat(np.arange(5), 4)
    rising = np.linspace(0, 0.08, block.size)
    found = drift(rising, block)
    assert (found.change, found.low, found.high) == pytest.approx((0.08, 0.08, 0.08))
    assert found.is_seen


@pytest.mark.parametrize("blocks", [1, 2])
def test_few_blocks_tell_no_drift(blocks: int) -> None:
    found = drift(np.linspace(0, 1, 4 * blocks), np.repeat(np.arange(blocks), 4))
    assert math.isnan(found.change)
    assert not found.is_seen


@pytest.mark.thorough
@pytest.mark.parametrize("true", [0.0, 0.05])
def test_the_interval_of_a_drift_covers_it_although_blocks_differ(true: float) -> None:
    random = np.random.default_rng(7)
    block = np.repeat(np.arange(10), 8)
    covered, tries = 0, 1_000
    for _ in range(tries):
        shared = random.normal(0, 0.02, 10)[block]
        found = drift(
            true * np.linspace(0, 1, block.size) + shared + random.normal(0, 0.01, block.size), block
        )
        covered += found.low <= true <= found.high
    assert 0.93 <= covered / tries <= 0.97


def test_autocorrelation_of_known_values() -> None:
    # By hand: -1, 0, 1 has the sum of squares 2; neighbours give (-1)(0) + (0)(1) = 0, the ends (-1)(1) = -1.
    assert autocorrelation(np.array([1.0, 2.0, 3.0]), 2).tolist() == [0, -0.5]
    assert autocorrelation(np.tile([1.0, -1.0], 50), 2) == pytest.approx([-0.99, 0.98])


def test_equal_values_have_no_autocorrelation() -> None:
    assert np.isnan(autocorrelation(np.ones(10), 3)).all()


def test_white_noise_stays_in_the_band_19_times_of_20() -> None:
    random = np.random.default_rng(3)
    inside = [np.abs(autocorrelation(random.normal(size=200), 10)) <= chance_band(200) for _ in range(300)]
    assert 0.94 <= float(np.mean(inside)) <= 0.975


def test_values_that_hang_together_leave_the_band() -> None:
    random = np.random.default_rng(4)
    values = [0.0]
    for step in random.normal(size=2_000):
        values.append(0.5 * values[-1] + step)
    found = autocorrelation(np.array(values), 3)
    assert found == pytest.approx([0.5, 0.25, 0.125], abs=0.07)
    assert found[0] > chance_band(len(values))


def test_a_running_median_ignores_a_single_outlier() -> None:
    values = np.zeros(30)
    values[10] = 1
    smooth, window = runorder.running_median(values)
    assert window == runorder.LEAST_WINDOW
    assert smooth.tolist() == [0] * 30

"""Made-up times are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.simulation import times
from benchmarks.simulation.times import SHAPES


@pytest.mark.parametrize("name", SHAPES)
def test_two_conditions_of_a_block_differ_by_chance_alone(name: str) -> None:
    logs = SHAPES[name](np.random.default_rng(1), (4000, 10, 4), 0.02)
    ratios = (logs[..., 1] - logs[..., 2]).ravel()
    assert abs(ratios.mean()) < 5 * ratios.std() / np.sqrt(ratios.size)


@pytest.mark.parametrize("name", ["lognormal", "skewed", "t3"])
def test_times_vary_as_asked(name: str) -> None:
    logs = SHAPES[name](np.random.default_rng(1), (20_000, 5, 1), 0.02)
    assert np.exp(logs).std() == pytest.approx(0.02, rel=0.15)


def test_bursts_hit_a_fifth_and_last() -> None:
    logs = times.bursty(np.random.default_rng(1), (2000, 40, 1), 1e-6)[..., 0]
    hit = logs > 0.01
    assert hit.mean() == pytest.approx(times.HIT, abs=0.01)
    after = hit[:, 1:][hit[:, :-1]]
    assert after.mean() == pytest.approx(1 - 1 / times.BURST, abs=0.02)
    assert np.expm1(logs[hit]).mean() == pytest.approx(sum(times.LONGER) / 2, abs=0.005)


def test_a_drift_goes_through_the_run() -> None:
    logs = times.drifting(np.random.default_rng(1), (500, 20, 3), 1e-6)
    assert logs[:, 0].mean() < 0.01
    assert logs[:, -1].mean() == pytest.approx(np.log1p(times.DRIFT), abs=0.01)

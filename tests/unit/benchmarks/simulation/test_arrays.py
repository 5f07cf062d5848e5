"""Many samples at once give what the report's functions give of each, and made-up times are what they say."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.statistics.compare import Certainty, Verdict, described, judged
from analysis.statistics.contrast import contrast
from benchmarks.simulation import arrays, asrecords
from benchmarks.simulation.arrays import SHAPES

SIGNS = {Verdict.SLOWER: 1, Verdict.FASTER: -1}


@pytest.mark.parametrize("n", [3, 5, 14, 15, 16, 40])
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_and_verdicts_are_those_of_the_report(shape: str, n: int) -> None:
    logs = SHAPES[shape](np.random.default_rng(n), (30, n, 2), 0.02)
    rows = logs[..., 0] - logs[..., 1] + 0.01
    low, high = arrays.intervals(rows, 0.95)
    known = [contrast(row).interval(0.95) for row in rows]
    assert np.column_stack([low, high]) == pytest.approx(np.array(known), rel=1e-9)
    told = arrays.directions(arrays.p_values(rows)[None, :], rows.mean(axis=1)[None, :])[0]
    judgements = judged([described(contrast(row), n, 1, Certainty()) for row in rows])
    assert told.tolist() == [SIGNS.get(each.verdict, 0) for each in judgements]


def test_an_array_that_differs_from_the_report_ends_the_benchmark() -> None:
    with pytest.raises(arrays.Differs):
        arrays.p_values(np.tile([0.1, -0.1, 0.2], (25, 6)))  # ties, which arrays do not know


def test_records_give_the_same_numbers() -> None:
    assert asrecords.disagreements(np.random.default_rng(1)) == []


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
    logs = arrays.bursty(np.random.default_rng(1), (2000, 40, 1), 1e-6)[..., 0]
    hit = logs > 0.01
    assert hit.mean() == pytest.approx(arrays.HIT, abs=0.01)
    after = hit[:, 1:][hit[:, :-1]]
    assert after.mean() == pytest.approx(1 - 1 / arrays.BURST, abs=0.02)
    assert np.expm1(logs[hit]).mean() == pytest.approx(sum(arrays.LONGER) / 2, abs=0.005)


def test_a_drift_goes_through_the_run() -> None:
    logs = arrays.drifting(np.random.default_rng(1), (500, 20, 3), 1e-6)
    assert logs[:, 0].mean() < 0.01
    assert logs[:, -1].mean() == pytest.approx(np.log1p(arrays.DRIFT), abs=0.01)

"""What a study can find, against simulations with the functions that judge it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics import LEAST_PAIRS
from analysis.statistics.contrast import contrast
from analysis.statistics.power import POWER, Question, power, smallest_difference, trials_needed

cvs = st.floats(0.005, 0.1)


def simulated(difference: float, trials: int, cv: float, comparisons: int, times: int = 2000) -> float:
    """The share of studies whose paired log ratios tell the direction at 5 % / comparisons."""
    random = np.random.default_rng(trials)
    logs = random.normal(math.log1p(difference), cv * math.sqrt(2), (times, trials))
    return float(np.mean([contrast(each).p_not_above(0.0) < 0.025 / comparisons for each in logs]))


@pytest.mark.parametrize(
    ("difference", "trials", "cv", "comparisons"),
    [
        (0.03, 5, 0.01, 1),
        (0.02, 10, 0.015, 1),
        (0.03, 10, 0.01, 24),
        (0.02, 20, 0.02, 1),
        (0.03, 30, 0.03, 10),
    ],
)
def test_power_is_what_simulations_show(difference: float, trials: int, cv: float, comparisons: int) -> None:
    found = simulated(difference, trials, cv, comparisons)
    assert power(difference, trials, Question(cv, comparisons)) == pytest.approx(found, abs=0.04)


def test_power_is_that_of_the_noncentral_t() -> None:
    shift = math.log(1.03) / (0.02 * math.sqrt(2 / 8))
    limit = stats.t.ppf(0.975, 7)
    assert power(0.03, 8, Question(0.02)) == pytest.approx(stats.nct.sf(limit, 7, shift))


@pytest.mark.thorough
@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 0.5), cvs, st.sampled_from([1, 4, 24, 140]))
def test_power_never_falls_with_the_trials(difference: float, cv: float, comparisons: int) -> None:
    chances = [power(difference, trials, Question(cv, comparisons)) for trials in range(1, 61)]
    assert all(later >= earlier - 1e-9 for earlier, later in itertools.pairwise(chances))


@settings(max_examples=30, deadline=None)
@given(st.integers(LEAST_PAIRS, 100), cvs, st.sampled_from([1, 4, 24, 140]))
def test_the_smallest_difference_is_found_with_80_percent(trials: int, cv: float, comparisons: int) -> None:
    least = smallest_difference(trials, Question(cv, comparisons))
    if least is None:
        assert power(1e4, trials, Question(cv, comparisons)) < POWER + 1e-6
    else:
        assert power(least, trials, Question(cv, comparisons)) == pytest.approx(POWER, abs=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.floats(0.01, 0.5), cvs, st.sampled_from([1, 4, 24, 140]))
def test_so_many_trials_are_enough_and_one_less_is_not(
    difference: float, cv: float, comparisons: int
) -> None:
    trials = trials_needed(difference, Question(cv, comparisons))
    assert trials is not None
    assert power(difference, trials, Question(cv, comparisons)) >= POWER
    assert trials == LEAST_PAIRS or power(difference, trials - 1, Question(cv, comparisons)) < POWER


def test_what_cannot_be_found() -> None:
    assert power(0.5, 2, Question(0.01)) == 0.0
    assert smallest_difference(2, Question(0.01)) is None
    assert trials_needed(1e-6, Question(0.1)) is None
    assert power(100.0, 10, Question(0.001)) == 1.0


def test_shorter_is_found_like_longer() -> None:
    assert power(-0.05, 8, Question(0.02)) == pytest.approx(power(1 / 0.95 - 1, 8, Question(0.02)))


def test_looks_cost_power() -> None:
    """As much as twice the comparisons do: 2.5 % are left of 5 %."""
    calm, looked = Question(0.01, 3), Question(0.01, 3, looked=True)
    assert power(0.02, 10, looked) < power(0.02, 10, calm)
    assert power(0.02, 10, looked) == pytest.approx(power(0.02, 10, Question(0.01, 6)))

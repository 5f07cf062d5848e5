"""The floor: what equal conditions can show, over all settings or in each."""

from __future__ import annotations

import math

import numpy as np
import pytest

from analysis.statistics.contrast import Sample, contrast
from analysis.statistics.floor import Floors, floors


def equal(spreads: list[float], n: int = 10, shift: float = 0.0, seed: int = 1) -> dict[int, list[Sample]]:
    """Of each setting the log ratios of two equal baselines in one run."""
    random = np.random.default_rng(seed)
    return {number: [random.normal(shift, spread, n)] for number, spread in enumerate(spreads)}


def test_of_one_setting_it_is_the_far_end_of_its_interval() -> None:
    measured = equal([0.02])
    ends = contrast(measured[0][0]).interval(0.95)
    assert floors(measured).of([0]) == pytest.approx(math.exp(max(map(abs, ends))))


def test_settings_that_do_not_differ_share_one() -> None:
    found = floors(equal([0.02] * 8))
    assert not found.apart
    assert len({found.of([number]) for number in range(8)}) == 1
    assert found.range == (found.of([0]), found.of([0]))


def test_settings_that_differ_have_their_own() -> None:
    found = floors(equal([0.001, 0.05]))
    assert found.apart
    calm, wild = (math.log(found.of([number]) or math.nan) for number in (0, 1))
    assert 10 * calm < wild
    assert found.range == (found.of([0]), found.of([1]))


def test_a_second_baseline_that_is_always_slower_lifts_it() -> None:
    straight, shifted = (floors(equal([0.01] * 6, shift=shift)) for shift in (0.0, 0.05))
    assert math.log(shifted.of([0]) or 0) - math.log(straight.of([0]) or 0) == pytest.approx(0.05, abs=0.005)


def test_a_mean_over_settings_shows_less() -> None:
    found = floors(equal([0.02] * 9))
    assert math.log(found.of([0]) or 0) > 2 * math.log(found.of(range(9)) or 0)


@pytest.mark.parametrize("n", [1, 2])
def test_too_few_blocks_give_none(n: int) -> None:
    found = floors(equal([0.02], n=n))
    assert (found.of([0]), found.range) == (None, None)


def test_a_setting_that_was_not_measured_twice_has_that_of_all_unless_they_differ() -> None:
    alike, unlike = floors(equal([0.02] * 3)), floors(equal([0.001, 0.05]))
    assert alike.of([7]) == alike.of([0])
    assert unlike.of([7]) is None
    assert unlike.of([0, 7]) == unlike.of([0])
    assert Floors().of([0]) is None
    assert floors({0: []}).of([0]) is None

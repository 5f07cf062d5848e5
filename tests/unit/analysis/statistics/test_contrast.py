"""The statistic of paired differences against scipy, against enumeration, and against itself."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics import LEAST_PAIRS_RANKED
from analysis.statistics.contrast import (
    MOST_PAIRS_RANKED,
    LeastSure,
    Method,
    Sample,
    SignedRank,
    Statistic,
    StudentT,
    contrast,
    crossed,
    mean_of,
    welch,
)

# What whole numbers give: ties and zeros are common.
whole = st.lists(st.integers(-3, 3), min_size=1, max_size=9)
any_number = st.lists(
    st.floats(-2, 2, allow_nan=False).map(lambda value: round(value, 6)), min_size=3, max_size=20
)


def logs(n: int, centre: float = 0.0, spread: float = 0.02, seed: int = 1) -> Sample:
    values: Sample = np.random.default_rng(seed).normal(centre, spread, n)
    return values


def enumerated_tail(differences: list[float]) -> float:
    """Chance of a positive rank sum this large or larger, over all signs; zeros left out."""
    telling = [difference for difference in differences if difference]
    if not telling:
        return 1.0
    ranks: list[float] = stats.rankdata(np.abs(telling)).tolist()
    seen = sum(rank for rank, difference in zip(ranks, telling, strict=True) if difference > 0)
    sums = [sum(itertools.compress(ranks, signs)) for signs in itertools.product((0, 1), repeat=len(telling))]
    return sum(rank_sum >= seen - 1e-9 for rank_sum in sums) / len(sums)


@pytest.mark.parametrize("n", [15, 16, 20, 30, 40])
@pytest.mark.parametrize("centre", [0.0, 0.003, -0.01])
def test_the_signed_rank_is_that_of_scipy(n: int, centre: float) -> None:
    values = logs(n, centre, seed=n)
    contrasted = contrast(values)
    assert contrasted.method is Method.SIGNED_RANK
    for side, p in (("greater", contrasted.p_not_above(0.0)), ("less", contrasted.p_not_below(0.0))):
        assert p == pytest.approx(stats.wilcoxon(values, alternative=side, method="exact").pvalue, rel=1e-9)


@settings(max_examples=60, deadline=None)
@given(whole)
def test_the_signed_rank_with_ties_is_an_enumeration(values: list[int]) -> None:
    ranked = SignedRank(np.array(values, dtype=float))
    assert ranked.p_not_above(0.0) == pytest.approx(enumerated_tail([float(value) for value in values]))
    assert ranked.p_not_below(0.0) == pytest.approx(enumerated_tail([-float(value) for value in values]))


def test_ties_that_only_rounding_breaks_are_ties() -> None:
    """0.1 + 0.2 is not 0.3; ranks must not tell the two apart."""
    near = np.array([0.1 + 0.2, -0.3, 0.3, -(0.1 + 0.2), 0.3] * 3)
    exact = np.array([0.3, -0.3, 0.3, -0.3, 0.3] * 3)
    assert contrast(near).p_not_above(0.0) == contrast(exact).p_not_above(0.0)


@pytest.mark.parametrize("n", [3, 5, 6, 10, 14, MOST_PAIRS_RANKED + 1])
def test_other_numbers_of_pairs_have_the_paired_t_test(n: int) -> None:
    values = logs(n, 0.01, seed=n)
    contrasted, known = contrast(values), stats.ttest_1samp(values, 0.0)
    assert contrasted.method is Method.PAIRED_T
    assert contrasted.centre == pytest.approx(values.mean())
    low, high = known.confidence_interval(0.95)
    assert contrasted.interval(0.95) == pytest.approx((low, high))
    assert 2 * min(contrasted.p_not_above(0.0), contrasted.p_not_below(0.0)) == pytest.approx(known.pvalue)


def test_the_method_hangs_on_the_number_of_pairs_alone() -> None:
    wild = np.exp(logs(LEAST_PAIRS_RANKED, spread=3.0))
    assert contrast(wild).method is contrast(np.ones(LEAST_PAIRS_RANKED)).method is Method.SIGNED_RANK
    assert contrast(wild[:-1]).method is contrast(np.ones(14)).method is Method.PAIRED_T


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_pairs_have_an_estimate_and_nothing_else(n: int) -> None:
    contrasted = contrast(np.array([0.25] * n))
    assert (contrasted.method, contrasted.centre) == (Method.NONE, 0.25)
    assert all(map(math.isnan, contrasted.interval(0.95)))
    assert contrasted.p_not_above(0.0) == contrasted.p_not_below(0.0) == contrasted.p_not_below(1.0) == 1.0


@settings(max_examples=60, deadline=None)
@given(any_number, st.floats(-2, 2), st.sampled_from([0.9, 0.95, 0.97]))
def test_interval_and_test_agree(values: list[float], value: float, confidence: float) -> None:
    """A value well inside the interval is not rejected; one well outside is, whenever the differences differ."""
    contrasted = contrast(np.array(values))
    low, high = contrasted.interval(confidence)
    p = 2 * min(contrasted.p_not_above(value), contrasted.p_not_below(value))
    if low + 1e-9 < value < high - 1e-9:
        assert p > 1 - confidence - 1e-9
    tied = len({abs(round(difference - value, 9)) for difference in values}) < len(values)
    if not tied and not low - 1e-9 <= value <= high + 1e-9:
        assert p <= 1 - confidence + 1e-9


@settings(max_examples=60, deadline=None)
@given(any_number)
def test_the_other_way_round_is_the_same_with_the_other_sign(values: list[float]) -> None:
    one, other = contrast(np.array(values)), contrast(-np.array(values))
    assert one.centre == pytest.approx(-other.centre, abs=1e-12)
    low, high = other.interval(0.95)
    assert one.interval(0.95) == pytest.approx((-high, -low), abs=1e-12)
    assert one.p_not_above(0.1) == pytest.approx(other.p_not_below(-0.1))


@settings(max_examples=60, deadline=None)
@given(any_number, st.randoms())
def test_the_order_of_the_pairs_does_not_matter(values: list[float], random: object) -> None:
    shuffled = list(values)
    random.shuffle(shuffled)  # type: ignore[attr-defined]  # hypothesis gives a random.Random
    one, other = contrast(np.array(values)), contrast(np.array(shuffled))
    assert one.interval(0.95) == pytest.approx(other.interval(0.95), abs=1e-12)
    assert one.p_not_above(0.1) == pytest.approx(other.p_not_above(0.1), abs=1e-9)


@settings(max_examples=40, deadline=None)
@given(any_number, st.floats(-1, 1))
def test_the_estimate_lies_inside_and_moves_with_the_differences(values: list[float], by: float) -> None:
    one, moved = contrast(np.array(values)), contrast(np.array(values) + by)
    low, high = one.interval(0.95)
    assert low - 1e-12 <= one.centre <= high + 1e-12
    assert moved.centre == pytest.approx(one.centre + by, abs=1e-9)
    assert moved.interval(0.95) == pytest.approx((low + by, high + by), abs=1e-9)


@pytest.mark.parametrize("n", [3, 10, 20])
@pytest.mark.parametrize("log_ratio", [0.0, 0.1, math.log(1.1), -0.3])
def test_differences_that_never_vary_are_known(n: int, log_ratio: float) -> None:
    """Bytes of one page are the same in every load."""
    contrasted = contrast(np.full(n, log_ratio))
    assert contrasted.interval(0.95) == pytest.approx((log_ratio, log_ratio), abs=1e-12)
    towards = contrasted.p_not_above(0.0) if log_ratio > 0 else contrasted.p_not_below(0.0)
    assert towards <= (0.5**n) + 1e-12 if log_ratio else towards == 1.0


def test_what_only_rounding_makes_of_no_difference_is_none() -> None:
    """Two pages whose bytes are in the ratios 1.1 and 1 / 1.1: their mean is 0 but for the last digit."""
    nearly = StudentT(1e-17, 0.0, 4)
    assert nearly.p_not_above(0.0) == nearly.p_not_below(0.0) == 1.0
    assert StudentT(1e-6, 0.0, 4).p_not_above(0.0) == 0.0


def test_more_confidence_is_a_wider_interval() -> None:
    for n in (5, 20):
        contrasted = contrast(logs(n))
        widths = [high - low for low, high in map(contrasted.interval, (0.9, 0.95, 0.99))]
        assert widths == sorted(widths)
        assert widths[0] < widths[-1]


def test_hodges_lehmann_withstands_a_wild_pair() -> None:
    calm = logs(20, 0.05, 0.01)
    wild = calm.copy()
    wild[3] = 3.0
    assert contrast(wild).centre == pytest.approx(contrast(calm).centre, abs=0.005)


def test_independent_samples_have_welchs_test() -> None:
    a, b = logs(8, 0.1, 0.05, seed=3), logs(12, 0.05, 0.01, seed=4)
    contrasted, known = welch(a, b), stats.ttest_ind(a, b, equal_var=False)
    low, high = known.confidence_interval(0.95)
    assert contrasted.method is Method.WELCH
    assert contrasted.interval(0.95) == pytest.approx((low, high))
    assert 2 * min(contrasted.p_not_above(0.0), contrasted.p_not_below(0.0)) == pytest.approx(known.pvalue)
    assert welch(a[:2], b).method is Method.NONE
    assert welch(np.full(3, 2.0), np.full(3, 1.0)).interval(0.95) == (1.0, 1.0)


def with_time_outs(values: Sample, late: int) -> Sample:
    """The values, and so many infinite ones behind them."""
    return np.concatenate([values, np.full(late, math.inf)])


def test_where_nearly_all_of_both_samples_timed_out_nothing_is_known() -> None:
    one, other = (with_time_outs(logs(2, 7.0, seed=seed), 18) for seed in (1, 2))
    ranked = welch(one, other)
    assert (ranked.method, ranked.centre) == (Method.RANK_SUM, 0.0)
    assert ranked.interval(0.95) == (-math.inf, math.inf)
    assert min(ranked.p_not_above(-0.1), ranked.p_not_below(0.1)) > 0.9


def test_a_few_time_outs_of_both_samples_leave_a_difference_known() -> None:
    ranked = welch(with_time_outs(logs(18, 0.2), 2), with_time_outs(logs(18, seed=2), 2))
    low, high = ranked.interval(0.95)
    assert 0.15 < low < 0.2 < high < 0.25
    assert ranked.p_not_above(0.0) < 0.001
    assert ranked.p_not_below(0.0) > 0.99


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
    mean = mean_of([level(0.02, n=4), level(0.04, n=14), level(0.06, n=7)])
    assert mean.centre == pytest.approx(0.04)


def test_three_levels_have_the_t_interval_of_their_centres() -> None:
    mean = mean_of([level(centre, spread=1e-4) for centre in (0.0, 0.03, 0.06)])
    low, high = mean.interval(0.95)
    reach = 4.302653 * 0.03 / math.sqrt(3)  # t with 2 degrees of freedom
    assert (low, high) == pytest.approx((0.03 - reach, 0.03 + reach), rel=1e-5)


def test_what_is_known_of_three_levels_is_in_their_spread() -> None:
    """As of any balanced random level: what chance does inside the levels moves their centres, too."""
    wide, narrow = (
        mean_of([level(centre, spread=spread) for centre in (0.0, 0.03, 0.06)]) for spread in (0.1, 1e-4)
    )
    assert width(wide) == pytest.approx(width(narrow))


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
    mean = mean_of([level(0.0), level(0.1)])
    low, high = mean.interval(0.95)
    assert (high - low) / 2 == pytest.approx(2.100922 * mean.error, rel=1e-5)  # t with 18


def test_levels_of_one_block_count_when_there_are_three() -> None:
    single = [contrast(np.array([centre])) for centre in (0.01, 0.02, 0.03)]
    assert mean_of(single).interval(0.95) == pytest.approx(
        contrast(np.array([0.01, 0.02, 0.03])).interval(0.95)
    )
    assert all(map(math.isnan, mean_of(single[:2]).interval(0.95)))
    assert mean_of(single[:2]).p_not_above(-1.0) == 1.0


def test_levels_that_never_vary_are_known() -> None:
    parts = [contrast(np.full(5, log_ratio)) for log_ratio in (math.log(1.1), -math.log(1.1))]
    mean = mean_of(parts)
    assert mean.interval(0.95) == pytest.approx((0.0, 0.0), abs=1e-12)
    assert mean.p_not_above(0.0) == mean.p_not_below(0.0) == 1.0


def test_many_pairs_and_few_pairs_together() -> None:
    """A signed rank has no degrees of freedom of its own."""
    low, high = mean_of([level(0.05, n=30), level(0.05, n=5)]).interval(0.95)
    assert low < 0.05 < high


def two_way(pages: int, runs: int, of_pages: float, of_runs: float, seed: int = 3) -> Sample:
    random = np.random.default_rng(seed)
    values: Sample = (
        random.normal(0, of_pages, (pages, 1))
        + random.normal(0, of_runs, (1, runs))
        + random.normal(0, 0.01, (pages, runs))
    )
    return values


@pytest.mark.parametrize("runs", [3, 5])
def test_crossed_levels_have_the_variance_of_the_two_way_layout(runs: int) -> None:
    pages = 6
    values = two_way(pages, runs, 0.03, 0.03)
    mean_square_pages = runs * values.mean(axis=1).var(ddof=1)
    mean_square_runs = pages * values.mean(axis=0).var(ddof=1)
    total = ((values - values.mean()) ** 2).sum()
    rest = total - (pages - 1) * mean_square_pages - (runs - 1) * mean_square_runs
    mean_square_rest = rest / ((pages - 1) * (runs - 1))
    expected = (mean_square_pages + mean_square_runs - mean_square_rest) / (pages * runs)
    found = crossed(values)
    assert found.error == pytest.approx(math.sqrt(expected))
    assert found.centre == pytest.approx(values.mean())


def test_crossed_levels_that_hardly_differ_err_no_less_than_either() -> None:
    for seed in range(40):
        values = two_way(4, 3, 0, 0, seed)
        error = crossed(values).error
        for axis in (0, 1):
            centres = values.mean(axis=axis)
            assert error >= centres.std(ddof=1) / math.sqrt(centres.size) - 1e-12


def test_crossed_levels_with_an_empty_cell_are_no_surer() -> None:
    values = two_way(6, 4, 0.03, 0.03)
    values[0, 0] = math.nan
    rows, columns = np.nanmean(values, axis=1), np.nanmean(values, axis=0)
    assert crossed(values).error ** 2 == pytest.approx(rows.var(ddof=1) / 6 + columns.var(ddof=1) / 4)


def test_crossed_levels_that_never_vary_are_known() -> None:
    found = crossed(np.full((3, 4), 0.5))
    assert found.interval(0.95) == (0.5, 0.5)
    assert found.p_not_above(0.0) == 0.0


@given(st.floats(0.5, 0.999), st.floats(-0.1, 0.1))
def test_the_least_sure_is_so_at_every_level(confidence: float, value: float) -> None:
    """The one is wider at 60 %, the other, of fewer degrees of freedom, at 95 %."""
    parts = (StudentT(0.01, 0.011, 19.0), StudentT(0.01, 0.010, 2.0))
    both = LeastSure(parts)
    assert both.interval(confidence) == max(
        (part.interval(confidence) for part in parts), key=lambda ends: ends[1] - ends[0]
    )
    assert both.p_not_above(value) == max(part.p_not_above(value) for part in parts)
    assert both.p_not_below(value) == max(part.p_not_below(value) for part in parts)


def test_a_level_that_nothing_is_known_of_leaves_all_open() -> None:
    """Of two levels the one has too few pairs for its time-out."""
    late = contrast(np.array([0.1, 0.2, math.inf, 0.1, 0.2]))
    low, high = mean_of([level(0.1), late], random=False).interval(0.95)
    assert (low, high) == (-math.inf, math.inf)

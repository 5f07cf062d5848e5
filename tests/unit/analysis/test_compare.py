"""Ratios by block, tests, correction and verdicts."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats  # type: ignore[import-untyped, unused-ignore]  # scipy has no types of its own

from analysis.compare import (
    Comparison,
    Verdict,
    benjamini_hochberg,
    compare,
    comparisons,
    judge,
    more_trials,
)
from analysis.estimate import IntervalKind


def series(values: list[float], blocks: list[int] | None = None) -> pd.Series[float]:
    numbers = blocks or list(range(1, len(values) + 1))
    return pd.Series(values, index=pd.MultiIndex.from_arrays([["run"] * len(values), numbers]), dtype=float)


def seen(low: float, high: float, n: int = 8, p: float = 0.01) -> Comparison:
    ratio = math.sqrt(low * high)
    return Comparison(n, True, ratio, low, high, IntervalKind.BOOTSTRAP, "Wilcoxon", p, 0.0)


def test_ratios_are_taken_inside_blocks() -> None:
    reference = series([100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0])
    subject = series([3200 * 0.9, 1600 * 0.9, 800 * 0.9, 400 * 0.9, 200 * 0.9, 100 * 0.9], [6, 5, 4, 3, 2, 1])
    found = compare(subject, reference)
    assert found.paired
    assert found.n == 6
    assert (found.ratio, found.low, found.high) == pytest.approx((0.9, 0.9, 0.9))
    assert found.test == "Wilcoxon"
    assert found.p == pytest.approx(2 * 0.5**6)
    assert judge(found, found.p) is Verdict.FASTER


def test_blocks_that_lost_a_side_do_not_pair() -> None:
    found = compare(series([1.1] * 6, [1, 2, 3, 4, 5, 6]), series([1.0] * 6, [2, 3, 4, 5, 6, 7]))
    assert (found.paired, found.n) == (True, 5)


def test_runs_have_blocks_of_their_own() -> None:
    other = pd.Series(
        [2.0] * 5, index=pd.MultiIndex.from_arrays([["other run"] * 5, [1, 2, 3, 4, 5]]), dtype=float
    )
    assert not compare(series([1.0] * 5), other).paired


def test_without_common_blocks_the_medians_are_compared() -> None:
    found = compare(
        series([80, 82, 84, 86, 88], [1, 2, 3, 4, 5]), series([100, 101, 102, 103, 104], [6, 7, 8, 9, 10])
    )
    assert not found.paired
    assert found.ratio == pytest.approx(84 / 102)
    assert found.low < 84 / 102 < found.high
    assert found.test == "Mann-Whitney"
    assert found.p == pytest.approx(2 / 252)
    assert found.delta == -1.0


def test_five_pairs_can_reach_a_verdict_because_the_test_is_chosen_by_n() -> None:
    found = compare(series([80, 82, 84, 86, 88]), series([100, 101, 102, 103, 104]))
    assert found.paired
    assert found.test == "Mann-Whitney"
    assert found.p == pytest.approx(2 / 252)
    assert judge(found, found.p) is Verdict.FASTER


def test_cliffs_delta_counts_pairs_of_trials() -> None:
    found = compare(series([1, 2, 3]), series([2, 2, 2]))
    assert found.delta == 0.0
    assert compare(series([1, 3, 3]), series([2, 2, 2])).delta == pytest.approx(1 / 3)


def test_equal_samples_give_ratio_one_and_p_one() -> None:
    found = compare(series([5.0] * 7), series([5.0] * 7))
    assert (found.ratio, found.low, found.high, found.p, found.delta) == (1.0, 1.0, 1.0, 1.0, 0.0)
    assert judge(found, 1.0) is Verdict.NO_DIFFERENCE


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.integers(50, 60), st.integers(50, 60)), min_size=1, max_size=9))
def test_swapping_the_sides_inverts_the_ratio(pairs: list[tuple[int, int]]) -> None:
    left, right = (series([float(pair[side]) for pair in pairs]) for side in (0, 1))
    one, other = compare(left, right), compare(right, left).flipped
    assert one.ratio == pytest.approx(other.ratio)
    assert (one.n, one.test) == (other.n, other.test)
    assert one.p == pytest.approx(other.p)
    assert one.delta == pytest.approx(other.delta)


@pytest.mark.parametrize(
    ("low", "high", "q", "verdict"),
    [
        (0.80, 0.90, 0.01, Verdict.FASTER),
        (1.10, 1.20, 0.01, Verdict.SLOWER),
        (0.80, 0.90, 0.06, Verdict.INCONCLUSIVE),
        (0.80, 1.01, 0.01, Verdict.INCONCLUSIVE),
        (0.98, 1.02, 0.90, Verdict.NO_DIFFERENCE),
        (1.005, 1.02, 0.001, Verdict.NO_DIFFERENCE),
        (1.005, 1.04, 0.001, Verdict.SLOWER),
    ],
)
def test_verdicts(low: float, high: float, q: float, verdict: Verdict) -> None:
    assert judge(seen(low, high), q, margin=0.03) is verdict


def test_no_verdict_rests_on_a_range() -> None:
    found = compare(series([80, 82, 84, 86]), series([100, 101, 102, 103]))
    assert found.interval is IntervalKind.RANGE
    assert judge(found, 0.0001) is Verdict.INCONCLUSIVE
    assert more_trials(found, 0.0001) == 1


def test_more_trials_grow_with_the_square_of_the_width() -> None:
    narrow, wide = (seen(math.exp(-w), math.exp(w), n=10) for w in (0.06, 0.12))
    edge = math.log1p(0.03)
    assert more_trials(narrow, 0.5) == math.ceil(10 * (0.06 / edge) ** 2) - 10
    assert more_trials(wide, 0.5) == math.ceil(10 * (0.12 / edge) ** 2) - 10


def test_more_trials_where_only_the_test_falls_short() -> None:
    # z of p = 0.04 is 2.054; Benjamini-Hochberg asks for 0.05 * 0.04 / 0.2 = 0.01, z = 2.576: 5 * 1.573 = 7.9
    assert more_trials(seen(0.8, 0.9, n=5, p=0.04), q=0.2) == 3
    assert more_trials(seen(0.8, 0.9, n=5, p=1.0), q=1.0) == 1000


def test_correction_agrees_with_scipy_and_with_a_textbook() -> None:
    p = [0.01, 0.04, 0.03, 0.005, 0.5]
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    assert benjamini_hochberg(p) == pytest.approx([0.025, 0.05, 0.05, 0.025, 0.5])
    assert benjamini_hochberg([]) == []


def test_every_pair_of_every_group_both_ways_round() -> None:
    random = np.random.default_rng(3)
    rows = [
        {
            "run": "r",
            "block": block,
            "page": page,
            "protocol": protocol,
            "plt_ms": ms * random.normal(1, 0.01),
        }
        for page in ("a", "b")
        for block in range(1, 9)
        for protocol, ms in (("http1-close", 150.0), ("http1", 100.0), ("h2", 100.0 if page == "a" else 80.0))
    ]
    found = comparisons(pd.DataFrame(rows), ["page"], ["http1-close", "http1", "h2"])
    assert len(found) == 2 * 3 * 2
    by = found.set_index(["page", "protocol", "reference"])
    assert by.loc[("b", "h2", "http1"), "verdict"] == Verdict.FASTER
    assert by.loc[("b", "http1", "h2"), "verdict"] == Verdict.SLOWER
    assert by.loc[("a", "h2", "http1"), "verdict"] == Verdict.NO_DIFFERENCE
    once = found[
        found["protocol"].map(["http1-close", "http1", "h2"].index)
        < found["reference"].map(["http1-close", "http1", "h2"].index)
    ]
    assert once["q"].tolist() == pytest.approx(stats.false_discovery_control(once["p"].to_numpy()))

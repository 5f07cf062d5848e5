"""Comparisons of frames of records: pairing, swapping, correction, verdicts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.compare import (
    ALPHA,
    NOTHING,
    Blocks,
    Certainty,
    Comparison,
    Judgement,
    Verdict,
    benjamini_hochberg,
    compare,
    compared,
    described,
    judged,
    told,
)
from analysis.statistics.contrast import Method, contrast
from analysis.statistics.plainly import verdict_text
from tests.facts import tells

SURE = Certainty()
DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
A, B = 0, 1
INF = math.inf


def records(cells: Mapping[int, Sequence[float]], run: str = "run") -> pd.DataFrame:
    """A value per cell and block, numbered from 1; NaN where there is none."""
    return pd.DataFrame(
        {"run": run, "block": number, "cell": cell, "plt_ms": value}
        for cell, values in cells.items()
        for number, value in enumerate(values, start=1)
    )


def against(a: Sequence[float], b: Sequence[float], certainty: Certainty = SURE) -> Comparison:
    return compare(Blocks(records({A: a, B: b}), "plt_ms"), A, B, certainty)


def noisy(n: int, factor: float = 1.0, cv: float = 0.02, seed: int = 1) -> list[float]:
    return list(1000 * factor * np.exp(np.random.default_rng(seed).normal(0, cv, n)))


def seen(low: float, high: float, p: float = 0.001, p_size: float = 1.0, n: int = 8) -> Comparison:
    return Comparison(n, 1, math.sqrt(low * high), low, high, Method.PAIRED_T, p, p_size)


def test_a_ratio_is_the_geometric_mean_inside_blocks() -> None:
    """A drift that both sides share is no difference between them."""
    drift = [100.0, 200.0, 400.0, 800.0, 1600.0, 3200.0]
    comparison = against([0.9 * value for value in drift], drift)
    assert (comparison.ratio, comparison.low, comparison.high) == pytest.approx((0.9, 0.9, 0.9))
    assert (comparison.n, comparison.runs, comparison.method) == (6, 1, Method.PAIRED_T)


def test_only_blocks_that_hold_both_sides_count() -> None:
    nan = math.nan
    comparison = against([1.1, 1.2, nan, 1.1, 1.3, 9.0], [1.0, 1.0, 1.0, 1.0, 1.0, nan])
    assert comparison.n == 4
    assert comparison.ratio == pytest.approx((1.1 * 1.2 * 1.1 * 1.3) ** 0.25)


def test_blocks_of_two_runs_do_not_pair() -> None:
    frame = pd.concat([records({A: noisy(6)}, "one"), records({B: noisy(6)}, "two")])
    assert compare(Blocks(frame, "plt_ms"), A, B, SURE) == NOTHING


def test_attempts_of_one_block_count_once() -> None:
    doubled = pd.concat([records({A: [10.0, 11.0, 12.0], B: [9.0] * 3}), records({A: [30.0, 11.0, 12.0]})])
    comparison = compare(Blocks(doubled, "plt_ms"), A, B, SURE)
    assert comparison.n == 3
    assert comparison.ratio == pytest.approx((20.0 * 11 * 12 / 9**3) ** (1 / 3))


@pytest.mark.parametrize("bad", [0.0, -1.0])
def test_a_value_that_has_no_ratio_leaves_no_comparison(bad: float) -> None:
    """A layout shift of 0 is a good value: leaving that block out would show only the bad ones."""
    assert against([1.0, 2.0, bad, 3.0], [1.0, 1.0, 1.0, 1.0]) == NOTHING
    assert against([1.0, 1.0, 1.0, 1.0], [1.0, 2.0, bad, 3.0]) == NOTHING


def test_a_cell_without_records_leaves_no_comparison() -> None:
    blocks = Blocks(records({A: noisy(5)}), "plt_ms")
    assert compare(blocks, A, B, SURE) == compare(blocks, B, A, SURE) == NOTHING
    assert blocks.values(B).size == 0


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_blocks_have_a_ratio_alone(n: int) -> None:
    comparison = against([1.1] * n, [1.0] * n)
    assert comparison.ratio == pytest.approx(1.1)
    assert math.isnan(comparison.low)
    assert (comparison.p, comparison.p_size, comparison.method) == (1.0, 1.0, Method.NONE)
    assert judged([comparison])[0].verdict is Verdict.UNKNOWN
    assert judged([comparison])[0].trials is None


def test_three_blocks_can_tell() -> None:
    comparison = against([1.50, 1.51, 1.52], [1.0, 1.0, 1.0])
    assert judged([comparison])[0].verdict is Verdict.SLOWER
    assert comparison.low < 1.51 < comparison.high


@pytest.mark.thorough
@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(50, 60), st.integers(50, 60)), min_size=1, max_size=18),
)
def test_swapping_the_sides_inverts_the_ratio(pairs: list[tuple[int, int]]) -> None:
    a, b = ([float(pair[side]) for pair in pairs] for side in (0, 1))
    one, other = against(a, b), against(b, a)
    assert (one.n, one.method) == (other.n, other.method)
    for mine, its in ((one.ratio, other.ratio), (one.low, other.high), (one.high, other.low)):
        assert mine == pytest.approx(1 / its, nan_ok=True)
    assert (one.p, one.p_size) == pytest.approx((other.p, other.p_size), abs=1e-9)
    assert judged([one])[0].verdict is judged([other])[0].verdict.flipped


@pytest.mark.thorough
@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([4, 7, 15, 20]))
def test_the_order_of_the_records_does_not_matter(seed: int, n: int) -> None:
    frame = pd.concat(
        [records({cell: noisy(n, seed=seed + cell) for cell in range(4)}, run) for run in ("x", "y", "z")]
    )
    pairs = [({"pair": (a, b)}, a, b) for a in range(4) for b in range(a)]
    shuffled = frame.sample(frac=1, random_state=seed)
    one, other = (
        compared(Blocks(records_in_order, "plt_ms"), pairs, SURE) for records_in_order in (frame, shuffled)
    )
    pd.testing.assert_frame_equal(one, other)


def test_runs_count_once_from_three_on() -> None:
    """Three runs that disagree are less sure than their blocks taken together."""
    runs = [
        records({A: noisy(10, factor, 0.001), B: noisy(10, 1, 0.001, 2)}, str(factor))
        for factor in (1, 1.05, 1.1)
    ]
    three = compare(Blocks(pd.concat(runs), "plt_ms"), A, B, SURE)
    two = compare(Blocks(pd.concat(runs[:2]), "plt_ms"), A, B, SURE)
    assert (three.n, three.runs, three.method) == (30, 3, Method.LEVELS_T)
    assert three.low < 1 < three.high
    assert (two.runs, two.low > 1) == (2, True)


def test_the_direction_is_the_two_sided_test_and_the_size_two_one_sided_ones() -> None:
    a, b = noisy(10, 1.01, 0.01), noisy(10, 1, 0.01, 2)
    comparison, logs = against(a, b), np.log(a) - np.log(b)
    assert comparison.p == pytest.approx(stats.ttest_1samp(logs, 0).pvalue)
    edge = math.log(1.03)
    above = stats.ttest_1samp(logs, -edge, alternative="greater").pvalue
    below = stats.ttest_1samp(logs, edge, alternative="less").pvalue
    assert comparison.p_size == pytest.approx(max(above, below))


@pytest.mark.parametrize("n", [5, 10, 20])
def test_direction_and_size_are_two_statements(n: int) -> None:
    """A true 1 % that is seen plainly is slower, and by less than the margin."""
    verdict = judged([against(noisy(n, 1.01, 1e-4), noisy(n, 1, 1e-4, 2))])[0]
    assert (verdict.verdict, verdict.small) == (Verdict.SLOWER, True)
    large = judged([against(noisy(n, 1.2, 1e-4), noisy(n, 1, 1e-4, 2))])[0]
    assert (large.verdict, large.small) == (Verdict.SLOWER, False)


@pytest.mark.parametrize("n", [3, 10, 20])
def test_bytes_that_never_vary(n: int) -> None:
    more, same = against([1100.0] * n, [1000.0] * n), against([1000.0] * n, [1000.0] * n)
    assert judged([more])[0].verdict is Verdict.SLOWER if n < 20 else more.p < 1e-5
    assert judged([same])[0].verdict is Verdict.WITHIN
    assert (same.ratio, same.low, same.high, same.p) == (1.0, 1.0, 1.0, 1.0)


def test_mostly_equal_bytes_are_no_direction() -> None:
    """18 of 20 blocks equal, two a little more: the interval ends at 1, and nothing is said of a direction."""
    comparison = against([1000.0] * 18 + [1001.0, 1002.0], [1000.0] * 20)
    assert comparison.low == 1.0
    assert judged([comparison])[0].verdict is Verdict.WITHIN


@pytest.mark.parametrize(
    ("comparison", "verdict"),
    [
        (seen(0.80, 0.90), Verdict.FASTER),
        (seen(1.10, 1.20), Verdict.SLOWER),
        (seen(0.80, 0.90, p=0.06), Verdict.UNKNOWN),
        (seen(0.80, 1.01), Verdict.UNKNOWN),
        (seen(0.99, 1.02, p=0.6, p_size=0.01), Verdict.WITHIN),
        (seen(0.95, 1.02, p=0.6, p_size=0.2), Verdict.UNKNOWN),
    ],
)
def test_verdicts(comparison: Comparison, verdict: Verdict) -> None:
    assert judged([comparison])[0].verdict is verdict


def test_all_comparisons_pay_for_each_other() -> None:
    telling, nothing = seen(1.01, 1.1, p=0.03), seen(0.9, 1.1, p=0.8)
    assert judged([telling])[0].verdict is Verdict.SLOWER
    assert judged([telling, nothing])[0].verdict is Verdict.UNKNOWN


def test_a_study_that_looked_pays_in_interval_and_test() -> None:
    a, b = noisy(10, 1.01, 0.01), noisy(10, 1, 0.01, 2)
    calm, looked = against(a, b), against(a, b, Certainty(looked=True))
    assert looked.low < calm.low < calm.high < looked.high
    assert looked.p > calm.p
    assert looked.p_size > calm.p_size
    # A p-value of 5 % is one whose interval ends at 1, whatever the confidence.
    for certainty in (SURE, Certainty(looked=True)):
        assert certainty.p(1 - certainty.confidence) == pytest.approx(ALPHA)


def test_a_forecast_is_of_the_trials_of_a_condition() -> None:
    """Two pages have twice the pairs, and a run has as many trials of each."""
    one, two = seen(0.9, 1.12, p=0.9, n=10), replace(seen(0.9, 1.12, p=0.9, n=20), pages=2)
    (alone, both) = (judged([comparison])[0].trials for comparison in (one, two))
    assert alone == both
    assert alone is not None
    assert alone > 10
    assert judged([replace(two, n=8)])[0].trials is None  # four of each page


@pytest.mark.parametrize(
    ("pages", "runs", "levels"),
    [(5, 1, ("pages",)), (1, 4, ("runs",)), (3, 3, ("pages", "runs")), (2, 2, ())],
)
def test_more_trials_are_not_said_to_tell_where_pages_or_runs_differ(
    pages: int, runs: int, levels: tuple[str, ...]
) -> None:
    over = replace(
        seen(0.9, 1.12, p=0.9, n=30 * pages * runs), method=Method.LEVELS_T, pages=pages, runs=runs
    )
    assert over.levels == levels
    judgement = judged([over])[0]
    assert (judgement.trials is None) == bool(levels)
    text = verdict_text({**over.figures, **vars(judgement)}, 0.03)
    assert ("trials would tell" in text) != bool(levels)


def test_a_forecast_needs_five_pairs_and_room_to_shrink() -> None:
    wide = seen(0.9, 1.12, p=0.9)
    assert judged([wide])[0].trials is not None
    assert judged([seen(0.9, 1.12, p=0.9, n=4)])[0].trials is None
    assert judged([seen(1.1, 1.2)])[0].trials is None  # known


@pytest.mark.parametrize("others", [[], [0.0] * 11, [0.2] * 11])
def test_so_many_trials_as_are_foretold_tell_after_the_correction(others: list[float]) -> None:
    """The blocks that were seen, over and over: half of what is foretold tells nothing, half as many again do."""

    def first(trials: int) -> Judgement:
        """Of the first comparison, when all of them have so many blocks."""
        logs = (effect + 0.05 * np.resize(np.linspace(-1, 1, 8), trials) for effect in (0.02, *others))
        return judged([described(contrast(each), trials, 1, Certainty(1e-9)) for each in logs], 1e-9)[0]

    foretold = first(8).trials
    assert foretold is not None
    assert first(8 * (foretold // 16)).verdict is Verdict.UNKNOWN
    assert first(8 * math.ceil(1.5 * foretold / 8)).verdict is Verdict.SLOWER


def test_a_forecast_pays_for_those_comparisons_that_the_correction_leaves_open() -> None:
    direction, size = seen(0.923, 0.99, p=0.02, n=20), seen(0.97, 1.04, p=0.7, p_size=0.2, n=20)
    slower, small, unknown = seen(1.1, 1.2), seen(0.99, 1.01, p=0.9, p_size=0.001), seen(0.9, 1.1, p=0.9)

    def foretold(comparison: Comparison, other: Comparison) -> int | None:
        return judged([comparison, *[other] * 11])[0].trials

    assert foretold(direction, unknown) == pytest.approx(26, abs=1)
    assert foretold(direction, small) == foretold(direction, unknown)  # sizes are corrected by themselves
    assert foretold(size, small) == judged([size])[0].trials == pytest.approx(39, abs=1)
    assert foretold(size, slower) == foretold(size, unknown) == pytest.approx(82, abs=1)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_benjamini_hochberg_against_its_definition(p_values: list[float]) -> None:
    q_values = benjamini_hochberg(p_values)
    m = len(p_values)
    for p, q in zip(p_values, q_values, strict=True):
        larger = [other for other in p_values if other >= p]
        assert q == pytest.approx(
            min(1.0, *(other * m / sum(p_value <= other for p_value in p_values) for other in larger), 1.0)
        )


def test_no_comparisons_are_an_empty_frame() -> None:
    assert judged([]) == []
    assert compared(Blocks(records({A: noisy(5)}), "plt_ms"), [], SURE).empty


def test_a_difference_is_below_the_floor_when_equal_baselines_lie_as_far_apart() -> None:
    comparison = seen(0.97, 0.99)
    assert comparison.below(1 / comparison.ratio + 1e-9)
    assert seen(1 / 0.99, 1 / 0.97).below(1 / comparison.ratio + 1e-9)
    assert not comparison.below(1.01)
    assert not comparison.below(None)
    assert not NOTHING.below(1.01)


def on(frame: pd.DataFrame, machine: str, restart: int = 0) -> pd.DataFrame:
    return frame.assign(machine=machine, restart=restart)


def test_machines_of_a_run_are_levels_and_nothing_is_paired_across_them() -> None:
    """Each machine has its own speed; inside them b takes 10 % longer."""
    parts = []
    for machine, speed, seed in (("a", 1.0, 1), ("b", 3.0, 2), ("c", 9.0, 3)):
        fast = noisy(6, speed, seed=seed)
        part = records({A: [1.1 * value for value in fast], B: fast})
        parts.append(on(part.assign(block=part["block"] + 6 * seed), machine))
    blocks = Blocks(pd.concat(parts), "plt_ms")
    assert list(blocks.by_run(A, B)) == ["run on a", "run on b", "run on c"]
    comparison = compare(blocks, A, B, SURE)
    assert (comparison.n, comparison.runs, comparison.method) == (18, 3, Method.LEVELS_T)
    assert comparison.ratio == pytest.approx(1.1)
    assert blocks.ratios(A, B) == pytest.approx([math.log(1.1)] * 18)


def test_a_block_that_was_left_behind_is_used_inside_itself_alone() -> None:
    """Machine a measured one cell of block 1 and went away; b measured both."""
    left_behind = on(records({A: [100.0]}), "a")
    again = on(records({A: [900.0], B: [300.0]}), "b", restart=1)
    blocks = Blocks(pd.concat([left_behind, again]), "plt_ms")
    assert {run: list(np.exp(ratios)) for run, ratios in blocks.by_run(A, B).items()} == {
        "run on b": [pytest.approx(3.0)]
    }
    assert sorted(blocks.values(A)) == [100.0, 900.0]


def in_lane(frame: pd.DataFrame, lane: int, lanes: int, first_block: int) -> pd.DataFrame:
    return frame.assign(lane=lane, lanes=lanes, block=frame["block"] + first_block)


def test_lanes_of_a_run_are_levels_and_so_are_those_of_another_number_of_lanes() -> None:
    """The run went on in two lanes: the first of two has other cores than the first of four."""
    parts = []
    for number, (lane, lanes, speed) in enumerate([(1, 4, 1.0), (2, 4, 2.0), (1, 2, 4.0)]):
        fast = noisy(6, speed, seed=number)
        part = records({A: [1.1 * value for value in fast], B: fast})
        parts.append(in_lane(part, lane, lanes, 6 * number))
    blocks = Blocks(pd.concat(parts), "plt_ms")
    assert list(blocks.by_run(A, B)) == ["run on lane 1 of 2", "run on lane 1 of 4", "run on lane 2 of 4"]
    comparison = compare(blocks, A, B, SURE)
    assert (comparison.n, comparison.runs, comparison.method) == (18, 3, Method.LEVELS_T)
    assert comparison.ratio == pytest.approx(1.1)


def test_what_was_made_without_lanes_is_a_level_too() -> None:
    alone = records({A: noisy(5), B: noisy(5, seed=2)})
    blocks = Blocks(pd.concat([alone, in_lane(alone, 1, 2, 5)]), "plt_ms")
    assert list(blocks.by_run(A, B)) == ["run", "run on lane 1 of 2"]


def test_nothing_is_paired_across_lanes() -> None:
    """A block whose lane died was begun again in another one."""
    left_behind = in_lane(records({A: [100.0]}), 1, 2, 0).assign(restart=0)
    again = in_lane(records({A: [900.0], B: [300.0]}), 2, 2, 0).assign(restart=1)
    blocks = Blocks(pd.concat([left_behind, again]), "plt_ms")
    assert {run: list(np.exp(ratios)) for run, ratios in blocks.by_run(A, B).items()} == {
        "run on lane 2 of 2": [pytest.approx(3.0)]
    }


def test_a_run_on_one_named_machine_is_one_run() -> None:
    frame = on(records({A: noisy(5), B: noisy(5, seed=2)}), "a")
    assert list(Blocks(frame, "plt_ms").by_run(A, B)) == ["run"]


def family(effects: Sequence[float], n: int = 10, cv: float = 0.02, seed: int = 3) -> list[Comparison]:
    random = np.random.default_rng(seed)
    return [
        described(contrast(random.normal(effect, cv * math.sqrt(2), n)), n, 1, Certainty(1e-9))
        for effect in effects
    ]


def test_a_size_that_was_chosen_has_the_interval_of_a_choice() -> None:
    """2 of 10 told: the level of each is 1 - 5 % * 2 / 10."""
    comparisons = family([0.2, -0.2, *[0.0] * 8])
    directions = [
        (seen, judgement) for seen, judgement in told(comparisons, 1e-9) if judgement.verdict in DIRECTED
    ]
    assert len(directions) == 2
    for seen, _ in directions:
        plain = next(comparison for comparison in comparisons if comparison.ratio == seen.ratio)
        assert seen.confidence == pytest.approx(0.99)
        assert seen.statistic is not None
        assert (seen.low, seen.high) == pytest.approx(np.exp(seen.statistic.interval(0.99)))
        assert seen.low < plain.low < plain.high < seen.high


def test_what_was_not_told_keeps_the_plain_interval() -> None:
    comparisons = family([0.2, *[0.0] * 9])
    unknown = [seen for seen, judgement in told(comparisons, 1e-9) if judgement.verdict is Verdict.UNKNOWN]
    assert len(unknown) == 9
    assert all(seen in comparisons for seen in unknown)


def test_what_was_named_before_the_run_is_told_as_it_is() -> None:
    comparisons = family([0.2, -0.2, *[0.0] * 8])
    assert [seen for seen, _ in told(comparisons, beforehand=True)] == comparisons


def test_when_all_are_told_nothing_was_chosen() -> None:
    comparisons = family([0.2] * 6)
    assert [seen for seen, _ in told(comparisons)] == comparisons


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from([0.0, 0.02, 0.05, -0.04]), min_size=1, max_size=24),
    st.integers(3, 20),
    st.integers(0, 99),
)
def test_an_interval_of_a_told_direction_never_holds_1(effects: list[float], n: int, seed: int) -> None:
    for seen, judgement in told(family(effects, n, seed=seed)):
        if judgement.verdict in DIRECTED:
            assert (seen.low > 1) == (judgement.verdict is Verdict.SLOWER)
            assert (seen.high < 1) == (judgement.verdict is Verdict.FASTER)


def test_a_time_out_is_the_longest_time() -> None:
    """Nine blocks of ten are 20 % longer, in the tenth the subject timed out: ranks tell what the mean could not."""
    reference = noisy(10, cv=0.01)
    comparison = against([*(1.2 * value for value in reference[:9]), INF], reference)
    assert (comparison.n, comparison.method) == (10, Method.SIGNED_RANK)
    assert comparison.ratio == pytest.approx(1.2, rel=0.02)
    assert judged([comparison])[0].verdict is Verdict.SLOWER
    assert against(reference, [*(1.2 * value for value in reference[:9]), INF]).ratio == pytest.approx(
        1 / 1.2, rel=0.02
    )


def test_a_subject_that_always_times_out_is_slower_by_what_nobody_knows() -> None:
    comparison = against([INF] * 8, noisy(8))
    ((seen, judgement),) = told([comparison])
    text = verdict_text({**seen.figures, **vars(judgement)}, 0.03)
    assert text.startswith("slower, ")
    assert tells([text], "unknown amount", "timed out")


def test_two_time_outs_of_one_block_tell_nothing() -> None:
    assert against([INF] * 5, [INF] * 5) == NOTHING
    assert against([1.0, INF, 1.0, 1.0], [1.0, INF, 1.0, 1.0]).n == 3


def test_too_few_blocks_with_a_time_out_bound_nothing() -> None:
    comparison = against([1.2, 1.2, 1.2, INF], [1.0, 1.0, 1.0, 1.0])
    assert (comparison.low, comparison.high) == (0.0, INF)
    assert judged([comparison])[0].verdict is Verdict.UNKNOWN
    assert judged([comparison])[0].trials is None

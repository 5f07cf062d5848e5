"""Two runs set against each other: what changed is found, what did not is not, and a slower machine cancels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.comparing.between import Bounded, Change, changes
from analysis.comparing.matching import Side, matched
from analysis.runs.exclude import Sifted
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, Verdict
from analysis.statistics.contrast import welch
from harness.errors import RecordsError
from tests.facts import tells
from tests.unit.analysis.runpairs import STUDY, edit, measured_twice, scaled, slower, two_runs, unchanged

pytestmark = pytest.mark.thorough

DIRECTED = (Verdict.FASTER, Verdict.SLOWER)
PROTOCOLS = ("http1-close", "http1", "https1", "h2")


def changed(a: Path, b: Path, metric: str = "plt_ms") -> tuple[Change, ...]:
    sides = Side.of(load(a)), Side.of(load(b))
    return changes(*sides, matched(*sides), metric, Certainty())


def test_one_slower_condition_is_found_and_named(tmp_path: Path) -> None:
    told = changed(*two_runs(tmp_path, slower(1.06, page="one", protocol="h2")))
    assert len(told) == 16
    for change in told:
        hit = change.condition["page"] == "one" and change.condition["protocol"] == "h2"
        assert (change.judgement.verdict is Verdict.SLOWER) == hit
        if hit:
            assert change.comparison.ratio == pytest.approx(1.06, abs=0.02)
            assert change.relative is not None
            assert change.relative.judgement.verdict is Verdict.SLOWER
            assert change.relative.baseline["protocol"] == "http1"
            assert change.against(2) is Bounded.ABOVE
            assert change.against(5) is Bounded.UNKNOWN  # its interval lies above in part
            assert change.against(20) is Bounded.WITHIN


def test_swapped_runs_tell_the_inverse(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, slower(1.05, protocol="h2"))
    there, back = changed(a, b), changed(b, a)
    for one, other in zip(there, back, strict=True):
        assert one.comparison.ratio * other.comparison.ratio == pytest.approx(1)
        assert one.comparison.low * other.comparison.high == pytest.approx(1)
        assert one.judgement.verdict is other.judgement.verdict.flipped
        assert one.medians == other.medians[::-1]


def test_a_slower_machine_cancels_out_of_the_distance_to_the_baseline(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path, lambda _condition: 1.05)
    told = changed(a, b)
    assert all(change.judgement.verdict is Verdict.SLOWER for change in told)
    apart = [change.relative for change in told if change.relative]
    assert len(apart) == 12  # all but a baseline per page and link
    assert not any(relative.judgement.verdict in DIRECTED for relative in apart)
    assert float(np.mean([math.log(relative.comparison.ratio) for relative in apart])) == pytest.approx(
        0, abs=0.01
    )


@pytest.mark.thorough
def test_twins_are_not_compared_and_give_the_floor(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    without = changed(a, b)
    assert {change.floor for change in without} == {None}
    measured_twice(a, 1.004)
    measured_twice(b, 1 / 1.01)
    told = changed(a, b)
    assert [change.comparison for change in told] == [change.comparison for change in without]
    assert [change.floor for change in told] == [
        pytest.approx(1.01)
    ] * 16  # without noise, all of it is the shift


def test_a_condition_without_trials_that_count_has_no_ratio(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    edit(
        b,
        lambda record: (
            record | ({"outcome": "page-error"} if record["condition"]["protocol"] == "h2" else {})
        ),
    )
    lost = [change for change in changed(a, b) if change.condition["protocol"] == "h2"]
    assert {change.n for change in lost} == {(8, 0)}
    for change in lost:
        assert math.isnan(change.comparison.ratio)
        assert change.judgement.verdict is Verdict.UNKNOWN
        assert change.relative is not None
        assert change.relative.comparison.n == 0
        assert change.against(20) is Bounded.ABOVE  # lost


def test_lanes_of_unlike_speed_move_no_ratio_by_their_shares(tmp_path: Path) -> None:
    """A's blocks are made half by half, of B's the slow lane makes a quarter."""
    a, b = two_runs(tmp_path, study=replace(STUDY, trials=12, pages=("one",), rtts_ms=(50.0,)))

    def made(record: dict[str, Any], slow: int) -> dict[str, Any]:
        lane = 2 if record["block"] <= slow else 1
        return scaled(record, 1.3 if lane == 2 else 1.0) | {"lane": lane, "lanes": 2}

    edit(a, partial(made, slow=6))
    edit(b, partial(made, slow=3))
    for change in changed(a, b):
        assert change.n == (12, 12)
        assert change.verdict not in DIRECTED
        assert change.comparison.ratio == pytest.approx(1, abs=0.02)
    edit(b, lambda record: record | {"lane": record["lane"] + 2, "lanes": 4})  # nobody in common
    assert {change.verdict for change in changed(a, b)} <= {Verdict.UNKNOWN, Verdict.FASTER}
    assert min(change.comparison.ratio for change in changed(a, b)) < 0.97


def test_lanes_of_unlike_speed_move_no_difference_by_their_shares(tmp_path: Path) -> None:
    """Of values with a 0, which have no ratio: of A's blocks the slow lane makes 4 of 20, of B's 16."""
    a, b = two_runs(tmp_path, study=replace(STUDY, trials=20, pages=("one",), rtts_ms=(50.0,)))

    def made(record: dict[str, Any], slow: int) -> dict[str, Any]:
        lane = 2 if record["block"] <= slow else 1
        blocked = 4.0 * (record["block"] % 3) + (90.0 if lane == 2 else 0.0)
        return record | {"lane": lane, "lanes": 2, "tbt_ms": blocked}

    edit(a, partial(made, slow=4))
    edit(b, partial(made, slow=16))
    for change in changed(a, b, "tbt_ms"):
        assert change.n == (20, 20)
        assert change.verdict is Verdict.UNKNOWN
        assert change.difference is not None
        assert change.difference.value == pytest.approx(0, abs=2)
        assert change.difference.low < 0 < change.difference.high < 10
    edit(b, lambda record: record | {"lane": record["lane"] + 2, "lanes": 4})  # nobody in common
    assert {change.verdict for change in changed(a, b, "tbt_ms")} == {Verdict.SLOWER}


def test_a_first_paint_that_some_loads_did_not_come_to_is_not_known(tmp_path: Path) -> None:
    """Neither that it went, nor that it is within a bound."""
    a, b = two_runs(tmp_path)

    def painted(record: dict[str, Any], blocks: int) -> dict[str, Any]:
        return record | (
            {"painted": True} if record["block"] <= blocks else {"painted": False, "fcp_ms": None}
        )

    edit(a, partial(painted, blocks=6))
    edit(b, partial(painted, blocks=0))
    for change in changed(a, b, "fcp_ms"):
        assert change.n == (6, 0)
        assert (change.lost, change.verdict) == (False, Verdict.UNKNOWN)
        assert change.against(50) is Bounded.UNKNOWN
        assert "in 2 of 8 trials of A" in change.unmeasured


@pytest.mark.parametrize(
    "without",
    [
        {"fcp_ms": None},
        {"outcome": "page-error"},
    ],
)
def test_a_metric_that_b_lacks_altogether_is_lost_in_every_condition(
    tmp_path: Path, without: dict[str, Any]
) -> None:
    a, b = two_runs(tmp_path)
    edit(b, lambda record: record | without)
    lost = changed(a, b, "fcp_ms")
    assert {change.n for change in lost} == {(8, 0)}
    assert {change.against(1000) for change in lost} == {Bounded.ABOVE}
    edit(b, lambda record: {name: value for name, value in record.items() if name != "fcp_ms"})
    assert {change.n for change in changed(a, b, "fcp_ms")} == {(8, 0)}


@pytest.mark.thorough
def test_values_of_0_have_no_ratio(tmp_path: Path) -> None:
    told = changed(*two_runs(tmp_path), metric="failed_requests")
    assert {change.n for change in told} == {(8, 8)}
    assert all(math.isnan(change.comparison.ratio) for change in told)


def test_the_direction_of_values_without_a_ratio_pays_for_the_other_conditions(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    hit = {"page": "one", "protocol": "h2"}
    blocked = [60.0, 0.0, 420.0, 200.0, 90.0, 310.0, 150.0, 260.0]

    def in_b(record: dict[str, Any]) -> dict[str, Any]:
        condition = record["condition"]
        is_hit = hit.items() <= condition.items() and condition["link"]["rtt_ms"] == 50
        return record | {"tbt_ms": blocked[record["block"] - 1] if is_hit else 0.0}

    edit(a, lambda record: record | {"tbt_ms": 0.0})
    edit(b, in_b)
    told = changed(a, b, "tbt_ms")
    alone = float(stats.ttest_ind(blocked, [0.0] * 8, equal_var=False).pvalue)
    assert alone < 0.05 < 16 * alone
    assert sorted(change.judgement.q for change in told) == [pytest.approx(16 * alone), *[1.0] * 15]
    outcomes = [change.against(3) for change in told]
    assert (outcomes.count(Bounded.WITHIN), outcomes.count(Bounded.UNKNOWN)) == (15, 1)


def test_the_interval_of_a_difference_without_a_ratio_is_that_of_a_choice(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    blocked = [410.0, 380.0, 420.0, 400.0, 390.0, 405.0, 395.0, 415.0]

    def in_b(record: dict[str, Any]) -> dict[str, Any]:
        condition = record["condition"]
        is_hit = (condition["page"], condition["protocol"], condition["link"]["rtt_ms"]) == ("one", "h2", 50)
        return record | {"tbt_ms": blocked[record["block"] - 1] if is_hit else 5.0 * (record["block"] == 1)}

    edit(a, lambda record: record | {"tbt_ms": 0.0})
    edit(b, in_b)
    told = changed(a, b, "tbt_ms")
    (known,) = (change for change in told if change.is_finding)
    level = {True: 1 - 0.05 / 16, False: 0.95}  # one direction among 16 conditions; of the others all is told
    for change in told:
        values = blocked if change is known else [5.0, *[0.0] * 7]
        statistic = welch(np.array(values), np.zeros(8))
        assert change.difference is not None
        assert (change.difference.low, change.difference.high) == pytest.approx(
            statistic.interval(level[change is known])
        )


def test_whole_numbers_that_are_all_equal_are_within_the_margin(tmp_path: Path) -> None:
    told = changed(*two_runs(tmp_path), metric="requests")
    assert {change.judgement.verdict for change in told} == {Verdict.WITHIN}


def test_a_metric_that_the_reference_has_not_observed_is_refused(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    edit(a, lambda record: record | {"fcp_ms": None})
    with pytest.raises(RecordsError, match=r"/a: no trial that counts has fcp_ms"):
        changed(a, b, "fcp_ms")
    edit(a, lambda record: record | {"outcome": "page-error"})
    with pytest.raises(RecordsError, match=r"/a: no trial counts, 128 of 128 .*page-error"):
        changed(a, b, "plt_ms")


def test_two_blocks_give_no_verdict(tmp_path: Path) -> None:
    told = changed(*two_runs(tmp_path, slower(2.0), replace(STUDY, trials=2)))
    assert {change.judgement.verdict for change in told} == {Verdict.UNKNOWN}
    assert all(math.isnan(change.comparison.low) for change in told)


def made_up(random: np.random.Generator, drift: float, factor: Callable[[dict[str, Any]], float]) -> Side:
    """A run of 8 conditions in 8 blocks, CV 1 %; all of a block share what a random walk has come to."""
    conditions = [
        {
            "page": page,
            "variant": "plain",
            "compression": "none",
            "protocol": protocol,
            "link": "l",
            "rtt_ms": 50.0,
        }
        for page in ("one", "two")
        for protocol in PROTOCOLS
    ]
    for cell, condition in enumerate(conditions):
        condition["cell"] = cell
    walk = np.cumsum(random.normal(0, drift, 8))
    rows = [
        (
            "run",
            block,
            condition["cell"],
            factor(condition) * math.exp(7 + walk[block] + random.normal(0, 0.01)),
        )
        for condition in conditions
        for block in range(8)
    ]
    kept = pd.DataFrame(rows, columns=["run", "block", "cell", "plt_ms"])
    names = tuple(name for name in conditions[0] if name != "cell")
    return Side("made up", names, tuple(conditions), (), Sifted(kept, kept.head(0), (), kept.head(0)))


def shares(drift: float, factor: Callable[[dict[str, Any]], float], pairs: int = 100) -> tuple[float, float]:
    """In how many pairs of runs any condition gets a direction, itself and relative to its baseline."""
    random, direct, relative = np.random.default_rng(2012), 0, 0
    for _ in range(pairs):
        a, b = made_up(random, drift, unchanged), made_up(random, drift, factor)
        told = changes(a, b, matched(a, b), "plt_ms", Certainty())
        direct += any(change.judgement.verdict in DIRECTED for change in told)
        relative += any(change.relative.judgement.verdict in DIRECTED for change in told if change.relative)
    return direct / pairs, relative / pairs


@pytest.mark.thorough
def test_runs_without_a_change_get_no_verdict() -> None:
    direct, relative = shares(0.0, unchanged)
    assert direct <= 0.1  # 5 % at most; 100 pairs show more than 10 % by chance in 1 % of cases
    assert relative <= 0.1


@pytest.mark.thorough
def test_intervals_hold_the_true_change() -> None:
    random, held = np.random.default_rng(1), []
    for _ in range(60):
        a, b = made_up(random, 0.0, unchanged), made_up(random, 0.0, lambda _condition: 1.05)
        seen = [change.comparison for change in changes(a, b, matched(a, b), "plt_ms", Certainty())]
        held += [comparison.low <= 1.05 <= comparison.high for comparison in seen]
    assert 0.92 < np.mean(held) < 0.98  # 480 intervals of 95 %


@pytest.mark.thorough
def test_a_drift_that_two_runs_do_not_share_cancels_out_of_the_distance_to_the_baseline() -> None:
    direct, relative = shares(0.01, lambda _condition: 1.02)
    assert direct > 0.5  # the runs do differ; only their conditions do not
    assert relative <= 0.1


def late(record: dict[str, Any]) -> dict[str, Any]:
    """The attempt on a machine that others kept busy."""
    return record | {"foreign_cpu_share": 0.6, "client_thread_late_ms": record["plt_ms"] * 0.5}


def without_an_engine(record: dict[str, Any]) -> dict[str, Any]:
    """The attempt where the engine is not installed, or its testbed failed."""
    return record | {"outcome": "testbed-failed", "plt_ms": None}


@pytest.mark.parametrize(
    ("kept", "rule"), [(late, "busy-machine"), (without_an_engine, "testbed-failed")], ids=["late", "failed"]
)
def test_what_machine_and_testbed_kept_from_counting_is_not_lost(
    kept: Callable[[dict[str, Any]], dict[str, Any]], rule: str, tmp_path: Path
) -> None:
    a, b = two_runs(tmp_path)
    hit = {"protocol": "h2", "page": "one"}
    edit(b, lambda record: kept(record) if hit.items() <= record["condition"].items() else record)
    told = [change for change in changed(a, b) if hit.items() <= change.condition.items()]
    assert {change.n for change in told} == {(8, 0)}
    (why,) = {change.unmeasured for change in told}
    assert tells([why], "8 of 8", "left out", rule)
    assert {(change.lost, change.against(1000)) for change in told} == {(False, Bounded.UNKNOWN)}
    edit(b, kept)
    with pytest.raises(RecordsError, match=rf"/b: no trial counts, 128 of 128 .*{rule}"):
        changed(a, b)


def test_what_did_not_load_as_well_is_lost(tmp_path: Path) -> None:
    """One attempt that the page kept from counting, among those that the machine did."""
    a, b = two_runs(tmp_path)
    edit(b, lambda record: late(record) if record["block"] > 1 else record | {"outcome": "page-error"})
    told = changed(a, b)
    assert {(change.lost, change.against(1000)) for change in told} == {(True, Bounded.ABOVE)}


def test_a_run_without_vitals_has_lost_none_of_them(tmp_path: Path) -> None:
    a, b = two_runs(tmp_path)
    edit(a, lambda record: record | {"settled": True})
    edit(b, lambda record: record | {"settled": True, "lcp_ms": None})
    assert {change.lost for change in changed(a, b, "lcp_ms")} == {True}
    edit(b, lambda record: record | {"settled": None})
    told = changed(a, b, "lcp_ms")
    (why,) = {change.unmeasured for change in told}
    assert tells([why], "without vitals")
    assert {change.against(1000) for change in told} == {Bounded.UNKNOWN}
    edit(b, lambda record: record | {"outcome": "page-error"})
    assert {change.lost for change in changed(a, b, "lcp_ms")} == {True}  # no load ended

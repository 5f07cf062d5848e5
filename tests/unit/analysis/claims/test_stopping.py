"""Looks at a run's records: which conditions need no more trials."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.stopping import Precision, half_width, look, precision
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import Run, load
from analysis.statistics import CONFIDENCE_WITH_LOOKS
from analysis.statistics.compare import NOTHING, Comparison
from analysis.statistics.contrast import Method
from harness.study.claim import Claim, Publication, Published
from tests.unit.analysis.synthetic import Synthetic

pytestmark = pytest.mark.thorough

STUDY = Synthetic(
    pages=("dummy-2012",), protocols=("http1-close", "http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 200.0)
)
CLAIMS = tuple(
    Claim(name=protocol, subject={"protocol": protocol}, reference={"protocol": "http1"})
    for protocol in ("http1-close", "h2")
)


def run_of(
    folder: Path,
    study: Synthetic = STUDY,
    claims: Sequence[Claim] = CLAIMS,
    published: Sequence[Claim] = (),
) -> Run:
    study.write(folder)
    header, *rest = (folder / "plan.jsonl").read_text().splitlines(keepends=True)
    told = json.loads(header) | {"claims": [claim.to_json() for claim in claims]}
    if published:
        told["published"] = Publication(title="A paper", source="2012", claims=tuple(published)).to_json()
    (folder / "plan.jsonl").write_text(json.dumps(told) + "\n" + "".join(rest))
    return load(folder)


def made_noisy(folder: Path, **where: Any) -> Run:
    """The run with every other load of some conditions taking half as long again."""
    path = folder / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        condition = record["condition"] | {"rtt_ms": record["condition"]["link"]["rtt_ms"]}
        if all(condition[key] == value for key, value in where.items()):
            record["plt_ms"] *= 1.5 if record["block"] % 2 else 1.0
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return load(folder)


def stopped(run: Run, reached: Precision) -> set[tuple[str, float, bool]]:
    """Protocol, round-trip time and twin of the conditions whose trials are named."""
    rows = run.records[run.records["trial"].isin(reached.trials)]
    again = rows["again"] if "again" in rows else [False] * len(rows)
    return set(zip(rows["protocol"], rows["rtt_ms"], map(bool, again), strict=True))


def every(run: Run) -> set[tuple[str, float, bool]]:
    return stopped(run, Precision(frozenset(run.records["trial"]), {}))


def enough(reached: Precision) -> Mapping[tuple[str, float], bool]:
    return {
        (setting["claim"], setting["setting"].get("rtt_ms", math.nan)): setting["enough"]
        for setting in reached.facts["settings"]
    }


def test_a_calm_study_ends_at_its_first_look(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005))
    reached = precision(run, 10, 0.02)
    assert stopped(run, reached) == every(run)
    assert set(enough(reached).values()) == {True}
    assert json.loads(json.dumps(reached.facts)) == reached.facts
    assert reached.facts["confidence"] == CONFIDENCE_WITH_LOOKS


def test_a_noisy_study_goes_on(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.05))
    reached = precision(run, 10, 0.01)
    assert stopped(run, reached) == set()
    assert all(setting["half_width"] > 0.01 for setting in reached.facts["settings"])


def test_a_baseline_goes_on_until_its_last_setting_is_narrow(tmp_path: Path) -> None:
    run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005))
    run = made_noisy(tmp_path / "run", protocol="h2", rtt_ms=20.0)
    reached = precision(run, 10, 0.02)
    assert every(run) - stopped(run, reached) == {("h2", 20.0, False), ("http1", 20.0, False)}


def test_a_look_sees_no_later_block(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=20, noise=0.01))
    early, late = precision(run, 5, 0.01), precision(run, 20, 0.01)
    assert {setting["n"] for setting in early.facts["settings"]} == {5}
    assert {setting["n"] for setting in late.facts["settings"]} == {20}
    assert all(int(run.records.set_index("trial")["block"][trial]) <= 5 for trial in early.trials)


def test_trials_that_do_not_count_are_not_seen(tmp_path: Path) -> None:
    outcomes = {f"{number:05d}": "page-error" for number in range(1, 13)}  # two blocks of six conditions
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, outcomes=outcomes))
    assert {setting["n"] for setting in precision(run, 10, 0.02).facts["settings"]} == {8}


def test_two_blocks_have_no_width_and_stop_nothing(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=2, noise=0.0001))
    reached = precision(run, 2, 0.5)
    assert not reached.trials
    assert [setting["half_width"] for setting in reached.facts["settings"]] == [None] * 4


@pytest.mark.thorough
def test_a_condition_of_no_claim_ends_with_all_others(tmp_path: Path) -> None:
    run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005), CLAIMS[:1])
    run = load(tmp_path / "run")
    assert stopped(run, precision(run, 10, 0.02)) == every(run)
    run = made_noisy(tmp_path / "run", protocol="http1-close", rtt_ms=20.0)
    assert stopped(run, precision(run, 10, 0.02)) == {("http1-close", 200.0, False), ("http1", 200.0, False)}


def test_without_claims_nothing_is_enough(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.0001), ())
    reached = precision(run, 10, 0.5)
    assert (reached.trials, reached.facts["settings"]) == (frozenset(), [])


def test_published_claims_decide_where_the_study_has_no_others(tmp_path: Path) -> None:
    said = replace(CLAIMS[1], published=Published(text="Half the time", low=0.45, high=0.55))
    bytes_too = replace(said, name="bytes", metric="bytes_down")
    apart = Claim(name="apart", published=Published(text="Something else", not_comparable="not here"))
    run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005), (), [said, bytes_too, apart])
    run = made_noisy(tmp_path / "run", protocol="h2", rtt_ms=20.0)
    reached = precision(run, 10, 0.02)
    assert {setting["claim"] for setting in reached.facts["settings"]} == {"h2", "bytes"}
    assert {("h2", 20.0, False), ("http1", 20.0, False)} <= every(run) - stopped(run, reached)
    beside = run_of(tmp_path / "beside", replace(STUDY, trials=10, noise=0.005), CLAIMS[:1], [said])
    assert {setting["claim"] for setting in precision(beside, 10, 0.02).facts["settings"]} == {"http1-close"}


def test_a_twin_ends_with_its_baseline(tmp_path: Path) -> None:
    run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005))
    path = tmp_path / "run" / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    twins = [
        record | {"trial": f"9{record['trial'][1:]}", "condition": record["condition"] | {"again": True}}
        for record in records
        if record["condition"]["protocol"] == "http1"
    ]
    path.write_text("".join(json.dumps(record) + "\n" for record in (*records, *twins)))
    run = made_noisy(tmp_path / "run", protocol="h2", rtt_ms=20.0)
    ended = stopped(run, precision(run, 10, 0.02))
    assert ("http1", 200.0, True) in ended
    assert ("http1", 20.0, True) not in ended


def test_a_budget_is_held_against_its_limit(tmp_path: Path) -> None:
    budget = Claim(name="quick", subject={"protocol": "h2"}, metric="lcp_ms", at_most=100_000.0)
    near = replace(budget, name="near", at_most=300.0)
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.05), (budget, near))
    widths = {
        setting["claim"]: setting["half_width"] for setting in precision(run, 10, 0.02).facts["settings"]
    }
    assert widths["quick"] * 100_000 == pytest.approx(widths["near"] * 300, rel=0.05)
    assert widths["quick"] < 0.001 < widths["near"]


def test_a_run_directory_is_read_from_disk(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=0.005))
    assert look(tmp_path / "run", 10, 0.02) == precision(run, 10, 0.02)


def test_half_of_an_interval() -> None:
    ratio = Comparison(10, 1, 2.0, 2.0 / 1.1, 2.0 * 1.1, Method.PAIRED_T, 0.5, 0.5)
    assert half_width(ratio) == pytest.approx(0.1)
    assert half_width(ratio, of_budget=True) == pytest.approx((2.2 - 2 / 1.1) / 2)
    assert math.isnan(half_width(NOTHING))
    assert math.isnan(half_width(None))


def test_below_ten_pairs_nothing_is_narrow(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(STUDY, trials=10, noise=1e-6))
    early, late = precision(run, 9, 0.5), precision(run, 10, 0.5)
    assert (set(enough(early).values()), early.trials) == ({False}, frozenset())
    assert set(enough(late).values()) == {True}


EQUAL = replace(STUDY, pages=("one", "two", "three", "four"), rtts_ms=(20.0,), noise=1e-6)
APART = replace(EQUAL, pages=("one", "dummy-2012", "news-mobile"))
OF_H2 = CLAIMS[1:]


def in_lanes(folder: Path, lanes: int, slower: float) -> Run:
    """The run with its blocks spread over lanes; h2 takes `slower` as long in each further lane."""
    path = folder / "records.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()]
    for record in records:
        lane = record["block"] % lanes
        record |= {"lane": lane + 1, "lanes": lanes}
        record["plt_ms"] *= slower**lane if record["condition"]["protocol"] == "h2" else 1.0
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return load(folder)


def test_pages_that_agree_by_chance_end_no_study_whose_blocks_spread(tmp_path: Path) -> None:
    run_of(tmp_path / "run", replace(EQUAL, trials=10), OF_H2)
    run = made_noisy(tmp_path / "run", protocol="h2")  # alike on all pages, so that these have one ratio
    (setting,) = precision(run, 10, 0.02).facts["settings"]
    assert (setting["n"], setting["enough"]) == (10, False)
    assert setting["half_width"] > 0.05


def test_pages_that_lie_apart_need_no_more_trials(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(APART, trials=10), OF_H2)
    (setting,) = precision(run, 10, 0.02).facts["settings"]
    assert setting["enough"]
    assert setting["half_width"] < 0.001
    (row,) = evaluate([run]).claims
    assert half_width(row.comparison) > 0.05 > half_width(row.within)


def test_the_pairs_of_a_page_count_and_not_those_of_all_pages(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", replace(EQUAL, trials=10), OF_H2)
    for block in (3, 9):
        reached = precision(run, block, 0.5)
        assert ([setting["n"] for setting in reached.facts["settings"]], reached.trials) == (
            [block],
            frozenset(),
        )
    assert precision(run, 10, 0.5).trials


@pytest.mark.parametrize("pages", [("one",), ("one", "two", "three")])
def test_lanes_are_judged_by_what_trials_can_narrow(tmp_path: Path, pages: tuple[str, ...]) -> None:
    study = replace(EQUAL, pages=pages, trials=12)
    run_of(tmp_path / "apart", study, OF_H2)
    assert set(enough(precision(in_lanes(tmp_path / "apart", 3, 1.05), 12, 0.02)).values()) == {True}
    run_of(tmp_path / "noisy", study, OF_H2)
    made_noisy(tmp_path / "noisy", protocol="h2")
    run = in_lanes(tmp_path / "noisy", 3, 1.0)  # of each lane every other block, so that lanes have one ratio
    assert set(enough(precision(run, 12, 0.02)).values()) == {False}


def test_a_budget_over_lanes_is_judged_by_what_trials_can_narrow(tmp_path: Path) -> None:
    budget = Claim(name="quick", subject={"protocol": "h2"}, metric="plt_ms", at_most=1000.0)
    run_of(tmp_path / "apart", replace(EQUAL, pages=("one",), trials=12), (budget,))
    assert set(enough(precision(in_lanes(tmp_path / "apart", 3, 1.2), 12, 0.02)).values()) == {True}

"""Claims against made-up records: what holds, fails, is not known and has no data, and what sentences say of it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from analysis.claims.claimresult import ClaimRow, ClaimVerdict, subject_text
from analysis.claims.claims import APART, Floored, evaluated, over_pages
from analysis.claims.measured import Measured
from analysis.evaluation.explored import CellFloors
from analysis.evaluation.results import evaluate
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Certainty, Verdict, benjamini_hochberg
from analysis.statistics.contrast import Method, mean
from analysis.statistics.floor import floors
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}
FASTER = Claim(name="faster", subject=H2, reference=HTTP1)
SURE = Certainty()


def as_conditions(cells: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """These cells, numbered, with all else that a condition has."""
    fixed = {
        "variant": "plain",
        "compression": "none",
        "engine": "chromium",
        "driver": "playwright",
        "server": "apache",
        "link": "l",
        "rtt_ms": 50.0,
        "down_mbps": 10.0,
        "up_mbps": 10.0,
    }
    return pd.DataFrame([fixed | dict(condition) for condition in cells]).assign(cell=range(len(cells)))


def rows(
    claim: Claim,
    ratios: Mapping[str, float],
    *,
    blocks: int = 10,
    noise: float = 0.01,
    values: Mapping[str, float] | None = None,
    runs: Mapping[str, float] | None = None,
    late: Mapping[tuple[str, str], int] | None = None,
    like: Sequence[ClaimRow] | None = None,
    floors_of: Mapping[str, Floored] | None = None,
) -> tuple[ClaimRow, ...]:
    """The claim where h2 takes `ratios` (by page) of http1; `runs`: further factors; `values`: fixed ones; `late`: how
    many loads of a page by a protocol time out.
    """
    random = np.random.default_rng(7)
    cells = [{"page": page, "protocol": name} for page in ratios for name in ("http1", "h2")]
    conditions = as_conditions(cells)
    records = []
    for run, factor in (runs or {"r": 1.0}).items():
        for block in range(blocks):
            for cell, condition in enumerate(cells):
                share = ratios[condition["page"]] * factor if condition["protocol"] == "h2" else 1.0
                ms = 1000 * share * math.exp(random.normal(0, noise))
                if block < (late or {}).get((condition["page"], condition["protocol"]), 0):
                    ms = math.inf
                value = values[condition["protocol"]] if values else ms
                records.append({"run": run, "block": block, "cell": cell, "plt_ms": ms, claim.metric: value})
    return evaluated([claim], Measured(conditions, pd.DataFrame(records), SURE), floors_of, like=like)


def one(claim: Claim, ratio: float, **settings: Any) -> ClaimRow:
    (row,) = rows(claim, {"p": ratio}, **settings)
    return row


@pytest.mark.parametrize(
    ("claim", "ratio", "verdict"),
    [
        (replace(FASTER, ratio_below=0.95), 0.9, ClaimVerdict.HOLDS),
        (replace(FASTER, ratio_below=0.95), 1.0, ClaimVerdict.FAILS),
        (replace(FASTER, ratio_below=0.95), 0.95, ClaimVerdict.UNKNOWN),
        (replace(FASTER, ratio_within=(0.97, 1.03)), 1.0, ClaimVerdict.HOLDS),
        (replace(FASTER, ratio_within=(0.97, 1.03)), 1.1, ClaimVerdict.FAILS),
        (replace(FASTER, ratio_within=(0.97, 1.03)), 0.9, ClaimVerdict.FAILS),
        (FASTER, 0.9, ClaimVerdict.TOLD),
    ],
)
def test_an_expectation_holds_fails_or_is_not_known(
    claim: Claim, ratio: float, verdict: ClaimVerdict
) -> None:
    row = one(claim, ratio)
    assert row.verdict is verdict
    if claim.expects:
        assert row.sentence.endswith(f": {verdict}.")


@pytest.mark.parametrize(
    ("ratio", "blocks", "ending"),
    [(0.99, 8, "expected below 1: holds."), (0.992, 5, "expected below 1: holds by a test of its own.")],
)
def test_an_expectation_that_the_interval_leaves_open_says_how_it_is_known(
    ratio: float, blocks: int, ending: str
) -> None:
    row = one(replace(FASTER, ratio_below=1.0), ratio, blocks=blocks)
    assert row.verdict is ClaimVerdict.HOLDS
    assert row.sentence.endswith(ending)


@pytest.mark.parametrize(
    ("within", "expected"),
    [((1.5, 1000.0), "at least +50 %"), ((1.5, 999.0), "between +50 and +99,800 %")],
)
def test_a_range_up_to_the_largest_ratio_has_no_upper_end(within: tuple[float, float], expected: str) -> None:
    row = one(replace(FASTER, ratio_within=within), 2.0)
    assert row.sentence.endswith(f"expected {expected}: holds.")
    beyond = one(replace(FASTER, ratio_within=within), 5000.0)
    assert beyond.verdict is (ClaimVerdict.FAILS if "between" in expected else ClaimVerdict.HOLDS)


def test_nothing_is_known_of_too_few_blocks() -> None:
    row = one(replace(FASTER, ratio_below=0.95), 0.5, blocks=2)
    assert row.verdict is ClaimVerdict.UNKNOWN
    assert tells([row.sentence], "not known yet", "2 blocks of at least 3")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "claim",
    [
        Claim(name="ratio", subject={"protocol": "h3"}, reference={"protocol": "http1"}, ratio_below=1.0),
        Claim(name="budget", subject={"protocol": "h3"}, at_most=2500.0),
    ],
)
def test_a_claim_of_which_nothing_was_recorded_does_not_pass(claim: Claim, tmp_path: Path) -> None:
    run = load(Synthetic(trials=5, claims=(claim,)).write(tmp_path / "run"))
    (row,) = evaluate([run]).claims
    assert (row.verdict, row.went_wrong, row.pairs) == (ClaimVerdict.NO_DATA, True, ())
    assert "no block" in row.sentence


def test_what_was_never_observed_has_no_data_and_says_why() -> None:
    row = one(
        replace(FASTER, metric="tbt_ms", ratio_below=1.0), 0.9, values={"http1": math.nan, "h2": math.nan}
    )
    assert row.verdict is ClaimVerdict.NO_DATA
    assert row.went_wrong
    assert row.comparison is None
    assert tells([row.sentence], "no data", "tbt_ms was not observed")


def test_pages_together_are_the_geometric_mean_of_their_ratios() -> None:
    pages = {"a": 0.8, "b": 0.9, "c": 1.0, "d": 1.1}
    (row,) = rows(FASTER, pages, noise=1e-4)
    assert row.comparison is not None
    assert row.comparison.ratio == pytest.approx(math.prod(pages.values()) ** (1 / 4), rel=1e-3)
    assert row.comparison.low < 0.85  # pages differ, and the interval knows
    assert row.comparison.high > 1
    assert {page: round(seen.ratio, 2) for page, seen in row.by_page} == pages
    assert row.pages == ("a", "b", "c", "d")


@pytest.mark.parametrize("expected", [None, 0.9])
def test_a_page_without_a_finite_ratio_leaves_pages_by_themselves(expected: float | None) -> None:
    claim = replace(FASTER, ratio_below=expected)
    told = rows(claim, {"a": 0.5, "b": 0.5, "c": 0.5}, blocks=5, late={("c", "h2"): 2})
    assert [row.pages for row in told] == [("a",), ("b",), ("c",)]
    known = ClaimVerdict.HOLDS if expected else ClaimVerdict.TOLD
    assert [row.verdict for row in told] == [known, known, ClaimVerdict.UNKNOWN]
    assert all(f"; {APART}" in row.sentence for row in told)
    assert "fewer than 3 blocks" not in "".join(row.sentence for row in told)


def test_pages_that_time_out_on_either_side_have_no_mean() -> None:
    late = {("a", "h2"): 3, ("b", "http1"): 3}
    told = rows(FASTER, {"a": 0.5, "b": 0.5, "c": 0.5}, blocks=5, late=late)
    assert [row.verdict for row in told] == [ClaimVerdict.UNKNOWN] * 2 + [ClaimVerdict.TOLD]


def test_a_page_of_which_few_loads_time_out_stays_among_the_others() -> None:
    (row,) = rows(FASTER, {"a": 0.5, "b": 0.5, "c": 0.5}, blocks=5, late={("c", "h2"): 1})
    assert row.verdict is ClaimVerdict.TOLD
    assert APART not in row.sentence


def test_the_rows_of_other_trials_can_be_asked_for() -> None:
    """Nothing left out, or one run of several: what is told page by page of all stays so."""
    pages = {"a": 0.5, "b": 0.5, "c": 0.5}
    (together,) = rows(FASTER, pages, blocks=5)
    apart = rows(FASTER, pages, blocks=5, late={("c", "h2"): 2})
    assert [row.pages for row in rows(FASTER, pages, blocks=5, like=apart)] == [("a",), ("b",), ("c",)]
    (row,) = rows(FASTER, pages, blocks=5, late={("c", "h2"): 2}, like=[together])
    assert tells([row.sentence], "not known yet", "no finite ratio", "timed out")


def test_twenty_pages_that_are_all_a_little_slower_are_found() -> None:
    (row,) = rows(FASTER, {f"page {n}": 1.03 for n in range(20)}, blocks=5, noise=0.03)
    assert row.judgement is not None
    assert row.judgement.verdict is Verdict.SLOWER


def test_runs_count_once_and_their_spread_counts() -> None:
    runs = {"a": 0.98, "b": 1.0, "c": 1.02}
    row, alone = one(FASTER, 0.9, runs=runs), one(FASTER, 0.9, blocks=30)
    assert row.comparison is not None
    assert alone.comparison is not None
    assert [seen.ratio for _, seen in row.by_run] == pytest.approx([0.882, 0.9, 0.918], abs=0.01)
    width, narrow = (
        claim_row.comparison.high - claim_row.comparison.low
        for claim_row in (row, alone)
        if claim_row.comparison
    )
    assert width > 3 * narrow


@pytest.mark.parametrize(
    ("values", "at_most", "verdict"),
    [
        ({"http1": 0.0, "h2": 0.0}, 0.1, ClaimVerdict.HOLDS),
        ({"http1": 24.0, "h2": 24.0}, 24.0, ClaimVerdict.HOLDS),
        ({"http1": 25.0, "h2": 25.0}, 24.0, ClaimVerdict.FAILS),
    ],
)
def test_a_budget_of_what_never_varies_is_known(
    values: dict[str, float], at_most: float, verdict: ClaimVerdict
) -> None:
    claim = Claim(name="budget", subject=H2, metric="requests", at_most=at_most)
    assert one(claim, 1.0, values=values).verdict is verdict


@pytest.mark.parametrize(
    ("at_most", "verdict"),
    [(1050.0, ClaimVerdict.HOLDS), (950.0, ClaimVerdict.FAILS), (1000.0, ClaimVerdict.UNKNOWN)],
)
def test_a_budget_is_judged_by_its_mean_and_interval(at_most: float, verdict: ClaimVerdict) -> None:
    row = one(Claim(name="budget", subject=H2, at_most=at_most), 1.0)
    assert row.verdict is verdict
    assert f"expected at most {at_most:g}" in row.sentence
    assert " ms;" in row.sentence


def test_a_budget_of_several_pages_is_judged_page_by_page() -> None:
    told = rows(Claim(name="budget", subject=H2, at_most=1000.0), {"light": 0.5, "heavy": 2.0})
    assert [(row.pages, row.verdict) for row in told] == [
        (("light",), ClaimVerdict.HOLDS),
        (("heavy",), ClaimVerdict.FAILS),
    ]


def budget_row(by_run: Mapping[str, list[float]], at_most: float, certainty: Certainty = SURE) -> ClaimRow:
    """A budget of connections, of runs that have these values, one for each block."""
    records = [
        {"run": run, "block": block, "cell": 0, "plt_ms": 1000.0, "connections": value}
        for run, values in by_run.items()
        for block, value in enumerate(values)
    ]
    claim = Claim(name="budget", subject=H2, metric="connections", at_most=at_most)
    conditions = as_conditions([{"page": "p", "protocol": "h2"}])
    (row,) = evaluated([claim], Measured(conditions, pd.DataFrame(records), certainty))
    return row


@pytest.mark.parametrize(("looked", "confidence"), [(False, 0.95), (True, 0.975)])
def test_a_budget_says_of_which_level_its_interval_is(looked: bool, confidence: float) -> None:
    values = [23.0, 24.0, 25.0, 26.0]
    seen = budget_row({"r": values}, 24.0, Certainty(looked=looked)).comparison
    assert seen is not None
    assert seen.confidence == confidence
    low, high = stats.t.interval(confidence, 3, np.mean(values), stats.sem(values))
    assert (24 * seen.low, 24 * seen.high) == pytest.approx((low, high))


def test_a_budget_is_judged_by_the_mean_of_many_values_too() -> None:
    few_large = [24.0] * 15 + [28.0] * 5
    seen = budget_row({"r": few_large}, 24.0).comparison
    assert seen is not None
    assert 24 * seen.ratio == pytest.approx(np.mean(few_large))
    assert (seen.n, seen.runs) == (20, 1)


@pytest.mark.parametrize(
    ("ratio", "verdict"),
    [
        (0.9, ClaimVerdict.HOLDS),
        (0.985, ClaimVerdict.UNKNOWN),
        (1.015, ClaimVerdict.UNKNOWN),
        (1.1, ClaimVerdict.FAILS),
    ],
)
def test_what_is_below_the_floor_neither_holds_nor_fails(ratio: float, verdict: ClaimVerdict) -> None:
    """Equal conditions lie as far apart: that is no finding."""
    equal = CellFloors(floors({0: [np.array([0.03, -0.03] * 5)]}), {0: 0, 1: 0})
    claim = replace(FASTER, ratio_below=1.0)
    assert one(claim, ratio, blocks=30).verdict in (ClaimVerdict.HOLDS, ClaimVerdict.FAILS)
    seen = one(claim, ratio, blocks=30, floors_of={claim.metric: equal})
    assert seen.floor == pytest.approx(1.023, abs=0.002)
    assert seen.verdict is verdict
    around = replace(FASTER, ratio_within=(0.98, 1.02))
    assert one(around, 1.0, blocks=30, floors_of={claim.metric: equal}).verdict is ClaimVerdict.HOLDS


def test_no_ratio_of_another_metric_holds_where_a_load_timed_out() -> None:
    """What the longest loads would have told is gone."""
    claim = replace(FASTER, ratio_below=0.95, metric="lcp_ms")
    values = {"http1": 1000.0, "h2": 800.0}
    assert one(claim, 0.8, values=values).verdict is ClaimVerdict.HOLDS
    assert one(claim, 0.8, values=values, late={("p", "h2"): 1}).verdict is ClaimVerdict.UNKNOWN
    assert one(replace(claim, metric="plt_ms"), 0.5, late={("p", "h2"): 1}).verdict is ClaimVerdict.HOLDS


@pytest.mark.parametrize("metric", ["plt_ms", "connections"])
def test_no_budget_holds_where_a_load_timed_out(metric: str) -> None:
    times = [1000.0] * 19 + [math.inf]
    records = [
        {"run": "r", "block": block, "cell": 0, "plt_ms": ms, "connections": 6.0 + block % 2}
        for block, ms in enumerate(times)
    ]
    claim = Claim(name="budget", subject=H2, metric=metric, at_most=3000.0)
    conditions = as_conditions([{"page": "p", "protocol": "h2"}])
    (row,) = evaluated([claim], Measured(conditions, pd.DataFrame(records), Certainty()))
    assert row.verdict is ClaimVerdict.UNKNOWN


def test_of_a_budget_each_of_three_runs_counts_once_and_their_spread_counts() -> None:
    by_run = {"a": [24.0, 24.0, 24.0], "b": [25.0, 25.0, 25.0], "c": [29.0] * 9}
    seen = budget_row(by_run, 24.0).comparison
    assert seen is not None
    assert 24 * seen.ratio == pytest.approx(26.0)
    reach = stats.t.ppf(0.975, 2) * np.std([24, 25, 29], ddof=1) / math.sqrt(3)
    assert (24 * seen.low, 24 * seen.high) == pytest.approx((26 - reach, 26 + reach))
    assert (seen.n, seen.runs) == (15, 3)


def test_of_a_budget_two_runs_are_pooled() -> None:
    seen = budget_row({"a": [24.0] * 3, "b": [26.0] * 9}, 24.0).comparison
    assert seen is not None
    assert 24 * seen.ratio == pytest.approx(25.5)
    assert (seen.n, seen.runs) == (12, 2)


MADE = Synthetic(
    pages=("dummy-2012",),
    protocols=("http1", "https1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0, 100.0),
    trials=6,
)


@pytest.mark.thorough
def test_all_claims_pay_for_each_other_and_for_nothing_else(tmp_path: Path) -> None:
    claims = (FASTER, Claim(name="tls", subject={"protocol": "https1"}, reference=HTTP1))
    told = evaluate([load(replace(MADE, claims=claims, noise=0.05).write(tmp_path / "run"))]).claims
    assert len(told) == 4
    p = [row.comparison.p for row in told if row.comparison]
    q = [row.judgement.q for row in told if row.judgement]
    assert q == pytest.approx(benjamini_hochberg(p))


@pytest.mark.thorough
def test_a_budget_does_not_make_other_claims_pay(tmp_path: Path) -> None:
    budget = Claim(name="budget", subject=H2, at_most=1e6)
    with_budget, without = (
        evaluate([load(replace(MADE, claims=claims, noise=0.05).write(tmp_path / name))]).claims[0]
        for name, claims in (("with", (FASTER, budget)), ("without", (FASTER,)))
    )
    assert with_budget.judgement == without.judgement


@pytest.mark.thorough
def test_a_run_without_claims_gets_the_default_ones(tmp_path: Path) -> None:
    evaluated = evaluate([load(MADE.write(tmp_path / "run"))])
    assert {row.claim.name for row in evaluated.claims} == {
        "https1 against http1",
        "h2 against https1",
        "h2 against http1",
    }
    assert not evaluated.named
    own = evaluate([load(replace(MADE, claims=(replace(FASTER, ratio_below=0.9),)).write(tmp_path / "own"))])
    assert own.named


def test_only_what_varies_is_said(tmp_path: Path) -> None:
    evaluated = evaluate([load(replace(MADE, claims=(FASTER,)).write(tmp_path / "run"))])
    assert [row.where for row in evaluated.claims] == ["50 ms RTT", "100 ms RTT"]
    assert evaluated.claims[0].sentence.startswith("HTTP/2 (TLS) against HTTP/1.1, 50 ms RTT: faster, ")


def test_a_condition_of_which_nothing_counts_is_named_with_the_reason(tmp_path: Path) -> None:
    made = replace(MADE, pages=("dummy-2012", "news-mobile"), rtts_ms=(50.0,), claims=(FASTER,))
    failed = {
        record["trial"]: "page-error"
        for record in made.records()
        if (record["condition"]["page"], record["condition"]["protocol"]) == ("news-mobile", "h2")
    }
    there, lacking = evaluate([load(replace(made, outcomes=failed).write(tmp_path / "run"))]).claims
    assert [page for page, _ in there.by_page] == ["dummy-2012"]
    assert there.comparison is not None
    assert (lacking.pages, lacking.comparison) == (("news-mobile",), None)
    lost = ("news-mobile, HTTP/2 (TLS): 6 of 6", "left out", "page-error")
    assert tells([lacking.sentence], "no data", *lost)


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        ({}, "HTTP/2 (TLS) against HTTP/1.1"),
        ({"metric": "fcp_ms"}, "First paint of HTTP/2 (TLS) against HTTP/1.1"),
        ({"metric": "bytes_down"}, "Bytes down of HTTP/2 (TLS) against HTTP/1.1"),
        (
            {
                "subject": {"compression": "gzip-6-dynamic"},
                "reference": {"compression": "none"},
                "metric": "bytes_down_per_page",
            },
            "Bytes down for each page of text compressed by gzip-6-dynamic against uncompressed text",
        ),
    ],
)
def test_what_a_claim_compares_is_said_in_plain_words(claim: dict[str, Any], said: str) -> None:
    assert subject_text(Claim(**{"name": "it", "subject": H2, "reference": HTTP1, **claim})) == said


def test_a_difference_below_the_floor_is_said_to_be(tmp_path: Path) -> None:
    made = replace(MADE, rtts_ms=(50.0,), aa=True, noise=0.0, claims=(FASTER,))
    run = made.write(tmp_path / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        condition = line["condition"]
        off = 1.01 if condition["protocol"] == "h2" else 1.02 if condition.get("again") else 1.0
        line["plt_ms"] = 1000 * off + line["block"] / 10
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (row,) = evaluate([load(run)]).claims
    assert row.floor == pytest.approx(1.02, abs=1e-4)
    assert row.below_floor
    assert tells(row.sentence.split("; "), "no finding", "below the floor", "2.0 %")


@pytest.mark.thorough
@pytest.mark.parametrize(("pages", "rows"), [(1, 1), (2, 2), (3, 1), (5, 1)])
def test_fewer_than_three_pages_are_told_one_by_one(pages: int, rows: int, tmp_path: Path) -> None:
    names = tuple(f"page-{number}" for number in range(pages))
    made = replace(MADE, pages=names, rtts_ms=(50.0,), claims=(FASTER,))
    told = evaluate([load(made.write(tmp_path / "run"))]).claims
    assert len(told) == rows
    for row in told:
        assert row.comparison is not None
        assert row.comparison.pages == len(row.pages) == pages // rows
        assert (f"over {pages} pages" in row.sentence) == (pages >= 3)
        assert row.comparison.method is (Method.LEVELS_T if pages >= 3 else Method.PAIRED_T)


def test_of_three_pages_two_without_data_leave_pages_by_themselves(tmp_path: Path) -> None:
    made = replace(MADE, pages=("one", "two", "three"), rtts_ms=(50.0,), claims=(FASTER,))
    failed = {
        record["trial"]: "page-error" for record in made.records() if record["condition"]["page"] == "three"
    }
    told = evaluate([load(replace(made, outcomes=failed).write(tmp_path / "run"))]).claims
    assert {row.pages: row.comparison is None for row in told} == {
        ("one",): False,
        ("two",): False,
        ("three",): True,
    }


def test_a_run_without_a_finite_ratio_is_not_hidden_by_pages_that_have_one() -> None:
    """Two of ten loads timed out, both in one run."""
    near = np.array([0.01, 0.02, 0.03, 0.02, 0.01])
    late = np.array([*near[:3], math.inf, math.inf])
    pages = [dict.fromkeys("abc", near), dict.fromkeys("abc", near), {"a": late, "b": near}]
    together = over_pages(pages)
    assert together is not None
    assert together.centre == math.inf
    assert math.isnan(together.interval(0.95)[0])


@pytest.mark.parametrize("seed", [6, 42, 305])
def test_the_order_of_pages_and_runs_changes_nothing(seed: int) -> None:
    """Blocks are what errs most here, seen by pages and by runs alike: both errors are equal but for rounding."""
    random = np.random.default_rng(seed)
    pages = [{run: random.normal(0.02, 0.02, 8) for run in ("a", "b", "c")} for _ in range(2)]
    backwards = [dict(reversed(runs.items())) for runs in pages]
    together = [over_pages(order) for order in (pages, pages[::-1], backwards, backwards[::-1])]
    lows = [round(statistic.interval(0.95)[0], 9) for statistic in together if statistic is not None]
    assert len(set(lows)) == 1


def test_few_runs_that_differ_are_not_hidden_by_many_pages_that_do() -> None:
    """20 pages and 3 runs that differ alike: what three runs leave open is more than what 20 pages do."""
    centres, offsets = [0.001 * page for page in range(-10, 10)], {"a": -0.0022, "b": 0.0, "c": 0.0022}
    pages = [
        {run: page + offset + np.array([-1e-4, 0.0, 1e-4]) for run, offset in offsets.items()}
        for page in centres
    ]
    together = over_pages(pages)
    assert together is not None
    (low, high), runs = together.interval(0.95), mean(np.array(list(offsets.values())))
    assert high - low >= 2 * runs.interval(0.95)[1] > 2 * mean(np.array(centres)).interval(0.95)[1]
    assert together.error**2 == pytest.approx(runs.error**2 + mean(np.array(centres)).error ** 2)


def with_zeros(claim: Claim, *zeros: tuple[str, int]) -> tuple[ClaimRow, ...]:
    """The claim on these pages, of each of which so many of ten blocks hold a 0 of h2."""
    cells = [{"page": page, "protocol": name} for page, _ in zeros for name in ("http1", "h2")]
    random = np.random.default_rng(7)
    records = [
        {
            "run": "r",
            "block": block,
            "cell": 2 * number + place,
            "plt_ms": 1000.0,
            claim.metric: 0.0 if place and block < of_zero else mean * random.lognormal(0, 0.05),
        }
        for number, (_, of_zero) in enumerate(zeros)
        for block in range(10)
        for place, mean in enumerate((300.0, 150.0))
    ]
    return evaluated([claim], Measured(as_conditions(cells), pd.DataFrame(records), SURE))


def test_a_value_of_0_has_no_ratio_and_fails_nothing() -> None:
    claim = replace(FASTER, metric="tbt_ms", ratio_below=0.9)
    (row,) = with_zeros(claim, ("p", 1))
    assert (row.verdict, row.went_wrong, row.comparison) == (ClaimVerdict.UNKNOWN, False, None)
    assert tells([row.sentence], "not known yet", "0 has no ratio", "1 of 10 blocks")
    (row,) = with_zeros(replace(claim, ratio_below=None), ("p", 10))
    assert tells([row.sentence], "not known yet", "0 has no ratio", "10 of 10 blocks")
    (whole,) = with_zeros(claim, ("p", 0))
    assert whole.verdict is ClaimVerdict.HOLDS


def test_a_page_with_a_value_of_0_is_named() -> None:
    claim = replace(FASTER, metric="tbt_ms", ratio_below=0.9)
    (row,) = with_zeros(claim, ("a", 0), ("b", 0), ("c", 0), ("d", 2))
    assert (row.verdict, [page for page, _ in row.by_page]) == (ClaimVerdict.HOLDS, ["a", "b", "c"])
    (note,) = row.notes
    assert note.startswith("d: ")
    assert tells([note], "0 has no ratio", "2 of 10 blocks")

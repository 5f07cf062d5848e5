"""Baselines measured twice: their ratio, and which conditions it is the floor of."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analysis.charts import plots
from analysis.charts.orderchart import order_of_trials
from analysis.charts.trialchart import drawn, every_trial
from analysis.evaluation.results import AttemptTally, Results, evaluate
from analysis.report import facts, methodtexts, summary
from analysis.runs.rundirectory import load
from analysis.tables.claimtables import equal_baselines
from harness.study.claim import Claim, Publication, Published
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic

MADE = Synthetic(
    pages=("dummy-2012", "news-mobile"),
    variants=("plain", "core"),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=6,
    aa=True,
)


NAMED = Claim(name="mine", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=0.9)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluate([load(MADE.write(tmp_path_factory.mktemp("runs") / "run"))])


def test_where_all_claims_are_published_no_usual_ones_are_asked(tmp_path: Path) -> None:
    said = replace(NAMED, ratio_below=None, published=Published(text="Less", low=0.5, high=0.9))
    publication = Publication(title="A paper", source="2012", claims=(said,)).to_json()
    folders = [MADE.write(tmp_path / "one"), replace(MADE, seed=MADE.seed + 1).write(tmp_path / "two")]
    for folder in folders:
        header, *rest = (folder / "plan.jsonl").read_text().splitlines(keepends=True)
        told = json.loads(header) | {"claims": [], "published": publication}
        (folder / "plan.jsonl").write_text("".join([json.dumps(told) + "\n", *rest]))
    for runs in ([load(folders[0])], list(map(load, folders))):
        found = evaluate(runs)
        assert found.claims == ()
        assert found.named
        assert {row.claim.name for row in found.published} == {"mine"}
        assert tells([each.text for each in summary.claims(found)], "published")


def test_every_baseline_has_a_twin_that_is_no_condition_of_its_own(results: Results) -> None:
    assert len(results.twins) == 2 * 2  # pages and links; plain http1 alone
    assert set(results.twins["variant"]) == {"plain"}
    assert set(results.twins["protocol"]) == {"http1"}
    assert len(results.cells) == 2 * 2 * 2 * 2
    assert (results.cells["n"] == 6).all()
    assert results.records["again"].sum() == 4 * 6
    assert (np.abs(results.twins["ratio"] - 1) < 0.05).all()
    assert not set(results.comparisons["protocol"]) - {"http1", "h2"}


def test_all_settings_have_the_floor_of_all_that_is_measured_twice(results: Results) -> None:
    found = {results.floors.of([cell]) for cell in results.cells["cell"]}
    assert len(found) == 1
    (floor,) = found
    assert floor is not None
    errors = [math.log(each["high"] / each["ratio"]) for each in results.twins.to_dict("records")]
    assert min(errors) / 2 < math.log(floor) < 2 * max(errors)


def test_a_ratio_over_several_settings_has_a_lower_floor(results: Results) -> None:
    one, all_of_them = results.floors.of([0]), results.floors.of(results.cells["cell"])
    assert one is not None
    assert all_of_them is not None
    assert 1 < all_of_them < one


def test_the_floor_is_told_in_a_sentence_and_a_table(results: Results) -> None:
    assert tells(summary.floor(results), "equal conditions", "up to")
    assert "(4 settings measured twice)" in summary.floor(results)
    table = equal_baselines(results)
    assert table is not None
    assert len(table.rows) == 4


def test_two_settings_against_each_other_have_the_floor_of_one(tmp_path: Path) -> None:
    """Each side errs by itself: that is no mean over both."""
    claims = (
        Claim(name="pages", subject={"page": "news-mobile"}, reference={"page": "dummy-2012"}),
        Claim(name="protocols", subject={"protocol": "h2"}, reference={"protocol": "http1"}),
    )
    made = replace(MADE, claims=claims, variants=("plain",), rtts_ms=(20.0,))
    rows = evaluate([load(made.write(tmp_path / "run"))]).claims
    floors = {name: {row.floor for row in rows if row.claim.name == name} for name in ("pages", "protocols")}
    assert floors["pages"] == floors["protocols"] != {None}


def test_losses_that_two_runs_share_count_once(tmp_path: Path) -> None:
    """The blocks of old runs lose alike. Of each run alone, and of other links, all trials count."""
    made = replace(MADE, pages=("dummy-2012",), variants=("plain",), aa=False, claims=(NAMED,))

    def lossy(record: dict[str, Any]) -> dict[str, Any]:
        link, reading = record["condition"]["link"], record["link_reading"]
        if link["rtt_ms"] != 20.0:
            return record
        condition = {**record["condition"], "link": {**link, "loss_down_percent": 1.0}}
        return record | {"condition": condition, "link_reading": {**reading, "seed": 1 + record["block"]}}

    runs = [replace(made, seed=seed).write(tmp_path / str(seed)) for seed in (1, 2)]
    for run in runs:
        edit(run, lossy)
    found = evaluate([load(run) for run in runs])
    assert found.drawn_again == 6 * 2
    assert {row.setting["rtt_ms"]: row.comparison.n for row in found.claims if row.comparison} == {
        20: 6,
        100: 12,
    }
    assert found.sifted.by_rule().keys() == evaluate([load(runs[0])]).sifted.by_rule().keys()
    assert found.left_out.lost == 0
    assert {each.comparison.n for each in found.claims_of_all if each.comparison} == {6, 12}
    assert any("lost the very packets" in note for note in facts.of_the_runs(found))
    assert found.tally == AttemptTally(trials=48, attempts=48, left_out=0, drawn_again=12)
    assert tells(methodtexts.exclusions(found), "12 trials", "very packets", "one of each counts")
    assert tells(methodtexts.exclusions(found), "None of 36 attempts")
    assert dict(facts.facts(found))["Trials"] == "48 recorded, 36 of them in the estimates"
    assert {group.drawn_again for group in drawn(found).groups} == {0, 12}
    with plots.look():
        pictures = [*every_trial(found), *order_of_trials(found)]
        captions = [picture.caption for picture in pictures]
    assert not any("left out" in caption for caption in captions)
    assert tells(" ".join(captions), "12 trials", "very packets", "not drawn")


def test_attempts_that_were_repeated_are_no_trials(tmp_path: Path) -> None:
    made = replace(MADE, aa=False, outcomes={"00001": "page-error"}, repeat=frozenset({"00001"}))
    found = evaluate([load(made.write(tmp_path / "run"))])
    assert found.tally == AttemptTally(trials=96, attempts=97, left_out=1, drawn_again=0)
    assert dict(facts.facts(found))["Trials"] == "96 recorded in 97 attempts, 96 of them in the estimates"
    assert tells(methodtexts.exclusions(found), "1 of 97 attempts")


def test_claims_count_as_named_where_each_run_named_them(tmp_path: Path) -> None:
    """A claim that the first run suggested is judged on what suggested it."""
    made = replace(MADE, pages=("dummy-2012",), aa=False, trials=3)
    own = replace(made, claims=(NAMED,))
    usual, before, later = (
        load(each.write(tmp_path / name))
        for name, each in (("usual", made), ("before", own), ("later", replace(own, seed=1)))
    )
    assert evaluate([before, later]).named
    assert not evaluate([usual, later]).named
    assert evaluate([later]).named


@pytest.mark.thorough
def test_the_floor_of_a_claim_is_that_of_its_metric(tmp_path: Path) -> None:
    """The bytes of a page never vary here, its time does."""
    claims = tuple(
        Claim(name=metric, subject={"protocol": "h2"}, reference={"protocol": "http1"}, metric=metric)
        for metric in ("plt_ms", "bytes_down", "tbt_ms")
    )
    rows = evaluate([load(replace(MADE, claims=claims).write(tmp_path / "run"))]).claims
    floors = {
        name: [row.floor for row in rows if row.claim.name == name] for name in ("plt_ms", "bytes_down")
    }
    assert all(each is not None and each > 1.0001 for each in floors["plt_ms"])
    assert floors["bytes_down"] == pytest.approx([1.0] * len(floors["bytes_down"]))
    assert {row.floor for row in rows if row.claim.name == "tbt_ms"} == {None}


def test_without_twins_the_report_says_so(tmp_path: Path) -> None:
    found = evaluate([load(replace(MADE, aa=False, trials=2).write(tmp_path / "run"))])
    assert tells(summary.floor(found), "No baseline", "measured twice")
    assert equal_baselines(found) is None
    assert {row.floor for row in found.claims} == {None}

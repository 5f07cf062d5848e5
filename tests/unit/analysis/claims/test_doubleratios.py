"""What a factor, another protocol or another engine changes of a claim is a test of its own."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.claims.doubleratios import FACTOR, DoubleRatio
from analysis.evaluation.results import Results, evaluate
from analysis.report import summary
from analysis.report.report import render
from analysis.runs.rundirectory import load
from analysis.statistics.compare import WIDER, Verdict
from analysis.statistics.plainly import change_text
from analysis.tables.claimtables import double_ratios, factors
from analysis.tables.table import write
from analysis.tables.tables import tables_of
from harness.model.condition import USUAL_FACTOR
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

H2 = Claim(name="HTTP/2", subject={"protocol": "h2"}, reference={"protocol": "http1"})
MADE = Synthetic(
    pages=("a", "b", "c"),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    trials=10,
    claims=(H2,),
)
LOSS, MANY = "1 % loss", "many objects"


def results(folder: Path, with_loss: float) -> Results:
    """A page at two round-trip times, with loss, and another page instead; HTTP/2 takes 0.8 of the time of HTTP/1.1."""
    run = MADE.write(folder / "run")
    kept = []
    for name in ("plan.jsonl", "records.jsonl"):
        lines = [json.loads(line) for line in (run / name).read_text().splitlines()]
        for number, line in enumerate(lines):
            condition = line.get("condition")
            if condition is None:
                continue
            condition["factor"] = {"a": USUAL_FACTOR, "b": LOSS, "c": MANY}[condition["page"]]
            share = {USUAL_FACTOR: 0.8, LOSS: with_loss, MANY: 0.8}[condition["factor"]]
            if condition["page"] == "b":
                condition["page"] = "a"
                condition["link"]["loss_down_percent"] = 1.0
                condition["link"]["name"] = f"lossy-{condition['link']['name']}"  # as a study may name it
            if name == "records.jsonl":
                noise = 1 + 0.004 * ((number * 7919) % 11 - 5) / 5
                line["plt_ms"] = 1000 * noise * (share if condition["protocol"] == "h2" else 1.0)
        kept.append(lines)
        (run / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return evaluate([load(run)])


def told(evaluated: Results, factor: str) -> list[DoubleRatio]:
    return [ratio for ratio in evaluated.factors if ratio.changed.setting[FACTOR] == factor]


@pytest.mark.thorough
def test_a_ratio_with_a_factor_is_told_in_units_of_the_usual_one(tmp_path: Path) -> None:
    evaluated = results(tmp_path, with_loss=1.0)
    assert {ratio.changed.setting[FACTOR] for ratio in evaluated.factors} == {LOSS, MANY}
    for ratio in told(evaluated, LOSS):  # at each round-trip time against the usual one there
        assert ratio.changed.setting["rtt_ms"] == ratio.usual.setting["rtt_ms"]
        assert ratio.comparison.ratio == pytest.approx(1.0 / 0.8, rel=0.01)
        assert ratio.judgement.verdict is Verdict.SLOWER
        assert ratio.comparison.n == 10
    assert len(told(evaluated, LOSS)) == 2


@pytest.mark.thorough
def test_another_page_is_set_against_the_usual_one(tmp_path: Path) -> None:
    ratios = told(results(tmp_path, with_loss=1.0), MANY)
    assert [(ratio.changed.pages, ratio.usual.pages) for ratio in ratios] == [(("c",), ("a",))] * 2
    assert all(ratio.comparison.ratio == pytest.approx(1.0, rel=0.01) for ratio in ratios)
    assert not any(ratio.judgement.verdict in (Verdict.FASTER, Verdict.SLOWER) for ratio in ratios)


@pytest.mark.thorough
def test_the_table_holds_the_usual_ratio_and_every_factor_below_it(tmp_path: Path) -> None:
    table = factors(results(tmp_path, with_loss=0.8))
    assert table is not None
    assert [row[1].text for row in table.rows] == [USUAL_FACTOR, LOSS, MANY] * 2
    assert set(table.data["factor"]) == {LOSS, MANY}
    assert table.data["change_ratio"].tolist() == pytest.approx([1.0] * 4, rel=0.01)


@pytest.mark.thorough
def test_the_factors_of_a_report_are_a_csv_file_and_a_text_that_say_the_same(tmp_path: Path) -> None:
    evaluated = results(tmp_path, with_loss=1.0)
    tables = tables_of(evaluated)
    (table,) = (table for table in tables if table.name == "factors")
    write(table, tmp_path / "tables")
    made = pd.read_csv(tmp_path / "tables" / "factors.csv")
    lossy = made[made["factor"] == LOSS]
    assert made["factor"].tolist() == [LOSS, MANY] * 2
    assert lossy["change_ratio"].tolist() == pytest.approx([1.25] * 2, rel=0.01)
    assert (lossy["change_ratio"] * lossy["usual_ratio"]).tolist() == pytest.approx(
        lossy["ratio"].tolist(), rel=0.001
    )
    assert (lossy["change_low"] < lossy["change_ratio"]).all()
    assert (lossy["change_ratio"] < lossy["change_high"]).all()
    assert set(lossy["verdict"]) == {"slower"}
    assert set(made["claim"]) == {"HTTP/2"}
    text = (tmp_path / "tables" / "factors.md").read_text()
    assert "One factor at a time" in text
    (first, *_) = (line for line in text.splitlines() if LOSS in line)
    cells = [cell.strip() for cell in first.strip("|").split("|")]
    assert cells[0] == "HTTP/2 (TLS) against HTTP/1.1"
    assert cells[2].startswith(f"{lossy['ratio'].iloc[0]:.3f} [")
    assert cells[4].startswith(f"{lossy['change_ratio'].iloc[0]:.3f} [")
    assert cells[6].startswith("slower, by ")
    assert "One factor at a time" in render(evaluated, tables, [])


@pytest.mark.thorough
def test_a_run_without_factors_has_no_such_table(tmp_path: Path) -> None:
    evaluated = evaluate([load(MADE.write(tmp_path / "run"))])
    assert evaluated.factors == ()
    assert factors(evaluated) is None


CORE = Claim(name="core", subject={"variant": "core"}, reference={"variant": "plain"})
PROTOCOLS = Synthetic(
    pages=("a", "b", "c"),
    variants=("plain", "core"),
    protocols=("http1", "h2", "h3"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0,),
    trials=10,
    claims=(CORE,),
)


def with_shares(
    folder: Path, made: Synthetic, dimension: str, effects: dict[str, float], study: str = "", **subject: str
) -> Results:
    """A run in which the subject takes a share of the time that depends on the value of a dimension. `study`: its file,
    where that matters.
    """
    run = made.write(folder / "run")
    (run / "study.toml").write_text(study or (run / "study.toml").read_text())
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for number, line in enumerate(lines):
        condition = line["condition"]
        share = effects[condition[dimension]] if subject.items() <= condition.items() else 1.0
        line["plt_ms"] = 1000 * share * (1 + 0.004 * ((number * 7919) % 11 - 5) / 5)
    (run / "records.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return evaluate([load(run)])


def of_protocols(folder: Path, effects: dict[str, float]) -> Results:
    return with_shares(folder, PROTOCOLS, "protocol", effects, variant="core")


@pytest.mark.thorough
def test_an_effect_that_differs_between_engines_is_found(tmp_path: Path) -> None:
    made = replace(MADE, rtts_ms=(50.0,), engines=("chromium", "firefox", "webkit"))
    effects = {"chromium": 0.8, "firefox": 0.9, "webkit": 0.8}
    evaluated = with_shares(tmp_path, made, "engine", effects, protocol="h2")
    by_engine = {ratio.changed.setting["engine"]: ratio for ratio in evaluated.interactions}
    assert set(by_engine) == {"firefox", "webkit"}
    assert {ratio.usual.setting["engine"] for ratio in evaluated.interactions} == {"chromium"}
    assert by_engine["firefox"].comparison.ratio == pytest.approx(0.9 / 0.8, rel=0.01)
    assert (by_engine["firefox"].judgement.q < 0.05, by_engine["webkit"].judgement.q < 0.05) == (True, False)
    (said,) = summary.interactions(evaluated)
    assert tells(said, "differs between engines")
    assert tells(said, "With Firefox", "higher than with Chromium (")


@pytest.mark.parametrize(
    ("study", "usual"),
    [
        ('engines = ["firefox", "webkit", "chromium"]', "firefox"),
        ('engines = ["webkit", "chromium", "firefox"]', "webkit"),
        ("engines = 3", "chromium"),
        ("engines = [", "chromium"),
    ],
)
def test_engines_are_set_against_the_first_that_the_study_lists(
    tmp_path: Path, study: str, usual: str
) -> None:
    made = replace(MADE, pages=("a",), rtts_ms=(50.0,), trials=4, engines=("chromium", "firefox", "webkit"))
    effects = {"chromium": 0.8, "firefox": 0.9, "webkit": 0.8}
    ratios = with_shares(tmp_path, made, "engine", effects, study, protocol="h2").interactions
    assert {ratio.usual.setting["engine"] for ratio in ratios} == {usual}
    assert {ratio.changed.setting["engine"] for ratio in ratios} == effects.keys() - {usual}


def test_a_difference_between_protocols_is_found_and_measured(tmp_path: Path) -> None:
    evaluated = of_protocols(tmp_path, {"http1": 0.7, "h2": 0.7, "h3": 0.9})
    by_protocol = {ratio.changed.setting["protocol"]: ratio for ratio in evaluated.interactions}
    assert set(by_protocol) == {"h2", "h3"}
    assert {ratio.usual.setting["protocol"] for ratio in evaluated.interactions} == {"http1"}
    assert by_protocol["h3"].comparison.ratio == pytest.approx(0.9 / 0.7, rel=0.01)
    assert by_protocol["h3"].judgement.q < 0.05
    (said,) = summary.interactions(evaluated)
    assert tells(said, "core against plain", "differs between protocols")
    assert tells(said, "With HTTP/3 (QUIC)", "higher than with HTTP/1.1", "3 pages", "q below 0.001")


@pytest.mark.thorough
def test_the_stronger_of_two_differences_has_the_interval_of_a_choice(tmp_path: Path) -> None:
    evaluated = of_protocols(tmp_path, {"http1": 0.7, "h2": 0.74, "h3": 0.76})
    assert [ratio.judgement.verdict for ratio in evaluated.interactions] == [Verdict.SLOWER] * 2
    picked = min(evaluated.interactions, key=lambda ratio: ratio.judgement.q).comparison
    wider = picked.chosen(1, 2)
    assert wider.confidence == pytest.approx(1 - 0.05 / 2)
    (said,) = summary.interactions(evaluated)
    texts = [change_text(comparison.low, comparison.high) for comparison in (wider, picked)]
    assert [text in said for text in texts] == [True, False]


@pytest.mark.thorough
def test_no_difference_is_said_with_how_large_it_may_be(tmp_path: Path) -> None:
    (said,) = summary.interactions(of_protocols(tmp_path, {"http1": 0.7, "h2": 0.7, "h3": 0.7}))
    assert tells(said, "core against plain", "no difference between protocols")
    assert tells(said, "ratio with any of them")
    reach = float(said.split("is within ")[1].split(" %")[0])
    assert 0 < reach < 2


def test_the_file_of_double_ratios_tells_the_level_of_each_interval(tmp_path: Path) -> None:
    """The claim was named, so its ratios have plain intervals; one of two changes was found, or both."""
    evaluated = of_protocols(tmp_path, {"http1": 0.7, "h2": 0.7, "h3": 0.9})
    data = double_ratios(evaluated.interactions).set_index("protocol")
    assert set(data["confidence"]) == set(data["usual_confidence"]) == {0.95}
    assert data.loc["h3", "change_confidence"] == pytest.approx(1 - 0.05 / 2)
    assert data.loc["h3", "change_low"] == evaluated.interactions[1].comparison.low


def test_the_note_on_factors_says_which_intervals_are_wider(tmp_path: Path) -> None:
    evaluated = results(tmp_path, with_loss=1.0)
    named, unnamed = factors(evaluated), factors(replace(evaluated, named=False))
    assert named is not None
    assert unnamed is not None
    assert [table.note.count(WIDER) for table in (named, unnamed)] == [1, 2]

"""Claims run by run, and lane by lane."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.evaluation.results import Results, evaluate
from analysis.report.methodtexts import statistics_texts
from analysis.runs.rundirectory import load
from analysis.tables.claimtables import claims_by_run, double_ratios
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic


def in_lanes(folder: Path, lanes: int) -> Results:
    """A run of two blocks in every lane."""
    Synthetic(trials=2 * lanes).write(folder)
    lines = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    made = [{**each, "lane": 1 + each["block"] % lanes, "lanes": lanes} for each in lines]
    (folder / "records.jsonl").write_text("".join(json.dumps(each) + "\n" for each in made))
    return evaluate([load(folder)])


@pytest.mark.thorough
def test_a_few_lanes_have_a_column_each(tmp_path: Path) -> None:
    table = claims_by_run(in_lanes(tmp_path / "run", 3))
    assert table is not None
    assert table.head[3:] == tuple(f"run on lane {lane} of 3" for lane in (1, 2, 3))


@pytest.mark.thorough
def test_of_many_lanes_the_page_shows_the_extremes_and_the_files_all(tmp_path: Path) -> None:
    results = in_lanes(tmp_path / "run", 12)
    table = claims_by_run(results)
    assert table is not None
    assert table.head[3:] == ("Least", "Greatest")
    (claim, *_) = table.data["claim"].unique()
    of_one = table.data[(table.data["claim"] == claim) & (table.data["where"] == table.data["where"].iloc[0])]
    assert len(of_one) == 12
    least, greatest = table.rows[0][3:]
    assert float(least.text.split()[0]) == pytest.approx(of_one["ratio"].min(), abs=5e-4)
    assert greatest.aside == of_one.loc[of_one["ratio"].idxmax(), "run"]
    (levels,) = [each.text for each in statistics_texts(results) if each.head == "Pages and runs are levels."]
    assert tells(levels, "machine, or lane", "counts as a run")


CORE = Claim(name="core", subject={"variant": "core"}, reference={"variant": "plain"})


@pytest.mark.parametrize(("metric", "verdict"), [("plt_ms", "slower"), ("bytes_down", "more")])
def test_a_change_of_a_ratio_is_told_in_the_words_of_its_metric(
    metric: str, verdict: str, tmp_path: Path
) -> None:
    made = Synthetic(
        pages=("one",),
        variants=("plain", "core"),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        claims=(replace(CORE, metric=metric),),
    )
    run = made.write(tmp_path / "run")
    shares = {("core", "http1"): 500, ("core", "h2"): 700}

    def changed(record: dict[str, Any]) -> dict[str, Any]:
        condition = record["condition"]
        value = shares.get((condition["variant"], condition["protocol"]), 1000)
        return record | {metric: value + record["order"] % 7}

    edit(run, changed)
    data = double_ratios(evaluate([load(run)]).interactions)
    assert data["verdict"].tolist() == [verdict]

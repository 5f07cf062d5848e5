"""A factorial study is read off the names of its variants: effects, their table, their chart."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from analysis.charts import figures, plots
from analysis.charts.effectcharts import filter_rows
from analysis.evaluation.explored import ALONE, AMONG, TOGETHER, variant_pairs
from analysis.evaluation.results import evaluate
from analysis.report.summary import claims
from analysis.runs.rundirectory import load
from analysis.statistics.compare import Blocks, Certainty, Verdict, compared
from analysis.tables.tables import variant_effects
from tests.unit.analysis.synthetic import Synthetic

VARIANTS = ("plain", "rewrite_css", "combine_css", "core", "core,-rewrite_css", "core,-combine_css")
# How much of the page-load time each variant takes: the first saves a tenth, the second does nothing.
SHARE = {
    "plain": 1.0,
    "rewrite_css": 0.9,
    "combine_css": 1.0,
    "core": 0.9,
    "core,-rewrite_css": 1.0,
    "core,-combine_css": 0.9,
}
SAME_ARCHIVE = {"combine_css": "plain", "core,-combine_css": "core"}


CELLS = pd.DataFrame({"variant": list(SHARE), "protocol": "h2", "cell": range(len(SHARE))})
ARCHIVES = {cell: {SAME_ARCHIVE.get(name, name)} for cell, name in enumerate(SHARE)}


def trials(blocks: int = 7) -> pd.DataFrame:
    random = np.random.default_rng(1)
    made = []
    for block in range(1, blocks + 1):
        drift = 1 + 0.2 * random.random()  # of the machine, the same for a whole block
        for cell, share in enumerate(SHARE.values()):
            ms = 1000 * share * drift * math.exp(random.normal(0, 0.004))
            made.append({"run": "r", "block": block, "cell": cell, "ms": ms})
    return pd.DataFrame(made)


def test_effects_are_ratios_within_blocks() -> None:
    pairs = variant_pairs(CELLS, ["protocol"], ARCHIVES)
    every = compared(Blocks(trials(), "ms"), pairs, Certainty(0.03))
    found = {(row["filter"], row["way"]): row for row in every.to_dict("records")}
    assert set(found) == {
        ("core", TOGETHER),
        *((name, way) for name in ("rewrite_css", "combine_css") for way in (ALONE, AMONG)),
    }
    for way in (ALONE, AMONG):
        a, b = found["rewrite_css", way], found["combine_css", way]
        assert a["ratio"] == pytest.approx(0.9, abs=0.01)
        assert a["low"] < a["ratio"] < a["high"] < 1
        assert (a["verdict"], a["idle"], a["small"]) == (Verdict.FASTER, False, False)
        assert (b["verdict"], b["idle"], b["small"]) == (Verdict.WITHIN, True, True)
    assert found["core", TOGETHER]["ratio"] == pytest.approx(0.9, abs=0.01)


def test_a_study_without_whole_and_parts_has_none() -> None:
    assert variant_pairs(CELLS[CELLS["variant"] == "plain"], ["protocol"], ARCHIVES) == []


@pytest.mark.thorough
def test_the_report_charts_filters_and_leaves_single_ones_out_of_the_other_figures(tmp_path: Path) -> None:
    made = Synthetic(
        pages=("p", "q"),
        variants=VARIANTS,
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
        trials=2,
    )
    results = evaluate([load(made.write(tmp_path / "run"))])
    with plots.look():
        drawn = {each.name: each for each in figures.draw(results)}
    charts = [name for name in drawn if name.startswith("effects_")]
    assert len(charts) == 2
    assert not any("-rewrite_css" in name or "_rewrite_css_" in name for name in drawn)
    panels = drawn[charts[0]].figure.axes
    assert [axes.get_title(loc="left") for axes in panels] == ["HTTP/1.1", "HTTP/2 (TLS)"]
    labels = [text.get_text() for text in panels[0].get_yticklabels()]
    assert labels[0] == "core, all of it"
    assert sorted(labels[1:]) == ["combine_css", "rewrite_css"]
    table = variant_effects(results)
    assert table is not None
    assert len(table.rows) == 2 * 2 * 5
    assert not any("core,-" in said.text for said in claims(results))


@pytest.mark.thorough
def test_every_variant_is_set_against_plain(tmp_path: Path) -> None:
    made = Synthetic(
        pages=("p",),
        variants=("plain", "minify", "core"),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(50.0, 100.0),
    )
    results = evaluate([load(made.write(tmp_path / "run"))])
    table = variant_effects(results)
    assert table is not None
    assert table.head[:2] == ("Page", "Variant")
    assert "Filter" not in table.head
    assert [row[1].text for row in table.rows].count("minify") == 2
    assert [said.text.partition(": ")[0] for said in claims(results)] == [
        "core against plain, 50 ms RTT",
        "core against plain, 100 ms RTT",
        "minify against plain, 50 ms RTT",
        "minify against plain, 100 ms RTT",
    ]
    with plots.look():
        assert not [each.name for each in figures.draw(results) if each.name.startswith("effects_")]


def test_what_saves_most_stands_first_and_what_changes_nothing_last() -> None:
    pairs = variant_pairs(CELLS, ["protocol"], ARCHIVES)
    assert filter_rows(compared(Blocks(trials(), "ms"), pairs, Certainty(0.03))) == [
        "core",
        "rewrite_css",
        "combine_css",
    ]

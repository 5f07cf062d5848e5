"""Compressions are a dimension: each is set against none in a table, a sentence and, at one RTT, a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from analysis.charts import figures, plots
from analysis.evaluation.results import Results, evaluate
from analysis.report.summary import claims
from analysis.runs.rundirectory import load
from analysis.tables.tables import compression_effects
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic

MADE = Synthetic(
    pages=("p", "q"),
    compressions=("gzip-6", "none", "zstd-3-dynamic"),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(50.0,),
    trials=7,
)


def results(folder: Path, made: Synthetic = MADE) -> Results:
    return evaluate([load(made.write(folder / "run"))])


def drawn(found: Results) -> list[str]:
    """But for the figure of the claims and the pictures of the data."""
    with plots.look():
        every = [drawing for drawing in figures.draw(found) if not drawing.of_data]
    return [drawing.name for drawing in every if drawing.name != figures.CLAIMS]


def test_each_is_set_against_none(tmp_path: Path) -> None:
    found = results(tmp_path)
    table = compression_effects(found)
    assert table is not None
    assert table.title.startswith("Page-load time relative to compression none")
    assert len(table.rows) == 2 * 2 * 2  # compressions but none, pages, protocols
    assert table.head[:2] == ("Page", "Compression")
    assert set(found.compressions["verdict"]) == {"faster"}
    assert (found.compressions["n"] == 7).all()
    said = [each.text for each in claims(found)]
    assert tells(said, "text compressed by gzip-6 against uncompressed text", "p, HTTP/1.1: faster")
    assert found.effects.empty


@pytest.mark.thorough
def test_one_figure_per_page_holds_them_all_at_one_rtt(tmp_path: Path) -> None:
    names = drawn(results(tmp_path))
    assert names.pop(0) == "head"
    assert len(names) == 2
    assert all(name.startswith("compressions_") for name in names)


@pytest.mark.thorough
def test_against_rtt_each_has_figures_of_its_own(tmp_path: Path) -> None:
    names = drawn(results(tmp_path, replace(MADE, rtts_ms=(20.0, 50.0))))
    assert not any(name.startswith("compressions_") for name in names)
    assert any("gzip-6" in name for name in names)


def test_where_none_was_not_measured_recorded_is_the_reference(tmp_path: Path) -> None:
    found = results(tmp_path, replace(MADE, compressions=("recorded", "gzip-6")))
    assert set(found.compressions["reference"]) == {"recorded"}


def test_without_either_nothing_is_set_against_anything(tmp_path: Path) -> None:
    assert compression_effects(results(tmp_path, replace(MADE, compressions=("gzip-1", "gzip-6")))) is None

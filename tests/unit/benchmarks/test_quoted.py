"""What documents quote of a benchmark."""

from __future__ import annotations

from pathlib import Path

import pytest

import harness
from benchmarks.publish.changes import Change
from benchmarks.publish.document import read, renewed
from benchmarks.quoted import VARIANTS, Part
from harness.model.engine import Engine

FIGURES = [
    {"figure": "RTT error at 50 ms, median", "reached": "0.007 (0.006 to 0.008)"},
    {"figure": "RTT error at 50 ms, p99", "reached": "0.061 (0.031 to 0.213)"},
]


def test_a_document_quotes_a_benchmark(tmp_path: Path) -> None:
    Part("link", "rtt").keep(tmp_path, FIGURES, ["figure"])
    cell = "link.rtt.csv#rtt-error-at-50-ms-median.reached"
    assert renewed(f"[9]({cell})", tmp_path, tmp_path) == f"[0.007 (0.006 to 0.008)]({cell})"
    told = read(tmp_path / "link.run.csv")
    assert told["rtt"]["coldload"] == harness.__version__
    assert told["measured"]["value"] == told["rtt"]["value"]


def test_a_part_that_is_measured_anew_takes_the_place_of_what_was(tmp_path: Path) -> None:
    first = Part("link", "rtt")
    first.began = first.began.replace(year=2001)
    first.keep(tmp_path, FIGURES, ["figure"])
    Part("link", "goodput").keep(tmp_path, FIGURES[:1], ["figure"])
    told = read(tmp_path / "link.run.csv")
    assert [*told] == ["study", "measured", "rtt", "goodput"]
    assert told["measured"]["value"].startswith("2001-")
    assert told["measured"]["value"][19:] == told["goodput"]["value"][19:]
    run = {row: cells["value"] for row, cells in told.items()}
    assert Change("2002-01-01", ()).concerns(run)
    Part("link", "rtt").keep(tmp_path, FIGURES[:1], ["figure"])
    assert [*read(tmp_path / "link.rtt.csv")] == ["rtt-error-at-50-ms-median"]
    assert not read(tmp_path / "link.run.csv")["measured"]["value"].startswith("2001-")


def test_a_change_of_numbers_concerns_a_part_by_the_engine_that_measured_it(tmp_path: Path) -> None:
    for name, engine in (("chromium", Engine.CHROMIUM), ("firefox", Engine.FIREFOX), ("crowd", Engine.K6)):
        Part("overhead", name, engine).keep(tmp_path, FIGURES, ["figure"])
    Part("link", "rtt").keep(tmp_path, FIGURES, ["figure"])
    of_loads, of_links = (
        {row: cells["value"] for row, cells in read(tmp_path / f"{name}.run.csv").items()}
        for name in ("overhead", "link")
    )
    assert (of_loads["browser"], of_loads["generator"]) == ("Chromium, Firefox", "k6")
    concerned = [
        whom
        for whom in ("page loads", "Firefox", "WebKit")
        if Change("2099-01-01", (whom,)).concerns(of_loads)
    ]
    assert concerned == ["page loads", "Firefox"]
    assert not Change("2099-01-01", ("page loads",)).concerns(of_links)


def test_a_change_of_variants_concerns_a_part_that_measures_them(tmp_path: Path) -> None:
    Part("replay", "quality").keep(tmp_path, FIGURES, ["figure"])
    other = {row: cells["value"] for row, cells in read(tmp_path / "replay.run.csv").items()}
    Part("replay", "looks", design=VARIANTS).keep(tmp_path, FIGURES, ["figure"])
    run = {row: cells["value"] for row, cells in read(tmp_path / "replay.run.csv").items()}
    change = Change("2099-01-01", ("variants",))
    assert [change.concerns(each) for each in (other, run)] == [False, True]


def test_a_part_is_of_all_engines_that_loaded_pages_for_it(tmp_path: Path) -> None:
    Part("hostile", "cases", Engine.FIREFOX, Engine.CHROMIUM).keep(tmp_path, FIGURES, ["figure"])
    Part("hostile", "more", Engine.CHROMIUM).keep(tmp_path, FIGURES, ["figure"])
    told = read(tmp_path / "hostile.run.csv")
    assert told["cases"]["browser"] == told["browser"]["value"] == "Chromium, Firefox"
    assert told["more"]["browser"] == "Chromium"


def test_two_figures_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"link, rtt"):
        Part("link", "rtt").keep(tmp_path, [*FIGURES, FIGURES[0]], ["figure"])
    assert not [*tmp_path.iterdir()]

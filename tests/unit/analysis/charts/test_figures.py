"""What is drawn, and that it stays the same from run to run."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysis.charts import claimcharts, figures, plots
from analysis.charts.figures import over_pages
from analysis.charts.headchart import HEAD
from analysis.charts.plots import Drawing
from analysis.evaluation.results import Results, evaluate
from analysis.labels.conditions import STYLES, protocol_label, protocol_styles
from analysis.report import facts, summary
from analysis.runs.rundirectory import load
from analysis.statistics.compare import WIDER
from analysis.statistics.estimate import IntervalKind
from harness.model.protocol import Protocol, baseline
from harness.model.variant import FILTERS
from tests.facts import tells
from tests.unit.analysis.runpairs import edit
from tests.unit.analysis.synthetic import Synthetic, write_lines


def results(tmp_path: Path, made: Synthetic) -> Results:
    return evaluate([load(made.write(tmp_path / "run"))])


def drawings(evaluated: Results) -> dict[str, Drawing]:
    """Those of estimates, by name, but for the two that open a report."""
    with plots.look():
        return {
            drawing.name: drawing
            for drawing in figures.draw(evaluated)
            if not drawing.of_data and drawing.name.partition("_")[0] not in (HEAD, figures.CLAIMS)
        }


@pytest.mark.thorough
def test_text_stays_text_and_no_date_is_stored(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(pages=("a$b$",), rates_mbps=(10.0,), trials=2))
    with plots.look():
        (drawing,) = drawings(evaluated).values()
        files = plots.save(drawing.figure, tmp_path, drawing.name)
    svg = files["svg"].read_text()
    for words in ("a$b$, 10 Mbit/s", "Round-trip time (ms)", "Median page-load time (s)", "HTTP/2 (TLS)"):
        assert f">{words}</text>" in svg
    assert "<dc:date>" not in svg
    assert b"CreationDate" not in files["pdf"].read_bytes()


@pytest.mark.thorough
def test_the_y_axis_starts_at_zero_and_holds_every_interval(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,)))
    (drawing,) = drawings(evaluated).values()
    low, high = drawing.figure.axes[0].get_ylim()
    assert low == 0
    assert high >= evaluated.cells["high"].max() / 1e3


@pytest.mark.thorough
def test_one_line_per_protocol_in_its_own_colour(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,)))
    (drawing,) = drawings(evaluated).values()
    every = drawing.figure.axes[0].lines
    lines = [line for line in every if np.size(line.get_xdata()) == 4 and line.get_linestyle() != "None"]
    assert [line.get_color() for line in lines] == [
        STYLES[name].colour for name in ("http1-close", "http1", "https1", "h2")
    ]


@pytest.mark.thorough
def test_one_rtt_is_drawn_as_rows(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(rtts_ms=(150.0,), trials=2))
    made = drawings(evaluated)
    assert set(made) == {"overview"}
    assert [label.get_text() for label in made["overview"].figure.axes[0].get_yticklabels()] == [
        "dummy-2012",
        "news-mobile",
    ]


@pytest.mark.thorough
def test_a_partial_grid_keeps_one_x_axis(tmp_path: Path) -> None:
    run = Synthetic(trials=1, rates_mbps=(1.0, 10.0), rtts_ms=(0.0, 50.0, 100.0)).write(tmp_path / "run")
    some = [r for r in Synthetic(trials=1, rtts_ms=(0.0, 50.0, 100.0)).records() if recorded(r["condition"])]
    write_lines(run / "records.jsonl", some)
    made = drawings(evaluate([load(run)]))["overview"]
    assert {axes.get_xlim() for axes in made.figure.axes} == {(0.0, 104.0)}
    with plots.look():
        made.figure.draw_without_rendering()


def recorded(condition: dict[str, Any]) -> bool:
    """All of the first page, of the second the shortest RTT at the slow rate only."""
    link = condition["link"]
    return bool(condition["page"] == "dummy-2012" or (link["rtt_ms"] == 0 and link["down_mbps"] == 1))


@pytest.mark.thorough
def test_a_rate_without_any_estimate_leaves_its_axes_empty(tmp_path: Path) -> None:
    made = Synthetic(trials=1, rtts_ms=(150.0,))
    failed = {r["trial"]: "page-error" for r in made.records() if r["condition"]["link"]["down_mbps"] == 1}
    drawn = drawings(results(tmp_path, replace(made, outcomes=failed)))
    assert set(drawn) == {"overview"}
    slow, fast = drawn["overview"].figure.axes
    assert (slow.get_title(loc="left"), fast.get_title(loc="left")) == (
        "1 Mbit/s, 150 ms RTT",
        "10 Mbit/s, 150 ms RTT",
    )
    there, not_there = (
        sum(int(np.isfinite(line.get_xdata()).sum()) for line in axes.lines if line.get_marker() != "None")
        for axes in (fast, slow)
    )
    assert there >= 8
    assert not_there == 0


@pytest.mark.thorough
def test_drivers_variants_and_engines_never_share_a_figure(tmp_path: Path) -> None:
    made = Synthetic(rates_mbps=(10.0,), rtts_ms=(20.0, 50.0), trials=1, drivers=("playwright", "selenium"))
    other = Synthetic(
        rates_mbps=(10.0,), rtts_ms=(20.0, 50.0), trials=1, engines=("qtwebkit",), drivers=("pyqt",)
    )
    runs = [load(made.write(tmp_path / "one")), load(other.write(tmp_path / "two"))]
    evaluated = evaluate(runs)
    for _, cells in evaluated.cells.groupby("panel"):
        assert cells["engine"].nunique() == cells["driver"].nunique() == 1
    names = set(drawings(evaluated))
    assert names == {
        "overview_playwright_chromium",
        "overview_selenium_chromium",
        "overview_pyqt_qtwebkit",
    }


def both_engines(tmp_path: Path) -> Results:
    """A page in two variants, by protocols of each engine and one that both speak."""
    today = Synthetic(("dummy-2012",), ("plain", "core"), ("http1", "h2"), rates_mbps=(10.0,))
    old = replace(today, protocols=("http1", "spdy"), engines=("qtwebkit",), drivers=("pyqt",))
    return evaluate([load(made.write(tmp_path / made.engines[0])) for made in (today, old)])


@pytest.mark.thorough
def test_the_variants_of_a_page_share_a_figure_and_engines_stand_apart_in_it(tmp_path: Path) -> None:
    made = drawings(both_engines(tmp_path))["variants_dummy-2012-10-mbit-s"]
    assert tells(made.caption, "difference", "not the protocol's")
    left, right = made.figure.axes
    assert (left.get_title("left"), right.get_title("left")) == ("QtWebKit", "Chromium")
    for axes, protocol in ((left, "SPDY (TLS)"), (right, "HTTP/2 (TLS)")):
        legend = axes.get_legend()
        assert legend is not None
        assert legend.get_title().get_text() == f"{axes.get_title('left')}:"
        names = [text.get_text() for text in legend.get_texts()]
        expected = [f"{name}, {variant}" for name in ("HTTP/1.1", protocol) for variant in ("plain", "core")]
        assert names == expected
    with plots.look():
        made.figure.draw_without_rendering()


@pytest.mark.thorough
def test_engines_are_named_everywhere_and_never_compared(tmp_path: Path) -> None:
    evaluated = both_engines(tmp_path)
    assert evaluated.split_columns == ("variant", "engine")
    engine_of = evaluated.cells.drop_duplicates("place").set_index("place")["engine"]
    pairs = evaluated.comparisons.assign(engine=evaluated.comparisons["place"].map(engine_of))
    spoken = {"chromium": {"http1", "h2"}, "qtwebkit": {"http1", "spdy"}}
    for engine, group in pairs.groupby("engine"):
        assert set(group["protocol"]) == set(group["reference"]) == spoken[str(engine)]
    told = [said.text for said in summary.claims(evaluated)]
    assert {name for name in ("QtWebKit", "Chromium") for text in told if name in text} == {
        "QtWebKit",
        "Chromium",
    }
    assert not any("QtWebKit" in text and "Chromium" in text for text in told)
    assert any(note.startswith("2 engines: QtWebKit and Chromium.") for note in facts.notes(evaluated))
    assert all(
        "QtWebKit" in drawing.caption or "Chromium" in drawing.caption
        for drawing in drawings(evaluated).values()
    )


@pytest.mark.thorough
def test_the_historical_engine_alone_is_named_too(tmp_path: Path) -> None:
    old = Synthetic(("dummy-2012",), protocols=("http1",), trials=1, engines=("qtwebkit",), drivers=("pyqt",))
    for drawing in drawings(results(tmp_path, old)).values():
        assert "QtWebKit" in drawing.caption
        assert all("QtWebKit" in axes.get_title(loc="left") for axes in drawing.figure.axes)


@pytest.mark.thorough
def test_hollow_markers_are_explained_where_they_occur(tmp_path: Path) -> None:
    outcomes = {"00001": "page-error"}
    evaluated = results(tmp_path, Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,), outcomes=outcomes))
    (drawing,) = drawings(evaluated).values()
    assert "n = 4 to 5 per point" in drawing.caption
    assert "hollow" in drawing.caption


@pytest.mark.thorough
def test_names_that_differ_only_in_signs_do_not_overwrite_each_other(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(pages=("a b", "a+b"), rates_mbps=(10.0,), trials=1))
    assert list(drawings(evaluated)) == ["overview"]


@pytest.mark.thorough
def test_every_protocol_of_the_model_has_a_look_of_its_own() -> None:
    assert [protocol.value for protocol in Protocol] == list(STYLES)
    for what in ("colour", "marker", "dash"):
        looks = [getattr(style, what) for name, style in STYLES.items() if name != "h3"]
        assert len(looks) == len(set(looks))


@pytest.mark.thorough
@pytest.mark.parametrize("extra", [[], ["masque"], ["masque", "carrier-pigeon"]])
def test_colours_do_not_depend_on_what_else_was_measured(extra: list[str]) -> None:
    styles = protocol_styles(["h2", *extra, "http1", "spdy"])
    assert list(styles) == ["http1", "spdy", "h2", *sorted(extra)]
    assert styles["h2"] == STYLES["h2"]
    assert len({style.colour for style in styles.values()}) == len(styles)


@pytest.mark.thorough
def test_labels() -> None:
    assert protocol_label("h2") == Protocol.H2.label
    assert protocol_label("spdy") == "SPDY (TLS)"
    assert protocol_label("masque") == "masque"


@pytest.mark.thorough
def test_baseline() -> None:
    assert baseline(["h2", "http1", "http1-close"]) == "http1"
    assert baseline(["h2", "https1"]) == "https1"
    assert baseline([]) is None


@pytest.mark.thorough
def test_pictures_of_the_data_stand_behind_the_estimates(tmp_path: Path) -> None:
    evaluated = results(tmp_path, Synthetic(pages=("dummy-2012",), rates_mbps=(10.0,)))
    with plots.look():
        every = list(figures.draw(evaluated))
    flags = [drawing.of_data for drawing in every]
    assert flags == sorted(flags)
    assert any(flags)
    assert len({drawing.name for drawing in every}) == len(every)


PLACE = {"down_mbps": 10.0, "up_mbps": 10.0, "rtt_ms": 20.0, "protocol": "h2", "engine": "chromium", "n": 5}


def cells(*medians: float, **place: Any) -> pd.DataFrame:
    """A page for each median."""
    return pd.DataFrame(
        [{**PLACE, **place, "page": f"page-{n}", "median": median} for n, median in enumerate(medians)]
    )


def test_the_middle_of_the_pages_with_the_middle_half_as_bars() -> None:
    (row,) = over_pages(cells(100, 200, 300, 400, 5000)).to_dict("records")
    assert (row["low"], row["median"], row["high"]) == (200, 300, 400)
    assert (row["page"], row["interval"]) == ("5 pages", IntervalKind.EXACT)


def test_a_row_for_each_protocol_link_and_rate() -> None:
    other = [cells(1, 2, protocol="h3"), cells(3, 4, rtt_ms=50.0), cells(5, 6, down_mbps=1.0)]
    rows = over_pages(pd.concat([cells(7, 8), *other]))
    assert sorted(rows["median"]) == [1.5, 3.5, 5.5, 7.5]


def test_a_page_without_an_estimate_moves_nothing() -> None:
    rows = over_pages(cells(100, math.nan, 300))
    assert rows["median"].tolist() == [200]
    assert rows["page"].tolist() == ["2 pages"]


def test_there_is_no_row_without_a_page() -> None:
    assert over_pages(cells(math.nan, math.nan)).empty


@pytest.mark.thorough
def test_an_overview_over_pages_that_no_protocol_shares_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of each page another protocol has a median."""
    monkeypatch.setattr(figures, "MOST_ROWS", 1)  # as with many pages
    made = Synthetic(rtts_ms=(50.0,), rates_mbps=(10.0,), protocols=("http1", "h2"))
    failed = {
        record["trial"]: "page-error"
        for record in made.records()
        if (record["condition"]["page"] == made.pages[0]) == (record["condition"]["protocol"] == "h2")
    }
    assert list(drawings(results(tmp_path / "whole", made))) == ["overview"]
    assert list(drawings(results(tmp_path / "apart", replace(made, outcomes=failed)))) == []


def test_all_protocols_are_of_the_same_pages() -> None:
    other = cells(1000, 2000, math.nan, protocol="http1")
    rows = over_pages(pd.concat([cells(1000, 2000, 9000), other])).to_dict("records")
    assert [(row["median"], row["pages"], row["page"]) for row in rows] == [(1500, 2, "2 pages")] * 2
    elsewhere = [cells(1, 2, 3, rtt_ms=50.0), cells(1, 2, 3, rtt_ms=50.0, protocol="http1")]
    both = over_pages(pd.concat([cells(1000, 2000, 9000), other, *elsewhere]))
    assert set(both["page"]) == {"2 to 3 pages"}


def test_a_page_that_timed_out_is_the_longest_one() -> None:
    other = cells(1000, 2000, math.inf, protocol="http1")
    rows = over_pages(pd.concat([cells(1000, 2000, 9000), other])).to_dict("records")
    assert [row["median"] for row in rows] == [2000, 2000]
    assert [row["high"] for row in rows] == [5500, math.inf]
    (late,) = over_pages(cells(1000, math.inf, math.inf)).to_dict("records")
    assert math.isnan(late["median"])


def test_links_without_a_rate_up_are_kept() -> None:
    assert len(over_pages(cells(100, 300, up_mbps=math.nan))) == 1


def test_a_name_that_is_too_long_for_a_file_is_clipped(tmp_path: Path) -> None:
    """Of two figures whose names differ at their ends alone."""
    made = Synthetic(
        pages=("p" * 100,),
        variants=(",".join(list(FILTERS)[:10]),),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(20.0, 50.0),
        trials=1,
        drivers=("playwright", "selenium"),
    )
    with plots.look():
        drawn = [each for each in figures.draw(results(tmp_path, made)) if each.name.startswith("plt_")]
        files = [plots.save(each.figure, tmp_path / "figures", each.name)["svg"] for each in drawn]
    assert len(set(files)) == 2
    assert [each.name[:104] for each in drawn] == ["plt_" + "p" * 100] * 2


def test_claims_that_are_not_drawn_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Synthetic(
        pages=("one",),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=tuple(10.0 * n for n in range(1, 31)),
        trials=1,
    )
    evaluated = results(tmp_path, made)
    with plots.look():
        whole = [drawing.caption for drawing in figures.claims(evaluated)]
        monkeypatch.setattr(
            figures, "MOST_ROWS", claimcharts.MOST_ROWS
        )  # one figure: 24 titles, a row below each
        (first,) = (drawing.caption for drawing in figures.claims(evaluated))
    assert len(whole) == 2
    assert all(caption.startswith("Every claim against its reference") for caption in whole)
    assert not any("not drawn" in caption for caption in whole)
    assert tells(first, "6 further settings", "not drawn")
    assert "Every claim" not in first


def test_bars_of_filters_are_said_to_be_wider_where_something_was_found(tmp_path: Path) -> None:
    made = Synthetic(
        pages=("one",),
        variants=("plain", "core", "rewrite_css", "core,-rewrite_css"),
        protocols=("h2",),
        rates_mbps=(10.0,),
        rtts_ms=(50.0,),
    )
    captions = [drawing.caption for drawing in figures.filter_effects(results(tmp_path, made))]
    assert len(captions) == 1
    assert tells(captions[0], "95 % intervals", WIDER)


@pytest.mark.thorough
def test_servers_of_one_protocol_never_share_a_figure_of_variants(tmp_path: Path) -> None:
    made = Synthetic(("dummy-2012",), ("plain", "core"), ("http1", "h2"), rates_mbps=(10.0,), trials=2)
    runs = [
        made.write(tmp_path / "apache"),
        replace(made, rtts_ms=(20.0, 50.0), seed=1).write(tmp_path / "nginx"),
    ]
    edit(runs[1], lambda record: record | {"condition": record["condition"] | {"server": "nginx"}})
    found = drawings(evaluate([load(run) for run in runs]))
    assert set(found) == {f"variants_dummy-2012-10-mbit-s-{server}" for server in ("apache", "nginx")}
    for name, drawing in found.items():
        assert name.rpartition("-")[2] in drawing.caption
        joined = [line for line in drawing.figure.axes[0].lines if len(np.asarray(line.get_xdata())) > 1]
        times = {tuple(np.asarray(line.get_xdata())) for line in joined if line.get_linestyle() != "None"}
        assert times == {(20.0, 50.0) if name.endswith("nginx") else (20.0, 50.0, 100.0, 200.0)}


def test_a_line_that_would_hold_two_estimates_at_one_rtt_is_refused() -> None:
    twice = cells(1.0, 2.0, protocol="h2", rtt_ms=20.0)
    axes, styles = plots.new(3, 2).subplots(), protocol_styles(["h2"])
    with pytest.raises(ValueError, match="duplicate"):
        plots.lines(axes, twice, styles, plots.unit_of(2.0), [20.0], 3.0)

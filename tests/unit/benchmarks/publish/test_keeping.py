"""What is kept of a report: small files whose cells a document can quote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.evaluation.results import evaluate
from analysis.report.report import build
from analysis.runs.rundirectory import load
from benchmarks.publish.document import read, renewed
from benchmarks.publish.editions import RepeatedStudy
from benchmarks.publish.keeping import keep, keep_changes, said_of_the_run
from benchmarks.publish.smalltables import medians_by_run, small, small_tables, text
from harness.study.claim import Claim
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.unit.analysis.synthetic import Synthetic

CLAIMS = tuple(
    Claim(name=name, subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=0.95)
    for name in ("fewer trips", "100 % faster")
)
FIGURE = StudyFigure(
    name="1",
    title="Figure 1",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"})),
    metric="plt_ms",
)
RUN = Synthetic(
    pages=("dummy-2012",),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    claims=CLAIMS,
    figures=(FIGURE,),
)


@pytest.mark.thorough
def test_the_files_of_a_study_hold_what_its_report_says(tmp_path: Path) -> None:
    run, docs = RUN.write(tmp_path / "run"), tmp_path / "docs"
    build([run])
    (docs / "reproduction").mkdir(parents=True)
    (docs / "reproduction" / "mine.old.csv").write_text("row\n")
    (docs / "reproduction" / "mine-quick.run.csv").write_text("row\n")
    keep(
        "mine",
        evaluate([load(run)]),
        run,
        docs / "reproduction",
        RepeatedStudy("mine", (), tables=("loads",)),
    )
    kept = {path.name for path in (docs / "reproduction").iterdir()}
    assert kept == {
        "mine.claims.csv",
        "mine.claims.svg",
        "mine.run.csv",
        "mine.differs.csv",
        "mine.figures.csv",
        "mine.figure-1.csv",
        "mine.loads.csv",
        "mine.study-1.svg",
        "mine-quick.run.csv",
    }
    (drawn,) = read(docs / "reproduction" / "mine.figures.csv").values()
    assert (drawn["row"], drawn["title"]) == ("study-1", "Figure 1")
    assert drawn["caption"].startswith("Page-load time, medians.")
    claims = read(docs / "reproduction" / "mine.claims.csv")
    assert [*claims] == [
        *("fewer-trips-20-ms-rtt", "fewer-trips-100-ms-rtt"),
        *("100-faster-20-ms-rtt", "100-faster-100-ms-rtt"),
    ]
    full = pd.read_csv(run / "tables" / "claims.csv")
    assert claims["fewer-trips-20-ms-rtt"]["ratio"] == f"{full['ratio'][0]:.3f}"
    assert claims["fewer-trips-20-ms-rtt"]["interval"] == f"[{full['low'][0]:.3f} to {full['high'][0]:.3f}]"
    assert read(docs / "reproduction" / "mine.run.csv")["attempts"]["value"] == "20"
    loads, full = (
        read(docs / "reproduction" / "mine.loads.csv"),
        pd.read_csv(run / "tables" / "median-times.csv"),
    )
    assert [*loads] == [f"{protocol}-{rtt}" for rtt in (20, 100) for protocol in ("http1", "h2")]
    assert [row["median_ms"] for row in loads.values()] == [text(value) for value in full["median_ms"]]
    assert {row["n"] for row in loads.values()} == {"5"}
    link = "(reproduction/mine.claims.csv#100-faster-100-ms-rtt.n)"
    assert renewed(f"[0]{link}", docs, docs / "reproduction") == f"[5]{link}"


def test_what_engines_change_is_kept_over_pages_and_page_by_page(tmp_path: Path) -> None:
    made = Synthetic(
        protocols=("http1", "h2"), rtts_ms=(50.0,), engines=("chromium", "firefox"), claims=CLAIMS[:1]
    )
    run = load(made.write(tmp_path / "run"))
    pages = {
        page: evaluate([replace(run, records=run.records[run.records["page"] == page])])
        for page in made.pages
    }
    keep_changes("mine", evaluate([run]), pages, tmp_path)
    assert not [*tmp_path.glob("*.factors*.csv")]
    whole, by_page = (read(tmp_path / f"mine.engines{part}.csv") for part in ("", "-by-page"))
    assert {row["engine"] for row in (*whole.values(), *by_page.values())} == {"firefox"}
    assert [row["page"] for row in by_page.values()] == [page for page in made.pages for _ in made.rates_mbps]
    row = next(iter(by_page.values()))
    change = float(row["ratio"]) / float(row["usual_ratio"])
    assert float(row["change_ratio"]) == pytest.approx(change, abs=0.002)


def test_published_values_and_figures_are_kept(tmp_path: Path) -> None:
    published = {
        "claim": ["a", "a", "b"],
        "text": ["as fast"] * 3,
        "stands": ["figure 1"] * 3,
        "where": ["20 ms", "100 ms", None],
        "published_low": [0.9, 0.6, None],
        "published_high": [1.1, 0.6, 1.0],
        "tolerance": [0.05, 0.05, 0.0],
        "differs": ["the server"] * 2 + [None],
        "here": [1.0123456, 0.61, 0.5],
        "low": [0.99, 0.6, None],
        "high": [1.03, 0.62, None],
        "n": [5, 6, 0],
        "verdict": ["reproduced", "not reproduced", "reproduced"],
    }
    pd.DataFrame(published).to_csv(tmp_path / "published.csv", index=False)
    pd.DataFrame({"claim": ["x", "y"], "low": [0.99, None], "high": [1.01, None]}).to_csv(
        tmp_path / "claims.csv", index=False
    )
    points = {"rtt_ms": [20.0, 20.0], "series": ["SPDY", "HTTP"], "n": [5, 5]}
    points |= {
        "value": [1234.567, 0.5],
        "low": [1200.1, 0.4],
        "high": [1300.0, 0.6],
        "interval": ["exact"] * 2,
    }
    pd.DataFrame(points).to_csv(tmp_path / "figure-1.csv", index=False)
    found = dict(small_tables(tmp_path))
    assert [*found] == ["published", "claims", "claims-in-short", "figure-1"]
    assert [*found["claims"]["half_width"]] == ["1.0 %", ""]
    assert found["claims-in-short"].to_dict("records") == [
        {
            "row": "a",
            "text": "as fast",
            "stands": "figure 1",
            "published": "0.900 to 1.100, within 5 %",
            "here": "0.610 to 1.012",
            "n": "5 to 6",
            "verdict": "reproduced 1, not reproduced 1",
            "differs": "the server",
        },
        {
            "row": "b",
            "text": "as fast",
            "stands": "figure 1",
            "published": "below 1",
            "here": "0.500",
            "n": "0",
            "verdict": "reproduced",
            "differs": "",
        },
    ]
    assert [*found["published"]["row"]] == ["a-20-ms", "a-100-ms", "b"]
    assert [*found["published"]["published"]] == ["0.900 to 1.100", "0.600", "below 1"]
    assert [*found["published"]["interval"]] == ["[0.990 to 1.030]", "[0.600 to 0.620]", ""]
    assert found["figure-1"].to_dict("records") == [
        {
            "row": "20-spdy",
            "rtt_ms": "20",
            "series": "SPDY",
            "n": "5",
            "value": "1235",
            "low": "1200",
            "high": "1300",
        },
        {
            "row": "20-http",
            "rtt_ms": "20",
            "series": "HTTP",
            "n": "5",
            "value": "0.500",
            "low": "0.400",
            "high": "0.600",
        },
    ]


def test_what_a_factor_changes_is_kept_with_both_intervals(tmp_path: Path) -> None:
    ratios = {
        "ratio": [0.6],
        "low": [0.59],
        "high": [0.61],
        "usual_ratio": [0.75],
        "usual_low": [0.74],
        "usual_high": [0.76],
    }
    changes = {"change_ratio": [0.8], "change_low": [0.79], "change_high": [0.81]}
    named = {"claim": ["SPDY against HTTP"], "factor": ["initial window 3"], "n": [4], "verdict": ["faster"]}
    pd.DataFrame(named | ratios | changes).to_csv(tmp_path / "factors.csv", index=False)
    (row,) = dict(small_tables(tmp_path))["factors"].to_dict("records")
    assert row["row"] == "spdy-against-http-initial-window-3"
    intervals = [row[name] for name in ("interval", "usual_interval", "change_interval")]
    assert intervals == ["[0.590 to 0.610]", "[0.740 to 0.760]", "[0.790 to 0.810]"]


def test_the_page_rate_of_a_crowd_is_kept_by_its_condition(tmp_path: Path) -> None:
    named = {"page": ["icons"] * 2, "protocol": ["http1", "h2"], "factor": ["usual", "short queue"]}
    seen = {"pages_per_s": [4.46667, 29.8], "pages_per_s_low": [4.2, None], "pages_per_s_high": [4.7, None]}
    pd.DataFrame(named | seen | {"trials": [3, 1]}).to_csv(tmp_path / "crowds.csv", index=False)
    first, second = dict(small_tables(tmp_path))["crowds"].to_dict("records")
    assert (first["row"], first["pages_per_s"], first["from_to"]) == (
        "http1-usual",
        "4.467",
        "[4.200 to 4.700]",
    )
    assert (second["row"], second["from_to"], second["n"]) == ("h2-short-queue", "", "1")


def test_a_place_is_kept_where_runs_differ_in_their_verdict(tmp_path: Path) -> None:
    seen = {
        "claim": ["a", "a", "b", "b"],
        "where": ["20 ms", "20 ms", None, None],
        "run": ["run1", "run2"] * 2,
        "n": [4, 6, 4, 6],
        "here": [0.92, 0.94, 0.7, 0.75],
        "low": [0.9, 0.93, 0.69, None],
        "high": [0.93, 0.95, 0.71, None],
        "verdict": ["reproduced", "reproduced", "same direction", "not known yet"],
    }
    pd.DataFrame(seen).to_csv(tmp_path / "published-by-run.csv", index=False)
    (row,) = dict(small_tables(tmp_path))["runs-differ"].to_dict("records")
    assert (row["row"], row["claim"], row["where"]) == ("b", "b", "")
    first, second = row["runs"].split("; ")
    assert first == "run1: same direction, 0.700 [0.690 to 0.710]"
    assert second == "run2: not known yet, 0.750"


def test_how_far_two_runs_are_apart_is_kept_by_condition(tmp_path: Path) -> None:
    made = replace(RUN, claims=None, figures=(), noise=0.001, aa=True)
    other = replace(made, seed=7, factors={"h2": 1.05})
    runs = [load(each.write(tmp_path / name)) for name, each in (("one", made), ("other", other))]
    by_run, apart = medians_by_run(evaluate(runs))
    assert [*by_run] == ["row", "protocol", "rtt_ms", "run_1", "run_2", "apart"]
    assert [*by_run["row"]] == ["http1-20", "h2-20", "http1-100", "h2-100"]
    assert dict(zip(apart["row"], apart["value"], strict=True))["conditions"] == "4"
    told = dict(
        zip(
            by_run["protocol"] + by_run["rtt_ms"],
            by_run["apart"].str.removesuffix(" %").map(float),
            strict=True,
        )
    )
    assert told["http120"] < 2.5 < told["h220"] < 7.5
    part = load(replace(other, protocols=("http1",)).write(tmp_path / "part"))
    by_run, apart = medians_by_run(evaluate([runs[0], part]))
    assert (
        [bool(cell) for cell in by_run["run_2"]]
        == [bool(cell) for cell in by_run["apart"]]
        == [True, False] * 2
    )
    assert dict(zip(apart["row"], apart["value"], strict=True))["conditions"] == "2"
    first = runs[0].records.query("protocol == 'h2' and rtt_ms == 20")["plt_ms"]
    assert f"{text(first.median())} ({text(first.min())} to {text(first.max())})" in set(by_run["run_1"])


def test_it_is_counted_of_how_many_ratios_the_intervals_of_all_runs_meet(tmp_path: Path) -> None:
    """Over HTTP/2 loads of the other run take a fifth longer at one of the two round-trip times."""
    made = replace(RUN, claims=CLAIMS[:1], figures=(), noise=0.001)
    runs = [load(made.write(tmp_path / "one")), load(replace(made, seed=7).write(tmp_path / "other"))]
    counted = said_of_the_run(evaluate(runs)).set_index("row")["value"]
    assert (counted["ratios-of-each-run"], counted["ratios-that-meet"]) == ("2", "2")
    slower = runs[1].records.query("protocol == 'h2' and rtt_ms == 20").index
    runs[1].records.loc[slower, "plt_ms"] *= 1.2
    counted = said_of_the_run(evaluate(runs)).set_index("row")["value"]
    assert (counted["ratios-of-each-run"], counted["ratios-that-meet"]) == ("2", "1")
    assert "ratios-of-each-run" not in set(said_of_the_run(evaluate(runs[:1]))["row"])


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.71344, "0.713"),
        (1534.2, "1534"),
        (42.06, "42.1"),
        (3.0, "3"),
        (float("nan"), ""),
        (None, ""),
        ("a\n b", "a b"),
    ],
)
def test_numbers_have_the_digits_that_a_reader_needs(value: object, shown: str) -> None:
    assert text(value) == shown


def test_rows_that_a_reader_could_not_tell_apart_are_refused() -> None:
    frame = pd.DataFrame({"claim": ["a", "a"], "page": ["one", "two"], "ratio": [0.9, 1.1]})
    assert small(frame, ["claim", "page", "ratio"], ["claim", "page"])["row"].tolist() == ["a-one", "a-two"]
    with pytest.raises(ValueError, match=r"rows of one name: a$"):
        small(frame, ["claim", "ratio"], ["claim"])


@pytest.mark.thorough
def test_tables_that_a_study_asks_for_tell_filters_and_waits(tmp_path: Path) -> None:
    factorial = Synthetic(
        pages=("dummy-2012",),
        variants=("plain", "minify", "rewrite_css", "minify,-rewrite_css"),
        protocols=("http1", "h2"),
        rates_mbps=(10.0,),
        rtts_ms=(100.0,),
        waits=True,
    )
    run = factorial.write(tmp_path / "run")
    build([run])
    study = RepeatedStudy("mine", (), tables=("effects", "waits"))
    keep("mine", evaluate([load(run)]), run, tmp_path / "docs", study)
    effects = read(tmp_path / "docs" / "mine.effects.csv")
    assert {*effects} == {"minify-http1", "minify-h2", "rewrite-css-http1", "rewrite-css-h2"}
    whole, part = effects["minify-h2"], effects["rewrite-css-h2"]
    full = pd.read_csv(run / "tables" / "effects.csv")
    minified = full[(full["protocol"] == "h2") & (full["way"] == "together")].iloc[0]
    assert (whole["together"], whole["n"]) == (text(minified["ratio"]), "5")
    assert (whole["alone"], part["together"]) == ("", "")
    for way, column in (("alone", "alone"), ("among the others", "among_the_others")):
        of_way = full[(full["protocol"] == "h2") & (full["way"] == way)].iloc[0]
        assert part[column] == text(of_way["ratio"])
        assert part[f"{column}_interval"] == f"[{text(of_way['low'])} to {text(of_way['high'])}]"
    waits = read(tmp_path / "docs" / "mine.waits.csv")
    full = pd.read_csv(run / "tables" / "waits.csv")
    down = full[(full["protocol"] == "h2") & (full["variant"] == "plain") & (full["waiting"] == "down")].iloc[
        0
    ]
    assert waits["plain-h2-down"]["ms"] == text(down["ms"])
    assert waits["plain-h2-down"]["share"] == f"{100 * down['share']:.0f} %"

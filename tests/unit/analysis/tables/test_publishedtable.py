"""The table of published claims: what stands in its cells, and its place in a report."""

from __future__ import annotations

import csv
import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.claims.claimresult import ClaimVerdict
from analysis.evaluation.results import Results, evaluate
from analysis.report.report import build, render
from analysis.runs.rundirectory import load
from analysis.tables.claimtables import MOST_RUNS, claims_by_run
from analysis.tables.publishedtable import (
    published,
    published_by_page,
    published_by_run,
    published_text,
    summary,
    value_text,
)
from analysis.tables.tables import tables_of
from harness.study.claim import Claim, Publication, Published
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd

RATIO = Claim(
    name="ratio", subject={"protocol": "h2"}, reference={"protocol": "http1"}, where={"rtt_ms": (20.0,)}
)
BYTES = Claim(
    name="bytes", subject={"protocol": "h2"}, metric="bytes_down", where={"rtt_ms": (20.0,)}, at_most=2e6
)


def claim(name: str, compared: Claim | None = None, **said: Any) -> Claim:
    published = Published(text=f"<b>{name}</b>", stands="figure 1", **said)
    if compared is None:
        return Claim(name=name, published=published)
    return replace(compared, name=name, published=published)


PAPER = Publication(
    title="A paper",
    source="Somebody & others, 2012",
    differs=("another browser",),
    claims=(
        claim("half", RATIO, low=0.01, high=2.0, figure="1", differs="no TLS"),
        claim("bytes", BYTES, low=1e6, high=2e6, tolerance=0.05),
        claim("memory", not_comparable="not told"),
    ),
)
FIGURE = StudyFigure(
    name="1",
    title="Figure 1: <i>pages</i>",
    kind=FigureKind.LINES,
    x="rtt_ms",
    series=(FigureSeries({"protocol": "http1"}), FigureSeries({"protocol": "h2"})),
    metric="plt_ms",
)
MADE = Synthetic(
    pages=("dummy-2012",),
    protocols=("http1", "h2"),
    rates_mbps=(10.0,),
    rtts_ms=(20.0, 100.0),
    claims=(RATIO,),
    figures=(FIGURE,),
    published=PAPER,
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluate([load(MADE.write(tmp_path_factory.mktemp("runs") / "run"))])


def test_a_row_says_what_was_published_and_what_came_out(results: Results) -> None:
    table = published(results)
    assert table is not None
    ratio, size, memory = table.rows
    assert [cell.text for cell in ratio[:4]] == ["<b>half</b>", "figure 1", "20 ms RTT", "0.01 to 2"]
    assert re.fullmatch(r"0\.\d{3}", ratio[4].text)
    assert re.fullmatch(r"\[0\.\d{3}–0\.\d{3}\]", ratio[4].aside)  # noqa: RUF001 - as it is printed
    assert [cell.text for cell in ratio[5:]] == ["5", "reproduced", "1", "no TLS"]
    assert ratio[7].link == "#figure-study-1"
    assert [size[2].text, size[3].text] == ["HTTP/2 (TLS), 20 ms RTT", "1,000 kB to 2,000 kB, 5 % either way"]
    assert [memory[column].text for column in (4, 6)] == ["–", "not comparable"]  # noqa: RUF001
    assert memory[6].aside == "not told"
    assert tells(table.note, "3 published claims", "2 reproduced", "1 not comparable")


def test_the_estimate_is_that_of_the_studys_own_claim(results: Results) -> None:
    (own,), (row, *_) = results.claims, results.published
    assert own.comparison is not None
    assert row.interval == (own.comparison.ratio, own.comparison.low, own.comparison.high)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ({"low": 0.61, "high": 0.61}, "0.61"),
        ({"low": None, "high": 1.0}, "below 1"),
        ({"low": 2.0, "high": None}, "above 2"),
        ({"compared": BYTES, "low": 13_450.0, "high": 13_550.0}, "13.4 kB to 13.6 kB"),
        ({"compared": replace(BYTES, metric="connections"), "low": 4.0, "high": 6.0}, "4 to 6"),
        ({"compared": replace(BYTES, metric="plt_ms"), "low": 1100.0, "high": 1100.0}, "1,100 ms"),
    ],
)
def test_published_values_have_their_unit(said: dict[str, Any], text: str) -> None:
    assert published_text(claim("x", **({"compared": RATIO} | said))) == text


def test_rates_say_that_they_are_rates() -> None:
    rate = claim("x", replace(BYTES, metric="pages_per_s"), low=16.3, high=16.3)
    assert value_text(rate, 16.34) == "16.3 per second"


@pytest.mark.thorough
def test_the_report_opens_with_the_table_and_links_to_the_figure(tmp_path: Path) -> None:
    run = MADE.write(tmp_path / "run")
    report = build([run])
    assert summary(report.published).startswith("3 published claims")
    text = report.path.read_text()
    places = [text.index(f'id="{name}"') for name in ("in-short", "figure-study-1", "table-published", "run")]
    assert places == sorted(places)
    assert '<a href="#figure-study-1">1</a>' in text
    assert "Figure 1: &lt;i&gt;pages&lt;/i&gt;" in text
    assert "<b>half</b>" not in text
    assert "Somebody &amp; others, 2012" in text
    assert 'href="tables/figure-1.csv"' in text
    for suffix in ("svg", "pdf", "png"):
        assert (run / "figures" / f"study-1.{suffix}").is_file()
    for name in ("published", "figure-1"):
        for suffix in ("csv", "md", "tex"):
            assert (run / "tables" / f"{name}.{suffix}").is_file()
    with (run / "tables" / "published.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["verdict"] for row in rows] == ["reproduced", "reproduced", "not comparable"]
    assert text.count("<b>Figure 1.</b>") == 1  # the report's own figures keep their numbers


@pytest.mark.thorough
def test_two_runs_of_a_study_have_one_table(tmp_path: Path) -> None:
    runs = [load(replace(MADE, seed=seed).write(tmp_path / f"run{seed}")) for seed in (1, 2)]
    both = evaluate(runs)
    assert [row.claim.name for row in both.published] == ["half", "bytes", "memory"]
    seen = both.published[0].comparison
    assert seen is not None
    assert seen.n == 10


@pytest.mark.thorough
def test_each_page_of_a_claim_over_several_stands_alone(tmp_path: Path) -> None:
    pages = ("dummy-2012", "news-mobile", "agency")
    run = replace(MADE, pages=pages, figures=()).write(tmp_path / "run")
    of_all = evaluate([load(run)])
    table = published_by_page(of_all)
    assert table is not None
    assert list(zip(*(table.data[column] for column in ("claim", "page", "n")), strict=True)) == [
        ("half", page, 5) for page in sorted(pages)
    ]
    assert (table.data["low"] < table.data["here"]).all()
    told = of_all.published[0].interval
    assert told is not None
    assert told[0] == pytest.approx(math.exp(table.data["here"].map(math.log).mean()))
    assert published_by_page(evaluate([load(MADE.write(tmp_path / "alone"))])) is None
    assert 'id="table-published-by-page"' in render(of_all, tables_of(of_all), [])


@pytest.mark.thorough
def test_the_verdict_of_every_run_alone_stands_beside_that_of_all(tmp_path: Path) -> None:
    runs = [replace(MADE, seed=seed).write(tmp_path / f"run{seed}") for seed in (1, 2)]
    both = evaluate([load(run) for run in runs])
    alone = [evaluate([load(run)]).published for run in runs]
    assert [[row.interval for row in rows] for rows in both.published_by_run.values()] == [
        [row.interval for row in rows] for rows in alone
    ]
    table = published_by_run(both)
    assert table is not None
    assert table.head == ("Claim", "Where", "All runs", "run1", "run2")
    assert tells(table.note, "3 of 3 claims", "one verdict in all runs")
    assert list(table.data["run"]) == ["run1", "run2"] * 3
    assert published_by_run(evaluate([load(runs[0])])) is None
    assert 'id="table-published-by-run"' in render(both, tables_of(both), [])


@pytest.mark.thorough
def test_the_verdicts_of_many_runs_are_counted(tmp_path: Path) -> None:
    runs = [load(replace(MADE, seed=seed).write(tmp_path / f"run{seed}")) for seed in range(MOST_RUNS + 1)]
    table = published_by_run(evaluate(runs))
    assert table is not None
    assert table.head[-1] == "Runs alone"
    assert str(table.rows[0][-1]) == f"reproduced {MOST_RUNS + 1}"


def test_a_figure_that_is_not_drawn_is_named_without_a_link(tmp_path: Path) -> None:
    made = replace(MADE, figures=(replace(FIGURE, kind=FigureKind.TABLE),))
    table = published(evaluate([load(made.write(tmp_path / "run"))]))
    assert table is not None
    assert (table.rows[0][7].text, table.rows[0][7].link) == ("1", "")


def test_a_run_with_one_page_of_a_claim_over_many_has_no_verdict_on_it(tmp_path: Path) -> None:
    pages = ("dummy-2012", "news-mobile", "agency", "plain-text")
    whole = replace(MADE, pages=pages, figures=(), published=PAPER)
    one = replace(whole, pages=pages[:1], seed=7)
    runs = [load(made.write(tmp_path / name)) for name, made in (("whole", whole), ("one", one))]
    results = evaluate(runs)
    assert results.published[0].verdict is ClaimVerdict.REPRODUCED
    of_whole, of_one = (results.published_by_run[name][0] for name in ("whole", "one"))
    assert of_whole.verdict is ClaimVerdict.REPRODUCED
    assert (of_one.verdict, of_one.comparison) == (ClaimVerdict.UNKNOWN, None)
    assert tells([of_one.reason], "1 of 4 pages can be compared", "at least 3")
    table = published_by_run(results)
    assert table is not None
    assert tells(
        table.note, "2 of 6 claims", "one verdict in all runs"
    )  # the bytes of its page, and "memory"
    own = claims_by_run(results)
    assert own is not None
    assert list(own.data["of_pages"]) == [4, 1]
    assert str(own.rows[0][-1]).endswith(", 1 page")
    assert "page" not in str(own.rows[0][-2])


def test_a_run_without_published_claims_has_no_such_table(tmp_path: Path) -> None:
    assert published(evaluate([load(replace(MADE, published=None).write(tmp_path / "run"))])) is None


@pytest.mark.thorough
def test_a_value_at_a_number_of_users_is_read_off_the_buckets(tmp_path: Path) -> None:
    value = Claim(name="page", subject={"protocol": "http1"}, metric="page_ms", at_most=1100.0)
    asked = [claim(f"at {users}", value, low=1000.0, high=1200.0, at_users=users) for users in (100, 5000)]
    crowd = SyntheticCrowd(published=Publication(title="Users", source="2013", claims=tuple(asked)))
    reached, beyond = evaluate([load(crowd.write(tmp_path / "run"))]).published
    assert (reached.claim.subject, reached.claim.metric) == (value.subject, value.metric)
    assert reached.interval is not None
    assert 900 < reached.interval[0] < 2000
    assert tells([beyond.reason], "page_ms at 5000 users", "not observed")


@pytest.mark.thorough
def test_what_a_crowd_grew_by_and_in_units_of_a_smaller_one(tmp_path: Path) -> None:
    def at(metric: str, **users: int) -> Claim:
        value = Claim(name=metric, subject={"protocol": "http1"}, metric=metric, at_most=1.0)
        return claim(f"{metric} {users}", value, low=None, high=1.0, **users)

    asked = (
        at("pages_per_s", at_users=800),
        at("pages_per_s", at_users=120),
        at("pages_per_s", at_users=800, against_users=120),
        at("pages_per_s", at_users=120, since_users=60),
        at("pages_per_s", at_users=60),
    )
    crowd = SyntheticCrowd(published=Publication(title="Users", source="2013", claims=asked))
    rows = evaluate([load(crowd.write(tmp_path / "run"))]).published
    late, early, share, growth, half = ((row.interval or (math.nan,))[0] for row in rows)
    assert share == pytest.approx(late / early, rel=0.01)
    assert growth == pytest.approx(early - half, rel=0.01)
    assert rows[2].verdict is ClaimVerdict.REPRODUCED  # the rate falls past its best
    assert rows[2].comparison is not None

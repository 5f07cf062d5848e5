"""A report from run directories: report.html, figures and tables."""

from __future__ import annotations

import html
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.charts.figures import draw
from analysis.evaluation.results import Results, evaluate
from analysis.report import facts, summary
from analysis.report.report import build, render
from analysis.runs.rundirectory import load
from analysis.statistics import CONFIDENCE_WITH_LOOKS
from analysis.tables.tables import tables_of
from harness.errors import RecordsError
from harness.study.claim import Claim
from harness.study.figure import FigureKind, FigureSeries, StudyFigure
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, entitled, write_lines

pytestmark = pytest.mark.thorough

SMALL = Synthetic(protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0))
ONE_PAGE = replace(SMALL, pages=("dummy-2012",))
H2, HTTP1 = {"protocol": "h2"}, {"protocol": "http1"}
CLAIMS = (
    Claim(name="faster", subject=H2, reference=HTTP1),
    Claim(name="budget", subject=H2, at_most=5000.0),
)
RATIO = StudyFigure(
    name="ratio",
    title="HTTP/2",
    kind=FigureKind.POINTS,
    x="rtt_ms",
    series=(FigureSeries(HTTP1), FigureSeries(H2)),
    metric="plt_ms",
    reference=FigureSeries(HTTP1),
    where={"page": ("a",), "variant": ("plain",)},
)
LEVEL = re.compile(r"([\d.]+) % interval")
MEDIANS = {"median-times", "variants", "trials"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = SMALL.write(tmp_path_factory.mktemp("runs") / "small")
    report = build([run])
    assert (report.path, report.recorded, report.left_out) == (run / "report.html", 40, {})
    return run


def told_levels(results: Results) -> dict[str, str]:
    """By the kind of a table or figure that tells intervals: of how many per cent they are."""
    said = [(table.name, f"{table.title} {table.note}") for table in tables_of(results)]
    said += [(drawing.name.partition("_")[0], drawing.caption) for drawing in draw(results)]
    found: dict[str, set[str]] = {}
    for name, text in said:
        found.setdefault(name, set()).update(LEVEL.findall(text))
    return {name: level for name, levels in found.items() for level in levels}


def text(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


def undrawn(results: Results) -> str:
    """The page without its figures."""
    return render(results, tables_of(results), [])


def test_every_figure_is_in_the_report_and_on_disk(built: Path) -> None:
    names = {path.stem for path in (built / "figures").iterdir()}
    assert names == {
        *("head", "claims", "overview", "pairs", "order"),
        *(f"trials_{page}-10-mbit-s-{rtt}-ms-rtt" for page in SMALL.pages for rtt in (20, 100)),
    }
    for name in names:
        assert f'id="figure-{name}"' in text(built)
        for suffix in ("svg", "pdf", "png"):
            assert (built / "figures" / f"{name}.{suffix}").stat().st_size > 1000
    assert text(built).count("data:image/svg+xml;base64,") == len(names)


def test_the_report_fetches_nothing(built: Path) -> None:
    assert re.findall(r'(?:src|href)="(?!data:|figures/|tables/)[^"]*"', text(built)) == []
    assert "url(" not in text(built)


def test_tables_come_in_three_formats(built: Path) -> None:
    names = {"claims", "median-times", "comparisons", "traffic", "server", "other-times", "calibration"}
    assert {path.name for path in (built / "tables").iterdir()} == {
        f"{name}.{suffix}" for name in names for suffix in ("csv", "md", "tex")
    }
    times = pd.read_csv(built / "tables" / "median-times.csv")
    assert len(times) == 8
    records = load(built).records
    one = records.query("page == 'dummy-2012' and protocol == 'h2' and rtt_ms == 20")["plt_ms"].median()
    assert times.query("page == 'dummy-2012' and protocol == 'h2' and rtt_ms == 20")[
        "median_ms"
    ].item() == pytest.approx(one)
    assert len(pd.read_parquet(built / "records.parquet")) == len(records) == 40


def test_a_complete_run_says_so_by_silence(built: Path) -> None:
    assert "not complete" not in text(built)
    assert tells(text(built), "None", "all 40", "attempts")
    assert "Seed</dt><dd>2012" in text(built)


def test_a_run_that_looked_at_its_data_says_what_that_costs(tmp_path: Path) -> None:
    """In the methods, and wherever an interval is told; those of medians stay as they are."""
    made = replace(ONE_PAGE, pages=("a", "b", "c"), aa=True, waits=True)
    run = replace(made, variants=("plain", "core"), claims=CLAIMS, figures=(RATIO,)).write(tmp_path / "run")
    results = evaluate([load(run)])
    assert "looked at its data" not in render(results, [], [])
    calm = told_levels(results)
    header, *planned = (run / "plan.jsonl").read_text().splitlines()
    said = json.loads(header)
    looked = said | {"per_condition": said["per_condition"] | {"least": 3, "until": 0.02, "looks": [3, 4, 5]}}
    (run / "plan.jsonl").write_text("\n".join([json.dumps(looked), *planned, ""]))
    results = evaluate([load(run)])
    page = render(results, [], [])
    assert tells(page, "waited", f"{CONFIDENCE_WITH_LOOKS * 100:g} %")
    assert tells(page, "plain 97.5 % interval")
    looks = told_levels(results)
    assert {name for name, level in looks.items() if level == "95"} == MEDIANS
    assert calm == dict.fromkeys(looks, "95")
    assert {
        "claims",
        "equal-baselines",
        "comparisons",
        "effects",
        "waits",
        "waits-changed",
        "study-ratio",
    } < looks.keys()


def test_the_same_records_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    build([built], tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {name: (built / name).read_bytes() for name in made}
    assert len(made) == 2 + 9 * 3 + 7 * 3


def test_a_run_under_way_shows_how_far_it_got(tmp_path: Path) -> None:
    run = ONE_PAGE.write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:11]) + records[11][:50])
    provisional = build([run]).provisional
    assert tells(provisional, "11 of 20 trials", "recorded")
    assert tells(provisional, "holds for these")
    assert provisional in text(run)
    assert tells(text(run), "last line", "records.jsonl", "incomplete")
    assert tells(text(run), "too few", "interval")
    assert "not known yet" in text(run)


def test_a_run_that_was_ended_early_says_what_it_is_worth(tmp_path: Path) -> None:
    run = replace(ONE_PAGE, trials=16).write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[: len(records) // 4]))
    results = evaluate([load(run)])
    assert tells(facts.progress(results), "Intervals", "2.0 times", "wide")
    assert tells(undrawn(results), "unless", "ended", "because of what it showed")
    assert facts.progress(evaluate([load(ONE_PAGE.write(tmp_path / "whole"))])) == ""


def test_excluded_trials_are_counted(tmp_path: Path) -> None:
    outcomes = {"00001": "page-error", "00002": "page-error", "00003": "wrong-protocol"}
    run = replace(ONE_PAGE, rtts_ms=(20.0,), outcomes=outcomes).write(tmp_path / "run")
    assert build([run]).left_out == {"page-error": 2, "wrong-protocol": 1}
    assert tells(text(run), "3 of 10", "attempts", "excluded")
    assert pd.read_csv(run / "tables" / "exclusions.csv")["excluded"].sum() == 3


def test_attempts_left_out_of_a_condition_that_was_measured_again_are_told(tmp_path: Path) -> None:
    made = replace(ONE_PAGE, rtts_ms=(20.0,), aa=True)
    twin = next(record["trial"] for record in made.records() if record["condition"]["again"])
    run = replace(made, outcomes={twin: "page-error"}).write(tmp_path / "run")
    page = undrawn(evaluate([load(run)]))
    assert tells(page, "1 of 15", "attempts", "excluded")
    assert "HTTP/1.1 (again)" in page
    assert "None: all" not in page


def test_a_run_where_nothing_worked_still_reports(tmp_path: Path) -> None:
    every = {f"{n:05d}": "testbed-failed" for n in range(1, 21)}
    run = replace(ONE_PAGE, outcomes=every).write(tmp_path / "run")
    build([run])
    assert tells(text(run), "20 of 20", "attempts", "excluded")
    assert "nothing to draw" in text(run)


def test_one_record_is_enough(tmp_path: Path) -> None:
    run = ONE_PAGE.write(tmp_path / "run")
    write_lines(run / "records.jsonl", ONE_PAGE.records()[:1])
    build([run])
    assert tells(text(run), "1 of 20 trials", "recorded")
    assert tells(text(run), "conditions", "1 trial", "interval takes 3")


def test_names_are_escaped(tmp_path: Path) -> None:
    page, study = "<script>alert(1)</script>", "<img src=x> & $x_1$"
    run = Synthetic(pages=(page,), protocols=("http1", "h2"), rates_mbps=(1.0,), rtts_ms=(20.0,)).write(
        tmp_path / "run"
    )
    entitled(run, study)
    (run / "environment.json").write_text(json.dumps({"machine": {"<b>": "<i>"}}))
    build([run])
    for raw in (page, study, "<i>"):
        assert raw not in re.sub(r'<section id="method">.*?</section>', "", text(run), flags=re.S)
        assert html.escape(raw, quote=False) in text(run)


def test_runs_are_pooled_and_blocks_stay_apart(tmp_path: Path) -> None:
    runs = [
        replace(ONE_PAGE, seed=seed).write(tmp_path / where / "same-name")
        for seed, where in enumerate(("one", "two"))
    ]
    assert build(runs).path == runs[0] / "report.html"
    results = evaluate([load(run) for run in runs])
    assert results.cells["n"].eq(10).all()
    assert results.comparisons["n"].eq(10).all()
    assert tells(text(runs[0]), "Two runs", "intervals", "these runs alone")
    assert 'id="table-claims-by-run"' in text(runs[0])


def beside(run: Path) -> set[str]:
    """The tables and figures of a report."""
    return {f"{folder}/{path.name}" for folder in ("tables", "figures") for path in (run / folder).iterdir()}


def test_files_of_an_earlier_report_go_and_those_of_the_user_stay(tmp_path: Path) -> None:
    made = replace(ONE_PAGE, rtts_ms=(20.0,), trials=3)
    a = made.write(tmp_path / "a")
    b = replace(made, pages=("dummy-2012", "other"), seed=1).write(tmp_path / "b")
    build([a])
    alone = beside(a)
    build([a, b])
    more = beside(a) - alone
    assert {path.partition("/")[0] for path in more} == {"tables", "figures"}
    assert "tables/claims-by-run.tex" in more
    own = {"tables/notes.md", "tables/claims-2.csv", "figures/head-2.svg", "figures/claims.txt"}
    for path in (*own, "tables/claims-of-all.md"):  # the last one as an earlier version left it
        (a / path).write_text("mine")
    build([a])
    assert beside(a) == alone | own
    elsewhere = (a / "tables").rename(tmp_path / "elsewhere")
    (a / "tables").symlink_to(elsewhere)
    (elsewhere / "claims-by-run.csv").write_text("mine")
    build([a])
    assert (elsewhere / "claims-by-run.csv").is_file()


def test_three_runs_show_how_much_runs_differ(tmp_path: Path) -> None:
    made = replace(ONE_PAGE, rtts_ms=(20.0,), run_noise=0.02)
    runs = [replace(made, seed=seed).write(tmp_path / f"run-{seed}") for seed in (1, 2, 3)]
    build(runs, tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert tells(page, "comparison", "every run", "once")
    by_run = pd.read_csv(tmp_path / "out" / "tables" / "claims-by-run.csv")
    assert list(by_run["run"]) == ["run-1", "run-2", "run-3"]
    (row,) = pd.read_csv(tmp_path / "out" / "tables" / "claims.csv").to_dict("records")
    assert row["low"] < by_run["ratio"].min()
    assert row["high"] > by_run["ratio"].max()


def order(page: str) -> list[str]:
    return re.findall(r'<(?:section|figure) id="([a-z-]+)"', page)


def test_the_page_opens_with_the_claims_and_one_figure_of_them(tmp_path: Path) -> None:
    claim = Claim(name="h2", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=1.0)
    failed = {f"{n:05d}": "page-error" for n in (1, 2)}
    made = replace(SMALL, trials=10, aa=True, claims=(claim,), outcomes=failed, repeat=frozenset(failed))
    run = made.write(tmp_path / "run")
    build([run])
    page = text(run)
    found = order(page)
    assert found[:2] == ["in-short", "figure-head"]
    wanted = [
        "in-short",
        "figures",
        "comparisons-in-full",
        "nothing-left-out",
        "exploration",
        "tables",
        "links",
        "exclusions",
        "method",
    ]
    assert [name for name in found if name in wanted] == wanted
    for name in made.pages:
        assert tells(page, f"HTTP/2 (TLS) against HTTP/1.1, {name}, 20 ms RTT", "faster, by")
    assert tells(page, "below 1: holds")
    assert tells(page, "floor", "equal conditions", "up to")
    assert "Nothing counts" not in page
    attempts = pd.read_csv(run / "tables" / "attempts.csv")
    assert (attempts["repeated"].sum(), attempts["attempts"].sum() - attempts["trials"].sum()) == (2, 2)
    assert set(attempts["counted"]) == {10}  # blocks are whole
    assert set(attempts["reasons"]) <= {"page-error 1", "page-error 2"}


def test_exclusions_say_what_the_records_say(tmp_path: Path) -> None:
    run = replace(ONE_PAGE, rtts_ms=(20.0,), outcomes={"00001": "missing-objects"}).write(tmp_path / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    lines[0]["reason"] = "lost on the way: https://site.example/a.css (ERR_TIMED_OUT)"
    write_lines(run / "records.jsonl", lines)
    assert "lost on the way: https://site.example/a.css (ERR_TIMED_OUT)" in undrawn(evaluate([load(run)]))


def test_many_claims_have_a_sentence_each_and_long_tables_fold(tmp_path: Path) -> None:
    made = replace(SMALL, variants=("plain", "minify", "core"), rates_mbps=(1.0, 10.0), trials=5)
    results = evaluate([load(made.write(tmp_path / "run"))])
    assert len(results.claims) > summary.MOST_SENTENCES
    said = [each.text for each in summary.claims(results)]
    assert [text.partition(":")[0] for text in said] == [
        "HTTP/2 (TLS) against HTTP/1.1",
        "core against plain",
        "minify against plain",
    ]
    assert tells(said[1:2], "core against plain", "faster", "all 16 settings", "ratio 0.")
    page = render(results, tables_of(results), [])
    assert "<summary>48 rows</summary>" in page  # median times of 12 places stand side by side
    assert re.search(r'id="table-claims">.{0,900}?<div class="scroll"', page, flags=re.S)


def test_the_result_with_nothing_left_out_is_told_where_it_differs(tmp_path: Path) -> None:
    made = replace(ONE_PAGE, rtts_ms=(20.0,), trials=10)
    run = made.write(tmp_path / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for line in lines:
        if line["condition"]["protocol"] == "h2" and line["block"] <= 4:
            line |= {"plt_ms": 3 * line["plt_ms"], "foreign_cpu_share": 0.9, "client_thread_late_ms": 5000.0}
    write_lines(run / "records.jsonl", lines)
    results = evaluate([load(run)])
    assert len(results.sifted.excluded) == 4
    assert tells(summary.of_all(results), "1 of 1", "differ")
    (row,) = results.otherwise
    assert row[0].comparison is not None
    assert row[1].comparison is not None
    assert (row[0].comparison.n, row[1].comparison.n) == (6, 10)
    assert "is the same" in summary.of_all(replace(results, claims_of_all=results.claims))


def test_the_same_run_twice_is_refused(built: Path) -> None:
    with pytest.raises(RecordsError, match="given twice"):
        build([built, built / "." / ".." / built.name])
    with pytest.raises(RecordsError, match="no run was named"):
        build([])


@pytest.mark.parametrize("own", [0, 7], ids=["while the other went on", "went on, too"])
@pytest.mark.parametrize("copied", [20, 7], ids=["ended", "while it went on"])
def test_a_copy_of_a_run_is_no_further_run(copied: int, own: int, tmp_path: Path) -> None:
    """Its first failure after the copy gives columns other types; the later trials of a copy may be its own."""
    run = replace(ONE_PAGE, outcomes={"00012": "testbed-failed"}).write(tmp_path / "run")
    lines = (run / "records.jsonl").read_text().splitlines(keepends=True)
    copy = Path(shutil.copytree(run, tmp_path / "copy"))
    others = (ONE_PAGE.write(tmp_path / "other") / "records.jsonl").read_text().splitlines(keepends=True)
    (copy / "records.jsonl").write_text("".join(lines[:copied] + others[copied : copied + own]))
    for runs in ([run, copy], [copy, run]):
        with pytest.raises(
            RecordsError, match=rf"run 2 \(\w+\) holds {copied} records of run 1 \(\w+\): one is a copy"
        ):
            build(runs)


def test_a_place_that_cannot_be_written_is_named(built: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordsError, match="cannot write the report"):
        build([built], tmp_path / "file")

"""A report from run directories: report.html, figures and tables."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.report import build
from analysis.results import evaluate
from analysis.rundirectory import load
from harness.errors import RecordsError
from tests.unit.analysis.synthetic import Synthetic, write_lines

pytestmark = pytest.mark.thorough

SMALL = Synthetic(protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0, 100.0))
ONE_PAGE = replace(SMALL, pages=("dummy-2012",))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = SMALL.write(tmp_path_factory.mktemp("runs") / "small")
    report = build([run])
    assert (report.path, report.recorded, report.left_out) == (run / "report.html", 40, {})
    return run


def text(run: Path) -> str:
    return (run / "report.html").read_text(encoding="utf-8")


def test_every_figure_is_in_the_report_and_on_disk(built: Path) -> None:
    names = {path.stem for path in (built / "figures").iterdir()}
    assert names == {
        "overview",
        "plt_dummy-2012_plain_10mbps_playwright",
        "plt_news-mobile_plain_10mbps_playwright",
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
    names = {"median-times", "comparisons", "traffic", "server", "other-times", "calibration"}
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
    assert "None: all 40 recorded trials enter the estimates." in text(built)
    assert "Seed</dt><dd>2012" in text(built)


def test_the_same_records_give_the_same_bytes(built: Path, tmp_path: Path) -> None:
    build([built], tmp_path)
    made = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert made == {name: (built / name).read_bytes() for name in made}
    assert len(made) == 2 + 3 * 3 + 6 * 3


def test_a_run_under_way_shows_how_far_it_got(tmp_path: Path) -> None:
    run = ONE_PAGE.write(tmp_path / "run")
    records = (run / "records.jsonl").read_text().splitlines(keepends=True)
    (run / "records.jsonl").write_text("".join(records[:11]) + records[11][:50])
    build([run])
    assert "11 of 20 trials are recorded." in text(run)
    assert "The last line of records.jsonl is incomplete" in text(run)
    assert "too few for an interval" in text(run)
    assert "inconclusive" in text(run)


def test_excluded_trials_are_counted(tmp_path: Path) -> None:
    outcomes = {"00001": "page-timeout", "00002": "page-timeout", "00003": "wrong-protocol"}
    run = replace(ONE_PAGE, rtts_ms=(20.0,), outcomes=outcomes).write(tmp_path / "run")
    assert build([run]).left_out == {"page-timeout": 2, "wrong-protocol": 1}
    assert "3 of 10 recorded trials are excluded" in text(run)
    assert pd.read_csv(run / "tables" / "exclusions.csv")["excluded"].sum() == 3


def test_a_run_where_nothing_worked_still_reports(tmp_path: Path) -> None:
    every = {f"{n:05d}": "testbed-failed" for n in range(1, 21)}
    run = replace(ONE_PAGE, outcomes=every).write(tmp_path / "run")
    build([run])
    assert "20 of 20 recorded trials are excluded" in text(run)
    assert "there is nothing to draw" in text(run)


def test_one_record_is_enough(tmp_path: Path) -> None:
    run = ONE_PAGE.write(tmp_path / "run")
    write_lines(run / "records.jsonl", ONE_PAGE.records()[:1])
    build([run])
    assert "1 of 20 trials are recorded." in text(run)


def test_names_are_escaped(tmp_path: Path) -> None:
    page, study = "<script>alert(1)</script>", "<img src=x> & $x_1$"
    run = Synthetic(pages=(page,), protocols=("http1", "h2"), rates_mbps=(1.0,), rtts_ms=(20.0,)).write(
        tmp_path / "run"
    )
    (run / "study.toml").write_text(f"title = {json.dumps(study)}\n")
    (run / "environment.json").write_text(json.dumps({"machine": {"<b>": "<i>"}}))
    build([run])
    for raw in (page, study, "<i>"):
        assert raw not in text(run).replace("<i>faster</i>", "").replace("<i>slower</i>", "").replace(
            "<i>no difference", ""
        ).replace("<i>inconclusive", "")
        assert html.escape(raw, quote=False) in text(run)


def test_runs_are_pooled_and_blocks_stay_apart(tmp_path: Path) -> None:
    runs = [ONE_PAGE.write(tmp_path / where / "same-name") for where in ("one", "two")]
    assert build(runs).path == runs[0] / "report.html"
    results = evaluate([load(run) for run in runs])
    assert results.cells["n"].eq(10).all()
    assert results.comparisons["n"].eq(10).all()
    assert "Trials of 2 runs are pooled" in text(runs[0])


def test_the_same_run_twice_is_refused(built: Path) -> None:
    with pytest.raises(RecordsError, match="given twice"):
        build([built, built / "." / ".." / built.name])
    with pytest.raises(RecordsError, match="no run was named"):
        build([])


def test_a_place_that_cannot_be_written_is_named(built: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordsError, match="cannot write the report"):
        build([built], tmp_path / "file")

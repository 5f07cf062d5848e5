"""Reports of crowds and request rates: the page says what was measured, and runs of two kinds are no report."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from analysis.claims import junit
from analysis.claims.claimresult import ClaimVerdict
from analysis.evaluation.results import evaluate
from analysis.report import facts, summary
from analysis.report.report import build, render
from analysis.runs.rundirectory import load
from analysis.tables.tables import tables_of
from harness.cli.commands import main
from harness.errors import RecordsError
from harness.model.kind import Kind
from harness.study.claim import Claim
from harness.study.metrics import metrics_of
from tests.facts import tells
from tests.unit.analysis.synthetic import Synthetic, write_lines
from tests.unit.analysis.synthetic_capacity import SyntheticCrowd, SyntheticRate

pytestmark = pytest.mark.thorough

CROWD = SyntheticCrowd(protocols=("http1", "h2"), seconds=600.0, trials=5)
RATE = SyntheticRate(connections=(16,), made_by={"wrk": ("http1",), "h2load": ("http1", "h2")})
LOADS = Synthetic(pages=("p",), protocols=("http1", "h2"), rates_mbps=(10.0,), rtts_ms=(20.0,))
OF_PAGE_LOADS = re.compile(r"page-load|plt_ms|navigat|faster|slower|browser:", re.IGNORECASE)


def page(folder: Path, of: SyntheticCrowd | SyntheticRate) -> str:
    """The page without its figures."""
    results = evaluate([load(of.write(folder / "run"))])
    return html.unescape(render(results, tables_of(results), []))


def test_the_page_of_a_crowd_says_what_was_measured(tmp_path: Path) -> None:
    text = page(tmp_path, CROWD)
    for said in (
        "A crowd on one server, measured with coldload",
        "Every trial is one crowd on a server that has come to rest",
        "<b>Page rate</b> (<code>pages_per_s</code>) is the most pages a second in a bucket",
        "Page rate of HTTP/2 (TLS) against HTTP/1.1: higher, by",
        "Page rate relative to HTTP/1.1",
        "Below 1: lower than HTTP/1.1",
        "<dt>Generator</dt><dd>k6</dd>",
        "<dt>Load</dt><dd>users 1 to 1000 in 600 s</dd>",
        "Direction: lower or higher when",
        'id="table-crowds"',
    ):
        assert said in text
    assert OF_PAGE_LOADS.findall(text) == []


def test_the_page_of_request_rates_says_what_was_measured(tmp_path: Path) -> None:
    text = page(tmp_path, RATE)
    for said in (
        "Requests a second, measured with coldload",
        "Every trial is a closed loop",
        "<b>Request rate</b> (<code>requests_per_s</code>)",
        "2 generators: wrk and h2load.",
        "Request rate of HTTP/2 (TLS) against HTTP/1.1, h2load, depth 8: lower, by",
        "<dt>Load</dt><dd>connections 16; depth 1, 8</dd>",
        'id="table-rates"',
        "The run holds no reading of its links.",
    ):
        assert said in text
    assert OF_PAGE_LOADS.findall(text) == []


@pytest.mark.thorough
def test_a_report_of_either_kind_is_built_whole(tmp_path: Path) -> None:
    for name, of in (("crowd", CROWD), ("rate", RATE)):
        run = of.write(tmp_path / name)
        report = build([run])
        text = report.path.read_text()
        assert re.findall(r'(?:src|href)="(?!data:|figures/|tables/)[^"]*"', text) == []
        assert (run / "tables" / f"{name}s.tex").is_file()
        records = pd.read_parquet(run / "records.parquet")
        assert set(records["kind"]) == {"users" if name == "crowd" else "requests"}


@pytest.mark.parametrize(("of", "kind"), [(CROWD, Kind.USERS), (RATE, Kind.REQUESTS)])
def test_made_up_records_hold_what_trials_record(
    tmp_path: Path, of: SyntheticCrowd | SyntheticRate, kind: Kind
) -> None:
    run = of.write(tmp_path / "run")
    record = json.loads((run / "records.jsonl").read_text().splitlines()[0])
    assert metrics_of(kind).keys() <= record.keys()
    assert load(run).kind is kind


def test_runs_of_different_kinds_are_refused_in_one_line(tmp_path: Path) -> None:
    runs = [load(made.write(tmp_path / name)) for name, made in (("a", LOADS), ("b", CROWD), ("c", RATE))]
    for one, other in ((0, 1), (1, 2), (2, 0)):
        with pytest.raises(RecordsError, match=r"of kind \w+ .*of kind \w+; .*runs of one kind"):
            evaluate([runs[one], runs[other]])


def test_a_run_holds_records_of_one_known_kind(tmp_path: Path) -> None:
    run = RATE.write(tmp_path / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    for kind, first, said in (
        ("users", lines[:3], "a run is of one kind"),
        ("seances", [], "this version knows load, users, requests"),
    ):
        write_lines(run / "records.jsonl", [*first, {**lines[3], "kind": kind}])
        with pytest.raises(RecordsError, match=said):
            load(run)


def test_trials_of_a_saturated_generator_do_not_count(tmp_path: Path) -> None:
    run = RATE.write(tmp_path / "run")
    lines = [json.loads(line) for line in (run / "records.jsonl").read_text().splitlines()]
    lines[0]["limited_by"], lines[1]["foreign_cpu_share"] = "generator-cpu", 0.5
    write_lines(run / "records.jsonl", lines)
    results = evaluate([load(run)])
    left_out = {rule: count for rule, count in results.sifted.by_rule().items() if count}
    assert left_out == {"generator-saturated": 1, "busy-machine": 1}
    assert len(results.claims_of_all) == len(results.claims)


def test_claims_are_judged_by_what_they_name(tmp_path: Path) -> None:
    """Where more is better a ratio above 1 may be what is expected."""
    where = {"engine": ("h2load",)}
    made = replace(
        RATE,
        trials=6,
        claims=(
            Claim(
                name="depth pays",
                subject={"depth": 8},
                reference={"depth": 1},
                where=where,
                metric="requests_per_s",
                ratio_within=(2.0, 4.0),
            ),
            Claim(
                name="fast", subject={"protocol": "h2"}, metric="latency_p99_ms", at_most=0.001, where=where
            ),
        ),
    )
    results = evaluate([load(made.write(tmp_path / "run"))])
    depth = [row for row in results.claims if row.claim.name == "depth pays"]
    assert depth
    assert {row.verdict for row in depth} == {ClaimVerdict.HOLDS}
    assert "Request rate of depth 8 against depth 1" in depth[0].sentence
    assert "higher, by" in depth[0].sentence
    failed = [row for row in results.claims if row.claim.name == "fast"]
    assert {row.verdict for row in failed} == {ClaimVerdict.FAILS}
    cases = [junit.case_of(row, results.wording) for row in results.claims]
    assert b'failures="2"' in junit.suite(cases, "made up")
    table = next(each for each in tables_of(results) if each.name == "claims")
    assert set(table.data.loc[table.data["claim"] == "depth pays", "known"]) == {"higher"}


def test_equal_baselines_give_a_floor_of_the_main_metric(tmp_path: Path) -> None:
    results = evaluate([load(CROWD.write(tmp_path / "run"))])
    (twin,) = results.twins.to_dict("records")
    assert twin["ratio"] == pytest.approx(1, abs=0.1)
    assert tells(summary.floor(results), "equal conditions", "up to")
    assert results.claims[0].floor is not None


def test_the_head_names_what_varies(tmp_path: Path) -> None:
    results = evaluate([load(RATE.write(tmp_path / "run"))])
    found = dict(facts.facts(results))
    assert found["Design"] == "1 page, 2 protocols, 1 server"
    assert found["Generator"] == "wrk; h2load"
    assert "Browser" not in found


def lowered(run: Path, metric: str, factor: float) -> None:
    path = run / "records.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    write_lines(path, [{**line, metric: line[metric] * factor} for line in lines])


def test_compare_takes_the_main_metric_and_fails_on_what_is_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a = RATE.write(tmp_path / "a")
    for name, factor, code in (("less", 0.8, 1), ("more", 1.2, 0)):
        b = replace(RATE, seed=7).write(tmp_path / name)
        lowered(b, "requests_per_s", factor)
        assert main(["compare", str(a), str(b), "--fail-on", "5"]) == code
        told = capsys.readouterr().out
        assert "Request rate" in told
        assert (" less than the " in told) == (code == 1)
        assert (" more than the " in told) == (code == 0)
        outcome = "above, exit code 1: 6 of 6: " if code else "within, exit code 0: "
        assert f"--fail-on 5 %: {outcome}" in told
        assert "slower" not in told


def test_compare_refuses_a_metric_of_another_kind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = RATE.write(tmp_path / "a"), replace(RATE, seed=7).write(tmp_path / "b")
    assert main(["compare", str(a), str(b), "--metric", "plt_ms"]) == 2
    assert "metric: unknown 'plt_ms'" in capsys.readouterr().err
    assert main(["compare", str(a), str(CROWD.write(tmp_path / "c"))]) == 2
    assert "runs of one kind" in capsys.readouterr().err


def test_a_comparison_for_programs_names_directions_as_people_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    a, b = RATE.write(tmp_path / "a"), replace(RATE, seed=7).write(tmp_path / "b")
    lowered(b, "requests_per_s", 0.8)
    assert main(["compare", str(a), str(b), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["metrics"] == ["requests_per_s"]
    assert {each["verdict"] for each in told["conditions"]} == {"lower"}

"""`coldload compare` on run directories: what it says, its exit codes, and one line for what it refuses."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.cli.commands import main
from harness.study.claim import Claim
from tests.facts import tells
from tests.unit.analysis.runpairs import (
    STUDY,
    claim_all,
    edit,
    made_with,
    measured_twice,
    slower,
    two_runs,
)

pytestmark = pytest.mark.thorough

SMALL = replace(STUDY, pages=("one",))
Capture = pytest.CaptureFixture[str]


def said(capsys: Capture, *words: object) -> tuple[int, str, str]:
    """Exit code, output and errors of a command line."""
    code = main(["compare", *map(str, words)])
    found = capsys.readouterr()
    return code, found.out, found.err


def refused(capsys: Capture, *words: object) -> str:
    """The one line by which it is refused."""
    code, out, err = said(capsys, *words)
    assert (code, out) == (2, "")
    assert err.startswith("coldload compare: ")
    assert err.count("\n") == 1
    return err


def test_runs_are_told_apart_condition_by_condition(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, slower(1.06, protocol="h2"))
    made_with(b, programs={"chromium": "Chromium 1000.0", "apache": None})
    measured_twice(a, 1.002)
    code, out, err = said(capsys, a, b)
    assert (code, err) == (0, "")
    head = " ".join(out[: out.index("B: ")].split())
    assert head.startswith(f"A: {a} ")
    assert all(fact in head for fact in ("made-up", "2026-01-01 00:01 UTC", "160 attempts", "0 left out"))
    assert "  programs.chromium: Chromium 999.0 | Chromium 1000.0\n" in out
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    places = {place: lines[n + 1] for n, place in enumerate(lines) if place.startswith(("one, ", "two, "))}
    assert len(places) == 16
    assert all(("B takes 0.0" in line) == (", h2," in name) for name, line in places.items())
    assert all(line.startswith("  Load  ") for line in places.values())
    further = ("64 further metrics", "without a change or not known yet")
    assert tells(out, *further)  # of five on both sides in 16 conditions
    assert tells(out, "Not observed in A", "not compared", "blocked time")
    assert tells(out, "equal conditions", "up to 0.2 %", "inside a run (A/A)")
    assert tells(out, "One pair of runs cannot show")


def test_a_few_conditions_are_told_in_each_metric_that_a_visitor_feels(
    tmp_path: Path, capsys: Capture
) -> None:
    a, b = two_runs(tmp_path, slower(1.06), replace(SMALL, protocols=("h2",), rtts_ms=(50.0,)))
    _, out, _ = said(capsys, a, b)
    lines = out.splitlines()[out.splitlines().index("one") + 1 :][:5]
    told = {line[2:17].strip(): line[17:] for line in lines}
    assert list(told) == ["First paint", "Largest paint", "Load", "Bytes", "Requests"]
    assert tells([told["Load"]], "more", "0.61 s with A")
    assert told["First paint"].startswith("B changes the 0.2")
    assert told["Requests"] == "the same, 24 in both"


@pytest.mark.parametrize(
    ("by", "limit", "code"),
    [
        (1.06, "3", 1),
        (1.06, "0", 1),
        (1.06, "3%", 1),
        (1.06, "20", 0),
        (1.06, "5.5", 4),
        (1.0, "0", 4),
        (0.9, "3", 0),
    ],
)
def test_the_exit_code_follows_fail_on(
    by: float, limit: str, code: int, tmp_path: Path, capsys: Capture
) -> None:
    a, b = two_runs(tmp_path, slower(by, protocol="h2"), SMALL)
    found, out, _ = said(capsys, a, b, "--metric", "plt_ms", "--fail-on", limit)
    last = " ".join(out[out.rindex("--fail-on") :].split())
    outcome = {0: "within", 1: "above", 4: "not known"}[code]
    assert found == code
    assert last.startswith(f"--fail-on {limit.strip('%')} %: {outcome}, exit code {code}: ")
    assert ("one, h2, 10mbps-50ms: load, above" in last) == (by > 1 and code != 0)
    assert ("in part" in last) == (code == 4)


@pytest.mark.parametrize("lines", [0, 1])
@pytest.mark.parametrize(("limit", "code"), [("3", 1), ("20", 0), ("5.5", 4)])
def test_the_exit_code_follows_fail_on_also_when_the_reader_has_gone(
    limit: str, code: int, lines: int, tmp_path: Path
) -> None:
    a, b = two_runs(tmp_path, slower(1.06, protocol="h2"), SMALL)
    words = ("compare", str(a), str(b), "--metric", "plt_ms", "--fail-on", limit)
    command = [sys.executable, "-m", "harness.cli", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        for _ in range(lines):
            process.stdout.readline()
        process.stdout.close()
        assert (process.wait(), process.stderr.read()) == (code, b"")


def test_a_condition_that_lost_its_data_fails(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(b, lambda each: each | ({"outcome": "page-error"} if each["condition"]["protocol"] == "h2" else {}))
    code, out, _ = said(capsys, a, b, "--fail-on", "3")
    assert code == 1
    assert "load, no data in B" in out
    assert tells(out, "not known", "no value in B", "[no data in B]")


@pytest.mark.parametrize(
    ("lost", "without"),
    [
        ("first paint, no data in B", {"fcp_ms": None, "lcp_ms": None}),
        ("load, no data in B", {"outcome": "page-error"}),
    ],
)
def test_a_run_that_never_paints_or_never_loads_fails(
    lost: str, without: dict[str, object], tmp_path: Path, capsys: Capture
) -> None:
    a, b = two_runs(tmp_path, study=replace(SMALL, protocols=("h2",), rtts_ms=(50.0,)))
    edit(b, lambda each: each | without)
    page, file = tmp_path / "compare.html", tmp_path / "compare.xml"
    code, out, err = said(capsys, a, b, "--fail-on", "1000", "--html", page, "--junit", file)
    assert (code, err) == (1, "")
    assert lost in " ".join(out.split())
    assert tells(out, "not known", "no value in B")
    assert "no value in B" in page.read_text()
    assert "<error" in file.read_text()


def test_what_b_lacks_of_the_conditions_of_a_is_not_known(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(b, lambda each: None if each["condition"]["protocol"] == "h2" else each)
    asked, file = ("--metric", "plt_ms", "--fail-on", "20"), tmp_path / "compare.xml"
    code, out, _ = said(capsys, a, b, *asked, "--junit", file)
    names = ["one, h2, 10mbps-50ms", "one, h2, 10mbps-100ms"]
    assert code == 4
    told = " ".join(out.split())
    assert tells(told, "only in A", *names)
    assert tells(told[told.rindex("--fail-on") :], "not known", "2 conditions of A not measured in B", *names)
    (suite,) = ElementTree.parse(file).getroot()  # noqa: S314  # we wrote it
    assert [case.get("name") for case in suite if case.find("skipped") is not None] == names
    code, out, _ = said(capsys, a, b, *asked, "--json")
    assert (code, json.loads(out)["outcome"]) == (4, "not known")
    assert said(capsys, b, a, *asked)[0] == 0


def test_an_engine_that_the_machine_of_b_lacks_is_not_known(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    failed = {"outcome": "testbed-failed", "plt_ms": None}
    edit(b, lambda each: each | (failed if each["condition"]["protocol"] == "h2" else {}))
    file = tmp_path / "compare.xml"
    code, out, _ = said(capsys, a, b, "--metric", "plt_ms", "--fail-on", "20", "--junit", file)
    assert code == 4
    assert tells(out, "load, not measured in B", "8 of 8", "left out: testbed-failed")
    (suite,) = ElementTree.parse(file).getroot()  # noqa: S314  # we wrote it
    assert (suite.get("errors"), suite.get("skipped")) == ("0", "2")
    edit(b, lambda each: each | failed)
    assert tells(
        refused(capsys, a, b), "no trial counts", "64 of 64", "testbed-failed", "run the study again"
    )


def test_json_is_all_of_the_output(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, slower(1.06, protocol="h2"), SMALL)
    code, out, err = said(capsys, a, b, "--json", "--fail-on", "3")
    found = json.loads(out)
    assert code == 1
    assert tells(err, "--fail-on 3 %", "above", "exit code 1", "2 of 40")
    assert (found["outcome"], found["fail_on"]) == ("above", 3.0)
    loads = [each for each in found["conditions"] if each["metric"] == "plt_ms"]
    assert len(loads) == 8
    hit = [each for each in loads if each["condition"]["protocol"] == "h2"]
    assert [(each["verdict"], each["outcome"]) for each in hit] == [("slower", "above")] * 2
    assert all(each["sentence"].startswith("B takes ") for each in hit)
    first = found["conditions"][0]
    assert first["low"] < first["ratio"] < first["high"]
    assert first["relative"]["baseline"]["protocol"] == "http1"
    assert {
        each["relative"] is None for each in found["conditions"] if each["condition"]["protocol"] == "http1"
    } == {True}


def test_a_finding_among_values_of_0_is_told_of_many_conditions(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(a, lambda each: each | {"tbt_ms": 0.0})
    blocked = {"tbt_ms": 300.0}
    edit(b, lambda each: each | (blocked if each["condition"]["protocol"] == "h2" else {"tbt_ms": 0.0}))
    _, out, _ = said(capsys, a, b)
    assert len(re.findall(r"Blocked time +0 ms in A, 0\.30 s in B", out)) == 2
    assert tells(out, "38 further metrics")  # of six in eight conditions, eight loads and these two are told


def test_what_is_not_known_is_null_in_json(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=replace(SMALL, trials=2))
    _, out, _ = said(capsys, a, b, "--json")
    conditions = json.loads(out)["conditions"]
    assert {each["low"] for each in conditions if each["metric"] == "plt_ms"} == {None}


def test_conditions_are_cases_for_ci(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, slower(1.06, protocol="h2"), SMALL)
    file = tmp_path / "compare.xml"
    code, _, _ = said(capsys, a, b, "--metric", "plt_ms", "--fail-on", "3", "--junit", file)
    assert code == 1
    (suite,) = ElementTree.parse(file).getroot()  # noqa: S314  # we wrote it
    assert (suite.get("tests"), suite.get("failures")) == ("8", "2")
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["one, h2, 10mbps-50ms", "one, h2, 10mbps-100ms"]
    assert tells(refused(capsys, a, b, "--junit", file), "--junit", "--fail-on 3")


def test_claims_with_another_verdict_are_told(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, slower(1.5, protocol="h2"), SMALL)
    for run in (a, b):
        claim_all(
            run, Claim(name="x", subject={"protocol": "h2"}, reference={"protocol": "http1"}, ratio_below=1)
        )
    _, out, _ = said(capsys, a, b)
    assert tells(out, "both runs", ": 2, with another verdict: 2")
    assert out.count("expected below 1: holds.") == out.count("expected below 1: fails.") == 2


def test_another_metric_has_its_own_words(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    edit(b, lambda each: each | {"bytes_down": each["bytes_down"] * 2})
    _, out, _ = said(capsys, a, b, "--metric", "bytes_down")
    assert out.count(" kB with A (100 %)") == 8


def test_what_cannot_be_compared_is_refused_by_one_line(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    shutil.copytree(a, tmp_path / "copy")
    other = replace(SMALL, pages=("other",)).write(tmp_path / "other")
    for words, expected in (
        ((a, tmp_path), "not a run directory"),
        ((a, a), "the same run is given twice"),
        ((a, a / ".." / "a"), "the same run is given twice"),
        ((a, tmp_path / "copy"), "one is a copy of the other"),
        ((a, other), "no condition in common: page is one in one and other in the other"),
        ((a, b, "--metric", "plt"), "unknown 'plt' (did you mean plt_ms?)"),
        ((a, b, "--metric", "tls"), "tls is no number"),
        ((a, b, "--metric", "speed_index_ms"), "has speed_index_ms"),
        ((a, b, "--fail-on=-1"), "--fail-on is '-1'"),
        ((a, b, "--fail-on", "nan"), "--fail-on is 'nan'"),
        ((a, b, "--fail-on", "much"), "--fail-on is 'much'"),
        ((a, b, "--fail-on", "1001"), "--fail-on is '1001'"),
        ((a, b, "--margin", "0"), "--margin is 0"),
    ):
        assert expected in refused(capsys, *words)


def test_records_alone_are_compared_and_those_of_another_schema_are_refused(
    tmp_path: Path, capsys: Capture
) -> None:
    a, b = two_runs(tmp_path, study=SMALL)
    (a / "plan.jsonl").unlink()
    (a / "environment.json").unlink()
    (a / "calibration.jsonl").unlink()
    needless = ("server_connections", "fcp_ms", "archive_digest")
    edit(a, lambda each: {key: value for key, value in each.items() if key not in needless})
    code, out, _ = said(capsys, a, b)
    assert code == 0
    assert out.count("too little to notice") >= 8
    edit(a, lambda each: each | {"schema": 1})
    assert "this version reads schema 2" in refused(capsys, a, b)


def test_what_b_had_no_chance_to_show_is_not_known_and_named(tmp_path: Path, capsys: Capture) -> None:
    a, b = two_runs(tmp_path, study=replace(SMALL, protocols=("http1", "h2"), rtts_ms=(50.0,)))
    edit(a, lambda each: each | {"settled": True})
    busy = {"foreign_cpu_share": 0.6, "client_thread_late_ms": 1e6}
    edit(b, lambda each: each | {"lcp_ms": None} | (busy if each["condition"]["protocol"] == "h2" else {}))
    page = tmp_path / "compare.html"
    code, out, _ = said(capsys, a, b, "--fail-on", "1000", "--html", page)
    told = " ".join(out.split())
    assert code == 4
    lost = ("8 of 8", "left out: busy-machine")
    assert tells(told, "not known", "no value in B", *lost, "[not measured in B]")
    assert tells(told, "load, not measured in B", *lost)
    without = ("Not observed in B", "without vitals", "not compared", "largest paint")
    assert tells(told, *without)
    assert tells(page.read_text(), *without)
    assert "largest paint: " not in told

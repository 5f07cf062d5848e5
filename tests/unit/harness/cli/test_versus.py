"""`coldload versus`: the study that it makes, and one line for what it refuses."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.runs.rundirectory import load
from harness.cli import versus
from harness.cli.commands import main
from harness.cli.compare import Judging
from harness.cli.report import BesideReport
from harness.cli.versus import Release, _files_of, _files_text, _tell, study_text
from harness.errors import UsageError
from harness.model.engine import Engine
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from sites.archive import write_archive
from sites.filesapart import FileApart, FilesApart
from sites.response import Response
from sites.warc import About
from tests.facts import tells
from tests.unit.analysis.comparing.test_versus import RUN
from tests.unit.analysis.runpairs import edit


def parsed(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    versus.add_arguments(parser)
    return parser.parse_args(words)


def study_of(*words: str, metrics: Sequence[str] = ()) -> Study:
    given = parsed(*words)
    sides = Release.parse(given.a, given.variant), Release.parse(given.b, given.variant)
    return parse_study(study_text(sides, given, metrics), "versus")


def test_two_releases_are_a_study_with_a_claim_for_each_metric() -> None:
    study = study_of("one", "two", "--link", "cable", "--link", "4g", "--trials", "7")
    assert (study.name, study.title) == ("versus-one-two", "two against one")
    assert study.pages == ("one", "two")
    assert [link.name for link in study.links] == ["cable", "4g"]
    assert study.vitals
    assert [(each.subject, each.reference) for each in study.claims] == [
        ({"page": "two"}, {"page": "one"})
    ] * 6
    assert [each.metric for each in study.claims] == [
        "fcp_ms",
        "lcp_ms",
        "plt_ms",
        "tbt_ms",
        "bytes_down",
        "requests",
    ]
    assert len(make_plan(study, 1).trials) == 7 * 2 * 3  # A twice


def test_two_variants_of_one_archive() -> None:
    study = study_of("one:minify", "one:core,-inline_images", metrics=["plt_ms"])
    assert study.pages == ("one",)
    assert [each.name for each in study.variants] == ["minify", "core,-inline_images"]
    (claim,) = study.claims
    assert claim.subject == {"variant": "core,-inline_images"}
    both = study_of("one", "two", "--variant", "core")
    assert [each.name for each in both.variants] == ["core"]


def test_what_an_engine_does_not_tell_is_not_asked_of_it() -> None:
    metrics = {each.metric for each in study_of("one", "two", "--engine", "webkit").claims}
    assert "plt_ms" in metrics
    assert "tbt_ms" not in metrics


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("one", "one"), "A and B are both one"),
        (("one:core", "two"), "differ in page and variant"),
        (("../x", "two"), "is no archive"),
        (("one", "two:nothing"), "nothing"),
    ],
)
def test_sides_that_cannot_be_compared_are_refused(words: tuple[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        study_of(*words)


def archived(root: Path, name: str, start: str, body: bytes, *headers: tuple[str, str]) -> None:
    answer = Response(start, 200, (("Content-Type", "text/html"), *headers), body)
    write_archive(root, name, About(start, "test", "", ()), [answer])


def test_archives_of_two_sites_and_archives_that_are_alike_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    archived(tmp_path, "one", "https://a.example/", b"<p>A")
    archived(tmp_path, "other", "https://b.example/", b"<p>B")
    archived(tmp_path, "copy", "https://a.example/", b"<p>A")
    for name, says in (
        ("other", "have nothing in common"),
        ("copy", "byte for byte in its one file"),
        ("no", "no"),
    ):
        assert main(["versus", "one", name]) == 2
        found = capsys.readouterr()
        assert (found.out, found.err.count("\n")) == ("", 1)
        assert says in found.err
    assert (
        main(["versus", "one", "copy", "--fail-on", "5%"]) == 0
    )  # of a pull request that changes another page
    assert "byte for byte in its one file: nothing is above the bound" in capsys.readouterr().out
    assert main(["versus", "one", "copy", "--fail-on", "5%", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["fail_on"], told["outcome"], told["run"], told["files"]) == (5, "within", None, [])


def test_pages_that_differ_in_headers_alone_are_not_taken_for_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    archived(tmp_path, "one", "https://a.example/", b"<p>A")
    archived(tmp_path, "hinted", "https://a.example/", b"<p>A", ("Link", "</a.css>; rel=preload; as=style"))
    sides = Release.parse("one", "plain"), Release.parse("hinted", "plain")
    assert _files_text(_files_of(sides, Engine.CHROMIUM)) == (
        "1 file differs, 0 are the same: https://a.example/ the same 4 bytes, other status or headers"
    )


@pytest.mark.thorough
@pytest.mark.parametrize(("limit", "code"), [("3", 1), ("10", 0), ("50", 0)])
def test_of_pages_that_are_the_same_what_loads_do_not_tell_is_within(
    limit: str, code: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, files = RUN.write(tmp_path / "run"), FilesApart(3, ())
    judging = Judging(("plt_ms",), 0.03, float(limit))
    assert _tell(run, judging, BesideReport(), None, files, as_json=True) == code
    told = json.loads(capsys.readouterr().out)
    assert (told["fail_on"], told["outcome"]) == (float(limit), "above" if code else "within")


@pytest.mark.thorough
def test_a_run_is_told_again_by_another_bound(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RUN.write(tmp_path / "run")
    for limit, code in (("3", 1), ("50%", 0), ("10", 4)):
        assert main(["versus", str(run), "--metric", "plt_ms", "--fail-on", limit]) == code
    out = capsys.readouterr().out
    assert "B, two, against A, one (" in out
    assert "B takes " in out
    assert max(map(len, out.splitlines())) <= 100
    assert main(["versus", str(tmp_path / "none")]) == 2
    assert "is no run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("later", "facts"),
    [
        (
            {"programs": {"apache": "v2"}, "machine": {"processor": "CPU", "kernel": "6.12"}},
            ("not made alike", "programs.apache is v1 or v2", "machine.kernel is 6.1 or 6.12"),
        ),
        ({"programs": {"apache": "v1"}, "machine": {"processor": "CPU", "kernel": "6.1", "cores": 4}}, ()),
    ],
)
def test_a_run_that_went_on_with_something_else_says_so(
    later: Mapping[str, object], facts: tuple[str, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, page = RUN.write(tmp_path / "run"), tmp_path / "versus.html"
    begun = {"programs": {"apache": "v1"}, "machine": {"processor": "CPU", "kernel": "6.1", "cores": 2}}
    (run / "environment.json").write_text(json.dumps({**begun, "continued": [begun, later]}))
    words = ["versus", str(run), "--metric", "plt_ms", "--html", str(page)]
    assert main(words) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert tells(out, "caution: ", *facts) if facts else ("caution" not in out)
    text = page.read_text()
    assert tells(text, "Caution: ", *facts) if facts else ("Caution" not in text)
    assert main([*words, "--json"]) == 0
    cautions = json.loads(capsys.readouterr().out)["cautions"]
    assert [tells([caution], *facts) for caution in cautions] == [True] * bool(facts)


def test_what_was_odd_about_reading_a_run_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = RUN.write(tmp_path / "run")
    with (run / "records.jsonl").open("a") as file:
        file.write('{"cut off')
    assert main(["versus", str(run), "--metric", "plt_ms"]) == 0
    (note,) = load(run).notes
    assert f"caution: {note}" in " ".join(capsys.readouterr().out.split())


BUSY = {"foreign_cpu_share": 0.6, "client_thread_late_ms": 1e6}
DEAD = {"outcome": "page-error", **dict.fromkeys(("plt_ms", "fcp_ms", "lcp_ms", "requests", "bytes_down"))}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("side", "without", "code", "says"),
    [
        ("two", {"fcp_ms": None, "lcp_ms": None}, 1, ("first paint, no data in B",)),
        ("two", DEAD, 1, ("load, no data in B",)),
        ("two", BUSY, 4, ("load, not measured in B",)),
        ("one", {"fcp_ms": None, "lcp_ms": None}, 0, ("Not observed in A", "first paint")),
        ("one", DEAD, 4, ("A has no value",)),
    ],
)
def test_a_side_that_never_paints_or_never_loads(
    side: str,
    without: dict[str, object],
    code: int,
    says: tuple[str, ...],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    run, page, junit = RUN.write(tmp_path / "run"), tmp_path / "versus.html", tmp_path / "versus.xml"
    edit(run, lambda each: each | (without if each["condition"]["page"] == side else {}))
    words = ["versus", str(run), "--fail-on", "1000", "--html", str(page), "--junit", str(junit)]
    assert main(words) == code
    assert tells(" ".join(capsys.readouterr().out.split()), *says)
    assert page.is_file()
    assert ("<failure" in junit.read_text() or "<error" in junit.read_text()) == (code == 1)
    assert main([*words, "--json"]) == code
    told = json.loads(capsys.readouterr().out)
    assert told["outcome"] == {0: "within", 1: "above", 4: "not known"}[code]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("limit", "code", "elements"), [("3", 1, (2, 0)), ("50", 0, (0, 0)), ("10", 4, (0, 2))]
)
def test_the_cases_for_ci_say_what_the_exit_code_says(
    limit: str, code: int, elements: tuple[int, int], tmp_path: Path
) -> None:
    run, junit = RUN.write(tmp_path / "run"), tmp_path / "versus.xml"
    words = ["versus", str(run), "--metric", "plt_ms", "--junit", str(junit)]
    assert main([*words, "--fail-on", limit]) == code
    text = junit.read_text()
    assert (text.count("<failure"), text.count("<skipped")) == elements
    assert text.count("<testcase") == 2
    assert main(words) == 0
    assert "<failure" not in junit.read_text()


@pytest.mark.thorough
def test_a_case_has_a_name_also_where_one_metric_is_compared_at_one_place(tmp_path: Path) -> None:
    run, junit = replace(RUN, rtts_ms=(50.0,)).write(tmp_path / "run"), tmp_path / "versus.xml"
    words = ["versus", str(run), "--metric", "plt_ms", "--fail-on", "3", "--junit", str(junit)]
    assert main(words) == 1
    assert 'name="load"' in junit.read_text()


@pytest.mark.thorough
def test_b_is_held_to_a_budget(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run, budget = RUN.write(tmp_path / "run"), tmp_path / "budget.toml"
    least = min(each["plt_ms"] for each in RUN.records() if each["condition"]["page"] == "one")
    most = max(each["plt_ms"] for each in RUN.records() if each["condition"]["page"] == "two")
    assert least < most
    for limit, code, verdict in ((most, 0, "holds"), (least / 2, 1, "fails")):
        budget.write_text(f"[budget]\nplt_ms = {limit}\n")
        words = ["versus", str(run), "--metric", "plt_ms", "--fail-on", "50", "--budget", str(budget)]
        assert main([*words, "--json"]) == code
        told = json.loads(capsys.readouterr().out)["budget"]
        assert {each["verdict"] for each in told} == {verdict}
        assert all("two" in each["claim"] and "one" not in each["claim"] for each in told)
        assert main(words) == code
        assert "budget of B: two" in capsys.readouterr().out
        summary, junit = tmp_path / "summary.md", tmp_path / "junit.xml"
        assert main([*words, "--summary", str(summary), "--junit", str(junit)]) == code
        assert told[0]["sentence"] in summary.read_text()
        assert ("<failure" in junit.read_text()) == (code == 1)
        assert f'name="{told[0]["claim"]}' in junit.read_text()
        capsys.readouterr()


def test_a_budget_that_is_none_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "budget.toml").write_text("[budget]\nplt = 1\n")
    assert main(["versus", str(RUN.write(tmp_path / "run")), "--budget", str(tmp_path / "budget.toml")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "did you mean plt_ms?" in line


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (FilesApart(1, ()), "no file differs, 1 is the same"),
        (FilesApart(1, (FileApart("a.css", 5, 4),)), "1 file differs, 1 is the same: a.css 5 to 4 bytes"),
        (
            FilesApart(28, (FileApart("a.css", 5, 4), FileApart("b.js", None, 7))),
            "2 files differ, 28 are the same: a.css 5 to 4 bytes; b.js only in B, 7 bytes",
        ),
    ],
)
def test_files_are_counted(found: FilesApart, says: str) -> None:
    assert _files_text(found) == says

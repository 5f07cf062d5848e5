"""`coldload pages` and studies that name a set: which pages there are, and which are missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.cli.archived import refuse_unless_archived, whole_waits_lines
from harness.cli.commands import main
from harness.errors import ArchiveError, StudyError
from harness.study.studyfile import parse_study
from sites.archive import write_archive
from sites.response import Response
from sites.warc import About
from tests.facts import tells

STUDY = """
name = "mine"
pages = ["@small"]
protocols = ["h2"]
[[links]]
down_mbps = 10
rtt_ms = 20
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a set of two pages, of which one is archived."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("COLDLOAD_ARCHIVES", raising=False)
    (tmp_path / "sets").mkdir()
    (tmp_path / "sets" / "small.toml").write_text('title = "small ones"\npages = ["there", "gone"]\n')
    page = Response("http://there.example/", 200, (("Content-Type", "text/html"),), b"<p>")
    write_archive(tmp_path / "archives", "there", About("http://there.example/", "test", "", ()), [page])
    return tmp_path


def test_pages_shows_the_sets_and_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pages"]) == 0
    said = capsys.readouterr().out
    assert "\n  2 pages: there, gone\n  not archived: gone\n" in said.partition("@small: small ones")[2]
    assert "@mobile: " in said


def test_pages_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["pages", "--json"], ["pages", "there", "--json"]):
        assert main(words) == 0
        (line,) = capsys.readouterr().out.splitlines()
        told = json.loads(line)
        assert (told["name"], told["hosts"], told["responses"]) == ("there", ["there.example"], 1)


def test_a_page_that_is_misspelled_is_guessed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(20):
        (here / "archives" / f"other-{number}").mkdir()
    assert main(["pages", "ther"]) == 2
    said = capsys.readouterr().err
    assert "(did you mean there?)" in said
    assert len(said) < 400


def test_a_damaged_set_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "sets" / "small.toml").write_text("pages = []\n")
    assert main(["pages"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_a_page_of_a_set_that_is_not_archived_is_named_with_its_set(here: Path) -> None:
    study = parse_study(STUDY, "mine.toml", here)
    with pytest.raises(ArchiveError, match=r"page 'gone' of @small .* archives; `coldload archive"):
        refuse_unless_archived(study)
    (here / "sets" / "small.toml").write_text('pages = ["there"]\n')
    refuse_unless_archived(parse_study(STUDY, "mine.toml", here))


@pytest.mark.parametrize("command", ["plan", "run"])
def test_nothing_is_written_for_a_set_with_a_missing_page(
    command: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "mine.toml").write_text(STUDY)
    assert main([command, "mine.toml"]) == 2
    assert "'gone' of @small" in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_how_far_hosts_were_is_shown_and_what_nothing_tells_is_refused(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = [
        Response("http://far.example/", 200, (("Content-Type", "text/html"),), b"<p>", connect_ms=52.5),
        Response("http://cdn.example/a.png", 200, (), b"x", wait_ms=20, connect_ms=12.25),
        Response("http://untold.example/b.png", 200, (), b"x", wait_ms=20),
    ]
    write_archive(here / "archives", "far", About("http://far.example/", "test", "", ()), answers)
    assert main(["pages", "far"]) == 0
    said = capsys.readouterr().out
    too_long = (
        'think_time = "recorded" is a round trip too long for 1 response: the recording does not tell how far '
        "untold.example is"
    )
    assert too_long in " ".join(said.split())
    rows = [line.split() for line in said.splitlines()]
    assert [row[-2:] for row in rows if row and row[0].endswith(".example")] == [
        ["52.5", "40.2"],
        ["12.2", "0.0"],
        ["-", "-"],
    ]
    study = STUDY.replace('["@small"]', '["far"]')
    thinking = study.replace('["h2"]', '["h2"]\nserver = "nginx"\nthink_time = "recorded"')
    assert [*whole_waits_lines(parse_study(thinking, "mine.toml", here))] == [f"far: {too_long}"]
    assert [*whole_waits_lines(parse_study(study, "mine.toml", here))] == []

    def refused(distance: str) -> str:
        text = study.replace("[[links]]", f'origins = "recorded"\ndistance = {distance}\n[[links]]')
        with pytest.raises(StudyError) as caught:
            refuse_unless_archived(parse_study(text, "mine.toml", here))
        return str(caught.value)

    assert tells([refused('"recorded"')], "recording of far does not tell", "untold.example")
    assert tells([refused('{"far.example" = 3}')], "table does not name", "cdn.example of far")
    needless = refused('{"cdn.exampel" = 3, "*" = 1}')
    assert needless.startswith("distance: ")
    assert tells([needless], "no page", "cdn.exampel (did you mean cdn.example?)", "take it out")

"""The file of a study is one value: read, kept, shown, and written again with other files in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.errors import StudyError
from harness.study.studytext import STUDY, StudyText

TEXT = 'name = "a"  # as in /home/ann/notes\r\npages = ["one"]\n'


def test_a_file_is_read_to_the_letter_and_found_again_in_its_run(tmp_path: Path) -> None:
    (tmp_path / STUDY).write_bytes(TEXT.encode())
    read = StudyText.read(tmp_path / STUDY)
    assert (read.text, read.keys) == (TEXT, {"name": "a", "pages": ["one"]})
    assert read.is_kept_in(tmp_path)
    assert not StudyText(TEXT.replace("\r", "")).is_kept_in(tmp_path)
    assert not read.is_kept_in(tmp_path / "nowhere")


def test_what_is_no_study_is_told_in_one_line(tmp_path: Path) -> None:
    (tmp_path / STUDY).write_bytes(b"\xff")
    with pytest.raises(StudyError, match="UTF-8"):
        StudyText.read(tmp_path / STUDY)
    with pytest.raises(StudyError, match=r"^it is not TOML: .*$"):
        _ = StudyText("[[[").keys
    with pytest.raises(FileNotFoundError):
        StudyText.read(tmp_path / "nothing.toml")


def test_options_of_the_command_line_stand_below_the_text() -> None:
    study = StudyText(TEXT)
    assert study.as_run(()) == TEXT
    shown = study.as_run([("--only", "page=one"), ("--trials", "3")])
    assert shown.removeprefix(TEXT).splitlines() == ["# run with --only page=one", "# run with --trials 3"]
    assert StudyText(shown).keys == study.keys


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ('published = "a/mine.toml"', "a/mine.toml"),
        ('published = {claims = "mine.toml", short = true}', "mine.toml"),
        ('published = "spdy-2012"', None),
        ("published = 5", None),
        ("", None),
    ],
)
def test_a_file_of_claims_is_told_from_those_that_ship(text: str, file: str | None) -> None:
    assert StudyText(text).claims_file == file


def test_other_files_change_nothing_but_their_names() -> None:
    text = 'published = "x/mine.toml" # why\nlinks = [{trace_down = \'a\\b.trace\', steps_up = "c", rtt_ms = 1}]\n'
    made = StudyText(text).with_files(lambda name: f"{name}!", "published.toml")
    assert made.text == (
        'published = "published.toml" # why\n'
        'links = [{trace_down = "a\\\\b.trace!", steps_up = "c!", rtt_ms = 1}]\n'
    )
    assert made.with_comments(lambda _: "#").text.startswith('published = "published.toml" #\n')


@pytest.mark.parametrize("text", ['"trace_up" = "a"', 'trace_up = """a"""', "title = \"trace_up = 'a'\""])
def test_a_file_in_a_place_that_cannot_be_changed_is_refused(text: str) -> None:
    with pytest.raises(StudyError, match="cannot be changed"):
        StudyText(text).with_files(lambda name: f"{name}!", None)

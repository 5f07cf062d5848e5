"""The text of a study in a pack names no place of the machine, and means what it meant."""

from __future__ import annotations

import pytest

from harness.errors import RecordsError
from harness.pack.studytext import study_without_places

PLACES = {"a.trace": "rates/123/a.trace"}


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ("trace_down = '/home/ann/a.trace' # x\n", 'trace_down = "rates/123/a.trace" # x\n'),
        (
            'links = [{steps_up = "b/c.steps", rtt_ms = 1}]\n',
            'links = [{steps_up = "c.steps", rtt_ms = 1}]\n',
        ),
        ('title = "trace_down = 5" # see /home/ann/x\n', 'title = "trace_down = 5" # see …/x\n'),
        ('a = 1\npublished = "../mine.toml"\nb = 2\n', "a = 1\nb = 2\n"),
        ('published = {claims = "/x/mine.toml", short = true}\n', ""),
        ('published = "spdy-2012"\n', 'published = "spdy-2012"\n'),
    ],
)
def test_files_are_named_where_the_pack_has_them(text: str, packed: str) -> None:
    assert study_without_places(text, PLACES, None) == packed


@pytest.mark.parametrize(
    ("text", "packed"),
    [
        ('published = "../mine.toml"\nb = 2\n', 'published = "published.toml"\nb = 2\n'),
        (
            "published = {short = true, claims = '/x/mine.toml'} # /x/y\n",
            'published = {short = true, claims = "published.toml"} # …/y\n',
        ),
        ('[published]\nclaims = "mine.toml"\n', '[published]\nclaims = "published.toml"\n'),
        ('published = "spdy-2012"\n', 'published = "spdy-2012"\n'),
    ],
)
def test_a_file_of_claims_is_named_where_the_pack_has_it(text: str, packed: str) -> None:
    assert study_without_places(text, PLACES, "published.toml") == packed


@pytest.mark.parametrize(
    "text",
    [
        '"trace_down" = "/home/ann/a.trace"\n',
        'trace_down = """/home/ann/a.trace"""\n',
        '"published" = "/home/ann/mine.toml"\n',
        "title = \"trace_down = '/home/ann/a.trace'\"\n",
        "no toml",
    ],
)
def test_what_cannot_be_packed_as_it_is_meant_is_refused(text: str) -> None:
    with pytest.raises(RecordsError, match="cannot be packed"):
        study_without_places(text, PLACES, "published.toml")

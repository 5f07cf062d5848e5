"""Vitals and traces are observed where a study is about them."""

from __future__ import annotations

import pytest

from harness.errors import StudyError
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import GOOD

CLAIM = """
[[claims]]
name = "quick"
subject = {{ protocol = "h2" }}
metric = "{metric}"
at_most = 2500
"""


def about(metric: str, keys: str = "") -> str:
    return f"{keys}\n{GOOD}{CLAIM.format(metric=metric)}"


@pytest.mark.parametrize(
    ("text", "vitals"),
    [
        (GOOD, False),
        (f"vitals = true\n{GOOD}", True),
        (about("lcp_ms"), True),
        (about("plt_ms"), False),
        (about("fcp_ms"), False),  # seen by the load event, as before
        (about("requests", "vitals = true"), True),
        (about("script_ms", 'keep = ["trace"]'), True),  # sooner than leaving a page
        (about("script_ms", 'keep = ["trace"]\nvitals = false'), False),
        (f'keep = ["filmstrip"]\n{GOOD}', True),  # a film goes on until the page rests
        (about("speed_index_ms", 'keep = ["filmstrip"]'), True),
    ],
)
def test_pages_are_observed_longer_where_the_study_is_about_it(text: str, vitals: bool) -> None:
    assert parse_study(text, "mine.toml").vitals is vitals


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            about("cls", "vitals = false"),
            "vitals is false, and the study is about cls; leave vitals out, or cls",
        ),
        (about("script_ms"), 'the study is about script_ms, which a trace tells; say keep = ["trace"]'),
        (
            about("speed_index_ms"),
            'the study is about speed_index_ms, which a film tells; say keep = ["filmstrip"]',
        ),
        (
            f'keep = ["filmstrip"]\nvitals = false\n{GOOD}',
            "vitals is false, and a film goes on until the page rests; leave vitals out, or filmstrip",
        ),
        (
            f'keep = ["filmstrip"]\nengine = "qtwebkit"\n{GOOD}'.replace('"h2"', '"http1-pipelined"'),
            "a film (filmstrip) of qtwebkit cannot be had: it draws in the thread that loads the page",
        ),
        (f'vitals = "yes"\n{GOOD}', "vitals must be true or false"),
    ],
)
def test_what_would_not_be_observed_is_refused(text: str, said: str) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(text, "mine.toml")
    assert said in str(caught.value)

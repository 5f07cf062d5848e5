"""Vitals and traces are observed where a study is about them."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.kind import Kind, Requests, Users
from harness.study.enginefile import workloads_of
from harness.study.studyfile import parse_study
from tests.facts import tells
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
        (f'vitals = true\nengines = ["chromium", "webkit"]\n{GOOD}', True),  # of those that have them
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
    ("text", "facts"),
    [
        (about("cls", "vitals = false"), ("vitals is false", "about cls")),
        (about("script_ms"), ("script_ms", 'keep = ["trace"]')),
        (about("speed_index_ms"), ("speed_index_ms", 'keep = ["filmstrip"]')),
        (f'keep = ["filmstrip"]\nvitals = false\n{GOOD}', ("leave vitals out, or filmstrip",)),
        (
            f'keep = ["filmstrip"]\nengine = "qtwebkit"\n{GOOD}'.replace('"h2"', '"http1-pipelined"'),
            ("filmstrip of qtwebkit cannot be had", "choose an engine that can (chromium)"),
        ),
        (
            f'keep = ["trace"]\nengines = ["chromium", "firefox"]\n{GOOD}',
            ("trace of firefox cannot be had", "(chromium)"),
        ),
        (
            f'vitals = true\nengine = "webkit"\n{GOOD}'.replace('"selenium", "playwright"', '"webkitgtk"'),
            ("vitals of webkit cannot be had", "(chromium, firefox)"),
        ),
        (f'vitals = "yes"\n{GOOD}', ("vitals", "true or false")),
    ],
)
def test_what_would_not_be_observed_is_refused(text: str, facts: tuple[str, ...]) -> None:
    with pytest.raises(StudyError) as caught:
        parse_study(text, "mine.toml")
    assert tells([str(caught.value)], *facts)


RAMP = {"from": 1, "to": 100, "over_s": 60}


def test_a_load_has_no_workload() -> None:
    assert workloads_of({}, Kind.LOAD) == (None,)


def test_a_crowd_is_a_ramp_or_steps() -> None:
    assert workloads_of({"users": RAMP}, Kind.USERS) == (Users(start=1, to=100, over_s=60),)
    steps = {"steps": [50, 100], "step_s": 30, "think_s": 2, "bucket_s": 5}
    assert workloads_of({"users": steps}, Kind.USERS) == (
        Users(steps=(50, 100), step_s=30, think_s=2, bucket_s=5),
    )


def test_loops_are_the_product_of_connections_and_depth() -> None:
    found = workloads_of({"requests": {"connections": [4, 16], "depth": [1, 8], "seconds": 5}}, Kind.REQUESTS)
    assert found == tuple(
        Requests(connections=connections, depth=depth, seconds=5)
        for connections, depth in [(4, 1), (4, 8), (16, 1), (16, 8)]
    )
    assert workloads_of({"requests": {"connections": 4}}, Kind.REQUESTS) == (Requests(connections=4),)


@pytest.mark.parametrize(
    ("data", "kind", "said"),
    [
        ({}, Kind.USERS, r"needs a table \[users\]"),
        ({}, Kind.REQUESTS, r"needs a table \[requests\]"),
        ({"users": {}}, Kind.USERS, "must be a table"),
        ({"users": RAMP | {"until": 3}}, Kind.USERS, "unknown key 'until'"),
        ({"users": RAMP | {"from": 200}}, Kind.USERS, "goes down"),
        ({"users": RAMP | {"from": "1"}}, Kind.USERS, "whole number"),
        ({"users": {"steps": 50, "step_s": 3}}, Kind.USERS, "must be a list"),
        ({"users": {"steps": [50, "a"], "step_s": 3}}, Kind.USERS, "whole number"),
        ({"requests": {"depth": 8}}, Kind.REQUESTS, "connections is missing"),
        ({"requests": {"connections": []}}, Kind.REQUESTS, "at least one"),
        ({"requests": {"connections": [4, 4]}}, Kind.REQUESTS, "twice"),
        ({"requests": {"connections": list(range(1, 60))}}, Kind.REQUESTS, "50 entries"),
        ({"requests": {"connections": True}}, Kind.REQUESTS, "whole number"),
    ],
)
def test_what_is_no_workload_is_refused_in_one_line(data: dict[str, Any], kind: Kind, said: str) -> None:
    with pytest.raises(StudyError, match=said) as refused:
        workloads_of(data, kind)
    assert "\n" not in str(refused.value)

"""Workloads are checked where they are made, and survive their JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.kind import Kind, Requests, Users, Workload, workload_of

RAMP: dict[str, Any] = {"start": 1, "to": 1000, "over_s": 1200}
STEPS: dict[str, Any] = {"steps": (50, 100), "step_s": 60}


@pytest.mark.parametrize(
    ("workload", "text", "seconds"),
    [
        (Users(**RAMP), "1 to 1000 in 1200 s", 1200),
        (Users(**(RAMP | {"start": 1000})), "1000 in 1200 s", 1200),
        (Users(**STEPS), "50, 100 for 60 s each", 120),
        (Users(steps=(20,), step_s=30, think_s=0), "20 for 30 s", 30),
        (Requests(connections=64), "64 connections", 30),
        (Requests(connections=1, depth=8, seconds=2, warm_s=0), "1 connection x 8", 2),
    ],
)
def test_a_workload_survives_its_json(workload: Workload, text: str, seconds: float) -> None:
    assert workload_of(json.loads(json.dumps(workload.to_json()))) == workload
    assert str(workload) == text
    assert workload.seconds == seconds


def test_a_workload_says_its_kind_and_its_most() -> None:
    assert (Users(**RAMP).kind, Users(**RAMP).most) == (Kind.USERS, 1000)
    assert (Users(**STEPS).kind, Users(**STEPS).most) == (Kind.USERS, 100)
    assert Requests(connections=4).kind is Kind.REQUESTS


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({}, "from and to and over_s missing"),
        ({"start": 1, "to": 5}, "over_s missing"),
        (RAMP | {"start": 2000}, "goes down from 2000 to 1000"),
        (RAMP | {"step_s": 3}, "step_s goes with steps"),
        (RAMP | STEPS, "from is of a ramp"),
        ({"steps": (50, 100)}, "step_s is missing"),
        (STEPS | {"steps": (100, 50)}, "do not rise"),
        (STEPS | {"steps": (50, 50)}, "do not rise"),
        (STEPS | {"steps": (0, 50)}, "steps is 0; it must be 1 to 100000"),
        (RAMP | {"to": 10**6}, "to is 1000000; it must be 1 to 100000"),
        (RAMP | {"over_s": float("nan")}, "over_s is nan"),
        (RAMP | {"think_s": -1}, "think_s is -1"),
        (RAMP | {"over_s": 5, "bucket_s": 10}, "lower bucket_s"),
        (RAMP | {"slower_than_s": 0}, "slower_than_s is 0"),
        (RAMP | {"slower_than_s": 61, "page_timeout_s": 60}, "slower_than_s is 61"),
    ],
)
def test_a_crowd_that_cannot_be_is_refused_in_one_line(values: dict[str, Any], said: str) -> None:
    with pytest.raises(StudyError, match=said) as refused:
        Users(**values)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "values", [{"connections": 0}, {"connections": 4, "depth": 0}, {"connections": 4, "seconds": 0}]
)
def test_a_loop_that_cannot_be_is_refused(values: dict[str, Any]) -> None:
    with pytest.raises(StudyError, match="it must be"):
        Requests(**values)


@pytest.mark.parametrize(
    "data", [{"connections": 4, "deep": 8}, {"connections": "4"}, {"steps": [3], "users": 1}]
)
def test_what_is_no_workload_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(StudyError):
        workload_of(data)

"""The workloads of a study file: one crowd, or a loop for every number of connections and depth."""

from __future__ import annotations

from typing import Any

import pytest

from harness.errors import StudyError
from harness.model.kind import Kind
from harness.model.workload import Requests, Users
from harness.study.workloadfile import workloads_of

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

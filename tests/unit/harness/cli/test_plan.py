"""What `coldload plan` says of studies of every kind."""

from __future__ import annotations

import pytest

from harness.cli.plan import conditions_table, seconds_of
from harness.cli.studychoice import _only
from harness.errors import StudyError
from harness.study.studyfile import parse_study
from tests.unit.harness.study.kindstudies import REQUESTS, USERS


def test_the_conditions_of_a_crowd_show_server_and_users() -> None:
    head, *lines = conditions_table(parse_study(USERS, "mine.toml"))
    assert head.split()[-2:] == ["server", "users"]
    assert all("1 to 1000 in 1200 s" in line for line in lines)
    assert {"old", "apache", "caddy"} <= {word for line in lines for word in line.split()}


def test_a_trial_takes_as_long_as_its_workload() -> None:
    (crowd, *_), (loop, *_) = (parse_study(text, "x").conditions for text in (USERS, REQUESTS))
    assert 1200 < seconds_of(crowd, 10**9) < 1300  # whatever the page weighs
    assert 13 <= seconds_of(loop, 10**9) < 20


def test_a_command_line_keeps_to_a_server_or_a_workload() -> None:
    crowds, loops = parse_study(USERS, "x"), parse_study(REQUESTS, "x")
    assert {each.server for each in _only(crowds, "server=old").conditions} == {"old"}
    assert {each.protocol.value for each in _only(loops, "depth=8").conditions} == {"http1", "https1"}
    sixteen = _only(_only(loops, "connections=16"), "depth=1")
    assert {str(each.workload) for each in sixteen.conditions} == {"16 connections"}
    for study, choice in (
        (crowds, "server=nginx"),
        (loops, "depth=4"),
        (loops, "users=3"),
        (crowds, "depth=1"),
    ):
        with pytest.raises(StudyError, match=f"--only {choice}: "):
            _only(study, choice)

"""What `coldload plan` says of studies of every kind."""

from __future__ import annotations

import pytest

from harness.cli.options import slower_device
from harness.cli.plan import conditions_table, size
from harness.cli.studychoice import _only
from harness.errors import StudyError
from harness.model.engine import DESKTOP, MOBILE
from harness.study.planning import make_plan
from harness.study.study import Study
from harness.study.studyfile import parse_study
from tests.facts import tells
from tests.unit.harness.study.kindstudies import REQUESTS, USERS


def test_the_conditions_of_a_crowd_show_server_and_users() -> None:
    head, *lines = conditions_table(parse_study(USERS, "mine.toml"))
    assert head.split()[-2:] == ["server", "users"]
    assert all("1 to 1000 in 1200 s" in line for line in lines)
    assert {"old", "apache", "caddy"} <= {word for line in lines for word in line.split()}


@pytest.mark.parametrize(
    ("links", "facts"),
    [
        ("links = ['cable', 'dsl']", ("links cable, dsl", "each visitor", "itself")),
        ("links = [{preset = 'cable', per_client = false}]", ("link cable", "all visitors", "share")),
    ],
)
def test_a_plan_says_whose_the_link_of_a_crowd_is(links: str, facts: tuple[str, ...]) -> None:
    crowd, _, _ = USERS.partition("[[links]]")
    study = parse_study(crowd.replace("trials = 3", f"trials = 3\n{links}"), "x")
    (told,) = (line for line in size(study, make_plan(study, 1)) if line.startswith("link"))
    assert tells([told], *facts)


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


LOADS = """
name = "loads"
pages = ["one"]
protocols = ["h2"]
device = "mobile"
cache = ["cold", "warm"]
[[links]]
down_mbps = 5
rtt_ms = 10
"""


def test_what_is_done_to_the_browser_has_a_column_where_it_is_unusual() -> None:
    study = parse_study(LOADS, "x")
    head, *lines = conditions_table(study)
    assert "cache" in head.split()
    assert "cpu_slowdown" not in head.split()
    assert [("warm" in line, "cold" in line) for line in lines].count((True, False)) == 2  # one of them again
    warm = _only(study, "cache=warm").conditions
    assert [str(each.cache) for each in warm] == ["warm"]
    assert "cache" not in conditions_head(_only(study, "cache=cold"))
    with pytest.raises(StudyError, match="the study has no such cpu_slowdown; it has: 1"):
        _only(study, "cpu_slowdown=4")


def conditions_head(study: Study) -> list[str]:
    return next(iter(conditions_table(study))).split()


def test_a_device_that_is_slower_is_told_of_where_nothing_slows_it() -> None:
    said = slower_device(MOBILE, [1])
    assert said is not None
    assert "cpu_slowdown = 4 is usual for it" in said
    assert slower_device(MOBILE, [1, 4]) is None
    assert slower_device(DESKTOP, [1]) is None

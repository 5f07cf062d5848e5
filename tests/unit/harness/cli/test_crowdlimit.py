"""What `coldload crowd --find-limit` measures of a crowd, and what it says in the end."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from harness.capacity.limit import Bottleneck
from harness.capacity.series import PageLine
from harness.capacity.usersearch import Held, UserLimit
from harness.cli.crowdlimit import answer, crowd_line, refuse_unless_settled, settled
from harness.errors import UsageError
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.kind import Users
from harness.model.link import Link
from harness.model.protocol import Protocol
from tests.facts import tells

CROWD = Users(steps=(10,), step_s=30)
LINK = replace(Link.of(10, 50), per_client=True)
CONDITION = replace(
    Condition.usual("icons", Protocol.HTTP1, LINK, Engine.K6), server="apache", workload=CROWD
)


def test_a_crowd_is_measured_once_it_has_settled() -> None:
    pages = [
        PageLine(t_s=1, user=1, ms=9000),  # before
        PageLine(t_s=14, user=1, ms=1500),
        PageLine(t_s=20, user=2, ms=2500),
        PageLine(t_s=21, user=3, error="timeout", ended_ms=10_000, broke_ms=10_000),
        PageLine(t_s=29, user=2, ms=2000),  # it ends afterwards
        PageLine(t_s=30.1, user=2, ms=10),  # after
    ]
    assert settled(10, pages, 30) == Held(users=10, page_ms=2250, pages_per_s=round(2 / 15, 3))
    assert settled(10, pages[:1], 30).page_ms == math.inf
    assert "no page" in crowd_line(settled(10, pages[:1], 30))


@pytest.mark.parametrize(
    "stuck",
    [
        {"t_s": 2, "error": "timeout", "ended_ms": 60_000},  # it is given up long after the crowd's time
        {"t_s": 2, "ms": 40_000},
        {"t_s": 28, "ms": 40_000},
    ],
)
def test_users_who_are_stuck_count(stuck: dict[str, Any]) -> None:
    """Nine of ten wait for a page all the time: what the lucky one sees is not the median."""
    lucky = [PageLine(t_s=second, user=0, ms=1000) for second in range(0, 30, 6)]
    others = [PageLine(user=user, **stuck) for user in range(1, 10)]
    held = settled(10, [*lucky, *others], 30)
    assert held.page_ms >= 40_000
    assert held.pages_per_s == round(2 / 15, 3)


def test_a_page_that_was_given_up_before_the_crowd_had_settled_does_not_count() -> None:
    early = [PageLine(t_s=1, user=user, error="timeout", ended_ms=10_000) for user in range(9)]
    assert settled(10, [*early, PageLine(t_s=20, user=9, ms=1000)], 30).page_ms == 1000


def test_too_short_a_time_is_refused_with_the_least() -> None:
    refuse_unless_settled(replace(CROWD, step_s=16))
    with pytest.raises(UsageError, match="give at least --for 16s"):
        refuse_unless_settled(replace(CROWD, step_s=15))


def test_the_answer_stands_first_with_its_interval_and_what_comes_next() -> None:
    found = UserLimit(126.4, 118.2, 134.9, Bottleneck.WORKERS, Bottleneck.SERVER_CPU, 310.2)
    first, limit, following = answer(found, CONDITION, CROWD, [Held(users=126)])
    most = ("up to 126 users", "95 % between 118 and 135")
    assert tells([first], "icons by http1", *most, "median page", "no longer than 3 s")
    assert tells([limit], "limited by", "server's workers")
    assert tells([following], "next limit", "server's CPU", "310 users")
    *_, last = answer(UserLimit(126.4, 118.2, 134.9), CONDITION, CROWD, [])
    assert tells([last], "next limit", "none")


def test_an_answer_without_a_limit_says_why_and_one_on_a_busy_machine_is_provisional() -> None:
    least, worth = answer(
        UserLimit(at_least=80, why="with 160 users what makes the users ran out (generator-cpu)"),
        CONDITION,
        CROWD,
        [Held(users=80), Held(users=160, disturbed="busy-machine")],
    )
    assert tells([least], "icons by http1", "at least 80 users", "within 3 s")
    assert tells([least], "with 160 users", "ran out", "generator-cpu")
    assert tells([worth], "provisional", "1 of 2 crowds", "busy-machine")
    (alone,) = answer(
        UserLimit(why="one user alone waits too long: the page takes 4.00 s"), CONDITION, CROWD, []
    )
    assert tells([alone], "no number of users", "within 3 s", "one user alone", "too long", "4.00 s")

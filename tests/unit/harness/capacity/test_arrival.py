"""How many users there are when, and what they take of a machine."""

from __future__ import annotations

import pytest

from harness.capacity.arrival import crowd_of, first_pauses_ms, users_at
from harness.capacity.recipe import Item, PageRecipe
from harness.model.protocol import Protocol
from harness.model.workload import Users

RAMP = Users(start=1, to=101, over_s=100)
STEPS = Users(steps=(50, 100), step_s=60)
ONE, TWO = (Item(f"https://{host}.example/", "GET", (), 200) for host in "ab")
PAGE = PageRecipe(ONE, (TWO,) * 20)


@pytest.mark.parametrize(
    ("workload", "t_s", "users"),
    [
        (RAMP, 0, 1),
        (RAMP, 50, 51),
        (RAMP, 100, 101),
        (RAMP, 1000, 101),
        (STEPS, 0, 50),
        (STEPS, 59.9, 50),
        (STEPS, 60, 100),
        (STEPS, 500, 100),
    ],
)
def test_users_at_a_moment(workload: Users, t_s: float, users: int) -> None:
    assert users_at(workload, t_s) == users


def test_those_who_come_together_are_spread_over_a_think_time() -> None:
    pauses = first_pauses_ms(STEPS, seed=7)
    assert len(pauses) == STEPS.most
    assert 0 <= min(pauses) < max(pauses) <= 1000 * STEPS.think_s
    tenth = sum(pause < 100 * STEPS.think_s for pause in pauses)
    assert 0 < tenth < 30, "no crush in the first tenth"
    assert first_pauses_ms(STEPS, seed=7) == pauses != first_pauses_ms(STEPS, seed=8)


def test_nobody_waits_past_the_first_step_and_a_ramp_spreads_itself() -> None:
    short = Users(steps=(50,), step_s=2, think_s=5, bucket_s=1)
    assert max(first_pauses_ms(short, seed=1)) <= 2000
    assert first_pauses_ms(RAMP, seed=1) == []
    assert len(first_pauses_ms(Users(start=20, to=101, over_s=100), seed=1)) == 20
    assert set(first_pauses_ms(Users(steps=(5,), step_s=60, think_s=0), seed=1)) == {0.0}


@pytest.mark.parametrize(
    ("protocol", "at_once", "per_page"),
    [(Protocol.HTTP1, 12, 12), (Protocol.HTTP1_CLOSE, 12, 21), (Protocol.H2, 2, 2), (Protocol.H3, 2, 2)],
)
def test_connections_of_a_user(protocol: Protocol, at_once: int, per_page: int) -> None:
    made = crowd_of(STEPS, PAGE, protocol, 100)
    assert (made.users, made.connections_at_once, made.connections_per_page) == (100, at_once, per_page)
    assert made.pause_s == pytest.approx(5.2)


def test_a_user_over_tls_takes_more_memory() -> None:
    plain, secure = (crowd_of(STEPS, PAGE, each, 100).user_bytes for each in (Protocol.HTTP1, Protocol.H2))
    assert 0 < plain < secure

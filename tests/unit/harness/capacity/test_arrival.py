"""How many users there are when, and what they take of a machine."""

from __future__ import annotations

import pytest

from harness.capacity.arrival import crowd_of, users_at
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


@pytest.mark.parametrize(
    ("protocol", "at_once", "per_page"),
    [(Protocol.HTTP1, 12, 12), (Protocol.HTTP1_CLOSE, 12, 21), (Protocol.H2, 2, 2), (Protocol.H3, 2, 2)],
)
def test_connections_of_a_user(protocol: Protocol, at_once: int, per_page: int) -> None:
    made = crowd_of(STEPS, PAGE, protocol, 100)
    assert (made.users, made.connections_at_once, made.connections_per_page) == (100, at_once, per_page)
    assert made.pause_s == pytest.approx(5.2)

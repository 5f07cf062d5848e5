"""How many users there are when, what they take of a machine, and that more than it carries are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.capacity.crowd import first_pauses_ms, users_at
from harness.capacity.recipe import Item, PageRecipe
from harness.capacity.resources import CrowdSize, Machine, crowd_of, refuse_too_many
from harness.errors import EnvironmentLacks, StudyError
from harness.model.kind import Users
from harness.model.protocol import Protocol

RAMP = Users(start=1, to=101, over_s=100)
STEPS = Users(steps=(50, 100), step_s=60)
ONE, TWO = (Item(f"https://{host}.example/", "GET", {}, 200, ()) for host in "ab")
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


MACHINE = Machine(addresses=65_536, descriptors=20_000, memory_bytes=8_000_000_000)
CROWD = CrowdSize(users=1000, connections_at_once=6, connections_per_page=6, pause_s=5.0, user_bytes=750_000)


def test_a_crowd_that_fits() -> None:
    refuse_too_many(CROWD, MACHINE)


@pytest.mark.parametrize(
    ("crowd", "machine", "error", "said"),
    [
        (
            replace(CROWD, users=70_000),
            MACHINE,
            StudyError,
            r"address of its own, .*65,536",
        ),
        (
            replace(CROWD, users=4000),
            MACHINE,
            EnvironmentLacks,
            r"48,100 file descriptors .* at most 1,658 users",
        ),
        (
            CROWD,
            replace(MACHINE, memory_bytes=900_000_000),
            EnvironmentLacks,
            r"0\.9 GB are free; ask for at most 800 users",
        ),
        (
            replace(CROWD, pause_s=0.001),
            MACHINE,
            EnvironmentLacks,
            r"a user takes 6 ports .* think for at least 0\.01 s",
        ),
        (replace(CROWD, pause_s=0), MACHINE, EnvironmentLacks, "a user takes 6 ports"),
    ],
)
def test_what_is_too_much_is_one_line(
    crowd: CrowdSize, machine: Machine, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said) as refused:
        refuse_too_many(crowd, machine)
    assert "\n" not in str(refused.value)


def test_a_process_without_a_limit_of_descriptors() -> None:
    refuse_too_many(replace(CROWD, users=10_000), replace(MACHINE, descriptors=-1))


def test_this_machine_carries_one_user() -> None:
    refuse_too_many(replace(CROWD, users=1), Machine.this())

"""The search for the number of users that a server stands, against servers whose limit is known."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from harness.capacity.limit import Bottleneck
from harness.capacity.usersearch import Held, UserLimit, find_limit
from tests.facts import tells

THINK_S, BARE_S, BOUND_S = 5.0, 0.5, 3.0


def server(pages_per_s: float, noise: float = 0.0, seed: int = 1) -> Callable[[int], Held]:
    """A closed crowd at a server that gives so many pages a second at most, by the law of response times."""
    random = np.random.default_rng(seed)

    def hold(users: int) -> Held:
        rate = min(pages_per_s, users / (THINK_S + BARE_S)) * math.exp(random.normal(0, noise))
        page_s = max(BARE_S, users / rate - THINK_S)
        return Held(
            users=users,
            page_ms=1000 * page_s,
            pages_per_s=rate,
            used={Bottleneck.WORKERS: rate / pages_per_s, Bottleneck.SERVER_CPU: 0.4 * rate / pages_per_s},
            limited_by=Bottleneck.WORKERS if rate > 0.95 * pages_per_s else Bottleneck.NOTHING,
        )

    return hold


@pytest.mark.parametrize("start", [1, 10, 97, 3000])
@pytest.mark.parametrize("pages_per_s", [1.5, 16.3, 98.0])
def test_the_limit_is_found_from_wherever_the_search_starts(start: int, pages_per_s: float) -> None:
    found = find_limit(server(pages_per_s), 1000 * BOUND_S, start=start, rounds=3)
    assert found.users is not None
    assert found.low is not None
    assert found.high is not None
    assert found.users == pytest.approx(pages_per_s * (THINK_S + BOUND_S), rel=0.04)
    assert found.low <= found.users <= found.high
    assert (found.limited_by, found.next_limit) == (Bottleneck.WORKERS, Bottleneck.SERVER_CPU)
    assert found.next_users == pytest.approx(found.users / 0.4, rel=0.1)


def test_the_interval_covers_the_limit_as_often_as_it_says() -> None:
    truth, runs = 16.3 * (THINK_S + BOUND_S), 400
    covered = 0
    for seed in range(runs):
        found = find_limit(server(16.3, noise=0.02, seed=seed), 1000 * BOUND_S, start=10, rounds=4)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / runs <= 0.98


@pytest.mark.parametrize(("most", "page_ms"), [(2, 3600.0), (2, math.inf), (40, 3001.0), (1000, math.inf)])
def test_rounds_that_agree_tell_no_more_than_their_neighbours(most: int, page_ms: float) -> None:
    found = find_limit(
        lambda users: Held(users=users, page_ms=2600.0 if users <= most else page_ms),
        3000,
        start=10,
        rounds=3,
    )
    assert found.users is not None
    assert found.low is not None
    assert found.high is not None
    assert found.low <= most < most + 1 <= found.high
    assert found.low <= found.users <= found.high


def test_a_generator_that_runs_out_first_leaves_a_least_number() -> None:
    usual = server(100)

    def hold(users: int) -> Held:
        held = usual(users)
        return replace(held, limited_by=Bottleneck.GENERATOR_CPU) if users >= 200 else held

    for start in (10, 1000):
        found = find_limit(hold, 1000 * BOUND_S, start=start, rounds=3)
        assert found.users is None
        assert found.at_least is not None
        assert 100 <= found.at_least < 200
        assert tells([found.why or ""], "what makes the users", "CPU")


def test_a_machine_that_cannot_hold_more_leaves_a_least_number() -> None:
    usual = server(100)
    found = find_limit(
        lambda users: usual(users) if users <= 50 else Held(users=users, refused="too little memory"),
        1000 * BOUND_S,
        start=10,
        rounds=2,
    )
    assert found == UserLimit(at_least=48, why=found.why)
    assert tells([found.why or ""], "with 57 users", "too little memory")


def test_a_step_beyond_what_the_generator_bears_is_taken_back_as_the_limit_may_lie_before_it() -> None:
    usual = server(15)  # 120 users
    found = find_limit(
        lambda users: (
            replace(usual(users), limited_by=Bottleneck.GENERATOR_CPU) if users > 190 else usual(users)
        ),
        1000 * BOUND_S,
        start=100,
        rounds=2,
    )
    assert found.users == pytest.approx(120, rel=0.04)


def test_a_page_that_is_too_slow_for_one_user_is_no_matter_of_crowds() -> None:
    found = find_limit(server(100), 400, start=10, rounds=2)
    assert (found.users, found.at_least) == (None, None)
    assert tells([found.why or ""], "one user alone", "too long", "0.50 s")
    failing = find_limit(lambda users: Held(users=users), 400, start=4, rounds=2)
    assert tells([failing.why or ""], "one user alone", "too long", "fails")


@pytest.mark.parametrize(
    ("told", "limit"),
    [
        ([Bottleneck.WORKERS, Bottleneck.LINK, Bottleneck.NOTHING], Bottleneck.NOTHING),
        ([Bottleneck.WORKERS, Bottleneck.LINK, Bottleneck.LINK], Bottleneck.LINK),
        ([Bottleneck.WORKERS, Bottleneck.NOTHING, Bottleneck.WORKERS], Bottleneck.WORKERS),
    ],
)
def test_what_limits_ran_out_in_half_of_the_rounds(told: list[Bottleneck], limit: Bottleneck) -> None:
    """A round meets the bound with its second crowd; the first round is the rough one."""
    crowds = itertools.chain.from_iterable(
        [(2900.0, Bottleneck.NOTHING), (3100.0, each)] for each in [Bottleneck.NOTHING, *told]
    )

    def hold(users: int) -> Held:
        page_ms, limited_by = next(crowds)
        return Held(users=users, page_ms=page_ms, limited_by=limited_by)

    assert find_limit(hold, 3000, start=10, rounds=3).limited_by is limit


def test_where_pages_fail_the_limit_lies_between_the_neighbours() -> None:
    found = find_limit(
        lambda users: Held(users=users, page_ms=500 if users < 100 else math.inf), 3000, start=10, rounds=3
    )
    assert found.users is not None
    assert 83 <= found.users <= 120
    assert (found.limited_by, found.next_limit) == (Bottleneck.NOTHING, None)
    assert json.loads(json.dumps(found.to_json()))["next_limit"] is None

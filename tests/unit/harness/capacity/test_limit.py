"""Who was the limit: invented seconds, each of which says one thing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.capacity.crowdtrial import GENERATORS
from harness.capacity.limit import (
    ALL,
    FULL,
    HELD,
    LINK_FULL,
    OURS,
    SHARE,
    SPARE,
    STRETCH_S,
    Bottleneck,
    Capacity,
    Part,
    bottleneck,
    limit_of_second,
    shares_used,
)
from harness.capacity.series import Second
from harness.capacity.spdyclient import SPDY_USERS
from harness.model.engine import Engine

OWN = Capacity(
    server=Part.on((0, 1)),
    generator=Part.on((2,)),
    emulator=Part.on((3,), threads=1),
    workers=400,
    slots=None,
    down_mbps=100,
    up_mbps=20,
)
SHARED = Capacity(server=Part.on((0, 1)), generator=Part.on((0, 1)), emulator=Part.on((0, 1), threads=1))
TWO = Capacity(server=Part.on((0,)), generator=Part.on((1,)), emulator=Part.on((1,), threads=1))
CALM: dict[str, Any] = {
    "server_cpu_s": 0.4,
    "generator_cpu_s": 0.2,
    "emulator_cpu_s": 0.1,
    "workers_busy": 12,
    "workers_idle": 387,
    "machine_idle_share": 0.7,
    "down_bytes": 1_000_000,
    "up_bytes": 100_000,
}
STARVED = {"workers_busy": 399, "workers_idle": 0}


def second(t_s: float = 1.0, **changes: Any) -> Second:
    return Second(t_s=t_s, **{**CALM, **changes})


def of(capacity: Capacity = OWN, **changes: Any) -> Bottleneck:
    return limit_of_second(second(**changes), 1.0, capacity)


def test_a_calm_second_has_no_limit() -> None:
    assert of() is Bottleneck.NOTHING
    assert limit_of_second(Second(t_s=1.0), 1.0, OWN) is Bottleneck.NOTHING, "nothing known, nothing said"


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"server_cpu_s": 2 * FULL}, Bottleneck.SERVER_CPU),
        ({"server_cpu_s": 2 * FULL - 0.01}, Bottleneck.NOTHING),
        ({"generator_cpu_s": FULL}, Bottleneck.GENERATOR_CPU),
        ({"generator_cpu_s": FULL - 0.01}, Bottleneck.NOTHING),
        ({"emulator_cpu_s": FULL}, Bottleneck.EMULATOR),
        ({"emulator_cpu_s": FULL - 0.01}, Bottleneck.NOTHING),
        ({"down_bytes": 12_500_000 * LINK_FULL + 1}, Bottleneck.LINK),
        ({"down_bytes": 12_500_000 * LINK_FULL - 1}, Bottleneck.NOTHING),
        ({"up_bytes": 2_500_000}, Bottleneck.LINK),
        (STARVED, Bottleneck.WORKERS),
        ({"workers_busy": 392, "workers_idle": 0}, Bottleneck.WORKERS),
        (
            {"workers_busy": int(400 * ALL) - 2, "workers_idle": 0},
            Bottleneck.NOTHING,
        ),  # more are being started
        ({"workers_busy": 398, "workers_idle": 1}, Bottleneck.NOTHING),
    ],
)
def test_what_runs_out_with_cores_of_its_own(changes: dict[str, Any], limit: Bottleneck) -> None:
    assert of(**changes) is limit


@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({"generator_cpu_s": 1.0, "server_cpu_s": 2.0, **STARVED}, Bottleneck.GENERATOR_CPU),
        ({"emulator_cpu_s": 1.0, "server_cpu_s": 2.0}, Bottleneck.EMULATOR),
        ({"down_bytes": 13_000_000, "server_cpu_s": 2.0}, Bottleneck.LINK),
        ({"server_cpu_s": 2.0, **STARVED}, Bottleneck.SERVER_CPU),
    ],
)
def test_what_makes_the_rest_look_full_is_named(changes: dict[str, Any], limit: Bottleneck) -> None:
    assert of(**changes) is limit


def test_the_worker_of_the_status_page_counts_among_few_workers() -> None:
    assert of(replace(OWN, workers=5), workers_busy=4, workers_idle=0) is Bottleneck.WORKERS
    assert of(replace(OWN, workers=5), workers_busy=3, workers_idle=0) is Bottleneck.NOTHING


def test_a_second_may_be_longer() -> None:
    assert limit_of_second(second(generator_cpu_s=1.0), 2.0, OWN) is Bottleneck.NOTHING
    assert limit_of_second(second(generator_cpu_s=1.9), 2.0, OWN) is Bottleneck.GENERATOR_CPU


def test_a_server_with_few_threads_needs_few_cores_to_be_full() -> None:
    one = replace(OWN, server=Part.on((0, 1), threads=1))
    assert of(one, server_cpu_s=0.95) is Bottleneck.SERVER_CPU
    assert of(server_cpu_s=0.95) is Bottleneck.NOTHING


def test_a_generator_of_one_thread_is_the_limit_while_its_other_core_idles() -> None:
    one, any_number = (
        replace(OWN, generator=Part.on((2, 4), made.threads)) for made in (SPDY_USERS, GENERATORS[Engine.K6])
    )
    assert of(one, generator_cpu_s=0.95) is Bottleneck.GENERATOR_CPU
    assert of(any_number, generator_cpu_s=0.95) is Bottleneck.NOTHING


def test_connections_can_run_out_as_workers_do() -> None:
    assert of(replace(OWN, slots=1000), server_connections=1000) is Bottleneck.WORKERS
    assert of(replace(OWN, slots=1000), server_connections=900) is Bottleneck.NOTHING


@pytest.mark.parametrize(
    ("busy", "idle", "connections", "limit"),
    [
        (5, 250, 756, Bottleneck.WORKERS),  # 256 + 2 x 250
        (5, 250, 700, Bottleneck.NOTHING),
        (155, 100, 456, Bottleneck.WORKERS),
        (155, 100, 430, Bottleneck.NOTHING),
        (5, 44, 138, Bottleneck.WORKERS),  # more processes start when few are idle, not for connections
        (None, None, 760, Bottleneck.WORKERS),
        (None, None, 700, Bottleneck.NOTHING),
    ],
)
def test_idle_workers_of_the_event_mpm_let_connections_in(
    busy: int | None, idle: int | None, connections: int, limit: Bottleneck
) -> None:
    event = replace(OWN, workers=256, slots=768, slots_per_idle=2)
    told: dict[str, Any] = {"workers_busy": busy, "workers_idle": idle, "server_connections": connections}
    assert of(event, **told) is limit
    taken = shares_used([second(**told)], event)[Bottleneck.WORKERS]
    assert (taken >= ALL) is (limit is Bottleneck.WORKERS)


@pytest.mark.parametrize(
    ("server", "generator", "emulator", "idle", "limit"),
    [
        (1.2, 0.5, 0.2, 0.01, Bottleneck.SERVER_CPU),
        (0.7, 1.0, 0.2, 0.01, Bottleneck.GENERATOR_CPU),
        (
            0.9,
            2 * HELD,
            0.1,
            0.01,
            Bottleneck.GENERATOR_CPU,
        ),  # not the most, but the server had to wait for it
        (0.5, 0.4, 0.85, 0.01, Bottleneck.EMULATOR),
        (1.2, 0.5, 0.2, SPARE, Bottleneck.NOTHING),  # nobody waited
        (0.4, 0.3, 2 * OURS - 0.71, 0.0, Bottleneck.NOTHING),  # others filled the machine
    ],
)
def test_where_all_share_two_cores_who_filled_them_was_the_limit(
    server: float, generator: float, emulator: float, idle: float, limit: Bottleneck
) -> None:
    parts = {"server_cpu_s": server, "generator_cpu_s": generator, "emulator_cpu_s": emulator}
    assert of(SHARED, **parts, machine_idle_share=idle) is limit


def test_the_idle_time_of_a_core_tells_of_those_on_it() -> None:
    full = {
        "server_cpu_s": 0.8,
        "generator_cpu_s": 0.2,
        "emulator_cpu_s": 0.2,
    }  # the rest is the kernel's network
    assert of(TWO, **full, idle_by_core=(0.01, 0.6)) is Bottleneck.SERVER_CPU
    assert of(TWO, **full, idle_by_core=(0.20, 0.6)) is Bottleneck.NOTHING
    assert of(TWO, **{**full, "generator_cpu_s": 0.6}, idle_by_core=(0.2, 0.0)) is Bottleneck.GENERATOR_CPU
    assert of(TWO, **{**full, "emulator_cpu_s": 0.6}, idle_by_core=(0.2, 0.0)) is Bottleneck.EMULATOR


def series(*stretches: tuple[int, dict[str, Any]]) -> list[Second]:
    made: list[Second] = []
    for length, changes in stretches:
        made += [second(float(len(made) + number), **changes) for number in range(1, length + 1)]
    return made


def test_the_limit_of_a_trial_is_what_ran_out_first() -> None:
    ramp = series((60, {}), (60, STARVED), (60, {"server_cpu_s": 2.0}))
    assert bottleneck(ramp, OWN) is Bottleneck.WORKERS
    assert bottleneck(ramp[:60], OWN) is bottleneck([], OWN) is Bottleneck.NOTHING


def test_a_moment_is_no_limit() -> None:
    short = int(STRETCH_S * SHARE) - 1
    assert bottleneck(series((30, {}), (short, STARVED), (30, {})), OWN) is Bottleneck.NOTHING
    flickering = series(*((1, STARVED if number % 3 else {}) for number in range(30)))
    assert bottleneck(flickering, OWN) is Bottleneck.WORKERS


def test_a_generator_that_is_saturated_at_any_time_spoils_the_trial() -> None:
    late = series((30, {}), (30, STARVED), (20, {"generator_cpu_s": 1.0}))
    assert bottleneck(late, OWN) is Bottleneck.GENERATOR_CPU
    late = series((30, STARVED), (20, {"emulator_cpu_s": 0.99}), (30, STARVED))
    assert bottleneck(late, OWN) is Bottleneck.EMULATOR


@pytest.mark.parametrize(
    ("grown", "limit"),
    [
        ({"down_bytes": 14_000_000}, Bottleneck.NOTHING),
        ({"down_bytes": 24_800_000}, Bottleneck.LINK),
        ({"emulator_cpu_s": 1.2}, Bottleneck.NOTHING),
        ({"emulator_cpu_s": 1.9}, Bottleneck.EMULATOR),
    ],
)
def test_what_grew_while_nobody_could_tell_is_of_all_that_time(
    grown: dict[str, float], limit: Bottleneck
) -> None:
    """Every other second the emulator does not answer at once, and tells of two seconds in the next."""
    unknown = dict.fromkeys(grown)
    assert bottleneck(series(*((1, unknown if number % 2 else grown) for number in range(30))), OWN) is limit


def test_a_short_trial_is_judged_as_a_whole() -> None:
    assert bottleneck(series((4, {"generator_cpu_s": 1.0})), OWN) is Bottleneck.GENERATOR_CPU
    assert bottleneck(series((1, {"server_cpu_s": 2.0})), OWN) is Bottleneck.SERVER_CPU
    assert bottleneck(series((3, {}), (1, {"server_cpu_s": 2.0})), OWN) is Bottleneck.NOTHING


def test_shares_tell_what_was_used_of_each_part() -> None:
    capacity = Capacity(
        server=Part.on((0, 1)), generator=Part.on((2,)), emulator=Part.on((2,)), workers=50, down_mbps=8
    )
    seconds = [
        Second(
            t_s=number + 1.0,
            server_cpu_s=0.5,
            generator_cpu_s=0.25,
            emulator_cpu_s=0.125,
            workers_busy=10 + 20 * (number % 2),
            down_bytes=500_000,
        )
        for number in range(4)
    ]
    assert shares_used(seconds, capacity) == {
        Bottleneck.SERVER_CPU: 0.25,
        Bottleneck.GENERATOR_CPU: 0.375,  # of a core that it shares with the emulator
        Bottleneck.EMULATOR: 0.375,
        Bottleneck.LINK: 0.5,
        Bottleneck.WORKERS: 0.4,
    }
    assert shares_used([Second(t_s=1.0)], capacity) == {Bottleneck.LINK: 0.0}
    assert shares_used([], capacity) == {}

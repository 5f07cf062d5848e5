"""When a closed loop counts: every way in which it does not, from evidence that would count without it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from harness.capacity.limit import Bottleneck, Capacity, Part
from harness.capacity.loadtool import ClosedLoop, Latency, RateReading
from harness.capacity.rateproof import Burst, RateEvidence, Used, ending, limited_by, observe
from harness.capacity.ratetrial import threads_for
from harness.errors import Outcome, TestbedFailed
from harness.model.protocol import Protocol
from sites.servers.server import Match, ServedRequest

LOSSES = {"drops_device": 0, "oversize": 0, "write_errors": None}
URL = "https://site.example/"


def told(bytes_out: int, **other: Any) -> dict[str, Any]:
    way = {"packets_out": bytes_out // 100, "bytes_out": bytes_out, **LOSSES}
    return {"down": dict(way), "up": dict(way), **other}


LOOP = ClosedLoop(URL, Protocol.HTTPS1, connections=2, depth=1, seconds=10)
LOGGED = ServedRequest(
    started_us=1,
    duration_us=1,
    client_address="10.64.0.1",
    client_port=1000,
    server_address="10.0.0.1",
    server_port=443,
    protocol="http/1.1",
    method="GET",
    host="site.example",
    target="/",
    status=200,
    body_bytes=50,
    requests_before=0,
    tls="TLSv1.3",
    resumed=False,
    match=Match.EXACT,
)
USED = Used(
    server_cpu_s=5.0,
    foreign_cpu_share=0.01,
    machine_idle_share=0.4,
    idle_by_core=(0.4, 0.4),
    data_packets=1000,
    link_before=told(0),
    link_reading=told(1000),
)
READING = RateReading(10.0, 1000, {}, 200_000, latency=Latency(1, 2, 3, 4))
GOOD = RateEvidence(
    loop=LOOP,
    tls="1.3",
    reading=READING,
    served=(LOGGED, replace(LOGGED, client_port=1001), replace(LOGGED, client_port=1001, body_bytes=0)),
    used=USED,
    generator_cpu_s=2.0,
    accounting="cgroup",
)


def with_reading(**changes: Any) -> RateEvidence:
    return replace(GOOD, reading=replace(READING, **changes))


def with_log(**changes: Any) -> RateEvidence:
    return replace(GOOD, served=(LOGGED, replace(LOGGED, **changes)))


def with_loss(counters: Mapping[str, int]) -> RateEvidence:
    reading = told(1000)
    reading["down"].update(counters)
    return replace(GOOD, used=replace(USED, link_reading=reading))


def at_depth(depth: int, packets: int, logged: int | None = None) -> RateEvidence:
    return replace(
        GOOD,
        loop=replace(LOOP, depth=depth),
        used=replace(USED, data_packets=packets),
        served=(replace(LOGGED, depth=logged),),
    )


def with_burst(at_once: int, under_way: float | None) -> RateEvidence:
    seen = at_depth(8, 1000)
    reading = replace(READING, under_way=under_way)
    return replace(seen, reading=reading, burst=Burst(8, at_once=at_once, one_at_a_time=9))


def test_good_evidence_counts_and_becomes_numbers() -> None:
    assert ending(GOOD, None) == (Outcome.OK, None)
    seen = observe(GOOD, "server-cpu")
    assert (seen.requests, seen.requests_per_s, seen.bytes_per_s) == (1000, 100.0, 20_000.0)
    assert (seen.latency_p50_ms, seen.latency_p999_ms) == (1, 4)
    assert (seen.server_cpu_us_per_request, seen.bytes_body) == (5000.0, 50_000)
    assert seen.requests_by_protocol == {"http/1.1": 1000}
    assert seen.tls_versions == {"TLSv1.3": 2}
    assert (seen.limited_by, seen.accounting, seen.foreign_cpu_share) == ("server-cpu", "cgroup", 0.01)
    assert seen.link_reading == told(1000)


@pytest.mark.parametrize(
    ("evidence", "outcome", "says"),
    [
        (replace(GOOD, used=None), Outcome.TESTBED_FAILED, "no reading"),
        (with_loss({"drops_device": 2}), Outcome.TESTBED_FAILED, "2 drops_device down"),
        (replace(GOOD, reading=None), Outcome.PAGE_ERROR, "left no reading"),
        (with_reading(requests=0, errors={"connect": 3}), Outcome.PAGE_ERROR, "answered (3 connect)"),
        (with_reading(requests=0), Outcome.PAGE_ERROR, "answered (no error told)"),
        (with_reading(errors={"status": 7}), Outcome.MISSING_OBJECTS, "7 answers had a status of 400"),
        (with_reading(requests=0, errors={"status": 7}), Outcome.MISSING_OBJECTS, "7 answers"),
        (with_reading(protocol="h2"), Outcome.WRONG_PROTOCOL, "did not use https1, but h2"),
        (with_reading(tls="TLSv1.2"), Outcome.WRONG_PROTOCOL, "did not use TLSv1.3, but TLSv1.2"),
        (replace(GOOD, served=()), Outcome.WRONG_PROTOCOL, "logged no request"),
        (with_log(protocol="h2"), Outcome.WRONG_PROTOCOL, f"{URL} by h2"),
        (with_log(tls="TLSv1.2"), Outcome.WRONG_PROTOCOL, f"{URL} by TLSv1.2"),
        (with_log(target="/other"), Outcome.WRONG_PROTOCOL, f"{URL}other (exact)"),
        (with_log(match=Match.CLOSEST), Outcome.WRONG_PROTOCOL, f"{URL} (closest)"),
        (at_depth(1, 1000, 2), Outcome.WRONG_PROTOCOL, "2 at once on a connection"),
        (at_depth(1, 500), Outcome.WRONG_PROTOCOL, "1,000 requests in 500 packets"),
        (at_depth(8, 1000), Outcome.WRONG_PROTOCOL, "nothing proves"),
        (
            with_burst(9, 15.9),
            Outcome.WRONG_PROTOCOL,
            "8 requests on a connection took 9 packets at once and 9",
        ),
        (with_burst(2, 1.9), Outcome.WRONG_PROTOCOL, "1.9 were under way on 2 connections"),
        (with_burst(2, None), Outcome.WRONG_PROTOCOL, "0 were under way on 2 connections"),
    ],
)
def test_what_does_not_count(evidence: RateEvidence, outcome: Outcome, says: str) -> None:
    found, reason = ending(evidence, None)
    assert found is outcome
    assert says in (reason or "")


@pytest.mark.parametrize(
    "evidence", [at_depth(8, 125), at_depth(8, 1000, 2), at_depth(1, 1300), with_burst(2, 15.9)]
)
def test_pipelining_is_proved_by_log_by_packets_or_by_a_burst(evidence: RateEvidence) -> None:
    assert ending(evidence, None) == (Outcome.OK, None)


def test_what_the_tool_gave_up_at_its_end_proves_nothing_wrong() -> None:
    assert ending(with_log(match=Match.MISS, status=499), None) == (Outcome.OK, None)


def test_a_part_of_the_testbed_that_failed_is_to_blame_first() -> None:
    failed = TestbedFailed("nginx died")
    assert ending(with_reading(requests=0), failed) == (Outcome.TESTBED_FAILED, "nginx died")


def test_without_evidence_there_are_no_numbers() -> None:
    seen = observe(RateEvidence(LOOP, "1.3"), None)
    assert seen.requests is None
    assert seen.requests_per_s is None
    assert seen.server_cpu_us_per_request is None
    assert seen.link_reading is None


CAPACITY = Capacity(
    server=Part.on((0,)), generator=Part.on((1,), 1), emulator=Part.on((1,), 1), down_mbps=1.0
)


@pytest.mark.parametrize(
    ("changes", "generator_cpu_s", "limit"),
    [
        ({}, 2.0, Bottleneck.NOTHING),
        ({"server_cpu_s": 9.5}, 2.0, Bottleneck.SERVER_CPU),
        ({}, 9.5, Bottleneck.GENERATOR_CPU),
        ({"link_reading": told(1_250_000)}, 2.0, Bottleneck.LINK),
        (
            {
                "link_before": told(0, cpu_user_s=1, cpu_system_s=1),
                "link_reading": told(9, cpu_user_s=6, cpu_system_s=6),
            },
            2.0,
            Bottleneck.EMULATOR,
        ),
    ],
)
def test_what_ran_out_is_told_from_the_whole(
    changes: Mapping[str, Any], generator_cpu_s: float, limit: Bottleneck
) -> None:
    assert limited_by(replace(USED, **changes), generator_cpu_s, 10.0, CAPACITY) is limit


@pytest.mark.parametrize(
    ("connections", "most", "threads"), [(16, 1, 1), (16, 3, 2), (64, 8, 8), (7, 4, 1), (1, 4, 1)]
)
def test_every_thread_has_as_many_connections(connections: int, most: int, threads: int) -> None:
    assert threads_for(connections, most) == threads

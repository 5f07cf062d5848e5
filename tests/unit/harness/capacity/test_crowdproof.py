"""What makes a crowd's trial not count: a good one, and one thing of it changed; and the numbers of its record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.capacity.crowd import CrowdSeen, ServedCounts, counted
from harness.capacity.crowdproof import CrowdEvidence, observe, users_over, verdict
from harness.capacity.recipe import Item, PageRecipe
from harness.capacity.resources import crowd_of
from harness.capacity.series import Bucket, PageLine, Second, buckets
from harness.errors import Outcome
from harness.model.kind import Users
from harness.model.protocol import Protocol
from sites.servers.server import Match, ServedRequest
from tests.facts import tells

PAGE = PageLine(t_s=0, user=0, ms=300, requests=10, connections=2, protocol="h2", tls="1.3")
FAILED = PageLine(t_s=1, user=1, error="timeout", requests=3, failed=3)
CLEAN = {
    way: {"drops_queue": 7, "drops_device": 0, "oversize": 0, "write_errors": 0} for way in ("down", "up")
}
GOOD = CrowdEvidence(
    protocol=Protocol.H2,
    origins=2,
    connections_per_host=1,
    tls="1.3",
    tls_resumption=False,
    pages=[PAGE, FAILED],
    served=ServedCounts(requests=12, by_protocol={"h2": 12}, by_tls={"TLSv1.3": 12}),
    link_reading=CLEAN,
)
HTTP1 = replace(
    GOOD,
    protocol=Protocol.HTTP1,
    connections_per_host=6,
    pages=[replace(PAGE, protocol="http/1.1", tls=None, connections=12)],
    served=ServedCounts(10, {"http/1.1": 10}, {"none": 10}),
)
CLOSE = replace(HTTP1, protocol=Protocol.HTTP1_CLOSE, pages=[replace(HTTP1.pages[0], connections=10)])


@pytest.mark.parametrize("evidence", [GOOD, HTTP1, CLOSE])
def test_a_good_one(evidence: CrowdEvidence) -> None:
    assert verdict(evidence) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("base", "changes", "outcome", "facts"),
    [
        (GOOD, {"link_reading": None}, Outcome.TESTBED_FAILED, ("link", "no reading")),
        (
            GOOD,
            {"link_reading": {**CLEAN, "up": {"write_errors": 4}}},
            Outcome.TESTBED_FAILED,
            ("outside the emulated link", "4 write_errors up"),
        ),
        (
            GOOD,
            {"pages": [PAGE, replace(PAGE, protocol="http/1.1")]},
            Outcome.WRONG_PROTOCOL,
            ("pages", "not loaded by h2", "1 by http/1.1"),
        ),
        (
            GOOD,
            {"pages": [replace(PAGE, tls="TLS 1.2")]},
            Outcome.WRONG_PROTOCOL,
            ("pages", "not loaded by TLS 1.3", "1 by 1.2"),
        ),
        (GOOD, {"pages": [replace(PAGE, tls=None)]}, Outcome.WRONG_PROTOCOL, ("1 by no TLS",)),
        (
            HTTP1,
            {"pages": [replace(HTTP1.pages[0], tls="1.3")]},
            Outcome.WRONG_PROTOCOL,
            ("pages", "not loaded by plain HTTP", "1 by 1.3"),
        ),
        (
            GOOD,
            {"pages": [replace(PAGE, connections=3)]},
            Outcome.WRONG_PROTOCOL,
            ("1 pages", "more than 2 connections at once"),
        ),
        (
            HTTP1,
            {"pages": [replace(HTTP1.pages[0], connections=20, connections_at_once=13)]},
            Outcome.WRONG_PROTOCOL,
            ("1 pages", "more than 12 connections at once"),
        ),
        (
            CLOSE,
            {"pages": [replace(CLOSE.pages[0], connections=9)]},
            Outcome.WRONG_PROTOCOL,
            ("1 pages", "fewer connections than requests"),
        ),
        (GOOD, {"served": None}, Outcome.WRONG_PROTOCOL, ("server's log", "not read")),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 11, "http/1.1": 1}, {"TLSv1.3": 12})},
            Outcome.WRONG_PROTOCOL,
            ("server", "h2 for all", "1 by http/1.1"),
        ),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 12}, {"TLSv1.3": 11, "TLSv1.2": 1})},
            Outcome.WRONG_PROTOCOL,
            ("server", "TLSv1.3 for all", "1 by TLSv1.2"),
        ),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 12}, {"TLSv1.3": 12}, resumed=2)},
            Outcome.WRONG_PROTOCOL,
            ("not cold", "resumed a TLS session", "2 requests"),
        ),
        (
            GOOD,
            {"served": ServedCounts(9, {"h2": 9}, {"TLSv1.3": 9})},
            Outcome.WRONG_PROTOCOL,
            ("server logged 9",),
        ),
        (
            GOOD,
            {"pages": [FAILED, FAILED]},
            Outcome.PAGE_ERROR,
            ("no page was loaded", "2 by timeout"),
        ),
        (GOOD, {"pages": []}, Outcome.PAGE_ERROR, ("no page was loaded", "none failed")),
    ],
)
def test_one_thing_that_is_wrong(
    base: CrowdEvidence, changes: dict[str, Any], outcome: Outcome, facts: tuple[str, ...]
) -> None:
    found, reason = verdict(replace(base, **changes))
    assert found is outcome
    assert tells([reason or ""], *facts)


def test_each_port_of_a_host_has_connections_of_its_own() -> None:
    urls = ("https://shop.example/", "https://shop.example:8443/api", "https://shop.example:443/logo.png")
    document, *others = (Item(url, "GET", {}, 200, ()) for url in urls)
    recipe = PageRecipe(document, tuple(others))
    assert (recipe.hosts, len(recipe.origins)) == (("shop.example",), 2)
    assert crowd_of(Users(steps=(10,), step_s=10), recipe, Protocol.H2, 20).connections_at_once == 2
    evidence = replace(GOOD, origins=len(recipe.origins))
    for count, outcome in ((2, Outcome.OK), (3, Outcome.WRONG_PROTOCOL)):
        page = replace(PAGE, connections=count, connections_at_once=count)
        assert verdict(replace(evidence, pages=[page]))[0] is outcome


def test_resumption_is_no_fault_where_the_study_allows_it() -> None:
    served = ServedCounts(12, {"h2": 12}, {"TLSv1.3": 12}, resumed=2)
    assert verdict(replace(GOOD, served=served, tls_resumption=True)) == (Outcome.OK, None)


def test_a_server_that_writes_no_log_proves_nothing_and_denies_nothing() -> None:
    assert verdict(replace(GOOD, served=ServedCounts(0, {}, {}), logged=False)) == (Outcome.OK, None)


def test_a_connection_that_the_server_closed_may_be_replaced() -> None:
    page = replace(HTTP1.pages[0], connections=14, connections_at_once=12)
    assert verdict(replace(HTTP1, pages=[page])) == (Outcome.OK, None)


def logged(**changes: Any) -> ServedRequest:
    made = ServedRequest(
        started_us=0,
        duration_us=1,
        client_address="10.64.0.8",
        client_port=4000,
        server_address="10.0.0.1",
        server_port=443,
        protocol="h2",
        method="GET",
        host="a.example",
        target="/",
        status=200,
        body_bytes=1,
        requests_before=None,
        tls="TLSv1.3",
        resumed=False,
        match=Match.EXACT,
    )
    return replace(made, **changes)


def test_only_requests_of_the_crowd_are_counted() -> None:
    crowd = {"10.64.0.8", "10.64.0.9"}
    made = counted(
        [
            logged(),
            logged(client_address="10.64.0.9", protocol="http/1.1", tls=None),
            logged(resumed=True),
            logged(client_address="127.0.0.1"),
            logged(websocket=True),
            logged(method="", target="", protocol="http/1.0", status=408),  # a connection that was not used
        ],
        crowd,
    )
    assert made == ServedCounts(3, {"h2": 2, "http/1.1": 1}, {"TLSv1.3": 2, "none": 1}, 1)


PAGES = [
    PageLine(t_s=0.0, user=0, users=1, ms=500, requests=3, connections=2, tls="1.3"),
    PageLine(t_s=11.0, user=1, users=10, ms=1000, requests=3, connections=2, tls="1.3"),
    PageLine(t_s=12.0, user=2, users=10, ms=1500, requests=3, connections=1, tls="1.3"),
    PageLine(
        t_s=5.0,
        user=2,
        users=5,
        error="timeout",
        requests=2,
        failed=2,
        connections=1,
        ended_ms=20_000,
        broke_ms=20_000,
    ),
    PageLine(t_s=21.0, user=3, users=21, error="reset", ended_ms=8000, broke_ms=1500),
]
RAMP = Users(start=1, to=31, over_s=30, bucket_s=10)
SECONDS = [
    Second(
        t_s=float(number + 1),
        users=1 + number // 10 * 10,
        server_cpu_s=0.1,
        generator_cpu_s=0.2,
        machine_idle_share=1 - number / 100,
        workers_busy=number,
        workers_idle=50 - number,
        server_rss_bytes=1000 + number,
        generator_rss_bytes=500 + number,
    )
    for number in range(30)
]


def test_the_rest_of_the_pages_is_no_peak() -> None:
    """When the ramp is over nobody begins a page, and what is under way comes all at once."""
    late = [PageLine(t_s=19.0, user=user, users=20, ms=6000) for user in range(9)]
    lot = buckets([*PAGES, *late], SECONDS, 10, 20)
    assert max(each.pages_per_s for each in lot) > 0.5
    made = observe(CrowdSeen(PAGES, SECONDS), lot, workload=RAMP, asked_s=20)
    assert (made.pages_per_s, made.users_at_most_pages) == (0.2, 11)


def test_the_rest_of_the_pages_makes_the_median_page_no_quicker() -> None:
    slow = [PageLine(t_s=float(t), user=t, users=20, ms=8000) for t in range(10)]
    rest = [PageLine(t_s=18.0 + t / 10, user=t, users=20, ms=3000) for t in range(30)]
    pages = [*slow, *rest]
    made = observe(CrowdSeen(pages), buckets(pages, [], 10, 20), workload=RAMP, asked_s=20)
    assert (made.pages, made.page_ms, made.page_p95_ms) == (40, 8000, 8000)


def test_the_rest_of_the_pages_makes_slow_pages_no_quicker() -> None:
    lot = [
        Bucket(t_s=10 * n, seconds=10, users=10 + 10 * n, pages=1, waited_ms=ms)
        for n, ms in enumerate([4000, 5000, 100])
    ]
    made = observe(CrowdSeen(), lot, workload=RAMP, asked_s=20)
    assert made.users_over_bound == 10


@pytest.mark.parametrize("late_s", [0, 1, 4, 6, 12])
def test_however_long_the_rest_takes_the_last_users_count(late_s: float) -> None:
    """A slow end of the crowd is told of a quick server as of a slow one."""
    pages = [PageLine(t_s=float(t), user=t, users=10 * (1 + t // 10), ms=500.0) for t in range(20)]
    slow = [PageLine(t_s=20.0 + t / 2, user=t, users=30, ms=4500.0) for t in range(10)]
    rest = [PageLine(t_s=25.0, user=99, users=30, ms=1000 * (5 + late_s))]
    lot = buckets([*pages, *slow, *rest], [], 10, 30)
    assert observe(CrowdSeen(), lot, workload=RAMP).users_over_bound == 30


def test_pages_that_fail_are_over_every_bound() -> None:
    quick = [PageLine(t_s=float(t), user=t, users=20, ms=700.0) for t in range(5)]
    failed = [PageLine(t_s=t / 100, user=t, users=20, error="reset") for t in range(500)]
    for pages, users in (([*quick, *failed], 20), (quick, None)):
        made = observe(CrowdSeen(pages), buckets(pages, [], 10, 10), workload=RAMP, asked_s=10)
        assert made.users_over_bound == users


@pytest.mark.parametrize(("bound_ms", "users"), [(400, 1), (500, 11), (1200, 11), (1300, 21)])
def test_the_bound_of_slow_pages_is_a_setting(bound_ms: float, users: int) -> None:
    workload = replace(RAMP, slower_than_s=bound_ms / 1000)
    made = observe(CrowdSeen(PAGES, SECONDS), buckets(PAGES, SECONDS, 10, 30), workload=workload)
    assert made.users_over_bound == users


def test_every_number_of_a_small_crowd() -> None:
    lot = buckets(PAGES, SECONDS, 10, 30)
    seen = CrowdSeen(
        pages=PAGES,
        seconds=SECONDS,
        accounting="processes",
        link_reading={"down": {"bytes_out": 7}, "up": {"bytes_out": 8}},
        served=ServedCounts(11, {"h2": 11}, {}),
    )
    made = observe(seen, lot, "nothing", workload=RAMP)
    assert (made.pages, made.pages_failed, made.errors) == (3, 2, {"timeout": 1, "reset": 1})
    assert (made.pages_per_s, made.users_at_most_pages) == (0.2, 11)
    assert (made.page_ms, made.page_mean_ms, made.page_p95_ms) == (1000, 1000, 1500)
    assert made.first_error_users == 23  # by the reset: the other page was asked for before, and failed later
    assert made.users_over_bound == 21  # of the bucket in which none was loaded
    assert (made.requests, made.connections) == (11, 6)
    assert (made.bytes_down, made.bytes_down_per_page, made.bytes_up) == (7, 1, 8)
    assert made.generator_cpu_s == pytest.approx(6)
    assert made.generator_cpu_ms_per_page == pytest.approx(1200)
    assert made.server_cpu_ms_per_page == pytest.approx(600)
    assert (made.generator_memory_bytes, made.server_memory_bytes) == (529, 1029)
    assert (made.workers_busy, made.workers) == (29, 50)
    assert made.cpu_idle_share == pytest.approx(1 - 0.245)
    assert made.tls_versions == {"1.3": 5}
    assert made.requests_by_protocol == {"h2": 11}
    assert (made.accounting, made.limited_by) == ("processes", "nothing")


@pytest.mark.parametrize(
    ("page", "users"),
    [
        (PageLine(t_s=10, user=0, error="timeout", ended_ms=15_000, broke_ms=15_000), 26),
        (
            PageLine(t_s=10, user=0, error="reset", ended_ms=15_000, broke_ms=2000),
            13,
        ),  # its other requests went on
        (
            PageLine(t_s=10, user=0, error="timeout", ended_ms=60_000, broke_ms=60_000),
            31,
        ),  # the crowd has gone
        (PageLine(t_s=10, user=0, error="timeout"), 11),  # before 2026-12, when nothing told of its end
        (PageLine(t_s=10, user=0, ms=500), None),
    ],
)
def test_the_first_error_is_that_of_the_users_who_were_there(page: PageLine, users: int | None) -> None:
    assert observe(CrowdSeen([PAGES[0], page]), [], workload=RAMP).first_error_users == users


def test_a_crowd_of_which_nothing_was_seen() -> None:
    made = observe(CrowdSeen(), [], workload=RAMP)
    assert made.pages == 0
    assert made.pages_per_s is None
    assert made.page_ms is None
    assert made.server_cpu_s is None
    assert made.first_error_users is None
    assert made.link_reading is None


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([100, 200, 300], None),
        ([100, 4000, 300], None),  # once is not from then on
        ([100, 4000, 5000], 20),
        ([4000, 4000, 5000], 10),
        ([100, 200, None], 30),  # half failed
    ],
)
def test_from_how_many_users_on_pages_are_slow(times: list[float | None], expected: int | None) -> None:
    lot = [
        Bucket(t_s=10 * n, seconds=10, users=10 + 10 * n, pages=1, failed=1, waited_ms=ms)
        for n, ms in enumerate(times)
    ]
    lot.append(Bucket(t_s=30, seconds=10, users=40))  # in which nothing ended
    assert users_over(lot, 3000) == expected


def test_nothing_limits_no_crowd_that_loaded_nothing() -> None:
    failed = [replace(page, ms=None, error="connect") for page in PAGES]
    made = observe(CrowdSeen(failed, SECONDS), [], "nothing", workload=RAMP)
    assert (made.pages, made.pages_failed, made.limited_by) == (0, len(PAGES), None)
    busy = observe(CrowdSeen(failed, SECONDS), [], "workers", workload=RAMP)
    assert busy.limited_by == "workers"

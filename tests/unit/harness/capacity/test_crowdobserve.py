"""The numbers of a crowd's record, from series that are made up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.capacity.buckets import buckets
from harness.capacity.crowdobserve import CrowdResults, observe, users_over
from harness.capacity.series import Bucket, PageLine, Second

PAGES = [
    PageLine(t_s=0.0, user=0, users=1, ms=500, requests=3, connections=2, tls="1.3"),
    PageLine(t_s=11.0, user=1, users=10, ms=1000, requests=3, connections=2, tls="1.3"),
    PageLine(t_s=12.0, user=2, users=10, ms=1500, requests=3, connections=1, tls="1.3"),
    PageLine(t_s=21.0, user=2, users=20, error="timeout", requests=2, failed=2, connections=1),
    PageLine(t_s=25.0, user=3, users=21, error="reset"),
]
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
    made = observe(CrowdResults(pages=PAGES, seconds=SECONDS, buckets=lot, asked_s=20))
    assert (made.pages_per_s, made.users_at_most_pages) == (0.2, 11)


def test_the_rest_of_the_pages_makes_slow_pages_no_quicker() -> None:
    lot = [
        Bucket(t_s=10 * n, seconds=10, users=10 + 10 * n, pages=1, page_ms=ms)
        for n, ms in enumerate([4000, 5000, 100])
    ]
    made = observe(CrowdResults(pages=[], seconds=[], buckets=lot, asked_s=20))
    assert made.users_over_3s == 10


def test_every_number_of_a_small_crowd() -> None:
    lot = buckets(PAGES, SECONDS, 10, 30)
    made = observe(
        CrowdResults(
            pages=PAGES,
            seconds=SECONDS,
            buckets=lot,
            link_reading={"down": {"bytes_out": 7}, "up": {"bytes_out": 8}},
            requests_by_protocol={"h2": 11},
            accounting="processes",
            limited_by="nothing",
        )
    )
    assert (made.pages, made.pages_failed, made.errors) == (3, 2, {"timeout": 1, "reset": 1})
    assert (made.pages_per_s, made.users_at_most_pages) == (0.2, 11)
    assert (made.page_ms, made.page_p95_ms) == (1000, 1500)
    assert made.first_error_users == 20
    assert made.users_over_3s == 21  # of the bucket in which none was loaded
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


def test_a_crowd_of_which_nothing_was_seen() -> None:
    made = observe(CrowdResults(pages=[], seconds=[], buckets=[]))
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
        ([100, 200, None], 30),  # all failed
    ],
)
def test_from_how_many_users_on_pages_are_slow(times: list[float | None], expected: int | None) -> None:
    lot = [
        Bucket(t_s=10 * n, seconds=10, users=10 + 10 * n, pages=int(ms is not None), failed=1, page_ms=ms)
        for n, ms in enumerate(times)
    ]
    lot.append(Bucket(t_s=30, seconds=10, users=40))  # in which nothing ended
    assert users_over(lot, 3000) == expected


def test_nothing_limits_no_crowd_that_loaded_nothing() -> None:
    failed = [replace(page, ms=None, error="connect") for page in PAGES]
    made = observe(CrowdResults(pages=failed, seconds=SECONDS, buckets=[], limited_by="nothing"))
    assert (made.pages, made.pages_failed, made.limited_by) == (0, len(PAGES), None)
    busy = observe(CrowdResults(pages=failed, seconds=SECONDS, buckets=[], limited_by="workers"))
    assert busy.limited_by == "workers"

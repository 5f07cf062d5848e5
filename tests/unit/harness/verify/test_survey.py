"""What a live page's loads tell of its hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.engines.browserlog import BrowserLog, Connection, Exchange, Request, Span
from harness.verify.survey import largest, look_up_ms, remotes, thinking
from tests.unit.harness.probes.goodload import START, request

CDN = "https://cdn.example/"


def made(remote: str, local: str) -> Connection:
    return Connection(remote, local, "TLS 1.3", "h2", resumed=False)


def travelled(
    url: str, local: str, sent_ms: float = 1000, answered_ms: float = 1100, body: int = 100
) -> Request:
    exchange = Exchange(connection=local, sent_ms=sent_ms)
    return request(url, exchange=exchange, answered_ms=answered_ms, body_bytes=body)


def log(*requests: Request) -> BrowserLog:
    ends = (made("192.0.2.1:443", "1"), made("[2001:db8::2]:8443", "2"), made("192.0.2.3:443", "3"))
    return BrowserLog(requests, ends)


def test_a_host_is_where_most_of_its_requests_went() -> None:
    logs = [
        log(
            travelled(START, "1"),
            travelled(f"{CDN}a", "3"),
            travelled(f"{CDN}b", "2"),
            travelled(f"{CDN}c", "2"),
        )
    ]
    assert remotes(logs) == {"site.example": ("192.0.2.1", 443), "cdn.example": ("2001:db8::2", 8443)}
    assert remotes([log(travelled(START, "gone"))]) == {}


def test_a_server_thinks_for_what_is_beyond_the_round_trip_and_the_least_counts() -> None:
    logs = [
        log(travelled(f"{CDN}a#part", "2", 0, 90)),
        log(travelled(f"{CDN}a", "2", 0, 75)),
        log(travelled(START, "1")),
    ]
    assert thinking(logs, {"cdn.example": 50.0}) == {f"{CDN}a": 25.0}
    assert thinking(logs, {"cdn.example": 80.0}) == {f"{CDN}a": 0.0}


@pytest.mark.parametrize(
    ("answers", "think_ms"),
    [
        ((("OPTIONS", 204, 12), ("POST", 200, 420)), 410),  # a CORS question is answered at once
        ((("OPTIONS", 204, 420), ("POST", 200, 12)), 2),
        ((("POST", 200, 420), ("GET", 200, 100), ("GET", 200, 60)), 50),
        ((("GET", 302, 15), ("GET", 200, 420), ("GET", 500, 11)), 410),
        ((("GET", 404, 15), ("GET", 302, 30)), 20),
        ((("OPTIONS", 204, 12),), None),
    ],
)
def test_a_server_thinks_as_long_as_for_the_answer_that_an_archive_holds(
    answers: tuple[tuple[str, int, int], ...], think_ms: float | None
) -> None:
    url = f"{CDN}api"
    asked = [
        replace(travelled(url, "2", 0, took_ms), method=method, status=status)
        for method, status, took_ms in answers
    ]
    for order in (asked, asked[::-1]):
        assert thinking([log(*order)], {"cdn.example": 10.0}).get(url) == think_ms


def test_a_rate_is_measured_by_the_largest_answers_of_the_largest_hosts() -> None:
    reached = {"site.example": ("192.0.2.1", 443), "cdn.example": ("192.0.2.3", 443)}
    requests = [
        travelled(START, "1", body=9),
        travelled(f"{CDN}a", "3", body=5),
        travelled(f"{CDN}b", "3", body=7),
    ]
    requests.append(travelled("https://unreached.example/", "3", body=999))
    assert largest([log(*requests)], reached) == [f"{CDN}b", START]


def test_look_ups_are_told_by_their_median() -> None:
    spans = {"a": (Span(0, 10), Span(20, 24)), "b": (Span(5, 6),)}
    assert look_up_ms([BrowserLog((), (), lookups=spans)]) == 4
    assert look_up_ms([BrowserLog((), ())]) is None

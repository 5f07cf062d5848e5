"""What QtWebKit's processes tell, read as a browser's log and as a timeline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.browser.qtwebkit.driver import timeline
from harness.browser.qtwebkit.log import parse

PAGE = "https://site.example/"
SECURE = {"pipelined": False, "spdy": False, "h2": False, "tls": "TLS 1.2", "cipher": "x", "alpn": ""}
HOP = {
    "name": "site.example",
    "remote": "10.0.0.1:443",
    "local": "10.64.0.1:4000",
    "connect_ms": 50.4,
    "lookup_ms": 50.1,
}


def lines(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def asked(number: int, **changes: Any) -> dict[str, Any]:
    made = {"request": number, "url": f"{PAGE}{number or ''}", "method": "GET", "started_ms": 1000.0 + number}
    return made | changes


def answered(number: int, **changes: Any) -> dict[str, Any]:
    return {"request": number, "answered_ms": 1100.0, "status": 200, **SECURE} | changes


def ended(number: int, **changes: Any) -> dict[str, Any]:
    return {"request": number, "ended_ms": 1200.0, "error": 0, "error_text": None, "body_bytes": 7} | changes


def test_requests_and_connections_are_those_of_both_logs() -> None:
    requests = lines(asked(0), answered(0), asked(1), ended(0), answered(1, pipelined=True), ended(1))
    log = parse(requests, lines({"listening": 1080}, HOP, {"failed": "other.example:443: refused"}))
    assert [(each.url, each.main_frame, each.status, each.protocol) for each in log.page_requests] == [
        (PAGE, True, 200, "http/1.1"),
        (f"{PAGE}1", False, 200, "http/1.1"),
    ]
    assert [each.pipelined for each in log.requests] == [False, True]
    assert {each.tls for each in log.requests} == {"TLS 1.2"}
    assert not any(each.failed for each in log.requests)
    assert [(each.remote, each.local, each.connect_ms) for each in log.connections] == [
        ("10.0.0.1:443", "10.64.0.1:4000", 50.4)
    ]
    assert log.service_requests == ()


@pytest.mark.parametrize(
    ("proof", "protocol"), [({}, "http/1.1"), ({"spdy": True}, "spdy/3"), ({"h2": True}, "h2")]
)
def test_the_protocol_is_what_the_reply_says_was_used(proof: dict[str, bool], protocol: str) -> None:
    (request,) = parse(lines(asked(0), answered(0, **proof), ended(0)), "").requests
    assert request.protocol == protocol


@pytest.mark.parametrize(
    ("error", "net_error"),
    [(0, None), (203, None), (401, None), (5, -3), (2, -100), (6, -107), (105, -130), (99, -2), (399, -320)],
)
def test_errors_have_chromiums_numbers_and_those_of_a_status_none(error: int, net_error: int | None) -> None:
    (request,) = parse(lines(asked(0), ended(0, error=error)), "").requests
    assert request.net_error == net_error
    assert request.protocol is None
    assert request.failed


def test_a_log_cut_off_by_a_kill_is_read_up_to_there() -> None:
    whole = lines(asked(0), answered(0), asked(1))
    log = parse(whole[:-5], lines(HOP)[:-9])
    assert [each.url for each in log.requests] == [PAGE]
    assert log.connections == ()


def test_the_timeline_counts_from_navigation_start_and_leaves_out_placeholders() -> None:
    timing = {
        "navigationStart": 1000,
        "loadEventEnd": 1500,
        "domContentLoadedEventEnd": 1400,
        "responseStart": 1000,
    }
    found = timeline(timing, {"started_ms": 1001.5, "answered_ms": 1100.25})
    assert found == {"plt_ms": 500, "dcl_ms": 400, "ttfb_ms": 100.25, "navigation_start_ms": 1000}
    assert timeline({"navigationStart": 1000, "loadEventEnd": 0}, {})["plt_ms"] is None
    assert set(timeline({}, {}).values()) == {None}

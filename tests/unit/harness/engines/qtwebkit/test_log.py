"""What QtWebKit's processes tell, read as a browser's log and as a timeline."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from harness.engines.browserlog import Failure, Span
from harness.engines.qtwebkit.driver import timeline
from harness.engines.qtwebkit.log import parse
from harness.errors import Outcome, TrialFailed

PAGE = "https://site.example/"
SECURE = {"pipelined": False, "spdy": False, "h2": False, "tls": "TLS 1.2", "cipher": "x", "alpn": ""}
HOP = {
    "name": "site.example",
    "remote": "10.0.0.1:443",
    "local": "10.64.0.1:4000",
    "connect_ms": 50.4,
    "lookup_ms": 50.1,
    "began_ms": 900.0,
}


def lines(*entries: dict[str, Any]) -> str:
    return "".join(json.dumps(entry) + "\n" for entry in entries)


def asked(number: int, **changes: Any) -> dict[str, Any]:
    made = {"request": number, "url": f"{PAGE}{number or ''}", "method": "GET", "document": number == 0}
    made["started_ms"] = 1000.0 + number
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


def test_headers_are_those_of_webkit_and_what_qt_adds() -> None:
    sent = {"accept": "image/png", "accept-language": "de"}
    requests = lines(asked(0), answered(0), asked(1, sent=sent), answered(1, mime="Image/PNG; x=y"))
    older, newer = parse(requests, "").requests
    assert (older.sent, older.accepts, older.mime) == ((), "", "")
    assert dict(newer.sent) == {**sent, "accept-encoding": "gzip, deflate"}
    assert (newer.accepts, newer.mime) == ("image/png", "image/png")


def test_a_url_is_told_as_it_was_sent_without_user_and_password() -> None:
    (request,) = parse(lines(asked(0, url="https://me:secret@site.example/")), "").requests
    assert request.url == PAGE


def test_redirects_are_told_of_the_document_alone() -> None:
    requests = lines(asked(0), asked(1, document=True), asked(2), asked(3))
    assert [each.chain for each in parse(requests, "").requests] == [0, 0, 2, 3]


@pytest.mark.parametrize(
    ("proof", "protocol"), [({}, "http/1.1"), ({"spdy": True}, "spdy/3"), ({"h2": True}, "h2")]
)
def test_the_protocol_is_what_the_reply_says_was_used(proof: dict[str, bool], protocol: str) -> None:
    (request,) = parse(lines(asked(0), answered(0, **proof), ended(0)), "").requests
    assert request.protocol == protocol


@pytest.mark.parametrize(
    ("error", "failure"),
    [
        *((error, None) for error in (0, 203, 401)),
        (5, Failure.ABORTED),
        *((error, Failure.TRANSPORT) for error in (2, 6, 105, 399)),
        (99, Failure.REFUSED),
    ],
)
def test_errors_of_qt_are_failures_but_for_a_status(error: int, failure: Failure | None) -> None:
    (request,) = parse(lines(asked(0), ended(0, error=error)), "").requests
    assert request.failure is failure
    assert request.protocol is None
    assert request.failed


@pytest.mark.parametrize(("status", "failure"), [(200, Failure.ABORTED), (404, None)])
def test_what_webkit_gives_up_for_its_status_was_not_taken_back(status: int, failure: Failure | None) -> None:
    (request,) = parse(lines(asked(0), answered(0, status=status), ended(0, error=5)), "").requests
    assert (request.failure, request.status) == (failure, status)


def test_what_is_told_of_a_request_in_detail() -> None:
    heads = {
        "answered_with": [["Content-Type", "text/html"]],
        "reason": "OK",
    }
    first = asked(0, sent={"accept": "text/html"})
    whole = lines(first, answered(0), {"request": 0} | heads, ended(0), {"request": 0, "body": "aGVsbG8h"})
    log = parse(whole, lines(HOP))
    (told,) = (each.exchange for each in log.requests)
    assert dict(told.asked_with)["accept"] == "text/html"
    assert dict(told.asked_with)["accept-encoding"] == "gzip, deflate"
    assert told.answered_with == (("Content-Type", "text/html"),)
    assert (told.status_line, told.decoded, told.decoded_bytes) == ("HTTP/1.1 200 OK", b"hello!", 7)
    assert (told.over_ms, told.sending_ms, told.connection) == (1200.0, None, None)
    assert log.lookups == {"site.example": (Span(900.0, 950.1),)}
    assert [each.connecting for each in log.connections] == [Span(950.1, 1000.5)]


def test_a_log_cut_off_by_a_kill_is_read_up_to_there() -> None:
    whole = lines(asked(0), answered(0), asked(1))
    log = parse(whole[:-5], lines(HOP)[:-9])
    assert [each.url for each in log.requests] == [PAGE]
    assert log.connections == ()


HONEST: dict[str, Any] = {
    "ok": True,
    "went_on": None,
    "navigate_ms": 503.0,
    "started_ms": 1000.5,
    "told_ms": 1502.0,
    "times": {"navigationStart": 1000, "domContentLoadedEventEnd": 1400, "loadEventEnd": 1500},
    "document": [
        {"url": PAGE, "started_ms": 1001.5, "answered_ms": 1050.0, "status": 302},
        {"url": f"{PAGE}there", "started_ms": 1051.0, "answered_ms": 1100.25, "status": 200},
    ],
    "blank": False,
}


def told(**times: int) -> dict[str, Any]:
    return HONEST | {"times": HONEST["times"] | times}


def test_the_timeline_counts_from_navigation_start_over_all_redirects() -> None:
    assert timeline(HONEST) == {
        "plt_ms": 500,
        "dcl_ms": 400,
        "ttfb_ms": 99.75,
        "fetch_start_ms": 1.0,
        "navigation_start_ms": 1000.5,
        "blank": False,
    }
    assert timeline(told(domContentLoadedEventEnd=0))["dcl_ms"] is None  # a picture has none


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (HONEST | {"ok": False, "went_on": f"{PAGE}other"}, f"another document: {re.escape(PAGE)}other"),
        (HONEST | {"ok": False, "document": [{"error_text": "refused"}]}, "not loaded: refused"),
        (HONEST | {"ok": False}, "the engine does not tell why"),
        (HONEST | {"document": []}, "its document was not answered"),
        (HONEST | {"document": [HONEST["document"][0] | {"status": 404}]}, "was answered with 404"),
        (HONEST | {"times": {}}, "holds no load event"),
        (told(loadEventEnd=0), "holds no load event"),
        (told(loadEventEnd=1090), "load event after 90 ms, .* head of the document after 100 ms"),
        (told(loadEventEnd=1510), "load event after 510 ms, .* after 502 ms"),
        (told(navigationStart=0), "not to be believed"),
        (told(navigationStart=1499), "load event after 1 ms"),
        (told(domContentLoadedEventEnd=900), "DOMContentLoaded after -100 ms"),
        (told(domContentLoadedEventEnd=9999), "DOMContentLoaded after 8999 ms"),
    ],
)
def test_what_was_no_load_or_contradicts_the_engine_is_an_error_of_the_page(
    found: dict[str, Any], reason: str
) -> None:
    with pytest.raises(TrialFailed, match=reason) as raised:
        timeline(found)
    assert raised.value.outcome is Outcome.PAGE_ERROR

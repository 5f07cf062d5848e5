"""What Firefox's own process tells, read as a browser's log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.engines.browserlog import Failure
from harness.engines.firefox.log import parse
from harness.errors import TestbedFailed
from harness.probes.proofs import wrong_cache
from harness.probes.registry import observe
from tests.facts import tells
from tests.unit.harness.probes.goodload import evidence

MS = 1000  # in us
PAGE = "https://site.example/"


def told(url: str = PAGE, at_ms: int = 1000, **changes: Any) -> dict[str, Any]:
    """A request that was answered on a connection of its own; times in ms after 1970 for short."""
    row = {
        "topics": ["opening-request", "examine-response", "stop-request"],
        "url": url,
        "method": "GET",
        "kind": 3,
        "system": False,
        "asked_by": "https://site.example",
        "redirected_from": None,
        "status": 200,
        "status_text": "OK",
        "protocol": "h2",
        "local": "10.64.0.1:4001",
        "remote": "10.0.0.1:443",
        "tls": 4,
        "resumed": False,
        "result": 0,
        "error": None,
        "encoded_bytes": 100,
        "mime": "text/html; charset=utf-8",
        "asyncOpen": at_ms * MS,
        "domainLookupStart": (at_ms + 1) * MS,
        "domainLookupEnd": (at_ms + 2) * MS,
        "connectStart": (at_ms + 2) * MS,
        "tcpConnectEnd": (at_ms + 12) * MS,
        "secureConnectionStart": (at_ms + 12) * MS,
        "connectEnd": (at_ms + 32) * MS,
        "requestStart": (at_ms + 33) * MS,
        "responseStart": (at_ms + 50) * MS,
        "responseEnd": (at_ms + 60) * MS,
        "asked_with": [["Host", "site.example"], ["Sec-Fetch-Dest", "document"]],
        "answered_with": [["content-type", "text/html"]],
    }
    return row | changes


def again(url: str, at_ms: int, **changes: Any) -> dict[str, Any]:
    """One on a connection that was there."""
    phases = ("domainLookupStart", "domainLookupEnd", "connectStart", "tcpConnectEnd", "connectEnd")
    return told(url, at_ms, **dict.fromkeys(phases, 0), secureConnectionStart=0, **changes)


def log(*rows: dict[str, Any], error: str | None = None) -> str:
    return json.dumps({"requests": rows, "gone": [], "errors": [], "error": error, "version": "153.0"})


def test_a_request_has_its_proof_and_its_phases() -> None:
    (request,) = parse(log(told(kind=6, system=True))).requests
    assert (request.protocol, request.status, request.tls, request.failure) == ("h2", 200, "TLS 1.3", None)
    assert (request.of_page, request.main_frame) == (True, True)
    assert (request.started_ms, request.answered_ms, request.ended_ms) == (1000, 1050, 1060)
    assert (request.body_bytes, request.exchange.decoded_bytes, request.exchange.decoded) == (100, None, None)
    assert (request.accepts, request.mime) == ("document", "text/html")
    assert request.exchange.status_line == "H2 200 OK"


def test_a_request_without_an_answer_began_when_firefox_took_it_up() -> None:
    """It is told with the time for which it waits still unset."""
    unanswered: dict[str, Any] = {"topics": ["opening-request"], "status": None, "protocol": None}
    late = told(f"{PAGE}late", **unanswered, asyncOpen=0, opening=1700 * MS)
    read = parse(log(late, told(kind=6)))
    assert [(request.url, request.started_ms) for request in read.requests] == [
        (PAGE, 1000),
        (late["url"], 1700),
    ]
    seen = observe(evidence(browser_log=read))
    assert (seen.requests, seen.requests_after_load) == (1, 1)


def test_urls_are_told_as_they_were_sent_without_user_and_password() -> None:
    first = told("https://me:secret@site.example/old", kind=6, status=302)
    second = again("https://me@site.example/", 1070, kind=6, redirected_from=first["url"])
    read = parse(log(first, second))
    assert [request.url for request in read.document(f"{PAGE}old")] == [f"{PAGE}old", PAGE]


def test_the_browser_is_named() -> None:
    assert parse(log(told())).browser == ("Firefox", "153.0")


def test_a_body_that_was_kept_is_with_its_request() -> None:
    (request,) = parse(log(told(body="YWJjZA=="))).requests
    assert (request.body_bytes, request.exchange.decoded_bytes, request.exchange.decoded) == (100, 4, b"abcd")


def test_connections_are_those_that_carried_requests() -> None:
    read = parse(
        log(told(), again(f"{PAGE}a", 1070), told("https://b.example/", 1080, local="10.64.0.1:4002"))
    )
    assert [
        (connection.local, connection.tls, connection.connect_ms, connection.resumed)
        for connection in read.connections
    ] == [
        ("10.64.0.1:4001", "TLS 1.3", 10, False),
        ("10.64.0.1:4002", "TLS 1.3", 10, False),
    ]
    first = read.connections[0]
    assert first.connecting is not None
    assert first.securing is not None
    assert (first.connecting.began_ms, first.connecting.ended_ms, first.securing.began_ms) == (
        1002,
        1032,
        1012,
    )
    assert [span.began_ms for span in read.lookups["site.example"]] == [1001]


def test_a_port_that_is_used_again_is_two_connections() -> None:
    plain: dict[str, Any] = {"protocol": "http/1.1", "tls": None, "secureConnectionStart": 0}
    closing = told(**plain, answered_with=[["Connection", "close"]])
    read = parse(log(closing, told(f"{PAGE}a", 2000, **plain)))
    assert len(read.connections) == 2
    assert {connection.tls for connection in read.connections} == {None}
    kept = parse(log(told(**plain), told(f"{PAGE}a", 2000, **plain)))
    assert len(kept.connections) == 1


def test_a_handshake_that_another_connection_overtook_is_none_of_its_own() -> None:
    """The second request began to connect while the first was under way, and travelled after it on the same port."""
    read = parse(log(told(), told(f"{PAGE}a", 1020)))
    assert [connection.connect_ms for connection in read.connections] == [10]


def test_what_gives_way_before_it_travels_is_no_request() -> None:
    moved_on: dict[str, Any] = {"result": 2152398851, "error": "NS_BINDING_REDIRECTED"}
    upgraded = told("http://site.example/a", status=None, protocol=None, **moved_on)
    moved = told(f"{PAGE}b", status=302, **moved_on)
    (request,) = parse(log(upgraded, moved)).requests
    silent = told("http://site.example/c", topics=["opening-request"], status=None, protocol=None)
    assert parse(log(silent)).requests[0].failed
    secured = told("https://site.example/c")
    assert [request.url for request in parse(log(silent, secured)).requests] == [secured["url"]]
    assert (request.url, request.failure, request.failed) == (moved["url"], None, False)


def test_redirects_are_a_chain_and_another_document_is_not() -> None:
    first = told("https://site.example/old", kind=6, status=302)
    second = again(PAGE, 1070, kind=6, redirected_from="https://site.example/old")
    other = again("https://site.example/next", 1200, kind=6)
    read = parse(log(first, second, other))
    assert [request.url for request in read.document("https://site.example/old")] == [
        first["url"],
        second["url"],
    ]
    assert [request.url for request in read.other_documents("https://site.example/old")] == [other["url"]]


@pytest.mark.parametrize(
    ("name", "failure"),
    [
        ("NS_BINDING_ABORTED", Failure.ABORTED),
        ("NS_ERROR_NET_RESET", Failure.TRANSPORT),
        ("NS_ERROR_UNKNOWN_HOST", Failure.TRANSPORT),
        ("NS_ERROR_UNKNOWN_PROXY_HOST", Failure.TRANSPORT),
        ("NS_ERROR_UNKNOWN_PROTOCOL", Failure.REFUSED),
        ("NS_ERROR_GENERATE_FAILURE(NS_ERROR_MODULE_SECURITY, 8172)", Failure.TRANSPORT),
        ("NS_ERROR_DOM_CORP_FAILED", Failure.REFUSED),
        (None, Failure.REFUSED),
    ],
)
def test_failures_are_told_by_their_kind(name: str | None, failure: Failure) -> None:
    (request,) = parse(log(told(result=2152398850, error=name, status=None, protocol=None))).requests
    assert (request.failure, request.status, request.protocol) == (failure, None, None)
    assert request.error == (name or "2152398850")


@pytest.mark.parametrize(("status", "failure"), [(200, Failure.TRANSPORT), (302, Failure.REFUSED)])
def test_a_redirect_that_leads_nowhere_is_refused_and_not_lost(status: int, failure: Failure) -> None:
    (request,) = parse(log(told(result=1, error="NS_ERROR_CORRUPTED_CONTENT", status=status))).requests
    assert request.failure == failure


@pytest.mark.parametrize(
    ("error", "status", "failure"),
    [
        ("NS_BINDING_ABORTED", 200, Failure.ABORTED),
        ("NS_BINDING_ABORTED", 404, None),
        ("NS_ERROR_CORRUPTED_CONTENT", 404, None),  # a script of modules
    ],
)
def test_what_firefox_gives_up_for_its_status_was_not_taken_back_or_lost(
    error: str, status: int, failure: Failure | None
) -> None:
    (request,) = parse(log(told(result=1, error=error, status=status))).requests
    assert (request.failure, request.status) == (failure, status)


def test_what_never_reached_the_network_or_is_the_browsers_own_is_told_apart() -> None:
    blocked = told(f"{PAGE}blocked", topics=["opening-request", "failed-opening-request"])
    own = told("https://service.example/", system=True)
    data = told("data:text/plain,x")
    topics = ["opening-request", "examine-cached-response", "stop-request"]
    cached = again(f"{PAGE}kept", 1100, topics=topics, local=None, remote=None)
    read = parse(log(blocked, own, data, cached))
    assert [request.url for request in read.service_requests] == [own["url"]]
    assert read.page_requests == ()
    assert [request.url for request in read.requests if request.from_cache] == [cached["url"]]
    assert len(read.connections) == 1


def test_what_the_server_confirmed_is_told_as_such_and_proves_no_fetch() -> None:
    """Firefox puts the status that its cache has in the place of the 304."""
    topics = ["opening-request", "examine-response", "examine-merged-response", "stop-request"]
    (request,) = parse(log(told(topics=topics, came_with=304))).requests
    assert (request.status, request.protocol, request.failure) == (304, "h2", None)
    assert (request.used_cache, request.body_bytes, request.from_cache) == (True, 0, False)
    assert request.exchange.status_line == "H2 304"


CACHED: dict[str, Any] = {"topics": ["opening-request", "examine-cached-response", "stop-request"]}


def test_an_answer_of_an_earlier_load_is_told_though_it_has_a_status() -> None:
    """Firefox gives what comes out of its cache the status and the headers that it had."""
    older = parse(log(told(kind=6), again(f"{PAGE}kept.png", 1100, **CACHED)))
    assert older.requests[1].exchange.status_line == "HTTP 200 OK"
    proof = wrong_cache(evidence(browser_log=older))
    assert tells([proof or ""], "not cold", "cache", f" {PAGE}kept.png")
    fetched = again(f"{PAGE}kept.png", 1050)
    own = parse(log(told(kind=6), fetched, again(f"{PAGE}kept.png", 1100, **CACHED)))
    assert [request.used_cache for request in own.requests] == [False, False, True]
    assert wrong_cache(evidence(browser_log=own)) is None
    assert observe(evidence(browser_log=own)).cache_hits == 1


def test_what_is_under_way_when_the_browser_is_closed_did_not_fail() -> None:
    silent: dict[str, Any] = {"topics": ["opening-request"], "status": None, "protocol": None}
    begun: dict[str, Any] = {"topics": ["opening-request", "examine-response"]}
    waiting, answered = parse(log(told(**silent), told(f"{PAGE}a", 1100, **begun))).requests
    assert (waiting.failure, waiting.error, waiting.body_bytes) == (Failure.ABORTED, "aborted", 0)
    assert (answered.failure, answered.status, answered.body_bytes) == (None, 200, None)


def test_of_a_body_that_was_under_way_at_the_end_of_the_load_the_length_is_not_known() -> None:
    """Firefox counts bytes at the end, and a server counts all that it sent, also later."""
    film = again(f"{PAGE}film", 1100, responseEnd=9000 * MS)
    whole = parse(log(told(kind=6), film))
    assert [request.body_bytes for request in whole.until(9100).requests] == [100, 100]
    cut = whole.until(2000)
    assert [(request.status, request.body_bytes) for request in cut.requests] == [(200, 100), (200, None)]
    assert observe(evidence(browser_log=cut)).bytes_body is None
    assert observe(evidence(browser_log=whole)).bytes_body == 200


def test_the_handshake_of_a_websocket_is_no_request_and_its_connection_is_one() -> None:
    socket = told("https://chat.example/", 1100, kind=16, protocol="http/1.1", local="10.64.0.1:4002")
    read = parse(log(told(), socket))
    assert [request.url for request in read.requests] == [PAGE]
    assert [connection.local for connection in read.connections] == ["10.64.0.1:4001", "10.64.0.1:4002"]


def test_what_could_not_be_observed_is_no_proof() -> None:
    with pytest.raises(TestbedFailed, match="could not be observed: stop-request"):
        parse(log(told(), error="stop-request: TypeError"))


def test_what_was_lost_before_the_load_ended_was_not_taken_back_by_that() -> None:
    none = dict.fromkeys(
        ("status", "protocol", "local", "remote", "requestStart", "responseStart", "responseEnd")
    )
    refused = {
        "result": 1,
        "error": "NS_ERROR_CONNECTION_REFUSED",
        "topics": ["opening-request", "stop-request"],
    }
    read = parse(log(told(kind=6), told(f"{PAGE}lost.png", 1100, **none, **refused, stopped=1150 * MS)))
    assert [request.failure for request in read.until(1200).requests] == [None, Failure.TRANSPORT]
    assert [request.failure for request in read.until(1120).requests] == [None, Failure.ABORTED]

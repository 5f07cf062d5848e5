"""What WebKit's Inspector tells, read as a browser's log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.engines.browserlog import Failure, Span
from harness.engines.webkit.log import parse
from tests.facts import tells

PAGE = "https://site.example/"
BEGUN_S = 1_700_000_000.0  # when the Inspector's own clock began
NOTHING = -16_661_385.512  # what it tells of a handshake that there was not
FRESH = {
    "domainLookupStart": 0,
    "domainLookupEnd": 8.0,
    "connectStart": 8.5,
    "secureConnectionStart": 20.0,
    "connectEnd": 35.0,
    "requestStart": 36.0,
    "responseStart": 47.0,
}
REUSED = {
    "domainLookupStart": 0,
    "domainLookupEnd": 0,
    "connectStart": 0,
    "secureConnectionStart": NOTHING,
    "connectEnd": 0,
    "requestStart": 0.2,
    "responseStart": 12.0,
}
TLS = {"protocol": "TLS 1.3", "cipher": "TLS_AES_128_GCM_SHA256"}


def event(name: str, number: int, at_s: float, **more: Any) -> dict[str, Any]:
    return {"method": f"Network.{name}", "params": {"requestId": f"0.{number}", "timestamp": at_s, **more}}


def asked(number: int, at_s: float, url: str, kind: str = "Image", **more: Any) -> dict[str, Any]:
    request = {"url": url, "method": "GET", "headers": {"Accept": "*/*"}}
    told = {"frameId": "0.1", "walltime": BEGUN_S + at_s, "request": request, "type": kind, **more}
    return event("requestWillBeSent", number, at_s, **told)


def answered(
    number: int, at_s: float, status: int = 200, timing: dict[str, Any] | None = None, **more: Any
) -> dict[str, Any]:
    head = {
        "status": status,
        "statusText": "OK",
        "headers": {"Content-Type": "image/png"},
        "mimeType": "image/png",
    }
    response = {**head, "source": "network", **more}
    if timing is not None:
        response["timing"] = timing
    return event("responseReceived", number, at_s, response=response)


def finished(number: int, at_s: float, connection: int = 1, **more: Any) -> dict[str, Any]:
    metrics = {
        "protocol": "h2",
        "connectionIdentifier": str(connection),
        "remoteAddress": "10.0.0.1:443",
        "requestHeaders": {"Accept": "image/*", "Sec-Fetch-Dest": "image"},
        "responseBodyBytesReceived": 1009,
        "responseBodyDecodedSize": 1000,
        "securityConnection": TLS,
        **more,
    }
    return event("loadingFinished", number, at_s, metrics=metrics)


def failed(number: int, at_s: float, text: str, *, cancelled: bool = False) -> dict[str, Any]:
    return event("loadingFailed", number, at_s, errorText=text, canceled=cancelled)


def lines(*events: dict[str, Any]) -> str:
    return "".join(json.dumps(each) + "\n" for each in events)


def at(seconds: float) -> float:
    """An instant in ms since 1970."""
    return round((BEGUN_S + seconds) * 1000, 3)


DOCUMENT = (
    asked(1, 0.150, PAGE, "Document"),
    answered(1, 0.2, timing={"fetchStart": 0.151, **FRESH}, mimeType="text/html"),
    event("dataReceived", 1, 0.201, dataLength=1000),
    finished(1, 0.205),
)
PICTURE = (
    asked(2, 0.21, f"{PAGE}a.png"),
    answered(2, 0.24, timing={"fetchStart": 0.22, **REUSED}),
    event("dataReceived", 2, 0.241, dataLength=1000),
    finished(2, 0.25),
)


def test_the_phases_of_a_request_are_by_one_clock() -> None:
    document, picture = parse(lines(*DOCUMENT, *PICTURE)).requests
    assert (document.main_frame, document.url, document.status, document.protocol) == (True, PAGE, 200, "h2")
    assert (document.asked_ms, document.started_ms) == (at(0.150), at(0.151))
    assert (document.exchange.sending_ms, document.answered_ms) == (at(0.187), at(0.198))
    assert (document.ended_ms, document.exchange.over_ms) == (at(0.201), at(0.205))
    assert (picture.main_frame, picture.mime, picture.accepts) == (False, "image/png", "image")
    assert (picture.exchange.sending_ms, picture.answered_ms) == (at(0.2202), at(0.232))
    assert picture.body_bytes is None  # what is told counts frames of HTTP/2
    assert picture.exchange.decoded_bytes == 1000
    assert not picture.failed


def test_a_connection_is_that_of_its_first_request_and_no_handshake_of_another() -> None:
    """What is told of the handshake of a connection that is there already makes no sense."""
    log = parse(lines(*DOCUMENT, *PICTURE))
    (made,) = log.connections
    assert (made.remote, made.tls, made.alpn, made.resumed) == ("10.0.0.1:443", "TLS 1.3", "h2", None)
    assert made.connecting == Span(at(0.1595), at(0.186))
    assert made.securing == Span(at(0.171), at(0.186))
    assert made.connect_ms == pytest.approx(11.5)
    assert log.lookups == {"site.example": (Span(at(0.151), at(0.159)),)}
    assert {each.exchange.connection for each in log.requests} == {made.local}


def test_plain_connections_have_no_tls() -> None:
    plain: dict[str, Any] = {"securityConnection": {"protocol": "Unknown"}, "protocol": "http/1.1"}
    timing = {"fetchStart": 0.151, **FRESH, "secureConnectionStart": 0}
    told = (
        asked(1, 0.15, "http://a.example/", "Document"),
        answered(1, 0.2, timing=timing),
        finished(1, 0.3, **plain),
    )
    log = parse(lines(*told))
    (made,) = log.connections
    assert (made.tls, made.securing) == (None, None)
    assert made.connect_ms == pytest.approx(26.5)
    assert log.requests[0].tls is None


def test_how_long_a_handshake_took_that_began_before_the_clock_of_its_request_is_not_known() -> None:
    timing = {"fetchStart": 0.151, **FRESH, "connectStart": 0, "secureConnectionStart": 0}
    told = (
        asked(1, 0.15, "http://a.example/", "Document"),
        answered(1, 0.2, timing=timing),
        finished(1, 0.3, securityConnection={"protocol": "Unknown"}, protocol="http/1.1"),
    )
    (made,) = parse(lines(*told)).connections
    assert made.connecting == Span(at(0.151), at(0.186))
    assert made.connect_ms is None


def test_redirects_are_requests_of_one_chain_whose_protocol_is_not_told() -> None:
    moved = {"status": 302, "statusText": "Found", "headers": {"Location": "/b.png"}, "source": "network"}
    told = lines(
        *DOCUMENT,
        asked(2, 0.3, f"{PAGE}a.png"),
        asked(2, 0.4, f"{PAGE}b.png", redirectResponse=moved),
        answered(2, 0.5, timing={"fetchStart": 0.4, **REUSED}),
        finished(2, 0.6),
    )
    document, first, second = parse(told).requests
    assert (first.url, first.status, first.protocol, first.failed) == (f"{PAGE}a.png", 302, None, False)
    assert (first.ended_ms, first.answered_ms) == (at(0.4), at(0.4))
    assert (second.url, second.status, second.protocol) == (f"{PAGE}b.png", 200, "h2")
    assert first.chain == second.chain != document.chain


def test_what_went_wrong_is_told_from_what_was_given_up() -> None:
    told = lines(
        *DOCUMENT,
        asked(2, 0.3, f"{PAGE}gone.js", "Script"),
        answered(2, 0.31, 404, timing={"fetchStart": 0.3, **REUSED}),
        failed(2, 0.32, "Load request cancelled", cancelled=True),
        asked(3, 0.3, f"{PAGE}taken-back.bin", "XHR"),
        answered(3, 0.31, timing={"fetchStart": 0.3, **REUSED}),
        failed(3, 0.32, "Load request cancelled", cancelled=True),
        asked(4, 0.3, f"{PAGE}refused", "Fetch"),
        failed(4, 0.32, "Origin https://a is not allowed by Access-Control-Allow-Origin. Status code: 200"),
        asked(5, 0.3, f"{PAGE}lost"),
        failed(5, 0.32, "Could not connect to site.example: Connection refused"),
        asked(6, 0.3, f"{PAGE}under-way"),
    )
    _, gone, taken_back, refused, lost, under_way = parse(told).requests
    assert (gone.status, gone.protocol, gone.failure, gone.exchange.error) == (404, None, None, "")
    assert (taken_back.status, taken_back.failure) == (200, Failure.ABORTED)
    assert refused.failure is Failure.REFUSED
    assert lost.failure is Failure.TRANSPORT
    assert tells([lost.exchange.error], "connect", "site.example", "Connection refused")
    assert (under_way.status, under_way.exchange.over_ms) == (None, None)
    assert (under_way.failure, under_way.error) == (Failure.ABORTED, "aborted")


@pytest.mark.parametrize(
    "text",
    [
        "Redirection to URL with a scheme that is not HTTP(S)",
        "Load parameters do not allow following redirections",
        "Load cannot follow more than 20 redirections",
        "Too many redirects",
    ],
)
def test_a_redirect_that_a_rule_refuses_is_not_lost_on_the_way(text: str) -> None:
    (request,) = parse(lines(asked(1, 0.3, f"{PAGE}refused"), failed(1, 0.32, text))).requests
    assert (request.failure, request.error) == (Failure.REFUSED, text)


def test_what_the_memory_had_is_no_request() -> None:
    told = (asked(2, 0.3, f"{PAGE}a.png"), answered(2, 0.3, source="memory-cache"), finished(2, 0.3))
    log = parse(lines(*DOCUMENT, *told))
    assert [each.url for each in log.requests] == [PAGE]
    assert len(log.connections) == 1


def test_what_the_memory_had_and_the_server_confirmed_is_a_request() -> None:
    timing = {"fetchStart": 0.3, **REUSED}
    told = (
        asked(2, 0.3, f"{PAGE}a.png"),
        answered(2, 0.31, 304, timing, source="memory-cache"),
        finished(2, 0.32),
    )
    _, confirmed = parse(lines(*DOCUMENT, *told)).requests
    assert (confirmed.status, confirmed.protocol, confirmed.used_cache) == (304, "h2", True)


def test_a_url_is_told_as_it_was_sent() -> None:
    """What WebKitGTK 2.50 and libsoup 3.2 made of these, by the server's log."""
    sent = {
        "a%2eb%7E.png": "a.b~.png",
        "%c3%a9?q=%c3%2c%41": "%C3%A9?q=%C3%2CA",
        "50%-now%zz%.png": "50%-now%zz%.png",
        "..%2fx.png#%2e": "..%2Fx.png#%2e",
    }
    user = PAGE.replace("//", "//me:secret@")
    told = [asked(number, 0.3, f"{user}{path}") for number, path in enumerate(sent, start=2)]
    _, *asked_for = parse(lines(*DOCUMENT, *told)).requests
    assert [each.url for each in asked_for] == [f"{PAGE}{path}" for path in sent.values()]


def test_frames_and_data_are_not_the_document() -> None:
    told = (
        asked(2, 0.3, f"{PAGE}frame.html", "Document", frameId="0.3"),
        asked(3, 0.3, "data:image/gif;base64,AA"),
    )
    log = parse(lines(*DOCUMENT, *told))
    assert [(each.url, each.main_frame) for each in log.requests] == [
        (PAGE, True),
        (f"{PAGE}frame.html", False),
    ]


def test_bodies_that_were_asked_for_are_with_their_requests() -> None:
    base64 = event("responseBody", 2, 0.0, body="AAE=", base64Encoded=True)
    text = event("responseBody", 1, 0.0, body="<p>ü", base64Encoded=False)
    document, picture = parse(lines(*DOCUMENT, *PICTURE, base64, text)).requests
    assert (document.exchange.decoded, picture.exchange.decoded) == ("<p>ü".encode(), b"\x00\x01")


def test_a_log_that_was_cut_off_is_read_to_its_last_whole_line() -> None:
    whole = lines(*DOCUMENT, *PICTURE)
    assert len(parse(whole[:-10]).requests) == 2
    assert parse("").requests == ()


def test_a_page_is_found_by_an_address_that_is_sent_otherwise() -> None:
    start = "https://site.example/%7euser/a%2fb"
    log = parse(lines(asked(1, 0, start, "Document"), answered(1, 0.05), finished(1, 0.06)))
    assert [each.url for each in log.document(start)] == ["https://site.example/~user/a%2Fb"]
    assert log.other_documents(start) == ()

"""A load that did not use the protocol of its condition throughout does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog, Connection, Exchange, Failure, Request
from harness.errors import Outcome, TrialFailed
from harness.model.condition import CacheState
from harness.model.protocol import Protocol
from harness.probes.evidence import Evidence, ServerAnswers
from harness.probes.proofs import can_be_kept, not_pipelined, wrong_cache
from harness.probes.registry import ending, observe, verdict
from tests.facts import tells
from tests.unit.harness.probes.goodload import (
    PICTURE,
    START,
    changed,
    evidence,
    historical,
    log_of,
    request,
    served,
)

ETAG = Exchange(answered_with=(("ETag", '"1"'), ("Cache-Control", "no-cache")), status_line="HTTP/1.1 200 OK")
OUT_OF_CACHE: dict[str, Any] = {"protocol": None, "status": None, "from_cache": True}


def test_a_websocket_has_a_protocol_of_its_own() -> None:
    socket = served("https://chat.example/", protocol="http/1.1", websocket=True)
    seen = evidence()
    assert verdict(changed(seen, served=(*seen.of(ServerAnswers).by_protocol, socket))) == (Outcome.OK, None)


def test_a_connection_used_twice_is_no_close() -> None:
    page, picture = "http://site.example/", "http://cdn.example/p.png"
    both = [replace(served(url), tls=None, protocol="http/1.1") for url in (page, picture)]
    requests = [
        request(page, protocol="http/1.1", main_frame=True, started_ms=1000),
        request(picture, protocol="http/1.1"),
    ]
    remote = f"{both[0].server_address}:{both[0].server_port}"
    one, other = (
        Connection(remote, f"{both[0].client_address}:{port}", None, None, None, connect_ms=50.0)
        for port in (4000, 4001)
    )
    found = evidence(
        protocol=Protocol.HTTP1_CLOSE,
        start_url=page,
        browser_log=BrowserLog(tuple(requests), (one, other)),
        served=tuple(both),
    )
    assert "2 requests on one connection" in (verdict(found)[1] or "")
    apart = (both[0], replace(both[1], client_port=4001))
    assert verdict(changed(found, served=apart)) == (Outcome.OK, None)
    again = BrowserLog(tuple(requests), (one, one))  # the port was used again
    assert verdict(changed(found, browser_log=again)) == (Outcome.OK, None)
    single = changed(found, served=apart, browser_log=BrowserLog(tuple(requests), (one,)))
    outcome, reason = verdict(single)  # whatever the server says
    assert outcome is Outcome.WRONG_PROTOCOL
    assert tells([reason or ""], "2 requests", "1 connections")


def test_another_version_of_tls_is_the_wrong_protocol() -> None:
    seen = changed(evidence(), tls="1.2")
    outcome, reason = verdict(seen)
    assert outcome is Outcome.WRONG_PROTOCOL
    assert tells([reason or ""], "did not use TLS 1.2", "10.0.0.1:443 by TLS 1.3")
    assert observe(seen).tls == {"TLS 1.3": 1}


@pytest.mark.parametrize(
    ("resumed", "allowed", "outcome"),
    [
        ((False, False), False, Outcome.OK),
        ((False, True), False, Outcome.WRONG_PROTOCOL),
        ((False, True), True, Outcome.OK),
        ((True, True), True, Outcome.WRONG_PROTOCOL),  # then one is older than the load
        ((None, None), False, Outcome.OK),  # QUIC's do not tell
    ],
)
def test_sessions_are_resumed_within_a_load_at_most_and_only_if_the_study_says_so(
    resumed: tuple[bool | None, ...], allowed: bool, outcome: Outcome
) -> None:
    good = evidence(tls_resumption=allowed, served=(served(START), served(PICTURE, resumed=any(resumed))))
    assert log_of(good) is not None
    (one,) = log_of(good).connections
    connections = tuple(replace(one, resumed=each) for each in resumed)
    seen = changed(good, browser_log=replace(log_of(good), connections=connections))
    assert verdict(seen)[0] is outcome
    if outcome is not Outcome.OK:
        assert tells([verdict(seen)[1] or ""], "not cold", "10.0.0.1:443 resumed a TLS session")
    assert observe(seen).tls_resumed == (None if None in resumed else sum(map(bool, resumed)))


def test_a_session_that_the_server_resumed_is_not_cold() -> None:
    outcome, reason = verdict(evidence(served=(served(START), served(PICTURE, resumed=True))))
    assert outcome is Outcome.WRONG_PROTOCOL
    assert tells([reason or ""], "not cold", "server resumed a TLS session")


HISTORICAL = [Protocol.HTTPS1, Protocol.HTTPS1_PIPELINED, Protocol.SPDY, Protocol.SPDY_PLAIN]


@pytest.mark.parametrize("protocol", HISTORICAL)
def test_a_good_load_with_the_historical_engine_counts(protocol: Protocol) -> None:
    good = historical(protocol)
    assert verdict(good) == (Outcome.OK, None)
    seen = observe(good)
    assert seen.bytes_body == 20 * 100  # by the server's log
    assert seen.tls == ({"TLS 1.2": 1} if protocol.encrypted else {})
    assert seen.connect_ms == 50.9
    expected = (None, 20) if protocol.wire == "spdy/3" else (3 if protocol.pipelined else 1, None)
    assert (seen.pipelining_depth, seen.spdy_streams) == expected


@pytest.mark.parametrize(
    ("protocol", "changes", "word"),
    [
        (Protocol.SPDY, {"of_request": {"protocol": "http/1.1"}}, "did not use spdy"),
        (Protocol.SPDY, {"of_server": {"protocol": "http/1.1"}}, "server did not use spdy"),
        (Protocol.SPDY, {"of_server": {"tls": None}}, "by no TLS"),
        (Protocol.SPDY_PLAIN, {"of_server": {"tls": "TLSv1.2"}}, "by TLSv1.2"),
        (Protocol.SPDY, {"of_request": {"tls": "TLS 1.3"}}, "did not use TLS 1.2"),
        (Protocol.HTTPS1_PIPELINED, {"of_request": {"pipelined": False}}, "pipelined nothing, although 20"),
        (Protocol.HTTPS1_PIPELINED, {"of_server": {"depth": 1}}, "no pipelined request reached the server"),
        (Protocol.HTTPS1, {"of_request": {"pipelined": True}}, "requests were pipelined"),
        (Protocol.HTTPS1, {"of_server": {"depth": 2}}, "2 at once on a connection"),
    ],
)
def test_a_silent_fallback_is_the_wrong_protocol(protocol: Protocol, changes: Any, word: str) -> None:
    outcome, reason = verdict(historical(protocol, **changes))
    assert outcome is Outcome.WRONG_PROTOCOL
    assert word in (reason or "")


def test_few_requests_need_not_be_pipelined() -> None:
    few = historical(Protocol.HTTPS1_PIPELINED, 6, of_request={"pipelined": False}, of_server={"depth": 1})
    assert verdict(few) == (Outcome.OK, None)


@pytest.mark.parametrize(("port", "said"), [(":8443", None), (":443", "although 12 requests to a host")])
def test_requests_to_two_ports_of_a_host_have_connections_of_their_own(port: str, said: str | None) -> None:
    few = historical(Protocol.HTTPS1_PIPELINED, 6, of_request={"pipelined": False})
    more = (replace(each, url=f"https://site.example{port}/") for each in log_of(few).requests)
    log = BrowserLog((*log_of(few).requests, *more), ())
    reason = not_pipelined(changed(few, browser_log=log))
    assert (reason is None) if said is None else said in (reason or "")


def test_a_server_that_does_not_tell_the_depth_leaves_the_proof_to_the_browser() -> None:
    found = historical(Protocol.HTTPS1_PIPELINED, of_server={"depth": None})
    assert verdict(found) == (Outcome.OK, None)
    assert observe(found).pipelining_depth is None


@pytest.mark.parametrize(
    ("windows", "said"),
    [
        ((65_535, 65_535), None),
        ((65_535, 6_291_456), "had windows of [65535, 6291456] bytes instead of 65535"),
        ((), "had windows of [] bytes instead of 65535"),
    ],
)
def test_streams_have_the_window_that_the_study_sets(windows: tuple[int, ...], said: str | None) -> None:
    good = evidence()
    assert log_of(good) is not None
    log = replace(log_of(good), h2_windows=windows)
    assert verdict(changed(good, browser_log=log)) == (Outcome.OK, None)  # of a study that sets none
    outcome, reason = verdict(changed(good, browser_log=log, h2_stream_window_bytes=65_535))
    assert outcome is (Outcome.WRONG_PROTOCOL if said else Outcome.OK)
    assert (said or "") in (reason or "")
    assert observe(changed(good, browser_log=log)).h2_stream_window_bytes == min(windows, default=None)


def cold(*requests: Request) -> Evidence:
    return evidence(browser_log=BrowserLog((request(START), *requests), ()))


def warm(*requests: Request, first: tuple[Request, ...] = ()) -> Evidence:
    kept = first or (request(START, exchange=ETAG), request(PICTURE, exchange=ETAG))
    return evidence(
        browser_log=BrowserLog(requests, ()), cache=CacheState.WARM, first_visit=BrowserLog(kept, ())
    )


def test_a_cold_load_has_nothing_of_an_earlier_one() -> None:
    assert wrong_cache(cold(request(PICTURE))) is None
    again = request(PICTURE, **OUT_OF_CACHE, started_ms=1200)
    assert wrong_cache(cold(request(PICTURE), again)) is None  # it had put that there itself
    assert tells([wrong_cache(cold(again)) or ""], "not cold", "cache", f" {PICTURE}")
    assert wrong_cache(cold(request(PICTURE, status=304))) is not None
    assert (
        wrong_cache(
            cold(request(PICTURE), request("https://service.example/", **OUT_OF_CACHE, of_page=False))
        )
        is None
    )
    assert verdict(cold(again))[0] is Outcome.WRONG_CACHE


def test_what_the_hop_fetched_is_the_loads_own_under_https_too() -> None:
    relayed = request(PICTURE.replace("https", "http"), relayed=True)
    assert wrong_cache(cold(relayed, request(PICTURE, **OUT_OF_CACHE))) is None


def test_a_redirect_that_the_browser_makes_by_itself_is_no_answer_of_the_cache() -> None:
    made_up = Exchange(status_line="HTTP/1.1 307 Internal Redirect")
    assert wrong_cache(cold(request("http://site.example/", **OUT_OF_CACHE, exchange=made_up))) is None


def test_a_warm_load_uses_what_the_first_one_kept() -> None:
    assert wrong_cache(warm(request(START, status=304), request(PICTURE))) is None
    assert wrong_cache(warm(request(START), request(PICTURE, **OUT_OF_CACHE))) is None
    anew = wrong_cache(warm(request(START), request(PICTURE)))
    assert anew is not None
    assert tells([anew], "not warm", "asked anew for all")
    assert verdict(warm(request(START), request(PICTURE)))[0] is not Outcome.OK


LOST = request(PICTURE, status=None, protocol=None, failure=Failure.TRANSPORT)


@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ((LOST,), (request(PICTURE),), False),
        ((LOST, request(PICTURE, exchange=ETAG)), (request(PICTURE, status=304),), True),  # it came after all
        ((LOST,), (), True),
        ((replace(LOST, failure=Failure.ABORTED),), (request(PICTURE),), True),
        ((replace(LOST, url="https://other.example/"),), (request("https://other.example/"),), True),
    ],
)
def test_a_load_that_fetches_what_its_first_visit_lost_was_not_warm(
    first: tuple[Request, ...], second: tuple[Request, ...], *, counts: bool
) -> None:
    start = request(START, exchange=ETAG)
    seen = warm(request(START, status=304), *second, first=(start, *first))
    seen = changed(seen, served=(served(START), *(served(asked.url) for asked in second)))
    for outcome, reason in (verdict(seen), ending(seen, TrialFailed(Outcome.PAGE_TIMEOUT, "late"))):
        assert (outcome is not Outcome.MISSING_OBJECTS) is counts
        assert counts or tells([reason or ""], "lost", "first load", PICTURE)


def test_a_page_of_which_nothing_can_be_kept_is_warm_as_it_is() -> None:
    nothing = (request(START), request(PICTURE))
    assert wrong_cache(warm(request(START), request(PICTURE), first=nothing)) is None


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ({"ETag": '"1"'}, True),
        ({"last-modified": "Sun, 01 Jul 2012 12:00:00 GMT"}, True),
        ({"Cache-Control": "public, max-age=60"}, True),
        ({"Cache-Control": "max-age=0"}, False),
        ({"Cache-Control": "no-store", "ETag": '"1"'}, False),
        ({}, False),
    ],
)
def test_what_can_be_kept(headers: dict[str, str], *, kept: bool) -> None:
    found = request(PICTURE, exchange=Exchange(answered_with=tuple(headers.items())))
    assert can_be_kept(found) is kept


def test_a_page_that_comes_out_of_the_cache_as_a_whole_counts() -> None:
    all_of_it = (request(START, **OUT_OF_CACHE), request(PICTURE, **OUT_OF_CACHE))
    whole = warm(*all_of_it)
    assert verdict(whole) == (Outcome.OK, None)
    seen = observe(whole)
    assert (seen.plt_ms, seen.requests, seen.cache_hits, seen.revalidated) == (500, 0, 2, 0)
    usual = observe(evidence())
    assert seen.requested_digest == usual.requested_digest  # the page asked for the same


def test_confirmed_answers_are_counted() -> None:
    confirmed = warm(request(START, status=304, body_bytes=0), request(PICTURE, status=304, body_bytes=0))
    seen = observe(confirmed)
    assert (seen.requests, seen.revalidated, seen.bytes_body) == (2, 2, 0)
    assert served(START).status == 200

"""A load that did not use the protocol of its condition throughout does not count."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.engines.browserlog import BrowserLog, Connection
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from harness.probes.registry import observe, verdict
from harness.probes.served import ServerAnswers
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
    assert "2 requests were answered on 1 connections" in (reason or "")


def test_another_version_of_tls_is_the_wrong_protocol() -> None:
    seen = changed(evidence(), tls="1.2")
    outcome, reason = verdict(seen)
    assert outcome is Outcome.WRONG_PROTOCOL
    assert "did not use TLS 1.2 to 10.0.0.1:443 by TLS 1.3" in (reason or "")
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
        assert "not cold: 10.0.0.1:443 resumed a TLS session" in (verdict(seen)[1] or "")
    assert observe(seen).tls_resumed == (None if None in resumed else sum(map(bool, resumed)))


def test_a_session_that_the_server_resumed_is_not_cold() -> None:
    outcome, reason = verdict(evidence(served=(served(START), served(PICTURE, resumed=True))))
    assert outcome is Outcome.WRONG_PROTOCOL
    assert "not cold: the server resumed a TLS session" in (reason or "")


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

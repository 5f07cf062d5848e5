"""Which loads may count: every way in which one may not, changed one at a time from a good one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.browser.browserlog import BrowserLog, Connection, Request
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from harness.trial.evidence import BROWSER, Evidence
from harness.trial.judge import verdict
from harness.trial.lateness import Lateness
from harness.trial.observe import observe
from sites.servedrequest import Match, ServedRequest

START = "https://site.example/"
PICTURE = "https://cdn.example/p.png"
TIMELINE: dict[str, Any] = {"plt_ms": 500.0, "navigation_start_ms": 998.5, "ttfb_ms": 50.0, "fcp_ms": None}


def request(url: str, **changes: Any) -> Request:
    made = Request(
        url=url,
        method="GET",
        of_page=True,
        main_frame=url == START,
        started_ms=1000 if url == START else 1100,
        protocol="h2",
        status=200,
        net_error=None,
        body_bytes=100,
    )
    return replace(made, **changes)


def served(url: str, **changes: Any) -> ServedRequest:
    host, _, target = url.partition("://")[2].partition("/")
    made = ServedRequest(
        started_us=0,
        duration_us=1,
        client_address="10.64.0.1",
        client_port=4000,
        server_address="10.0.0.1",
        server_port=443,
        protocol="h2",
        method="GET",
        host=host,
        target=f"/{target}",
        status=200,
        body_bytes=100,
        bytes_sent=300,
        bytes_received=200,
        requests_before=0,
        tls="TLSv1.3",
        resumed=False,
        match=Match.EXACT,
    )
    return replace(made, **changes)


def evidence(**changes: Any) -> Evidence:
    connection = Connection("10.0.0.1:443", "10.64.0.1:4000", "TLS 1.3", "h2", resumed=False, connect_ms=51)
    made = Evidence(
        protocol=Protocol.H2,
        start_url=START,
        page_hosts=frozenset({"site.example", "cdn.example"}),
        rtt_ms=50,
        navigate_ms=510.0,
        timeline=TIMELINE,
        browser_log=BrowserLog((request(START), request(PICTURE)), (connection,)),
        served=(served(START), served(PICTURE)),
        link_reading={"down": {"bytes_out": 9000}, "up": {"bytes_out": 900}},
    )
    return replace(made, **changes)


def with_requests(*requests: Request) -> Evidence:
    return evidence(browser_log=BrowserLog(requests, ()))


def test_a_good_load_counts() -> None:
    assert verdict(evidence()) == (Outcome.OK, None)
    seen = observe(evidence())
    assert seen.plt_ms == 500
    assert seen.fcp_ms is None
    assert (seen.requests, seen.failed_requests, seen.missed_requests) == (2, 0, 0)
    assert seen.protocols == {"h2": 2}
    assert (seen.bytes_down, seen.bytes_up, seen.bytes_body) == (9000, 900, 200)
    assert seen.server_connections == 1


def test_what_was_not_observed_is_none() -> None:
    nothing = Evidence(Protocol.H2, START, frozenset(), rtt_ms=50)
    seen = observe(nothing)
    assert seen.requests is None
    assert seen.bytes_down is None
    assert seen.plt_ms is None
    assert seen.connections is None
    assert seen.server_requests is None
    assert verdict(nothing)[0] is Outcome.PAGE_ERROR


@pytest.mark.parametrize(
    ("name", "seen", "reason"),
    [
        ("caddy", Lateness(stopped_ms=310.4), "stopped while the page loaded: caddy for 310 ms"),
        (BROWSER, Lateness(stopped_ms=20), "stopped while the page loaded: the browser for 20 ms"),
        ("nginx", Lateness(ended=True), "lost a process while the page loaded: nginx"),
    ],
)
def test_a_part_that_stood_still_or_went_is_no_load(name: str, seen: Lateness, reason: str) -> None:
    disturbed = evidence(lateness={"dnsmasq": Lateness(), name: seen})
    assert verdict(disturbed) == (Outcome.TESTBED_FAILED, reason)
    assert verdict(replace(disturbed, timeline=None))[0] is Outcome.TESTBED_FAILED  # not the page's error


def test_lateness_is_told_of_servers_and_browser_apart() -> None:
    """A browser's own processes come and go, and wait for a core as they please."""
    parts = {
        "caddy": Lateness(waiting_ms=2.5),
        "dnsmasq": Lateness(stopped_ms=20, waiting_ms=1),
        BROWSER: Lateness(stopped_ms=30, ended=True, waiting_ms=400),
    }
    seen = observe(evidence(lateness=parts))
    assert (seen.server_stopped_ms, seen.server_late_ms, seen.client_stopped_ms) == (20, 3.5, 30)
    assert verdict(evidence(lateness={BROWSER: Lateness(ended=True)})) == (Outcome.OK, None)
    unknown = observe(evidence(lateness={"caddy": Lateness()}))
    assert (unknown.server_stopped_ms, unknown.server_late_ms, unknown.client_stopped_ms) == (0, None, None)
    assert observe(evidence()).server_stopped_ms is None


def test_a_redirecting_start_hides_no_lost_object() -> None:
    go, lost = "https://site.example/go", "https://cdn.example:8443/lost.png"
    log = BrowserLog(
        (
            request(go, main_frame=True, chain=7, status=302, started_ms=1000),
            request(START, chain=7, started_ms=1190),
            request(lost, started_ms=1450, net_error=-102, status=None, protocol=None),
        ),
        (),
    )
    seen = evidence(start_url=go, browser_log=log, served=(served(go, status=302), served(START)))
    outcome, reason = verdict(seen)
    assert (outcome, "lost.png" in str(reason)) == (Outcome.MISSING_OBJECTS, True)
    assert observe(seen).requests == 3


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"timeline": {**TIMELINE, "navigation_start_ms": 1400.0}}, "went on to another document by itself"),
        ({"timeline": {**TIMELINE, "navigation_start_ms": None}}, "does not tell when"),
        ({"navigate_ms": 480.0}, "20 ms after the driver was told"),
        (
            {"browser_log": BrowserLog((request(START, answered_ms=1600),), ())},
            "before the page was answered",
        ),
    ],
)
def test_times_that_contradict_what_was_seen_elsewhere_do_not_count(
    changes: dict[str, Any], reason: str
) -> None:
    outcome, found = verdict(evidence(**changes))
    assert outcome is Outcome.PAGE_ERROR
    assert reason in str(found)


def test_a_page_that_goes_on_to_another_one_is_told_which() -> None:
    other = request("https://site.example/next", main_frame=True, chain=9, started_ms=1400)
    log = BrowserLog((request(START, chain=7), other), ())
    late = {**TIMELINE, "navigation_start_ms": 1399.0}
    assert "to https://site.example/next by itself" in str(
        verdict(evidence(browser_log=log, timeline=late))[1]
    )


def test_an_answer_out_of_the_cache_is_no_request() -> None:
    again = request(PICTURE, from_cache=True, protocol=None, status=None)
    log = BrowserLog((request(START, from_cache=False), request(PICTURE, from_cache=False), again), ())
    seen = observe(evidence(browser_log=log))
    assert (seen.requests, seen.failed_requests, seen.cache_hits) == (2, 0, 1)
    assert observe(evidence()).cache_hits is None


@pytest.mark.parametrize(
    "came_of_it", [{"status": 404}, {"status": None, "protocol": None, "net_error": -202}]
)
def test_a_host_that_is_not_archived_is_missed_whatever_came_of_it(came_of_it: dict[str, Any]) -> None:
    stranger = request("https://stranger.example/x.js", **came_of_it)
    answers = (served(stranger.url, status=404, match=Match.MISS),) if stranger.status else ()
    seen = evidence(browser_log=BrowserLog((request(START), stranger), ()), served=(served(START), *answers))
    assert verdict(seen) == (Outcome.OK, None)
    found = observe(seen)
    assert (found.missed, found.failed_requests) == ((stranger.url,), 1)


def test_a_page_that_asks_for_an_address_of_the_testbed_is_to_blame_itself() -> None:
    there = request("https://10.0.0.2/x.png", status=404)
    seen = evidence(browser_log=BrowserLog((request(START), there), ()))
    outcome, reason = verdict(seen)
    assert (outcome, "10.0.0.2" in str(reason)) == (Outcome.PAGE_ERROR, True)
    nobody = request("https://192.0.2.1/x.png", status=None, protocol=None, net_error=-102)
    assert verdict(evidence(browser_log=BrowserLog((request(START), nobody), ())))[0] is Outcome.OK


def test_a_style_sheet_is_no_answer_to_a_script() -> None:
    script = request("https://cdn.example/load?a", accepts="script", mime="text/css")
    sheet = request("https://cdn.example/load?b", accepts="style", mime="text/css")
    closest = [served(each.url, match=Match.CLOSEST) for each in (script, sheet)]
    log = BrowserLog((request(START), script, sheet), ())
    seen = observe(evidence(browser_log=log, served=(served(START), *closest)))
    assert (seen.missed, seen.fuzzy) == ((script.url,), (sheet.url,))


def test_a_url_of_a_megabyte_fills_no_record_and_blames_no_server() -> None:
    long = request(f"https://site.example/?{'x' * 1_000_000}", status=431)
    seen = evidence(browser_log=BrowserLog((request(START), long), ()), served=(served(START),))
    assert verdict(seen) == (Outcome.OK, None)
    (failed,) = observe(seen).failed
    assert len(failed) < 2100
    stray = request(f"http://site.example/?{'x' * 1_000_000}")
    assert len(str(verdict(evidence(browser_log=BrowserLog((request(START), stray), ())))[1])) < 1000


def test_a_miss_is_counted_but_counts() -> None:
    missing = "https://cdn.example/missing.png"
    seen = evidence(
        browser_log=BrowserLog((request(START), request(missing, status=404)), ()),
        served=(served(START), served(missing, status=404, match=Match.MISS)),
    )
    assert verdict(seen) == (Outcome.OK, None)
    assert observe(seen).missed == (missing,)
    assert observe(seen).failed_requests == 1


def test_what_the_closest_response_answered_is_listed() -> None:
    asked = f"{PICTURE}?now=2"
    seen = evidence(
        browser_log=BrowserLog((request(START), request(asked)), ()),
        served=(served(START), served(asked, match=Match.CLOSEST)),
    )
    assert verdict(seen) == (Outcome.OK, None)
    assert (observe(seen).fuzzy, observe(seen).fuzzy_requests, observe(seen).missed) == ((asked,), 1, ())


def test_a_websocket_has_a_protocol_of_its_own() -> None:
    socket = served("https://chat.example/", protocol="http/1.1", websocket=True)
    seen = evidence()
    assert verdict(replace(seen, served=(*(seen.served or ()), socket))) == (Outcome.OK, None)


def test_requests_after_the_load_event_are_counted_apart() -> None:
    late = request(PICTURE, started_ms=1499)
    seen = observe(with_requests(request(START), late))
    assert (seen.requests, seen.requests_after_load) == (1, 1)


@pytest.mark.parametrize(
    ("outcome", "words", "found"),
    [
        (Outcome.PAGE_ERROR, "no load event", evidence(timeline={**TIMELINE, "plt_ms": None})),
        (Outcome.PAGE_ERROR, "no request for the page", with_requests(request(PICTURE))),
        (Outcome.PAGE_ERROR, "answered with 404", with_requests(request(START, status=404))),
        (
            Outcome.TESTBED_FAILED,
            "used the link for itself https://update.example/",
            with_requests(request(START), request("https://update.example/", of_page=False)),
        ),
        (
            Outcome.TESTBED_FAILED,
            "7 drops_device up",
            evidence(link_reading={"down": {}, "up": {"drops_device": 7}}),
        ),
        (Outcome.TESTBED_FAILED, "no reading", evidence(link_reading=None)),
        (
            Outcome.WRONG_PROTOCOL,
            "the browser did not use h2 for https://cdn.example/p.png by http/1.1",
            with_requests(request(START), request(PICTURE, protocol="http/1.1")),
        ),
        (
            Outcome.WRONG_PROTOCOL,
            "by http/1.1",
            evidence(served=(served(START), served(PICTURE, protocol="http/1.1"))),
        ),
        (
            Outcome.WRONG_PROTOCOL,
            "http://cdn.example/p.png",
            with_requests(request(START), request("http://cdn.example/p.png", protocol="h2")),
        ),
        (Outcome.WRONG_PROTOCOL, "not by the testbed's server", evidence(served=(served(START),))),
        (
            Outcome.WRONG_PROTOCOL,
            "resumed a TLS session",
            evidence(
                browser_log=BrowserLog(
                    (request(START),), (Connection("a", "b", "TLS 1.3", "h2", resumed=True),)
                )
            ),
        ),
        (
            Outcome.MISSING_OBJECTS,
            "lost on the way: https://cdn.example/p.png (-101)",
            with_requests(request(START), request(PICTURE, status=None, net_error=-101)),
        ),
    ],
)
def test_a_load_that_may_not_count(outcome: Outcome, words: str, found: Evidence) -> None:
    judged, reason = verdict(found)
    assert judged is outcome
    assert reason is not None
    assert words in reason


def test_a_connection_used_twice_is_no_close() -> None:
    page, picture = "http://site.example/", "http://cdn.example/p.png"
    both = [replace(served(url), tls=None, protocol="http/1.1") for url in (page, picture)]
    requests = [
        request(page, protocol="http/1.1", main_frame=True, started_ms=1000),
        request(picture, protocol="http/1.1"),
    ]
    found = evidence(
        protocol=Protocol.HTTP1_CLOSE,
        start_url=page,
        browser_log=BrowserLog(tuple(requests), ()),
        served=tuple(both),
    )
    assert "2 requests on one connection" in (verdict(found)[1] or "")
    apart = (both[0], replace(both[1], client_port=4001))
    assert verdict(replace(found, served=apart)) == (Outcome.OK, None)
    local, remote = (
        f"{both[0].client_address}:{both[0].client_port}",
        f"{both[0].server_address}:{both[0].server_port}",
    )
    made = Connection(remote, local, None, None, None, connect_ms=50.0)
    for count, outcome in ((1, Outcome.WRONG_PROTOCOL), (2, Outcome.OK)):  # twice: the port was used again
        log = BrowserLog(tuple(requests), (made,) * count)
        assert verdict(replace(found, browser_log=log))[0] is outcome


def test_a_request_cancelled_by_the_page_is_not_lost() -> None:
    cancelled = request(PICTURE, status=None, net_error=-3)
    seen = with_requests(request(START), cancelled)
    assert verdict(seen) == (Outcome.OK, None)
    assert observe(seen).failed_requests == 0


@pytest.mark.parametrize(
    ("connect_ms", "outcome"), [(48, Outcome.OK), (47, Outcome.TESTBED_FAILED), (None, Outcome.OK)]
)
def test_a_handshake_that_is_faster_than_the_round_trip_betrays_the_link(
    connect_ms: int | None, outcome: Outcome
) -> None:
    good = evidence()
    assert good.browser_log is not None
    connections = tuple(replace(each, connect_ms=connect_ms) for each in good.browser_log.connections)
    changed = replace(good, browser_log=replace(good.browser_log, connections=connections))
    assert verdict(changed)[0] is outcome
    if outcome is not Outcome.OK:
        assert "round trip of 50 ms, yet connections took only 47 ms" in (verdict(changed)[1] or "")
    assert observe(changed).connect_ms == connect_ms


def test_another_version_of_tls_is_the_wrong_protocol() -> None:
    seen = replace(evidence(), tls="1.2")
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
    assert good.browser_log is not None
    (one,) = good.browser_log.connections
    connections = tuple(replace(one, resumed=each) for each in resumed)
    seen = replace(good, browser_log=replace(good.browser_log, connections=connections))
    assert verdict(seen)[0] is outcome
    if outcome is not Outcome.OK:
        assert "not cold: 10.0.0.1:443 resumed a TLS session" in (verdict(seen)[1] or "")
    assert observe(seen).tls_resumed == (None if None in resumed else sum(map(bool, resumed)))


def test_a_session_that_the_server_resumed_is_not_cold() -> None:
    outcome, reason = verdict(evidence(served=(served(START), served(PICTURE, resumed=True))))
    assert outcome is Outcome.WRONG_PROTOCOL
    assert "not cold: the server resumed a TLS session" in (reason or "")


def historical(protocol: Protocol, count: int = 20, **changes: Any) -> Evidence:
    """A good load with QtWebKit: what the browser tells (of each request) and what the server's log does."""
    of_request = {
        "protocol": protocol.wire,
        "body_bytes": None,
        "tls": "TLS 1.2",
        "pipelined": protocol.pipelined,
        "ended_ms": 1300,
    }
    of_server = {
        "protocol": protocol.wire,
        "tls": "TLSv1.2" if protocol.encrypted else None,
        "depth": 3 if protocol.pipelined else 1,
    }
    urls = [START, *(f"{START}{number}" for number in range(1, count))]
    return evidence(
        protocol=protocol,
        tls="1.2",
        browser_log=BrowserLog(
            tuple(request(url, **of_request | changes.get("of_request", {})) for url in urls),
            (Connection("10.0.0.1:443", "10.64.0.1:4000", None, None, None, connect_ms=50.9),),
        ),
        served=tuple(
            served(url, requests_before=number, **of_server | changes.get("of_server", {}))
            for number, url in enumerate(urls)
        ),
    )


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

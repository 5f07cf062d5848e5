"""Which loads may count: every way in which one may not, changed one at a time from a good one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.engines.browserlog import DOCUMENT_ASKED, BrowserLog, Connection, Exchange, Failure
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.probes.evidence import Evidence
from harness.probes.processor import BROWSER, DRIVER
from harness.probes.programs import Lateness
from harness.probes.registry import ending, observe, verdict
from tests.facts import tells
from tests.unit.harness.probes.goodload import (
    PICTURE,
    START,
    TIMELINE,
    changed,
    evidence,
    log_of,
    request,
    served,
    with_requests,
)

RESET = Exchange(error="net::ERR_CONNECTION_RESET")


def test_a_good_load_counts() -> None:
    assert verdict(evidence()) == (Outcome.OK, None)
    seen = observe(evidence())
    assert seen.plt_ms == 500
    assert seen.fcp_ms is None
    assert (seen.requests, seen.failed_requests, seen.missed_requests) == (2, 0, 0)
    assert seen.protocols == {"h2": 2}
    assert (seen.bytes_down, seen.bytes_up, seen.bytes_body) == (9000, 900, 200)
    assert seen.server_connections == 1


@pytest.mark.parametrize("set_ms", [-400.0, 51.0])
def test_a_clock_that_was_set_meanwhile_proves_nothing(set_ms: float) -> None:
    outcome, reason = verdict(evidence(clock_set_ms=set_ms))
    assert outcome is Outcome.TESTBED_FAILED
    assert tells([reason or ""], "clock was set", f"{set_ms:+.0f} ms")
    assert verdict(evidence(clock_set_ms=set_ms / 10))[0] is Outcome.OK


def test_a_browser_that_used_the_link_before_it_was_asked_for_the_page_was_not_quiet() -> None:
    said = "3 packets left the client before the page was asked for"
    assert verdict(evidence(early_packets=3)) == (Outcome.TESTBED_FAILED, said)


def test_what_the_server_alone_tells_of_is_counted() -> None:
    """A request without a protocol, and one of which the browser knows nothing; not what came after the load event."""
    assert observe(evidence()).one_sided_requests == 0
    log = BrowserLog((request(START), request(PICTURE, protocol=None)), log_of(evidence()).connections)
    worker = served(f"{START}kept.png", started_us=1_400_000)
    later = served(f"{START}later.png", started_us=1_600_000)
    socket = served(f"{START}chat", websocket=True)
    answers = (served(START), served(PICTURE), worker, later, socket)
    assert observe(evidence(browser_log=log, served=answers)).one_sided_requests == 2


@pytest.mark.parametrize(
    ("name", "seen", "facts"),
    [
        ("caddy", Lateness(stopped_ms=310.4), ("stopped", ": caddy for 310 ms")),
        (BROWSER, Lateness(stopped_ms=20), ("stopped", ": the browser for 20 ms")),
        (DRIVER, Lateness(stopped_ms=300), ("stopped", ": the browser's driver for 300 ms")),
        ("nginx", Lateness(ended=True), ("lost a process", ": nginx")),
    ],
)
def test_a_part_that_stood_still_or_went_is_no_load(
    name: str, seen: Lateness, facts: tuple[str, ...]
) -> None:
    disturbed = evidence(lateness={"dnsmasq": Lateness(), name: seen})
    outcome, reason = verdict(disturbed)
    assert outcome is Outcome.TESTBED_FAILED
    assert tells([reason or ""], *facts)
    assert "dnsmasq" not in (reason or "")
    assert verdict(changed(disturbed, timeline=None))[0] is Outcome.TESTBED_FAILED  # not the page's error


def test_a_redirecting_start_hides_no_lost_object() -> None:
    go, lost = "https://site.example/go", "https://cdn.example:8443/lost.png"
    log = BrowserLog(
        (
            request(go, main_frame=True, chain=7, status=302, started_ms=1000),
            request(START, chain=7, started_ms=1190),
            request(lost, started_ms=1450, failure=Failure.TRANSPORT, status=None, protocol=None),
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


@pytest.mark.parametrize(
    ("shown_ms", "outcome"),
    [(1190.0, Outcome.OK), (1000.0, Outcome.OK), (1400.0, Outcome.PAGE_ERROR), (None, Outcome.PAGE_ERROR)],
)
def test_a_document_that_the_engine_names_is_known_whenever_its_clock_starts(
    shown_ms: float | None, outcome: Outcome
) -> None:
    """The clock may start late where a machine is busy; a page that begins anew does not pass for itself."""
    go = "https://site.example/go"
    requests = (
        request(go, main_frame=True, chain=7, status=302, started_ms=1000),
        request(START, main_frame=True, chain=7, started_ms=1190),
        request(go, main_frame=True, chain=9, started_ms=1400, answered_ms=1401),
    )
    late = {**TIMELINE, "navigation_start_ms": 1010.0, DOCUMENT_ASKED: shown_ms}
    served_twice = (served(go, status=302), served(START), served(go))
    seen = evidence(start_url=go, browser_log=BrowserLog(requests, ()), served=served_twice, timeline=late)
    assert verdict(seen)[0] is outcome


def test_a_page_that_asks_for_an_address_of_the_testbed_is_to_blame_itself() -> None:
    there = request("https://10.0.0.2/x.png", status=404)
    seen = evidence(browser_log=BrowserLog((request(START), there), ()))
    outcome, reason = verdict(seen)
    assert (outcome, "10.0.0.2" in str(reason)) == (Outcome.PAGE_ERROR, True)
    elsewhere = request("https://192.0.2.1/x.png", status=404)
    assert (
        verdict(evidence(browser_log=BrowserLog((request(START), elsewhere), ())))[0]
        is not Outcome.PAGE_ERROR
    )
    nobody = request("https://192.0.2.1/x.png", status=None, protocol=None, failure=Failure.TRANSPORT)
    assert verdict(evidence(browser_log=BrowserLog((request(START), nobody), ())))[0] is Outcome.OK


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
            "lost on the way: https://cdn.example/p.png (net::ERR_CONNECTION_RESET)",
            with_requests(
                request(START), request(PICTURE, status=None, failure=Failure.TRANSPORT, exchange=RESET)
            ),
        ),
    ],
)
def test_a_load_that_may_not_count(outcome: Outcome, words: str, found: Evidence) -> None:
    judged, reason = verdict(found)
    assert judged is outcome
    assert reason is not None
    assert words in reason


@pytest.mark.parametrize(
    ("connect_ms", "outcome"), [(48, Outcome.OK), (47, Outcome.TESTBED_FAILED), (None, Outcome.OK)]
)
def test_a_handshake_that_is_faster_than_the_round_trip_betrays_the_link(
    connect_ms: int | None, outcome: Outcome
) -> None:
    good = evidence()
    assert log_of(good) is not None
    connections = tuple(replace(each, connect_ms=connect_ms) for each in log_of(good).connections)
    made = changed(good, browser_log=replace(log_of(good), connections=connections))
    assert verdict(made)[0] is outcome
    if outcome is not Outcome.OK:
        assert tells([verdict(made)[1] or ""], "less than the round trip", "47 ms")
    assert observe(made).connect_ms == connect_ms


def test_a_browser_that_ended_did_so_by_the_page_or_from_outside() -> None:
    died = TrialFailed(Outcome.PAGE_ERROR, "the browser died: tab crashed", died=True)
    lost = evidence(timeline=None)
    crashed = changed(lost, crashes=("renderer by SIGTRAP",), lateness={BROWSER: Lateness(stopped_ms=20)})
    crash = "a process of the browser crashed while the page loaded: renderer by SIGTRAP"
    assert ending(crashed, died) == (Outcome.PAGE_ERROR, f"{crash}: the browser died: tab crashed")
    assert ending(changed(lost, out_of_memory=True), died)[0] is Outcome.PAGE_ERROR
    outcome, reason = ending(lost, died)
    assert outcome is Outcome.TESTBED_FAILED
    assert tells([reason or ""], "killed from outside", "no crash", "the browser died")
    assert (
        ending(lost, TrialFailed(died.outcome, died.reason))[0] is Outcome.PAGE_ERROR
    )  # the page's own trouble
    with_servers = changed(crashed, lateness={"caddy": Lateness(stopped_ms=310)})
    assert ending(with_servers, died)[0] is Outcome.TESTBED_FAILED


def test_a_frame_that_crashed_is_no_load() -> None:
    crashed = evidence(crashes=("renderer by SIGTRAP",), lateness={BROWSER: Lateness(stopped_ms=20)})
    assert verdict(crashed)[0] is Outcome.PAGE_ERROR


@pytest.mark.parametrize("failure", [TrialFailed(Outcome.PAGE_TIMEOUT, "no load event"), None])
def test_a_part_of_the_testbed_that_failed_is_to_blame_before_all_else(failure: TrialFailed | None) -> None:
    disturbed = evidence(lateness={"caddy": Lateness(stopped_ms=310)}, timeline=None)
    stood = "stopped while the page loaded: caddy for 310 ms"
    assert ending(disturbed, failure) == (Outcome.TESTBED_FAILED, stood)
    assert ending(disturbed, TestbedFailed("dnsmasq died")) == (Outcome.TESTBED_FAILED, "dnsmasq died")


TIMED_OUT = TrialFailed(Outcome.PAGE_TIMEOUT, "no load event within 60 s")


def test_a_load_that_failed_early_ends_as_it_failed() -> None:
    assert ending(evidence(timeline=None), TIMED_OUT) == (TIMED_OUT.outcome, TIMED_OUT.reason)
    assert ending(evidence(), None) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("outcome", "words", "changes"),
    [
        (Outcome.TESTBED_FAILED, "no log", {"browser_log": None}),
        (Outcome.TESTBED_FAILED, "no reading", {"link_reading": None}),
        (Outcome.TESTBED_FAILED, "7 oversize down", {"link_reading": {"down": {"oversize": 7}, "up": {}}}),
        (Outcome.TESTBED_FAILED, "before the page was asked for", {"early_packets": 3}),
        (Outcome.TESTBED_FAILED, "less than the round trip", {"rtt_ms": 90}),
        (Outcome.PAGE_ERROR, "crashed while the page loaded", {"crashes": ("renderer by SIGTRAP",)}),
        (Outcome.WRONG_PROTOCOL, "did not use TLS 1.2", {"tls": "1.2"}),
        (
            Outcome.TESTBED_FAILED,
            "used the link for itself",
            {
                "browser_log": BrowserLog(
                    (request(START), request("https://update.example/", of_page=False)), ()
                )
            },
        ),
        (
            Outcome.WRONG_PROTOCOL,
            "did not use h2 for",
            {"browser_log": BrowserLog((request(START), request(PICTURE, protocol="http/1.1")), ())},
        ),
    ],
)
def test_a_time_out_is_proved_as_far_as_it_went(
    outcome: Outcome, words: str, changes: dict[str, Any]
) -> None:
    judged, reason = ending(evidence(timeline=None, navigate_ms=None, **changes), TIMED_OUT)
    assert (judged, words in (reason or "")) == (outcome, True), reason
    failed = TrialFailed(Outcome.PAGE_ERROR, "the page was not loaded")  # which does not count, in any case
    assert ending(evidence(timeline=None, **changes), failed)[0] is Outcome.PAGE_ERROR


def test_a_time_out_counts_whatever_was_broken_off() -> None:
    """What is under way is in no log of the server, and is no object lost; nothing is proved of nothing answered."""
    under_way = request(PICTURE, status=None, failure=Failure.TRANSPORT, exchange=RESET)
    cut_off = evidence(
        timeline=None, browser_log=BrowserLog((request(START), under_way), ()), served=(), rtt_ms=50
    )
    assert ending(cut_off, TIMED_OUT)[0] is Outcome.PAGE_TIMEOUT
    nothing = BrowserLog((request(START, status=None, protocol=None),), ())
    silent = evidence(timeline=None, browser_log=nothing, served=(), h2_stream_window_bytes=65_535)
    assert ending(silent, TIMED_OUT)[0] is Outcome.PAGE_TIMEOUT
    live = evidence(timeline=None, browser_log=nothing, served=None, link_reading=None, live=True)
    assert ending(live, TIMED_OUT)[0] is Outcome.PAGE_TIMEOUT


def test_a_live_load_is_not_judged_by_what_only_a_replay_has() -> None:
    """Its servers speak what they like, over a link that gives no reading; what the page lost is lost."""
    http1 = (request(START), request(PICTURE, protocol="http/1.1"))
    live = evidence(browser_log=BrowserLog(http1, ()), served=None, link_reading=None, live=True)
    assert verdict(live) == (Outcome.OK, None)
    assert verdict(changed(live, live=False))[0] is not Outcome.OK
    lost = changed(
        live, browser_log=BrowserLog((request(START), request(PICTURE, failure=Failure.TRANSPORT)), ())
    )
    assert verdict(lost)[0] is Outcome.MISSING_OBJECTS

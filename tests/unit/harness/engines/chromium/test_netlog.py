"""Reading real NetLogs (Chromium 156, the agency page, cut to the events that are read)."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest

from harness.engines.browserlog import BrowserLog, Failure
from harness.engines.chromium.netlog import number_of, parse_netlog
from harness.errors import TestbedFailed

DATA = Path(__file__).parents[4] / "data" / "netlog"


def text_of(name: str) -> str:
    return gzip.decompress((DATA / f"{name}.json.gz").read_bytes()).decode()


@pytest.mark.parametrize(
    ("name", "protocol", "scheme"), [("h2", "h2", "https"), ("http1", "http/1.1", "http")]
)
def test_every_request_of_the_page_with_its_protocol(name: str, protocol: str, scheme: str) -> None:
    log = parse_netlog(text_of(name))
    assert {request.protocol for request in log.page_requests} == {protocol}
    assert {request.url.partition(":")[0] for request in log.page_requests} == {scheme}
    assert Counter(request.status for request in log.page_requests) == {200: 32, 404: 1}
    (document,) = log.document(f"{scheme}://agency.example/")
    assert document.main_frame
    assert not log.other_documents(document.url)
    assert not any(request.from_cache for request in log.page_requests)
    assert all(request.started_ms < (request.answered_ms or 0) for request in log.page_requests)
    kinds = {
        request.url.rpartition(".")[2]: (request.accepts[:6], request.mime) for request in log.page_requests
    }
    assert kinds["css"] == ("style" if scheme == "https" else "text/c", "text/css")
    assert kinds["jpg"] == ("image" if scheme == "https" else "image/", "image/jpeg")
    assert document.started_ms == min(request.started_ms for request in log.page_requests)


@pytest.mark.parametrize(
    "with_user",
    [r'"https://me:secret@agency.example/\1"', r'"https://agency.example/\1 (credentials redacted)"'],
)
def test_a_url_is_told_as_it_was_sent_without_user_and_password(with_user: str) -> None:
    text = text_of("h2")
    changed, count = re.subn(r'"https://agency\.example/([^" ]*)"', with_user, text)
    assert count
    assert parse_netlog(changed).requests == parse_netlog(text).requests


def test_what_the_browser_asks_by_itself_is_told_apart() -> None:
    log = parse_netlog(text_of("h2"))
    assert log.service_requests
    assert all(request.protocol is None for request in log.service_requests)  # no name, no connection
    assert not {request.host for request in log.page_requests} & {
        request.host for request in log.service_requests
    }


@pytest.mark.parametrize(
    ("initiator", "kind", "of_page"),
    [
        ("not an origin", "gaia_auth_list_accounts", False),
        ("chrome://new-tab-page", "blink_resource_loader", False),
        ("https://site.example", "payment_manifest_downloader", True),
        ("null", "fedcm", True),
        ("not an origin", "webauthn_rp_id_check", True),
        ("not an origin", "reporting", True),
    ],
)
def test_a_request_is_the_pages_by_who_asked_or_by_its_kind(initiator: str, kind: str, of_page: bool) -> None:
    """Also where its own site, or the page's, tops the network isolation key."""
    log = json.loads(text_of("h2"))
    started = log["constants"]["logEventTypes"]["URL_REQUEST_START_JOB"]
    alive = log["constants"]["logEventTypes"]["REQUEST_ALIVE"]
    picture = next(
        event
        for event in log["events"]
        if event["type"] == started and event.get("params", {}).get("url", "").endswith(".jpg")
    )
    for event in log["events"]:
        if event["source"]["id"] == picture["source"]["id"]:
            if event["type"] == started and "url" in event.get("params", {}):
                event["params"]["initiator"] = initiator
            elif event["type"] == alive and "priority" in event.get("params", {}):
                event["params"]["traffic_annotation"] = number_of(kind)
    (asked,) = [
        request
        for request in parse_netlog(json.dumps(log)).requests
        if request.url == picture["params"]["url"]
    ]
    assert asked.of_page is of_page


@pytest.mark.parametrize(
    ("net_error", "failure"),
    [
        (-310, Failure.REFUSED),  # too many redirects
        (-311, Failure.REFUSED),
        (-312, Failure.REFUSED),  # an unsafe port
        (-302, Failure.REFUSED),  # a scheme that is not known
        (-301, Failure.REFUSED),
        (-300, Failure.REFUSED),
        (-20, Failure.REFUSED),
        (-101, Failure.TRANSPORT),
        (-324, Failure.TRANSPORT),  # an empty answer
        (-320, Failure.TRANSPORT),
        (-3, Failure.ABORTED),
    ],
)
def test_what_the_browser_refuses_is_not_lost_on_the_way(net_error: int, failure: Failure) -> None:
    log = json.loads(text_of("h2"))
    kinds, end = log["constants"]["logEventTypes"], log["constants"]["logEventPhase"]["PHASE_END"]
    picture, url = next(
        (event["source"]["id"], event["params"]["url"])
        for event in log["events"]
        if event.get("params", {}).get("url", "").endswith(".jpg")
        and event["type"] == kinds["URL_REQUEST_START_JOB"]
    )
    for event in log["events"]:
        of_picture = event["source"]["id"] == picture
        if of_picture and (event["type"], event["phase"]) == (kinds["REQUEST_ALIVE"], end):
            event["params"] = {**event.get("params", {}), "net_error": net_error}
    requests = parse_netlog(json.dumps(log)).requests
    assert [request.failure for request in requests if request.url == url] == [failure]


def test_an_answer_that_the_page_did_not_wait_for_is_no_failure_and_told() -> None:
    log = json.loads(text_of("h2"))
    kinds, phases = log["constants"]["logEventTypes"], log["constants"]["logEventPhase"]
    cancelled = kinds.setdefault(
        "CANCELLED", max(kinds.values()) + 1
    )  # the log holds names of what is in it alone
    picture = next(
        event for event in log["events"] if event.get("params", {}).get("url", "").endswith(".jpg")
    )
    log["events"].append({**picture, "type": cancelled, "phase": phases["PHASE_NONE"], "params": {}})
    told = [request for request in parse_netlog(json.dumps(log)).requests if request.exchange.cancelled]
    assert [(request.failure, request.exchange.until(0.0).cancelled) for request in told] == [(None, False)]


def test_a_request_that_the_browsers_end_cut_off_did_not_come_from_its_cache() -> None:
    """It has a beginning and an end, and no answer in between."""
    log = json.loads(text_of("h2"))
    kinds = log["constants"]["logEventTypes"]
    begin, end = (log["constants"]["logEventPhase"][name] for name in ("PHASE_BEGIN", "PHASE_END"))
    kept = {
        (kinds["REQUEST_ALIVE"], begin),
        (kinds["REQUEST_ALIVE"], end),
        (kinds["URL_REQUEST_START_JOB"], begin),
    }
    cut = next(
        event["source"]["id"]
        for event in log["events"]
        if event.get("params", {}).get("url", "").endswith(".jpg")
        and event["type"] == kinds["URL_REQUEST_START_JOB"]
    )
    log["events"] = [
        event
        for event in log["events"]
        if event["source"]["id"] != cut or (event["type"], event["phase"]) in kept
    ]
    aborted = [
        request for request in parse_netlog(json.dumps(log)).requests if request.failure is Failure.ABORTED
    ]
    assert [
        (request.url.rpartition(".")[2], request.from_cache, request.used_cache) for request in aborted
    ] == [("jpg", False, False)]


def test_connections_with_their_tls() -> None:
    secure = parse_netlog(text_of("h2")).connections
    assert {connection.tls for connection in secure if connection.tls} == {"TLS 1.3"}
    assert {connection.alpn for connection in secure if connection.tls} == {"h2"}
    assert not any(connection.resumed for connection in secure)
    assert {connection.tls for connection in parse_netlog(text_of("http1")).connections} == {None}


@pytest.mark.parametrize("name", ["h2", "http1"])
def test_each_handshake_took_a_round_trip_of_the_link(name: str) -> None:
    times = [connection.connect_ms for connection in parse_netlog(text_of(name)).connections]
    assert None not in times
    assert 20 <= min(time for time in times if time is not None) <= 22  # the link of these logs had 20 ms


def test_compressed_bodies_count_as_they_travelled() -> None:
    log = parse_netlog(text_of("h2"))
    script = next(request for request in log.page_requests if request.url.endswith("/js/all.js"))
    assert script.body_bytes is not None
    assert 300_000 < script.body_bytes < 700_000  # 1.4 MB unpacked


@pytest.mark.parametrize("name", ["h2", "http1"])
@pytest.mark.parametrize("share", [0.5, 0.7, 0.9])
def test_what_is_cut_at_a_time_is_what_the_log_held_then(name: str, share: float) -> None:
    """Bytes of bodies included: a film that goes on when the load has ended is no part of it."""
    told = json.loads(text_of(name))
    whole = parse_netlog(json.dumps(told))
    began, ended = whole.requests[0].started_ms, max(request.ended_ms or 0 for request in whole.requests)
    clock_ms = round(began + share * (ended - began))
    told["events"] = [event for event in told["events"] if int(event["time"]) <= clock_ms]
    then = parse_netlog(json.dumps(told))

    def came(log: BrowserLog) -> list[tuple[object, ...]]:
        answered = (request for request in log.page_requests if request.status is not None)
        return [
            (request.url, request.status, request.answered_ms, request.body_bytes) for request in answered
        ]

    cut = whole.until(clock_ms)
    assert came(cut) == came(then)
    assert sum(request.body_bytes or 0 for request in cut.page_requests) > 0
    assert all(request.ended_ms is None or request.ended_ms <= clock_ms for request in cut.requests)


def test_a_log_cut_off_by_the_browsers_death_is_read_up_to_there() -> None:
    whole = text_of("h2")
    cut = parse_netlog(whole[: len(whole) // 2])
    assert 0 < len(cut.page_requests) < len(parse_netlog(whole).page_requests)
    assert max(request.started_ms for request in cut.requests) <= cut.last_ms < parse_netlog(whole).last_ms
    assert parse_netlog(whole).whole
    assert not cut.whole


@pytest.mark.parametrize("text", ["", "{", '{"constants": {}'])
def test_a_log_without_anything_is_refused(text: str) -> None:
    with pytest.raises(TestbedFailed, match="NetLog"):
        parse_netlog(text)


def test_connections_of_quic() -> None:
    """The two hosts of a small page over HTTP/3; the link had 100 ms, the machine was busy."""
    log = parse_netlog(text_of("h3"))
    assert {request.protocol for request in log.page_requests} == {"h3"}
    assert [(connection.alpn, connection.tls, connection.resumed) for connection in log.connections] == [
        ("h3", "TLS 1.3", False)
    ] * 2
    assert all(
        connection.connect_ms is not None and connection.connect_ms >= 100 for connection in log.connections
    )
    assert {connection.remote.rpartition(":")[2] for connection in log.connections} == {"443"}

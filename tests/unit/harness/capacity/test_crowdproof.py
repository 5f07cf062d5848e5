"""What makes a crowd's trial not count: a good one, and one thing of it changed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.capacity.crowdproof import CrowdEvidence, verdict
from harness.capacity.series import PageLine
from harness.capacity.served import ServedCounts, counted
from harness.model.protocol import Protocol
from harness.outcome import Outcome
from sites.servers.server import Match, ServedRequest

PAGE = PageLine(t_s=0, user=0, ms=300, requests=10, connections=2, protocol="h2", tls="1.3")
FAILED = PageLine(t_s=1, user=1, error="timeout", requests=3, failed=3)
CLEAN = {
    way: {"drops_queue": 7, "drops_device": 0, "oversize": 0, "write_errors": 0} for way in ("down", "up")
}
GOOD = CrowdEvidence(
    protocol=Protocol.H2,
    hosts=2,
    connections_per_host=1,
    tls="1.3",
    tls_resumption=False,
    pages=[PAGE, FAILED],
    served=ServedCounts(requests=12, by_protocol={"h2": 12}, by_tls={"TLSv1.3": 12}),
    link_reading=CLEAN,
)
HTTP1 = replace(
    GOOD,
    protocol=Protocol.HTTP1,
    connections_per_host=6,
    pages=[replace(PAGE, protocol="http/1.1", tls=None, connections=12)],
    served=ServedCounts(10, {"http/1.1": 10}, {"none": 10}),
)
CLOSE = replace(HTTP1, protocol=Protocol.HTTP1_CLOSE, pages=[replace(HTTP1.pages[0], connections=10)])


@pytest.mark.parametrize("evidence", [GOOD, HTTP1, CLOSE])
def test_a_good_one(evidence: CrowdEvidence) -> None:
    assert verdict(evidence) == (Outcome.OK, None)


@pytest.mark.parametrize(
    ("base", "changes", "outcome", "said"),
    [
        (GOOD, {"link_reading": None}, Outcome.TESTBED_FAILED, "the link gave no reading"),
        (
            GOOD,
            {"link_reading": {**CLEAN, "up": {"write_errors": 4}}},
            Outcome.TESTBED_FAILED,
            "packets were lost outside the emulated link: 4 write_errors up",
        ),
        (
            GOOD,
            {"pages": [PAGE, replace(PAGE, protocol="http/1.1")]},
            Outcome.WRONG_PROTOCOL,
            "pages were not loaded by h2: 1 by http/1.1",
        ),
        (
            GOOD,
            {"pages": [replace(PAGE, tls="TLS 1.2")]},
            Outcome.WRONG_PROTOCOL,
            "pages were not loaded by TLS 1.3: 1 by 1.2",
        ),
        (GOOD, {"pages": [replace(PAGE, tls=None)]}, Outcome.WRONG_PROTOCOL, "1 by no TLS"),
        (
            HTTP1,
            {"pages": [replace(HTTP1.pages[0], tls="1.3")]},
            Outcome.WRONG_PROTOCOL,
            "pages were not loaded by plain HTTP: 1 by 1.3",
        ),
        (
            GOOD,
            {"pages": [replace(PAGE, connections=3)]},
            Outcome.WRONG_PROTOCOL,
            "1 pages had more than 2 connections at once",
        ),
        (
            HTTP1,
            {"pages": [replace(HTTP1.pages[0], connections=20, connections_at_once=13)]},
            Outcome.WRONG_PROTOCOL,
            "1 pages had more than 12 connections at once",
        ),
        (
            CLOSE,
            {"pages": [replace(CLOSE.pages[0], connections=9)]},
            Outcome.WRONG_PROTOCOL,
            "1 pages had fewer connections than requests",
        ),
        (GOOD, {"served": None}, Outcome.WRONG_PROTOCOL, "the server's log was not read"),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 11, "http/1.1": 1}, {"TLSv1.3": 12})},
            Outcome.WRONG_PROTOCOL,
            "the server did not use h2 for all requests: 1 by http/1.1",
        ),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 12}, {"TLSv1.3": 11, "TLSv1.2": 1})},
            Outcome.WRONG_PROTOCOL,
            "the server did not use TLSv1.3 for all requests: 1 by TLSv1.2",
        ),
        (
            GOOD,
            {"served": ServedCounts(12, {"h2": 12}, {"TLSv1.3": 12}, resumed=2)},
            Outcome.WRONG_PROTOCOL,
            "not cold: the server resumed a TLS session for 2 requests",
        ),
        (
            GOOD,
            {"served": ServedCounts(9, {"h2": 9}, {"TLSv1.3": 9})},
            Outcome.WRONG_PROTOCOL,
            "10 requests were answered, but the testbed's server logged 9",
        ),
        (
            GOOD,
            {"pages": [FAILED, FAILED]},
            Outcome.PAGE_ERROR,
            "no page was loaded: 2 by timeout",
        ),
        (GOOD, {"pages": []}, Outcome.PAGE_ERROR, "no page was loaded, and none failed"),
    ],
)
def test_one_thing_that_is_wrong(
    base: CrowdEvidence, changes: dict[str, Any], outcome: Outcome, said: str
) -> None:
    found, reason = verdict(replace(base, **changes))
    assert found is outcome
    assert said in (reason or "")


def test_resumption_is_no_fault_where_the_study_allows_it() -> None:
    served = ServedCounts(12, {"h2": 12}, {"TLSv1.3": 12}, resumed=2)
    assert verdict(replace(GOOD, served=served, tls_resumption=True)) == (Outcome.OK, None)


def test_a_server_that_writes_no_log_proves_nothing_and_denies_nothing() -> None:
    assert verdict(replace(GOOD, served=ServedCounts(0, {}, {}), logged=False)) == (Outcome.OK, None)


def test_a_connection_that_the_server_closed_may_be_replaced() -> None:
    page = replace(HTTP1.pages[0], connections=14, connections_at_once=12)
    assert verdict(replace(HTTP1, pages=[page])) == (Outcome.OK, None)


def logged(**changes: Any) -> ServedRequest:
    made = ServedRequest(
        started_us=0,
        duration_us=1,
        client_address="10.64.0.8",
        client_port=4000,
        server_address="10.0.0.1",
        server_port=443,
        protocol="h2",
        method="GET",
        host="a.example",
        target="/",
        status=200,
        body_bytes=1,
        bytes_sent=None,
        bytes_received=None,
        requests_before=None,
        tls="TLSv1.3",
        resumed=False,
        match=Match.EXACT,
    )
    return replace(made, **changes)


def test_only_requests_of_the_crowd_are_counted() -> None:
    crowd = {"10.64.0.8", "10.64.0.9"}
    made = counted(
        [
            logged(),
            logged(client_address="10.64.0.9", protocol="http/1.1", tls=None),
            logged(resumed=True),
            logged(client_address="127.0.0.1"),
            logged(websocket=True),
        ],
        crowd,
    )
    assert made == ServedCounts(3, {"h2": 2, "http/1.1": 1}, {"TLSv1.3": 2, "none": 1}, 1)

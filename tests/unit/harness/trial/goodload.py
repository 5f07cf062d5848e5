"""The evidence of a load that counts, for the tests that change one thing of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.browser.browserlog import BrowserLog, Connection, Request
from harness.model.protocol import Protocol
from harness.trial.evidence import Evidence
from sites.servers.server import Match, ServedRequest

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

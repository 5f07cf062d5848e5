"""The evidence of a load that counts, for the tests that change one thing of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from harness.engines.browserlog import BrowserLog, Connection, Request
from harness.model.protocol import Protocol
from harness.probes.evidence import Evidence, LoadSetup, ServerAnswers
from harness.probes.film import Filmed
from harness.probes.link import LinkSeen
from harness.probes.loadedpage import PageConsole, Screens
from harness.probes.processor import Processor
from harness.probes.proofs import FirstVisit
from harness.probes.timeline import PageTimes
from harness.probes.trace import Trace
from harness.probes.vitals import Vitals
from sites.servers.server import Match, ServedRequest

SETUP = frozenset(each.name for each in fields(LoadSetup))
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
        failure=None,
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
        requests_before=0,
        tls="TLSv1.3",
        resumed=False,
        match=Match.EXACT,
    )
    return replace(made, **changes)


# What a test may change of the evidence, by a name of its own: the type that holds it, and its field there.
SEEN: Mapping[str, tuple[type, str]] = {
    "navigate_ms": (PageTimes, "navigate_ms"),
    "timeline": (PageTimes, "timeline"),
    "clock_set_ms": (PageTimes, "clock_set_ms"),
    "served": (ServerAnswers, "requests"),
    "link_reading": (LinkSeen, "reading"),
    "link_account": (LinkSeen, "account"),
    "early_packets": (LinkSeen, "early_packets"),
    "first_up_us": (LinkSeen, "first_up_us"),
    "client_cpu_s": (Processor, "client_s"),
    "server_cpu_s": (Processor, "server_s"),
    "foreign_cpu_share": (Processor, "foreign_share"),
    "steal_share": (Processor, "steal_share"),
    "lateness": (Processor, "lateness"),
    "runner_late_ms": (Processor, "runner_late_ms"),
    "runs": (Processor, "runs"),
    "crashes": (Processor, "crashes"),
    "out_of_memory": (Processor, "out_of_memory"),
    "at_full_speed": (Processor, "at_full_speed"),
    "console_errors": (PageConsole, "errors"),
    "console_error_count": (PageConsole, "error_count"),
    "without_glyph": (PageConsole, "without_glyph"),
    "at_rest": (Screens, "at_rest"),
    "main_thread": (Trace, "main_thread"),
    "render_blocking": (Trace, "render_blocking"),
    "film": (Filmed, "film"),
}
MARKS: Mapping[str, type] = {"traced": Trace, "filmed": Filmed}
WHOLE: Mapping[str, type] = {"browser_log": BrowserLog, "vitals": Vitals}


def changed(made: Evidence, **changes: Any) -> Evidence:
    """Evidence with other things seen; None takes what is whole out."""
    setup = {name: value for name, value in changes.items() if name in SETUP}
    seen = dict(made.seen)
    for name, value in changes.items():
        if name in SEEN:
            kind, field = SEEN[name]
            before: Any = seen.get(kind, kind())
            seen[kind] = replace(before, **{field: value})
        elif name in MARKS:
            seen.setdefault(MARKS[name], MARKS[name]())
        elif name in WHOLE:
            seen[WHOLE[name]] = value
        elif name == "first_visit":
            seen[FirstVisit] = FirstVisit(value)
        elif name not in SETUP:
            raise KeyError(name)
    return Evidence(
        replace(made.setup, **setup), {kind: each for kind, each in seen.items() if each is not None}
    )


def evidence(**changes: Any) -> Evidence:
    """A load of two files over HTTP/2 that counts, but for the changes."""
    connection = Connection("10.0.0.1:443", "10.64.0.1:4000", "TLS 1.3", "h2", resumed=False, connect_ms=51)
    setup = LoadSetup(
        protocol=Protocol.H2,
        start_url=START,
        page_hosts=frozenset({"site.example", "cdn.example"}),
        rtt_ms=50,
    )
    good = changed(
        Evidence(setup),
        navigate_ms=510.0,
        timeline=TIMELINE,
        browser_log=BrowserLog((request(START), request(PICTURE)), (connection,)),
        served=(served(START), served(PICTURE)),
        link_reading={"down": {"bytes_out": 9000}, "up": {"bytes_out": 900}},
    )
    return changed(good, **changes)


def log_of(made: Evidence) -> BrowserLog:
    """The browser's log, which is there."""
    log = made.get(BrowserLog)
    assert log is not None
    return log


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

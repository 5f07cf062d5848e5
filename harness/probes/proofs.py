"""Whether every request used the protocol of the condition, by the browser's log and by the server's; and whether the
load found the cache as its condition names it. Pure.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate
from urllib.parse import urlsplit

from harness.engines.browserlog import NOT_MODIFIED, BrowserLog, Connection, Request
from harness.model.condition import CacheState
from harness.model.protocol import Protocol
from harness.probes.evidence import Evidence, ServerAnswers, listed
from harness.probes.timeline import load_requests, page_requests
from sites.asked import refused
from sites.urls import DEFAULT_PORTS

# Servers answer these while they read the request, and log no request for it, or one without a host.
TOO_LONG = frozenset({414, 431})
PORT_FOLLOWS = ":"  # in an address; an engine that does not tell its ports has another name for a connection
CONNECTIONS_PER_HOST = 6  # and port, of QtWebKit (and Chromium): with more requests at once it pipelines
VALIDATORS = ("etag", "last-modified")
FRESH_FOR = re.compile(r"max-age\s*=\s*\"?0*[1-9]")


def wrong_in_browser(evidence: Evidence) -> str | None:
    protocol = evidence.setup.protocol
    wrong = [
        f"{request.url} by {request.protocol}"
        for request in page_requests(evidence)
        if request.protocol
        and (request.protocol != protocol.wire or not request.url.startswith(f"{protocol.scheme}://"))
    ]
    secured = [connection for connection in _connections(evidence) if connection.tls]
    told = [request for request in page_requests(evidence) if request.tls] if protocol.encrypted else []
    resumed = [f"{connection.remote} resumed a TLS session" for connection in secured if connection.resumed]
    other = [
        f"{connection.remote} by {connection.tls}"
        for connection in secured
        if connection.tls != f"TLS {evidence.setup.tls}"
    ] + [f"{request.url} by {request.tls}" for request in told if request.tls != f"TLS {evidence.setup.tls}"]
    return (
        listed(f"the browser did not use {protocol} for", wrong)
        or _kept_alive(evidence)
        or _other_window(evidence)
        or listed("not cold:", resumed if _older(evidence, len(resumed), len(secured)) else [])
        or listed(f"the browser did not use TLS {evidence.setup.tls} to", other)
    )


def _kept_alive(evidence: Evidence) -> str | None:
    """Without keep-alive the browser makes a connection for each request that is answered, and perhaps spare ones."""
    log = evidence.get(BrowserLog)
    if evidence.setup.protocol.keep_alive or log is None:
        return None
    answered = sum(
        request.status is not None and request.protocol is not None for request in page_requests(evidence)
    )
    made = len(log.connections)
    if answered <= made:
        return None
    return f"the browser did not use {evidence.setup.protocol}: {answered} requests were answered on {made} connections"


def _other_window(evidence: Evidence) -> str | None:
    """Over HTTP/2, streams have the window that the study sets, if it does. Without a connection there are none."""
    wanted = evidence.setup.h2_stream_window_bytes
    log = evidence.get(BrowserLog)
    if wanted is None or evidence.setup.protocol is not Protocol.H2 or log is None:
        return None
    set_by_browser = set(log.h2_windows)
    if set_by_browser == {wanted} or not (
        set_by_browser or any(request.protocol for request in log.page_requests)
    ):
        return None
    return f"the browser's streams had windows of {sorted(set_by_browser)} bytes instead of {wanted}"


def _older(evidence: Evidence, resumed: int, secured: int) -> bool:
    """Whether sessions were resumed that no connection of this load began: any, unless the study allows for it."""
    return resumed > 0 and (not evidence.setup.tls_resumption or resumed == secured)


def _shared(evidence: Evidence) -> list[int]:
    """How many requests each connection carried that carried several.

    The server's log tells connections by their ports, and the client's may be used again within a load, by as many
    connections as the browser made from there. Where the browser does not tell its ports, those that were used again
    are not told from connections that were; it tells itself that each request had its own, and some servers do.
    """
    served = evidence.of(ServerAnswers).by_protocol
    again = [request.requests_before + 1 for request in served if request.requests_before]
    if any(PORT_FOLLOWS not in connection.local for connection in _connections(evidence)):
        return again
    ports = Counter(
        (f"{request.client_address}:{request.client_port}", f"{request.server_address}:{request.server_port}")
        for request in served
    )
    made = Counter((connection.local, connection.remote) for connection in _connections(evidence))
    return [count for port, count in ports.items() if count > max(1, made[port])]


def wrong_at_server(evidence: Evidence) -> str | None:
    protocol = evidence.setup.protocol
    wrong = [
        f"{request.url} by {request.protocol}"
        for request in evidence.of(ServerAnswers).by_protocol
        if request.protocol != protocol.wire and request.status not in TOO_LONG
    ]
    if not protocol.keep_alive:
        wrong += [f"{count} requests on one connection" for count in _shared(evidence)]
    expected = f"TLSv{evidence.setup.tls}" if protocol.encrypted else None
    wrong += [
        f"{request.url} by {request.tls or 'no TLS'}"
        for request in evidence.of(ServerAnswers).requests or ()
        if request.tls != expected
    ]
    resumed = [
        request.url
        for request in evidence.of(ServerAnswers).requests or ()
        if request.resumed and not evidence.setup.tls_resumption
    ]
    answered = Counter(
        request.url.partition("#")[0]
        for request in load_requests(evidence)
        if request.status is not None and request.status not in TOO_LONG and not refused(request.address)
    )
    logged = Counter(request.url for request in evidence.of(ServerAnswers).by_protocol)
    unseen = [url for url, count in answered.items() if logged[url] < count]
    return (
        listed(f"the server did not use {protocol} for", wrong)
        or listed("not cold: the server resumed a TLS session for", resumed)
        or listed("answered, but not by the testbed's server:", unseen)
    )


def not_pipelined(evidence: Evidence) -> str | None:
    """A pipelined protocol that pipelined nothing, though a host had more requests under way than connections; or
    pipelining where there is none.

    One pipelined request proves the protocol of the load, whatever its host: a connection is pipelined after its first
    answer, so a host with few more requests than connections may have got none. A server that does not tell the depth
    (nginx, of requests that came in pieces of their own) denies nothing.
    """
    protocol = evidence.setup.protocol
    seen = [request.url for request in page_requests(evidence) if request.pipelined]
    deepest = evidence.of(ServerAnswers).pipelining_depth
    if protocol.wire != "http/1.1":
        return None
    if not protocol.pipelined:
        both = [*seen, *([f"{deepest} at once on a connection"] if deepest and deepest > 1 else [])]
        return listed("requests were pipelined:", both)
    at_once = _most_at_once(load_requests(evidence))
    if at_once <= CONNECTIONS_PER_HOST:
        return None
    if not seen:
        return f"the browser pipelined nothing, although {at_once} requests to a host waited at once"
    return None if deepest != 1 else "no pipelined request reached the server"


def _most_at_once(requests: Iterable[Request]) -> int:
    """The most requests to one host and port that were under way at the same time."""
    steps: dict[tuple[str | None, int | None], list[tuple[float, int]]] = {}
    for request in requests:
        if request.ended_ms is not None:
            place = urlsplit(request.url)
            there = place.hostname, place.port or DEFAULT_PORTS.get(place.scheme)
            steps.setdefault(there, []).extend([(request.started_ms, 1), (request.ended_ms, -1)])
    return max((max(accumulate(step for _, step in sorted(each))) for each in steps.values()), default=0)


def _connections(evidence: Evidence) -> tuple[Connection, ...]:
    log = evidence.get(BrowserLog)
    return log.connections if log else ()


@dataclass(frozen=True)
class FirstVisit:
    """What the browser did before the load, when it filled its cache."""

    log: BrowserLog


def wrong_cache(evidence: Evidence) -> str | None:
    """What does not fit the cache of the condition; None when all does."""
    log = evidence.get(BrowserLog)
    if log is None:
        return None
    return _not_warm(evidence, log) if evidence.setup.cache is CacheState.WARM else _not_cold(log)


def _not_cold(log: BrowserLog) -> str | None:
    fetched = {
        _address(request) for request in log.requests if request.protocol and request.status != NOT_MODIFIED
    }
    asked = (request for request in log.requests if request.of_page)
    older = [request.url for request in asked if request.used_cache and _address(request) not in fetched]
    return listed("not cold: the cache held an earlier load's", older)


def _not_warm(evidence: Evidence, log: BrowserLog) -> str | None:
    visit = evidence.get(FirstVisit)
    if visit is None:
        return "not warm: the browser left no log of the first load"
    kept = {_address(request) for request in visit.log.page_requests if can_be_kept(request)}
    again = [request for request in log.requests if request.of_page and _address(request) in kept]
    if not again or any(request.used_cache for request in again):
        return None
    return listed(
        "not warm: the browser asked anew for all that it had kept of the first load:",
        dict.fromkeys(request.url for request in again),
    )


def can_be_kept(request: Request) -> bool:
    """Whether a browser can use the answer again: it may be stored, and is fresh or can be confirmed."""
    headers = {name.lower(): value for name, value in request.exchange.answered_with}
    control = headers.get("cache-control", "").lower()
    usable = bool(FRESH_FOR.search(control)) or any(name in headers for name in VALIDATORS)
    return request.method == "GET" and request.status == 200 and usable and "no-store" not in control


def _address(request: Request) -> str:
    """What a cache knows an answer by; the hop passes on under http what the browser keeps under https."""
    return request.url.partition("#")[0].partition("://")[2]

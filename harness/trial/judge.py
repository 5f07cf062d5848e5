"""Whether a trial may count, from its evidence. Pure.

A trial counts only when the browser's log and the server's log agree that every request used the protocol of
the condition, nothing of the page was lost on the way, and nothing but the page used the link.
"""

from __future__ import annotations

import ipaddress
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import attrgetter

from harness.browser.browserlog import Connection, Request
from harness.errors import TestbedFailed
from harness.input.shown import clipped, shortened
from harness.outcome import Outcome, TrialFailed
from harness.trial.evidence import BROWSER, Evidence

# Chromium's net errors (net_error_list.h) that mean the transport failed, not the page's own rules:
# time-out, network change, connection (100s), certificate (200s), HTTP and its framing (300s).
TRANSPORT_ERRORS = frozenset({-7, -21, *range(-399, -99)})
# A handshake takes one round trip; NetLog's ticks are whole ms, and a packet may leave 30 us early each way.
CONNECT_SLACK_MS = 2
SPDY = "spdy/3"
TOO_LONG = frozenset(
    {414, 431}
)  # servers answer these while they read the request, and log no request for it
LONGEST_NAMED = 300
CONNECTIONS_PER_HOST = 6  # of QtWebKit (and Chromium): with more requests at once it pipelines


def ending(evidence: Evidence, failed: TrialFailed | TestbedFailed | None) -> tuple[Outcome, str | None]:
    """The outcome of a trial with its reason; `failed` is what ended it early.

    The testbed is to blame before the page: a part of it that failed, then one that stood still.
    """
    if isinstance(failed, TestbedFailed):
        return Outcome.TESTBED_FAILED, str(failed)
    if failed is None:
        return verdict(evidence)
    hindrance = _hindered(evidence)
    return (Outcome.TESTBED_FAILED, hindrance) if hindrance else (failed.outcome, failed.reason)


def verdict(evidence: Evidence) -> tuple[Outcome, str | None]:
    """Whether a load that reached its load event may count; else the outcome with its reason."""
    for outcome, find in (
        (Outcome.TESTBED_FAILED, _hindered),
        (Outcome.PAGE_ERROR, attrgetter("misfit")),
        (Outcome.TESTBED_FAILED, _foreign_traffic),
        (Outcome.TESTBED_FAILED, _lossy_testbed),
        (Outcome.TESTBED_FAILED, _shorter_link),
        (Outcome.PAGE_ERROR, _reached_the_testbed),
        (Outcome.WRONG_PROTOCOL, _wrong_in_browser),
        (Outcome.WRONG_PROTOCOL, _wrong_at_server),
        (Outcome.WRONG_PROTOCOL, _not_pipelined),
        (Outcome.MISSING_OBJECTS, _lost),
    ):
        reason = find(evidence)
        if reason:
            return outcome, reason
    return Outcome.OK, None


def _hindered(evidence: Evidence) -> str | None:
    """What stood still while the page loaded, or went: the page did not take the time for itself."""
    seen = evidence.lateness or {}
    stood = [f"{name} for {each.stopped_ms:,.0f} ms" for name, each in seen.items() if each.stopped_ms]
    went = [name for name, each in seen.items() if each.ended and name != BROWSER]
    return _listed("stopped while the page loaded:", stood) or _listed(
        "lost a process while the page loaded:", went
    )


def _foreign_traffic(evidence: Evidence) -> str | None:
    if evidence.browser_log is None:
        return "the browser left no log"
    foreign = [request.url for request in evidence.browser_log.service_requests if request.protocol]
    return _listed("the browser used the link for itself", foreign)


def _lossy_testbed(evidence: Evidence) -> str | None:
    """Packets lost outside the model of the link."""
    if evidence.link_reading is None:
        return "the link gave no reading"
    lost = [
        f"{evidence.link_reading[way].get(kind)} {kind} {way}"
        for way in ("down", "up")
        for kind in ("drops_device", "oversize", "write_errors")
        if evidence.link_reading[way].get(kind)
    ]
    return _listed("packets were lost outside the emulated link:", lost)


def _shorter_link(evidence: Evidence) -> str | None:
    """Connections made faster than light on the link: it was not the one of the condition."""
    if evidence.browser_log is None:
        return None
    made = [
        f"{each.connect_ms} ms to {each.remote}"
        for each in evidence.browser_log.connections
        if _too_fast(each, evidence)
    ]
    return _listed(f"the link has a round trip of {evidence.rtt_ms:g} ms, yet connections took only", made)


def _too_fast(connection: Connection, evidence: Evidence) -> bool:
    return connection.connect_ms is not None and connection.connect_ms < evidence.rtt_ms - CONNECT_SLACK_MS


def _reached_the_testbed(evidence: Evidence) -> str | None:
    """Answers from a bare address that the archive does not hold: another server of the testbed, of another page."""
    reached = [
        each.url
        for each in evidence.page_requests
        if each.status is not None and each.host not in evidence.page_hosts and _is_address(each.host)
    ]
    return _listed("the page asked for addresses that are the testbed's own:", reached)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _wrong_in_browser(evidence: Evidence) -> str | None:
    protocol = evidence.protocol
    wrong = [
        f"{request.url} by {request.protocol}"
        for request in evidence.page_requests
        if request.protocol
        and (request.protocol != protocol.wire or not request.url.startswith(f"{protocol.scheme}://"))
    ]
    secured = [
        each for each in (evidence.browser_log.connections if evidence.browser_log else ()) if each.tls
    ]
    told = [each for each in evidence.page_requests if each.tls] if protocol.encrypted else []
    resumed = [f"{connection.remote} resumed a TLS session" for connection in secured if connection.resumed]
    other = [
        f"{connection.remote} by {connection.tls}"
        for connection in secured
        if connection.tls != f"TLS {evidence.tls}"
    ] + [f"{request.url} by {request.tls}" for request in told if request.tls != f"TLS {evidence.tls}"]
    return (
        _listed(f"the browser did not use {protocol} for", wrong)
        or _listed("not cold:", resumed if _older(evidence, len(resumed), len(secured)) else [])
        or _listed(f"the browser did not use TLS {evidence.tls} to", other)
    )


def _older(evidence: Evidence, resumed: int, secured: int) -> bool:
    """Whether sessions were resumed that no connection of this load began: any, unless the study allows for it."""
    return resumed > 0 and (not evidence.tls_resumption or resumed == secured)


def _shared(evidence: Evidence) -> list[int]:
    """How many requests each connection carried that carried several.

    The server's log tells connections by their ports, and the client's may be used again within a load, by as many
    connections as the browser made from there.
    """
    ports = Counter(
        (f"{each.client_address}:{each.client_port}", f"{each.server_address}:{each.server_port}")
        for each in evidence.served_by_protocol
    )
    made = Counter(
        (each.local, each.remote)
        for each in (evidence.browser_log.connections if evidence.browser_log else ())
    )
    return [count for port, count in ports.items() if count > max(1, made[port])]


def _wrong_at_server(evidence: Evidence) -> str | None:
    protocol = evidence.protocol
    wrong = [
        f"{request.url} by {request.protocol}"
        for request in evidence.served_by_protocol
        if request.protocol != protocol.wire
    ]
    if not protocol.keep_alive:
        wrong += [f"{count} requests on one connection" for count in _shared(evidence)]
    expected = f"TLSv{evidence.tls}" if protocol.encrypted else None
    wrong += [
        f"{request.url} by {request.tls or 'no TLS'}"
        for request in evidence.served or ()
        if request.tls != expected
    ]
    resumed = [
        request.url for request in evidence.served or () if request.resumed and not evidence.tls_resumption
    ]
    answered = Counter(
        request.url.partition("#")[0]
        for request in evidence.load_requests
        if request.status is not None and request.status not in TOO_LONG
    )
    logged = Counter(request.url for request in evidence.served_by_protocol)
    unseen = [url for url, count in answered.items() if logged[url] < count]
    return (
        _listed(f"the server did not use {protocol} for", wrong)
        or _listed("not cold: the server resumed a TLS session for", resumed)
        or _listed("answered, but not by the testbed's server:", unseen)
    )


def _not_pipelined(evidence: Evidence) -> str | None:
    """A pipelined protocol that was not, though it could have been; or pipelining where there is none."""
    protocol = evidence.protocol
    seen = [request.url for request in evidence.page_requests if request.pipelined]
    deepest = evidence.pipelining_depth
    if protocol.wire != "http/1.1":
        return None
    if not protocol.pipelined:
        both = [*seen, *([f"{deepest} at once on a connection"] if deepest and deepest > 1 else [])]
        return _listed("requests were pipelined:", both)
    at_once = _most_at_once(evidence.load_requests)
    if at_once <= CONNECTIONS_PER_HOST:
        return None
    if not seen:
        return f"the browser pipelined nothing, although {at_once} requests to a host waited at once"
    return None if deepest != 1 else "no pipelined request reached the server"


def _most_at_once(requests: Iterable[Request]) -> int:
    """The most requests to one host that were under way at the same time."""
    steps: dict[str, list[tuple[float, int]]] = {}
    for each in requests:
        if each.ended_ms is not None:
            steps.setdefault(each.host, []).extend([(each.started_ms, 1), (each.ended_ms, -1)])
    return max((max(accumulate(step for _, step in sorted(host))) for host in steps.values()), default=0)


def _lost(evidence: Evidence) -> str | None:
    lost = [
        f"{request.url} ({request.net_error})"
        for request in evidence.load_requests
        if request.net_error in TRANSPORT_ERRORS and request.host in evidence.page_hosts
    ]
    return _listed("lost on the way:", lost)


def _listed(what: str, items: Sequence[str] | Iterable[str]) -> str | None:
    found = list(items)
    if not found:
        return None
    return f"{what} {shortened([clipped(each, LONGEST_NAMED) for each in found], 3)}"

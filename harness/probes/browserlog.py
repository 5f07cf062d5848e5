"""Probe of the browser's own log of the network: what was asked for, by which protocol, over which connections."""

from __future__ import annotations

import gzip
import hashlib
import ipaddress
import math
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.engines.browserlog import CLOCK_MS, NOT_MODIFIED, BrowserLog, Connection, Failure, Request
from harness.errors import Outcome, TestbedFailed
from harness.model.engine import Capability
from harness.model.kind import NETLOG
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.probes.evidence import Blame, Evidence, Fault, ServerAnswers, clipped_url, fitting, listed
from harness.probes.probe import MeasuredClient, Probe
from harness.probes.proofs import TOO_LONG, FirstVisit, wrong_cache, wrong_in_browser
from harness.probes.timeline import load_end_ms, load_requests, page_requests
from sites.asked import normalised, refused
from sites.mediatype import fits
from sites.servers.server import Match
from sites.urls import ip_address_of

if TYPE_CHECKING:
    from pathlib import Path

    from harness.engines.browsers import FreshBrowser

# Of servers and of clients (`harness.lab.testbed`).
TESTBED_ADDRESSES = tuple(map(ipaddress.IPv4Network, ("10.0.0.0/16", "10.64.0.0/10")))


def foreign_traffic(evidence: Evidence) -> str | None:
    """What the browser asked for by itself, over the link of the page."""
    log = evidence.get(BrowserLog)
    if log is None:
        return "the browser left no log"
    foreign = [request.url for request in log.service_requests if request.protocol]
    return listed("the browser used the link for itself", foreign)


def reached_the_testbed(evidence: Evidence) -> str | None:
    """Answers from a bare address that the archive does not hold and the testbed does: other addresses only miss, and
    so do those that a browser is told to look for at the page's own server, whose log has them.
    """
    hosts = evidence.setup.page_hosts
    own = {answer.url for answer in evidence.of(ServerAnswers).requests or ()}
    reached = [
        request.url
        for request in page_requests(evidence)
        if request.status is not None
        and request.host not in hosts
        and _is_of_the_testbed(request.host)
        and request.url.partition("#")[0] not in own
    ]
    return listed("the page asked for addresses that are the testbed's own:", reached)


def _is_of_the_testbed(host: str) -> bool:
    address = ip_address_of(host)
    if isinstance(address, ipaddress.IPv6Address):
        address = address.ipv4_mapped
    return address is not None and any(address in network for network in TESTBED_ADDRESSES)


def cut_off(evidence: Evidence) -> str | None:
    """Whether the browser's log ends before the load did: what it lacks of the load nobody knows."""
    log, end_ms = evidence.get(BrowserLog), load_end_ms(evidence)
    if log is None or math.isinf(end_ms) or log.last_ms + CLOCK_MS >= end_ms:
        return None
    return f"the browser's log was cut off {end_ms - log.last_ms:,.0f} ms before the load event ended"


def lost(evidence: Evidence) -> str | None:
    """What the page asked its hosts for and never got, for want of a transport."""
    return listed("lost on the way:", _lost(evidence, load_requests(evidence)))


def lost_before(evidence: Evidence) -> str | None:
    """What the visit that fills the cache never got, and the load had to fetch: the cache was not whole."""
    visit = evidence.get(FirstVisit)
    if visit is None:
        return None
    fetched = {request.address for request in load_requests(evidence) if not request.used_cache}
    before = (request for request in visit.log.page_requests if request.address in fetched)
    return listed("lost on the way in the first load, which fills the cache:", _lost(evidence, before))


def _lost(evidence: Evidence, requests: Iterable[Request]) -> Iterator[str]:
    for request in requests:
        own = request.host in evidence.setup.page_hosts and not refused(request.address)
        if own and request.failure is Failure.TRANSPORT:
            yield f"{request.url} ({request.error})"


@dataclass(frozen=True)
class BrowserLogMetrics:
    """What the browser asked for, how, and what came of it."""

    requests: int | None = metric(
        "Requests",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "the page's requests that started before its load event ended",
        Column(MetricTable.TRAFFIC, 4),
    )
    requests_after_load: int | None = metric(
        "Requests later",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "those that started later, until the browser was closed",
    )
    failed_requests: int | None = metric(
        "Failed",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "of `requests`: without a response or with status 400 and above; not cancelled ones",
        Column(MetricTable.TRAFFIC, 7),
    )
    missed_requests: int | None = metric(
        "Not archived",
        Unit.COUNT,
        Source.BOTH_LOGS,
        "how many URLs of `requests` the archive does not hold",
        Column(MetricTable.TRAFFIC, 6),
    )
    fuzzy_requests: int | None = metric(
        "Closest",
        Unit.COUNT,
        Source.BOTH_LOGS,
        "how many URLs of `requests` got the response recorded for another address",
        Column(MetricTable.TRAFFIC, 5),
    )
    cache_hits: int | None = metric(
        "Cache hits",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "requests answered out of the cache, without asking; not among `requests`",
        needs=Capability.KEEPS_CACHE,
    )
    revalidated: int | None = metric(
        "Revalidated",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "of `requests`: the server confirmed what the cache held (304)",
    )
    connections: int | None = metric(
        "Connections",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "TCP or QUIC connections that the browser established until it was closed, in Chromium spare ones, too",
        Column(MetricTable.TRAFFIC, 8),
    )
    connect_ms: float | None = metric(
        "Handshake",
        Unit.MS,
        Source.BROWSER_LOG,
        "the shortest TCP handshake; of QUIC, first packet out to first back; engines tell it unlike each other",
    )
    tls: Mapping[str, int] = metric(
        "TLS",
        Unit.COUNTS,
        Source.BROWSER_LOG,
        "how many of `connections` had each version of TLS",
        unobserved=dict,
    )
    tls_resumed: int | None = metric(
        "TLS resumed",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "how many of `connections` resumed a TLS session",
        needs=Capability.RESUMES_TLS,
    )
    h2_stream_window_bytes: int | None = metric(
        "HTTP/2 window",
        Unit.BYTES,
        Source.BROWSER_LOG,
        "the window for a stream that the browser's SETTINGS of HTTP/2 name",
        needs=Capability.SETS_H2_WINDOW,
    )
    bytes_body: int | None = metric(
        "Bodies",
        Unit.BYTES,
        Source.BROWSER_LOG,
        "body bytes of `requests` as they travelled (still compressed)",
        Column(MetricTable.TRAFFIC, 3),
    )
    protocols: Mapping[str, int] = metric(
        "Protocols",
        Unit.COUNTS,
        Source.BROWSER_LOG,
        "how many of `requests` each protocol carried, by its ALPN name",
        unobserved=dict,
    )
    one_sided_requests: int | None = metric(
        "Proved by the server alone",
        Unit.COUNT,
        Source.BOTH_LOGS,
        "requests answered until the load event of which the browser does not tell, or not by which protocol",
    )
    missed: tuple[str, ...] = metric(
        "URLs not archived", Unit.TEXTS, Source.BOTH_LOGS, "the URLs of `missed_requests`", unobserved=tuple
    )
    fuzzy: tuple[str, ...] = metric(
        "URLs answered by the closest",
        Unit.TEXTS,
        Source.BOTH_LOGS,
        "the URLs of `fuzzy_requests`",
        unobserved=tuple,
    )
    failed: tuple[str, ...] = metric(
        "URLs that failed",
        Unit.TEXTS,
        Source.BROWSER_LOG,
        "the URLs of `failed_requests` with status or error",
        unobserved=tuple,
    )
    service_requests: int | None = metric(
        "Requests of the browser",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "requests the browser made for itself that reached the network",
    )
    relayed_requests: int | None = metric(
        "Requests relayed",
        Unit.COUNT,
        Source.BROWSER_LOG,
        "of `requests`: asked for under https, passed on in plain http by a hop",
    )
    requested: tuple[str, ...] = ()  # stored beside the records, once for each digest
    requested_digest: str | None = metric(
        "Digest of URLs",
        Unit.TEXT,
        Source.BROWSER_LOG,
        "of the URLs of `requests` and `cache_hits`; `requested.jsonl` holds each list once",
    )


class BrowserLogProbe(Probe):
    """The log is read when the browser has gone. What it did beyond the load is cut off."""

    metrics = BrowserLogMetrics
    reasons = (
        Fault(Blame.OTHER_TRAFFIC, Outcome.TESTBED_FAILED, foreign_traffic, of_time_outs=True),
        Fault(Blame.PAGE, Outcome.PAGE_ERROR, reached_the_testbed, of_replay=True),
        Fault(Blame.PAGE, Outcome.PAGE_ERROR, cut_off),  # it held up the browser, which was killed
        Fault(Blame.PROTOCOL, Outcome.WRONG_PROTOCOL, wrong_in_browser, of_replay=True, of_time_outs=True),
        Fault(Blame.CACHE, Outcome.WRONG_CACHE, wrong_cache),
        Fault(Blame.LOST, Outcome.MISSING_OBJECTS, lost),
    )
    log: BrowserLog | None = None

    def after(self, fresh: FreshBrowser, client: MeasuredClient) -> None:
        del client
        written = fresh.log
        if not written.exists():
            return
        try:
            self.log = fresh.read_log()
        except TestbedFailed:
            self._keep(written)
            raise
        self._keep(written)

    def _keep(self, written: Path) -> None:
        kept = self.load.kept(NETLOG, f"{written.name}.gz")
        if kept is not None:
            with written.open("rb") as source, gzip.open(kept, "wb", compresslevel=4) as target:
                shutil.copyfileobj(source, target)

    def seen(self) -> BrowserLog | None:
        end = self.load.ended
        return self.log.until(end.in_log(self.log)) if self.log and end else self.log

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        log = evidence.get(BrowserLog)
        plain = evidence.setup.protocol.scheme == "http"
        texts = {"tls": dict(Counter(_tls_of_connections(evidence)))}
        if log is None:
            return texts
        requests = load_requests(evidence)
        failed = [
            request for request in requests if request.failed and request.failure is not Failure.ABORTED
        ]
        missed = missed_urls(evidence)
        fuzzy = [url for url in asked_urls(evidence, Match.CLOSEST) if url not in missed]
        asked = [
            request
            for request in log.requests
            if request.of_page and request.started_ms <= load_end_ms(evidence)
        ]
        requested = sorted({normalised(request.url) for request in asked})
        return texts | {
            "requests": len(requests),
            "requests_after_load": len(log.page_requests) - len(requests),
            "failed_requests": len(failed),
            "failed": fitting(
                f"{clipped_url(request.url)} ({request.error or request.status})" for request in failed
            ),
            "missed_requests": len(missed),
            "missed": fitting(map(clipped_url, missed)),
            "fuzzy_requests": len(fuzzy),
            "fuzzy": fitting(map(clipped_url, fuzzy)),
            "cache_hits": _cache_hits(evidence, log),
            "revalidated": sum(request.status == NOT_MODIFIED for request in requests),
            "connections": len(log.connections),
            "connect_ms": _fastest(log.connections),
            "tls_resumed": _resumed(log.connections),
            "h2_stream_window_bytes": min(log.h2_windows, default=None),
            "bytes_body": _body_bytes(evidence, log, requests),
            "protocols": dict(Counter(request.protocol for request in requests if request.protocol)),
            "one_sided_requests": one_sided(evidence, log),
            "relayed_requests": sum(request.relayed for request in requests) if plain else None,
            "service_requests": _of_the_browser(log),
            "requested": fitting(map(clipped_url, requested)),
            "requested_digest": _digest(requested),  # of all of it, also of what the list has no room for
        }


class FirstVisitProbe(Probe):
    """What the browser did in the visit that filled its cache, which the trial makes before the load."""

    reasons = (Fault(Blame.LOST, Outcome.MISSING_OBJECTS, lost_before, of_time_outs=True),)

    def seen(self) -> FirstVisit | None:
        return FirstVisit(self.load.first_visit) if self.load.first_visit is not None else None


def one_sided(evidence: Evidence, log: BrowserLog) -> int:
    """Of how many requests the server's log alone proves the protocol: those that were answered and whose protocol the
    browser does not tell, and those of which it does not tell at all (WebKit does not of a service worker's).
    """
    untold = sum(
        request.status is not None and request.protocol is None for request in load_requests(evidence)
    )
    told = {request.address for request in log.requests}
    end_us = (log.epoch_ms + load_end_ms(evidence)) * 1000
    served = (answer for answer in evidence.of(ServerAnswers).by_protocol if answer.status not in TOO_LONG)
    return untold + sum(
        f"{answer.host}{answer.target}" not in told and answer.started_us <= end_us for answer in served
    )


def missed_urls(evidence: Evidence) -> list[str]:
    """The URLs the page asked for before its load event that the archive does not hold, each once.

    What is asked of a host the archive does not hold is missed, whatever came of it: without TLS the testbed answers
    for every host, with TLS it has no certificate for one that is named nowhere in the archive. So is an address that
    servers refuse, and what was answered by the closest query with another kind of thing: a style sheet is no script.
    """
    answered, closest = set(asked_urls(evidence, Match.MISS)), set(asked_urls(evidence, Match.CLOSEST))
    missed = {
        url: None
        for request in load_requests(evidence)
        if (url := request.url.partition("#")[0]) in answered
        or request.host not in evidence.setup.page_hosts
        or refused(request.address)
        or (url in closest and not fits(request.accepts, request.mime))
    }
    return list(missed)


def asked_urls(evidence: Evidence, match: Match) -> list[str]:
    """The URLs the page asked for before its load event that the server answered in that way, each once."""
    asked = {request.url.partition("#")[0] for request in load_requests(evidence)}
    served = evidence.of(ServerAnswers).answered
    return [
        url for url in dict.fromkeys(answer.url for answer in served if answer.match is match) if url in asked
    ]


def _cache_hits(evidence: Evidence, log: BrowserLog) -> int | None:
    """Requests before the load event that were answered out of the cache."""
    told = [request for request in log.requests if request.of_page and request.from_cache is not None]
    end = load_end_ms(evidence)
    hits = (
        bool(request.from_cache) and not request.made_up and request.started_ms <= end for request in told
    )
    return sum(hits) if told else None


def _of_the_browser(log: BrowserLog) -> int | None:
    """How many requests the browser made for itself; None where its log tells of the page's alone."""
    return sum(request.protocol is not None for request in log.service_requests) if log.tells_own else None


def _digest(requested: Iterable[str]) -> str:
    """The same for loads that asked for the same."""
    return hashlib.sha256("\n".join(requested).encode()).hexdigest()[:16]


def _fastest(connections: Iterable[Connection]) -> float | None:
    return min(
        (connection.connect_ms for connection in connections if connection.connect_ms is not None),
        default=None,
    )


def _resumed(connections: Iterable[Connection]) -> int | None:
    """How many connections resumed a session; None where the browser tells of none whether it did."""
    told = [connection.resumed for connection in connections if connection.resumed is not None]
    return sum(told) if told else None


def _tls_of_connections(evidence: Evidence) -> list[str]:
    """The version of TLS of each secure connection: as the browser tells or, where it does not, the server."""
    log, served = evidence.get(BrowserLog), evidence.of(ServerAnswers).requests
    told = [connection.tls for connection in (log.connections if log else ()) if connection.tls]
    by_connection = {answer.connection: answer.tls for answer in served or () if answer.tls}
    return told or [version.replace("TLSv", "TLS ") for version in by_connection.values()]


def _body_bytes(evidence: Evidence, log: BrowserLog, requests: Sequence[Request]) -> int | None:
    """Of the requests before the load event: as the browser counts or, where it does not, the server. None where one
    went on after the load, of which only the server tells: all of it.
    """
    uncounted = [request for request in requests if request.body_bytes is None]
    if not uncounted:
        return sum(request.body_bytes or 0 for request in requests)
    served = evidence.of(ServerAnswers).requests
    if served is None or any(map(log.went_on, uncounted)):
        return None
    asked = {request.url.partition("#")[0] for request in requests}
    return sum(request.body_bytes for request in served if request.url in asked)

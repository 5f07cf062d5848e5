"""From the evidence of a trial to the numbers of its record. Pure."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from typing import Any

from harness.browser.browserlog import ABORTED, NOT_MODIFIED, Connection, Request
from harness.input.shown import clipped
from harness.model.observation import TIMELINE_METRICS, VITALS_METRICS, Observation
from harness.model.protocol import Protocol
from harness.trial.evidence import BROWSER, Evidence
from harness.trial.mainthread import MainThread
from harness.trial.timeline import BLANK
from harness.trial.waits import waits
from sites.asked import normalised, refused
from sites.mediatype import fits
from sites.servers.server import Match, ServedRequest

LONGEST_URL = 2000  # characters; what real pages ask for is shorter


def observe(evidence: Evidence) -> Observation:
    """The numbers of a record."""
    timeline = evidence.times
    requests = evidence.load_requests
    failed = [request for request in requests if request.failed and request.net_error != ABORTED]
    missed = missed_urls(evidence)
    fuzzy = [url for url in asked_urls(evidence, Match.CLOSEST) if url not in missed]
    reading = evidence.link_reading or {}
    served = evidence.served
    requested = tuple(sorted({normalised(each.url) for each in _asked(evidence)}))
    seen = evidence.browser_log is not None
    return Observation(
        navigate_ms=evidence.navigate_ms,
        **({key: timeline.get(key) for key in TIMELINE_METRICS} | _vitals(evidence)),
        traced=evidence.traced or None,
        **_main_thread(evidence.main_thread),
        filmed=evidence.filmed or None,
        **_film(evidence),
        requests=len(requests) if seen else None,
        requests_after_load=len(evidence.page_requests) - len(requests) if seen else None,
        failed_requests=len(failed) if seen else None,
        cache_hits=_cache_hits(evidence),
        revalidated=sum(each.status == NOT_MODIFIED for each in requests) if seen else None,
        missed_requests=len(missed) if seen else None,
        fuzzy_requests=len(fuzzy) if seen else None,
        connections=len(evidence.browser_log.connections) if evidence.browser_log else None,
        connect_ms=_fastest(evidence.browser_log.connections) if evidence.browser_log else None,
        tls=dict(Counter(_tls_of_connections(evidence))),
        tls_resumed=_resumed(evidence.browser_log.connections) if evidence.browser_log else None,
        h2_stream_window_bytes=min(evidence.browser_log.h2_windows, default=None)
        if evidence.browser_log
        else None,
        bytes_down=reading.get("down", {}).get("bytes_out"),
        bytes_up=reading.get("up", {}).get("bytes_out"),
        bytes_body=_body_bytes(evidence) if seen else None,
        protocols=dict(Counter(request.protocol for request in requests if request.protocol)),
        missed=tuple(map(_clipped, missed)),
        fuzzy=tuple(map(_clipped, fuzzy)),
        failed=tuple(
            f"{_clipped(request.url)} ({request.net_error or request.status})" for request in failed
        ),
        relayed_requests=sum(each.relayed for each in requests)
        if seen and evidence.protocol.scheme == "http"
        else None,
        service_requests=sum(1 for each in evidence.browser_log.service_requests if each.protocol)
        if evidence.browser_log
        else None,
        server_requests=None if served is None else len(served),
        server_connections=None if served is None else len({request.connection for request in served}),
        pipelining_depth=evidence.pipelining_depth if evidence.protocol.wire == "http/1.1" else None,
        spdy_streams=_streams(served) if evidence.protocol.wire == Protocol.SPDY.wire else None,
        link_reading=evidence.link_reading,
        client_cpu_s=evidence.client_cpu_s,
        server_cpu_s=evidence.server_cpu_s,
        foreign_cpu_share=evidence.foreign_cpu_share,
        steal_share=evidence.steal_share,
        console_errors=evidence.console_errors,
        console_error_count=evidence.console_error_count,
        at_full_speed=evidence.at_full_speed,
        blank=None if timeline.get(BLANK) is None else bool(timeline[BLANK]),
        requested=requested if seen else (),
        requested_digest=_digest(requested) if seen else None,
        **_lateness(evidence),
        **_waited(evidence),
    )


def _lateness(evidence: Evidence) -> dict[str, Any]:
    """Of what serves: the longest stop of a program, the waits of all threads, and the longest wait of a thread."""
    if evidence.lateness is None:
        return {}
    serving = [each for name, each in evidence.lateness.items() if name != BROWSER]
    waits = [each.waiting_ms for each in serving]
    longest = [each.thread_waiting_ms for each in serving]
    browser = evidence.lateness.get(BROWSER)
    return {
        "server_stopped_ms": max((each.stopped_ms for each in serving), default=None),
        "server_late_ms": None if None in waits else round(sum(each or 0 for each in waits), 1),
        "server_thread_late_ms": None
        if None in longest
        else max((each or 0 for each in longest), default=None),
        "client_stopped_ms": browser.stopped_ms if browser else None,
        "client_late_ms": browser.waiting_ms if browser else None,
        "client_thread_late_ms": browser.thread_waiting_ms if browser else None,
    }


def _waited(evidence: Evidence) -> dict[str, Any]:
    return {waiting.key: took_us / 1000 for waiting, took_us in (waits(evidence) or {}).items()}


def _vitals(evidence: Evidence) -> dict[str, Any]:
    """Those of a page that is the one asked for; the first paint is also told where nobody waited for more."""
    times, found = evidence.times, evidence.vitals
    painted = times["fcp_ms"] is not None if "fcp_ms" in times else None
    if found is None or not times:
        return {"painted": painted, "fcp_ms": times.get("fcp_ms")}
    return {
        "painted": painted,
        **{key: getattr(found, key) for key in VITALS_METRICS},
        "fcp_ms": found.fcp_ms if times.get("fcp_ms") is None else times["fcp_ms"],
        "lcp_url": None if found.lcp_url is None else _clipped(found.lcp_url),
    }


def _main_thread(found: MainThread | None) -> dict[str, Any]:
    if found is None:
        return {}
    return {
        "main_thread_ms": found.busy_ms,
        **{f"{group.name.lower()}_ms": took for group, took in found.groups.items()},
        "longest_tasks": tuple(map(str, found.longest)),
    }


def _film(evidence: Evidence) -> dict[str, Any]:
    """Of a page that is the one asked for."""
    film = evidence.film
    if film is None or not evidence.times:
        return {}
    return {
        "speed_index_ms": film.speed_index_ms,
        "first_visual_change_ms": film.first_change_ms,
        "last_visual_change_ms": film.last_change_ms,
        "visually_complete_85_ms": film.mostly_complete_ms,
        "film_frames": len(film.frames),
        "film_cut": film.cut,
    }


def _digest(requested: Iterable[str]) -> str:
    """The same for loads that asked for the same."""
    return hashlib.sha256("\n".join(requested).encode()).hexdigest()[:16]


def _clipped(url: str) -> str:
    """A URL as a record holds it: a page can ask for one of a megabyte, a thousand times."""
    return clipped(url, LONGEST_URL)


def _fastest(connections: Iterable[Connection]) -> float | None:
    return min((each.connect_ms for each in connections if each.connect_ms is not None), default=None)


def _resumed(connections: Iterable[Connection]) -> int | None:
    """How many connections resumed a session; None where the browser tells of none whether it did."""
    told = [each.resumed for each in connections if each.resumed is not None]
    return sum(told) if told else None


def _tls_of_connections(evidence: Evidence) -> list[str]:
    """The version of TLS of each secure connection: as the browser tells or, where it does not, the server."""
    told = [
        each.tls for each in (evidence.browser_log.connections if evidence.browser_log else ()) if each.tls
    ]
    by_connection = {each.connection: each.tls for each in evidence.served or () if each.tls}
    return told or [version.replace("TLSv", "TLS ") for version in by_connection.values()]


def _body_bytes(evidence: Evidence) -> int | None:
    """Of the requests before the load event: as the browser counts or, where it does not, the server."""
    counted = [request.body_bytes for request in evidence.load_requests]
    if None not in counted:
        return sum(each or 0 for each in counted)
    if evidence.served is None:
        return None
    asked = {request.url.partition("#")[0] for request in evidence.load_requests}
    return sum(request.body_bytes for request in evidence.served if request.url in asked)


def _streams(served: Iterable[ServedRequest] | None) -> int | None:
    """The SYN_STREAM frames the server got, over all connections."""
    streams: dict[object, int] = {}
    for each in served or ():
        if each.protocol == Protocol.SPDY.wire and each.requests_before is not None:
            streams[each.connection] = max(streams.get(each.connection, 0), each.requests_before + 1)
    return sum(streams.values()) if streams else None


def missed_urls(evidence: Evidence) -> list[str]:
    """The URLs the page asked for before its load event that the archive does not hold, each once.

    What is asked of a host the archive does not hold is missed, whatever came of it: without TLS the testbed answers
    for every host, with TLS it has no certificate for one that is named nowhere in the archive. So is an address that
    servers refuse, and what was answered by the closest query with another kind of thing: a style sheet is no script.
    """
    answered, closest = set(asked_urls(evidence, Match.MISS)), set(asked_urls(evidence, Match.CLOSEST))
    missed = {
        url: None
        for each in evidence.load_requests
        if (url := each.url.partition("#")[0]) in answered
        or each.host not in evidence.page_hosts
        or refused(each.address)
        or (url in closest and not fits(each.accepts, each.mime))
    }
    return list(missed)


def _asked(evidence: Evidence) -> list[Request]:
    """What the page asked for before its load event, whether it had to travel or came out of the cache."""
    log, end = evidence.browser_log, evidence.load_end_ms
    return [each for each in log.requests if each.of_page and each.started_ms <= end] if log else []


def _cache_hits(evidence: Evidence) -> int | None:
    """Requests before the load event that were answered out of the cache."""
    asked = [each for each in evidence.browser_log.requests if each.of_page] if evidence.browser_log else []
    told = [each for each in asked if each.from_cache is not None]
    return (
        sum(bool(each.from_cache) and each.started_ms <= evidence.load_end_ms for each in told)
        if told
        else None
    )


def asked_urls(evidence: Evidence, match: Match) -> list[str]:
    """The URLs the page asked for before its load event that the server answered in that way, each once."""
    asked = {request.url.partition("#")[0] for request in evidence.load_requests}
    answered = [request.url for request in evidence.served or () if request.match is match]
    return [url for url in dict.fromkeys(answered) if url in asked]

"""Chromium's NetLog, read into what a proof needs: each request with its protocol, each connection, each TLS session.

The format is Chromium's (net/log, `--log-net-log`): a JSON object with `constants` that name the numbers, and
`events` of sources. The log covers the whole process, so it also shows what the browser asked for by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.engines.browserlog import CLOCK_MS, NOT_MODIFIED, BrowserLog, Failure, Request, without_user
from harness.engines.chromium.netlogevents import (
    BODY,
    PLAIN_BODY,
    Event,
    EventLog,
    ExchangeEvents,
    carriers_of,
    connections_of,
    headers_of,
    lookups_of,
    read_events,
)
from harness.errors import TestbedFailed
from harness.model.protocol import Headers

# Which event sends the request's headers tells the protocol that carried it.
SENT_BY = {
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": "http/1.1",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": "h2",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": "h3",
}

# The kinds of request, by their names in Chromium (tools/traffic_annotation/summary/annotations.xml), for addresses
# that a page or its server names, also where the log tells no origin that asked.
OF_PAGES = (
    "aggregation_service_report",
    "auction_downloader",
    "auction_report_sender",
    "background_fetch_context",
    "conversion_measurement_report",
    "dbsc_registration",
    "digital_asset_links",
    "download_manager_resume",
    "early_hints_preload",
    "email_verification",
    "fedcm",
    "fenced_frame_reporting_beacon",
    "interest_group_update_fetcher",
    "interest_group_well_known_fetcher",
    "keepalive_fetch_retry",
    "parallel_download_job",
    "payment_manifest_downloader",
    "reporting",
    "service_worker_script_load",
    "service_worker_update_checker",
    "shared_storage_worklet_module_script_downloader",
    "sigined_exchange_cert_fetcher",  # as it is spelt there
    "speculation_rules_prefetch",
    "speculation_rules_prefetch_probe",
    "web_app_origin_association_download",
    "webauthn_challenge_fetch",
    "webauthn_rp_id_check",
)
REDACTED = " (credentials redacted)"  # behind a URL that had any; a log with bodies has them in it
STREAM_WINDOW = re.compile(r"\(SETTINGS_INITIAL_WINDOW_SIZE\) value:(\d+)")
USUAL_STREAM_WINDOW = 65_535  # RFC 9113
# Numbers of net_error_list.h. The transport failed by time-out, change of network, connection (100s), certificate
# (200s), HTTP and its framing (300s).
ABORTED = -3
CACHE_MISS = -400  # a look into the empty cache, not a request on the wire
# No URL, a scheme that is not allowed or known, a port that is unsafe.
OF_ADDRESSES = frozenset({-300, -301, -302, -312})
OF_REDIRECTS = frozenset({-310, -311})  # too many of them, or to where none may lead
TRANSPORT_ERRORS = frozenset({-7, -21, *range(-399, -99)}) - OF_ADDRESSES - OF_REDIRECTS


def number_of(name: str) -> int:
    """What a log has for a kind of request (net/traffic_annotation/network_traffic_annotation.h)."""
    number = 0
    for character in name:
        number = (number * 31 + ord(character)) % 138_003_713
    return number


KINDS_OF_PAGES = frozenset(map(number_of, OF_PAGES))


def read_netlog(path: Path) -> BrowserLog:
    """Read a NetLog, also one cut off by the browser's death; raises TestbedFailed when there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TestbedFailed(f"Chromium wrote no NetLog: {error}") from error
    return parse_netlog(text)


def parse_netlog(text: str) -> BrowserLog:
    """`read_netlog` on text."""
    log = read_events(text)
    connections = connections_of(log)
    hops = [hop for source, events in log.of("URL_REQUEST").items() for hop in _hops(source, events)]
    hops.sort(key=lambda hop: hop.started_ms)
    carriers = carriers_of(log)
    carried = {number: made.local for number, made in connections.items()}
    requests = [
        hop.finished(log, carried.get(_carrier(hop.exchange, carriers))) for hop in hops if hop.counts
    ]
    return BrowserLog(
        tuple(requests),
        tuple(connections.values()),
        tuple(window for events in log.of("HTTP2_SESSION").values() for window in _stream_windows(events)),
        lookups_of(log),
        log.epoch_ms,
        CLOCK_MS,
        log.browser,
        log.whole,
        last_ms=log.last_ms,
    )


def _carrier(exchange: ExchangeEvents, carriers: Mapping[int, int]) -> int:
    """The source of the connection that carried a request; one that there is not, when it is unknown."""
    if exchange.session is not None:
        return exchange.session
    return -1 if exchange.job is None else carriers.get(exchange.job, -1)


@dataclass
class _Hop:
    """A request being put together; a redirect starts another hop on the same source."""

    url: str
    method: str
    of_page: bool
    main_frame: bool
    started_ms: int
    chain: int
    asked_ms: int
    answered_ms: int | None = None
    received_ms: int | None = None
    sent: Headers = ()
    accepts: str = ""
    mime: str = ""
    started: bool = False
    ended: bool = False
    protocol: str | None = None
    status: int | None = None
    net_error: int | None = None
    exchange: ExchangeEvents = field(default_factory=ExchangeEvents)

    @property
    def counts(self) -> bool:
        """Whether this is a request for the network at all."""
        looked_in_cache = self.protocol is None and self.net_error == CACHE_MISS
        return self.url.startswith(("http://", "https://")) and not looked_in_cache

    @property
    def from_cache(self) -> bool:
        """Whether it ended well and sent nothing. A redirect that the browser makes by itself is such a one, too."""
        return self.ended and self.protocol is None and self.net_error is None

    def finished(self, log: EventLog, carried: str | None) -> Request:
        came = self.exchange.came
        return Request(
            url=self.url,
            method=self.method,
            of_page=self.of_page,
            main_frame=self.main_frame,
            started_ms=self.started_ms,
            protocol=self.protocol,
            status=self.status,
            failure=_failure(self.net_error),
            body_bytes=came[-1][1] if came and self.status != NOT_MODIFIED else 0,
            body=self.exchange.body(BODY, PLAIN_BODY) or None,
            chain=self.chain,
            from_cache=self.from_cache,
            answered_ms=self.answered_ms,
            accepts=self.accepts,
            mime=self.mime,
            asked_ms=self.asked_ms,
            ended_ms=self.answered_ms if self.received_ms is None else self.received_ms,
            sent=self.sent,
            exchange=self.exchange.finished(carried, log.errors),
        )


def _hops(source: int, events: Iterable[Event]) -> list[_Hop]:
    hops: list[_Hop] = []
    asked_ms: int | None = None  # of the first; a redirect is asked for when it starts
    priority, kind = "", None
    for event in events:
        if event.name == "REQUEST_ALIVE" and event.begins:
            asked_ms, priority = event.time_ms, event.parameters.get("priority", "")
            kind = event.parameters.get("traffic_annotation")
        elif event.name == "URL_REQUEST_START_JOB" and event.begins:
            if hops:
                hops[-1].exchange.end(event.time_ms)
            hops.append(_hop(event, source, asked_ms, priority, of_page=kind in KINDS_OF_PAGES))
            asked_ms = None
        elif hops:
            hops[-1].exchange.note(event)
            _note(hops[-1], event)
    return hops


def _hop(event: Event, source: int, asked_ms: int | None, priority: str, *, of_page: bool) -> _Hop:
    """A request is the page's when it is one by its kind (`of_page`), is for a document in the tab, or was asked for by
    an origin of the web: the page's own, a frame's, or one without a name ("null"). Chromium's services have none.
    """
    told = event.parameters
    initiator, main_frame = told.get("initiator", ""), told.get("request_type") == "main frame"
    return _Hop(
        url=without_user(told.get("url", "").removesuffix(REDACTED)),
        method=told.get("method", ""),
        of_page=of_page or main_frame or initiator == "null" or initiator.startswith(("http://", "https://")),
        main_frame=main_frame,
        started_ms=event.time_ms,
        chain=source,
        asked_ms=event.time_ms if asked_ms is None else asked_ms,
        exchange=ExchangeEvents(priority=priority, initiator=initiator),
    )


def _note(hop: _Hop, event: Event) -> None:
    told = event.parameters
    if event.name in SENT_BY:
        hop.protocol = SENT_BY[event.name]
        sent = _by_name(event)
        hop.sent = tuple(sent.items())
        hop.accepts = sent.get("sec-fetch-dest") or sent.get("accept", "")
    elif event.name == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":
        hop.status = _status(told.get("headers", []))
        hop.mime = _by_name(event).get("content-type", "").partition(";")[0].strip().lower()
        hop.answered_ms = event.time_ms
    elif event.name in (BODY, PLAIN_BODY):
        hop.received_ms = event.time_ms
    elif event.ends and event.name in ("REQUEST_ALIVE", "URL_REQUEST_START_JOB"):
        hop.ended = True
        hop.net_error = told.get("net_error") or hop.net_error
        if event.name == "URL_REQUEST_START_JOB":
            hop.started = True
        elif not hop.started:  # the browser ended before it had looked for an answer
            hop.net_error = hop.net_error or ABORTED
        if event.name == "REQUEST_ALIVE" or hop.net_error:
            hop.exchange.end(event.time_ms, hop.net_error)


def _failure(net_error: int | None) -> Failure | None:
    if net_error is None:
        return None
    if net_error == ABORTED:
        return Failure.ABORTED
    return Failure.TRANSPORT if net_error in TRANSPORT_ERRORS else Failure.REFUSED


def _by_name(event: Event) -> dict[str, str]:
    """The headers of an event by their names in lower case."""
    return {name.lower(): value for name, value in headers_of(event)}


def _status(headers: list[str]) -> int | None:
    words = headers[0].split() if headers else []
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def _stream_windows(events: Iterable[Event]) -> Iterator[int]:
    """What the browser's own SETTINGS say of a stream's window; it does not say what is HTTP/2's default."""
    for event in events:
        if event.name == "HTTP2_SESSION_SEND_SETTINGS":
            said = "\n".join(map(str, event.parameters.get("settings", [])))
            yield max(map(int, STREAM_WINDOW.findall(said)), default=USUAL_STREAM_WINDOW)

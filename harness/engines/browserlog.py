"""What one browser process did on the network, whichever engine it is: the browser's side of a trial's proof."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from harness.model.protocol import Headers

CLOCK_MS = 1.0  # logs count whole ms
APART_MS = 2 * CLOCK_MS  # two times of one instant, each of them in whole ms
NOT_MODIFIED = 304
ERROR_STATUS = 400  # and above
DOCUMENT_ASKED = "document_asked_ms"  # of a timeline: `started_ms` of the request for the document shown
_USER = re.compile("^(https?://)[^/?#]*@")


@dataclass(frozen=True)
class Span:
    """From one instant to another, in ms by the log's clock."""

    began_ms: float
    ended_ms: float

    def overlap_ms(self, began_ms: float, ended_ms: float) -> float:
        """How much of it lies between two instants."""
        return max(0.0, min(self.ended_ms, ended_ms) - max(self.began_ms, began_ms))


class Failure(StrEnum):
    """Why the engine has no answer for a request, or did not take it. Each engine puts its own errors into these."""

    ABORTED = "aborted"  # the page, or the browser for it, took the request back
    TRANSPORT = "transport failure"  # name, connection, TLS or certificate, or the framing of HTTP
    REFUSED = "refused by the browser"  # all else: rules of the browser or of the page


@dataclass(frozen=True)
class Exchange:
    """A request in detail, for those who look into one load: no metric is made from it.

    None, "" and () are what the engine does not tell. `connection` is the `local` of the connection that carried it.
    `sending_ms` and `sent_ms` are when its headers began to go out and had gone. `asked_with` and `answered_with` are
    headers, `status_line` is as HTTP/1.1 has it. `decoded_bytes` and `decoded` are the body without its
    Content-Encoding, the latter where the log was asked to hold bodies. `priority` is the last one, by the names that
    HARs have: VeryHigh, High, Medium, Low, VeryLow; an engine may have another one beside these. `initiator` is the
    origin that asked. `error` is the engine's own name for what went wrong. `over_ms` is when the engine was done with
    it, which a log that was cut off may not hold. `arrived` is how many bytes of the body, as it travelled, had come by
    which time; not every engine tells. `cancelled`: the page, or the browser for it, did not wait for the end; of an
    answer that has begun Chromium calls that no error.
    """

    connection: str | None = None
    sending_ms: float | None = None
    sent_ms: float | None = None
    asked_with: Headers = ()
    answered_with: Headers = ()
    status_line: str = ""
    decoded_bytes: int | None = None
    decoded: bytes | None = None
    priority: str = ""
    initiator: str = ""
    error: str = ""
    over_ms: float | None = None
    arrived: tuple[tuple[float, int], ...] = ()
    cancelled: bool = False

    def until(self, clock_ms: float) -> Exchange:
        """The exchange of a request that is under way at that time: nothing is known of the end of its body."""
        arrived = tuple(arrival for arrival in self.arrived if arrival[0] <= clock_ms)
        unknown = replace(self, decoded_bytes=None, decoded=None, error="", over_ms=None, cancelled=False)
        return replace(unknown, arrived=arrived)


@dataclass(frozen=True)
class Request:
    """One request on the wire. `protocol` is None when no headers were sent; times are ms by the log's clock.

    `failure` is None unless something went wrong before the answer was whole; a status of HTTP is none. `body` is the
    body as it travelled (Content-Encoding applied), where the log was asked to hold bodies. `body_bytes` is None where
    the engine does not tell how many travelled. `tls` and `pipelined` are what QtWebKit tells. Requests that came from
    one another by redirects have the same `chain`; QtWebKit tells that of the document alone. `from_cache`: answered
    out of the browser's cache; it never was on the wire (None where the engine does not tell). `relayed`: the page
    asked for it under https, and the hop passed it on in plain http, under which `url` is. `accepts` is what the
    request was for by its headers (Sec-Fetch-Dest or, where there is none, Accept), `mime` the media type of its
    answer; "" where the engine does not tell.

    `asked_ms` is when the page asked for it, which a browser may hold back for a while before it starts; `ended_ms` is
    when the last of its answer had come. `sent` are the headers that travelled, by names in lower case. Chromium tells
    all three, QtWebKit the latter two.
    """

    url: str
    method: str
    of_page: bool
    main_frame: bool
    started_ms: float
    protocol: str | None
    status: int | None
    failure: Failure | None
    body_bytes: int | None
    body: bytes | None = None
    chain: int = 0
    from_cache: bool | None = None
    answered_ms: float | None = None
    tls: str | None = None
    pipelined: bool | None = None
    ended_ms: float | None = None
    relayed: bool = False
    accepts: str = ""
    mime: str = ""
    asked_ms: float | None = None
    sent: tuple[tuple[str, str], ...] = ()
    exchange: Exchange = Exchange()

    @property
    def host(self) -> str:
        """As DNS has it, without the dot that may end a name in full."""
        return (urlsplit(self.url).hostname or "").removesuffix(".")

    @property
    def address(self) -> str:
        """The URL without its scheme, which is that of the replay, and without its fragment."""
        return self.url.partition("://")[2].partition("#")[0]

    def cut(self, clock_ms: float) -> Request:
        """The request as it is when the browser is closed at that time."""
        over_ms, told = self.exchange.over_ms, self.failure is not None or self.from_cache
        if told and over_ms is not None and over_ms <= clock_ms:
            return self
        if self.answered_ms is None or self.answered_ms > clock_ms:
            return self._unanswered(clock_ms)
        if any(at is not None and at <= clock_ms for at in (self.ended_ms, over_ms)):
            return replace(self, failure=None, exchange=replace(self.exchange, error=""))
        return self._answered_in_part(clock_ms)

    def _unanswered(self, clock_ms: float) -> Request:
        seen = replace(self.exchange.until(clock_ms), answered_with=(), status_line="")
        nothing = None if self.body_bytes is None else 0
        return replace(
            self,
            failure=Failure.ABORTED,
            status=None,
            answered_ms=None,
            ended_ms=None,
            body_bytes=nothing,
            body=None,
            exchange=seen,
        )

    def _answered_in_part(self, clock_ms: float) -> Request:
        """With what had come of its body, where the engine tells when it came."""
        seen = self.exchange.until(clock_ms)
        unknown = replace(self, failure=None, ended_ms=None, body_bytes=None, body=None, exchange=seen)
        if self.body_bytes is None or not self.exchange.arrived:
            return unknown
        ended_ms, came = seen.arrived[-1] if seen.arrived else (self.answered_ms, 0)
        body = None if self.body is None else self.body[:came]
        return replace(unknown, ended_ms=ended_ms, body_bytes=min(came, self.body_bytes), body=body)

    @property
    def made_up(self) -> bool:
        """Whether it is a redirect that the browser made by itself: nothing travelled, nor was anything kept of it."""
        return bool(self.from_cache) and self.status is None and bool(self.exchange.status_line)

    @property
    def used_cache(self) -> bool:
        """Whether its answer came out of the browser's cache, at once or once the server had confirmed it."""
        return self.status == NOT_MODIFIED or (bool(self.from_cache) and not self.made_up)

    @property
    def failed(self) -> bool:
        """No response, or one of an error status."""
        unanswered = self.status is None and not self.used_cache
        return self.failure is not None or unanswered or (self.status or 0) >= ERROR_STATUS

    @property
    def error(self) -> str:
        """What went wrong, by the engine's own name where it has one; "" where nothing did."""
        return (self.exchange.error or self.failure.value) if self.failure else ""


@dataclass(frozen=True)
class Connection:
    """One connection that was established: of TCP or, where `alpn` is h3, of QUIC.

    `connect_ms` is the time from the first packet sent to the first one received (Chromium counts whole ms): the
    handshake of TCP, the first flight of QUIC's. `resumed` is, for QUIC, whether requests were sent ahead of the
    handshake (0-RTT). `connecting` lasts until it could be used, with its handshake of TLS, which is `securing`: of
    QUIC both are the same.
    """

    remote: str
    local: str
    tls: str | None
    alpn: str | None
    resumed: bool | None
    connect_ms: float | None = None
    connecting: Span | None = None
    securing: Span | None = None


def without_user(url: str) -> str:
    """A URL of http or https without the user name and the password that may be in it: they do not travel there."""
    return _USER.sub(r"\1", url)


@dataclass(frozen=True)
class BrowserLog:
    """What one browser process did on the network.

    `lookups` are the look-ups of each name in the DNS. Times are by CLOCK_MONOTONIC, and `epoch_ms` makes of one ms
    since 1970; without it they count from 1970 themselves. What is beyond a whole `step_ms` is cut off from them.
    `browser` is its name and version, where the log tells. A log that is not `whole` ends before its browser did.
    `h2_windows` are those for streams that it set, by connection. Of a network that is `in_main_thread`, what comes
    while the page's main thread works is told when that is done. `as_sent` makes of an address the one that the engine
    sends for it. One that is `cut` holds nothing of what came after a time (`until`). `tells_own`: it has what the
    browser asked for by itself, and not the page's requests alone. `last_ms` is when the last event was of one that is
    not `whole`.
    """

    requests: tuple[Request, ...]
    connections: tuple[Connection, ...]
    h2_windows: tuple[int, ...] = ()
    lookups: Mapping[str, tuple[Span, ...]] = field(default_factory=dict)
    epoch_ms: float = 0.0
    step_ms: float = 0.0
    browser: tuple[str, str] | None = None
    whole: bool = True
    in_main_thread: bool = False
    as_sent: Callable[[str], str] = str
    cut: bool = False
    tells_own: bool = True
    last_ms: float = math.inf

    def lookup_for(self, made: Connection, name: str) -> Span | None:
        """The last look-up of a name that was over when the connection began; a frame has its own cache of names."""
        began = made.connecting.began_ms if made.connecting is not None else 0.0
        before = [lookup for lookup in self.lookups.get(name, ()) if lookup.ended_ms <= began + CLOCK_MS]
        return max(before, key=lambda each: each.ended_ms, default=None)

    def until(self, clock_ms: float) -> BrowserLog:
        """What the log would hold if the browser had been closed at that time, by the log's clock."""
        requests = tuple(request.cut(clock_ms) for request in self.requests if request.started_ms <= clock_ms)
        made = tuple(
            connection
            for connection in self.connections
            if connection.connecting is None or connection.connecting.ended_ms <= clock_ms
        )
        return replace(self, requests=requests, connections=made, cut=True)

    def went_on(self, request: Request) -> bool:
        """Whether a request was under way when the log was cut, so that a server's log tells of more."""
        return self.cut and request.ended_ms is None

    @cached_property
    def page_requests(self) -> tuple[Request, ...]:
        """What the page asked the network for."""
        return tuple(request for request in self.requests if request.of_page and not request.from_cache)

    @property
    def service_requests(self) -> tuple[Request, ...]:
        """What the browser asked for by itself."""
        return tuple(request for request in self.requests if not request.of_page)

    @cached_property
    def documents(self) -> tuple[Request, ...]:
        """The requests for what stood in the place of the page."""
        return tuple(request for request in self.requests if request.main_frame)

    def document(self, url: str) -> tuple[Request, ...]:
        """The requests for the page's own address: the first, and those that redirects made of it; () without any."""
        sent = self.as_sent(url)
        first = next((request for request in self.documents if request.url == sent), None)
        return tuple(request for request in self.documents if first and request.chain == first.chain)

    def other_documents(self, url: str) -> tuple[Request, ...]:
        """The requests for other documents in the place of the page's, by its scripts or a refresh."""
        own = self.document(url)
        return tuple(request for request in self.documents if own and request.chain != own[0].chain)

    def is_of(self, url: str, timeline: Mapping[str, Any]) -> bool:
        """Whether a timeline is that of the page's own address, and of no document in its place.

        An engine may tell when it asked for the document that it shows. Else the page was asked for after the
        navigation had begun, which a document in its place comes too late for.
        """
        document = self.document(url)
        if DOCUMENT_ASKED in timeline:
            return any(request.started_ms == timeline[DOCUMENT_ASKED] for request in document)
        began_ms = timeline.get("navigation_start_ms")
        return bool(document) and began_ms is not None and document[0].started_ms >= began_ms - APART_MS

"""What one browser process did on the network, whichever engine it is: the browser's side of a trial's proof."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

ABORTED = -3  # the page, or the browser for it, took the request back


@dataclass(frozen=True)
class Request:
    """One request on the wire. `protocol` is None when no headers were sent; times are ms by the log's clock.

    `net_error` is Chromium's number for what went wrong (net_error_list.h), whatever the engine. `body` is the body as
    it travelled (Content-Encoding applied), where the log was asked to hold bodies. `body_bytes` is None where the
    engine does not tell how many travelled. `tls` and `pipelined` are what QtWebKit tells. Requests that came from one
    another by redirects have the same `chain`; QtWebKit tells that of the document alone. `from_cache`: answered by
    what this very load had fetched before; it never was on the wire (None where the engine does not tell). `relayed`:
    the page asked for it under https, and the hop passed it on in plain http, under which `url` is. `accepts` is what
    the request was for by its headers (Sec-Fetch-Dest or, where there is none, Accept), `mime` the media type of its
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
    net_error: int | None
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

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def failed(self) -> bool:
        """No response, or one of an error status."""
        return self.net_error not in (None, 0) or self.status is None or self.status >= 400


@dataclass(frozen=True)
class Connection:
    """One connection that was established: of TCP or, where `alpn` is h3, of QUIC.

    `connect_ms` is the time from the first packet sent to the first one received (Chromium counts whole ms): the
    handshake of TCP, the first flight of QUIC's. `resumed` is, for QUIC, whether requests were sent ahead of the
    handshake (0-RTT).
    """

    remote: str
    local: str
    tls: str | None
    alpn: str | None
    resumed: bool | None
    connect_ms: float | None = None


@dataclass(frozen=True)
class BrowserLog:
    """What one browser process did on the network. `h2_windows` are those for streams that it set, by connection."""

    requests: tuple[Request, ...]
    connections: tuple[Connection, ...]
    h2_windows: tuple[int, ...] = ()

    @property
    def page_requests(self) -> tuple[Request, ...]:
        """What the page asked the network for."""
        return tuple(request for request in self.requests if request.of_page and not request.from_cache)

    @property
    def service_requests(self) -> tuple[Request, ...]:
        """What the browser asked for by itself."""
        return tuple(request for request in self.requests if not request.of_page)

    def document(self, url: str) -> tuple[Request, ...]:
        """The requests for the page's own address: the first, and those that redirects made of it; () without any."""
        main = [request for request in self.requests if request.main_frame]
        first = next((request for request in main if request.url == url), None)
        return tuple(request for request in main if first and request.chain == first.chain)

    def other_documents(self, url: str) -> tuple[Request, ...]:
        """The requests for other documents in the place of the page's, by its scripts or a refresh."""
        own = self.document(url)
        return tuple(each for each in self.requests if each.main_frame and own and each.chain != own[0].chain)

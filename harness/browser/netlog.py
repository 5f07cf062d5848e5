"""Chromium's NetLog, read into what a proof needs: each request with its protocol, each connection, each TLS session.

The format is Chromium's (net/log, `--log-net-log`): a JSON object with `constants` that name the numbers, and
`events` of sources. The log covers the whole process, so it also shows what the browser asked for by itself.
"""

from __future__ import annotations

import base64
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.browser.browserlog import BrowserLog, Connection, Request
from harness.errors import TestbedFailed

# Which event sends the request's headers tells the protocol that carried it.
SENT_BY = {
    "HTTP_TRANSACTION_SEND_REQUEST_HEADERS": "http/1.1",
    "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS": "h2",
    "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS": "h3",
}
STREAM_WINDOW = re.compile(r"\(SETTINGS_INITIAL_WINDOW_SIZE\) value:(\d+)")
USUAL_STREAM_WINDOW = 65_535  # RFC 9113
CACHE_MISS = -400  # a look into the empty cache, not a request on the wire


def read_netlog(path: Path) -> BrowserLog:
    """Read a NetLog, also one cut off by the browser's death; raises TestbedFailed when there is none."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TestbedFailed(f"Chromium wrote no NetLog: {error}") from error
    return parse_netlog(text)


def parse_netlog(text: str) -> BrowserLog:
    """`read_netlog` on text."""
    data = _load(text)
    names = _Names(data["constants"])
    sources: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for event in data["events"]:
        sources[event["source"]["id"]].append(event)
    hops: list[_Hop] = []
    connections: list[Connection] = []
    windows: list[int] = []
    for events in sources.values():
        kind = names.source(events[0])
        if kind == "URL_REQUEST":
            hops.extend(_hops(events, names))
        elif kind == "SOCKET":
            connections.extend(_connections(events, names))
        elif kind == "QUIC_SESSION":
            connections.extend(_quic_connections(events, names))
        elif kind == "HTTP2_SESSION":
            windows.extend(_stream_windows(events, names))
    hops.sort(key=lambda hop: hop.started_ms)
    sites = {hop.top_site for hop in hops if hop.main_frame}
    requests = [hop.finished(of_page=hop.top_site in sites) for hop in hops if hop.counts]
    return BrowserLog(tuple(requests), tuple(connections), tuple(windows))


def _load(text: str) -> Mapping[str, Any]:
    """Parse the log; a cut-off one is read up to its last whole event (one event stands on a line)."""
    try:
        data: Mapping[str, Any] = json.loads(text)
    except ValueError:
        head, marker, tail = text.partition('"events": [')
        whole = tail[: tail.rfind("},\n") + 1] if marker else ""
        try:
            data = json.loads(f"{head}{marker}{whole}]}}")
        except ValueError as error:
            raise TestbedFailed(f"Chromium's NetLog cannot be read: {error}") from error
    return data


@dataclass
class _Names:
    """The names behind the numbers of this Chromium version."""

    constants: Mapping[str, Any]
    events: dict[int, str] = field(init=False)
    sources: dict[int, str] = field(init=False)
    begin: int = field(init=False)
    end: int = field(init=False)

    def __post_init__(self) -> None:
        self.events = {number: name for name, number in self.constants["logEventTypes"].items()}
        self.sources = {number: name for name, number in self.constants["logSourceType"].items()}
        self.begin = self.constants["logEventPhase"]["PHASE_BEGIN"]
        self.end = self.constants["logEventPhase"]["PHASE_END"]

    def event(self, event: Mapping[str, Any]) -> str:
        return self.events.get(event["type"], "")

    def source(self, event: Mapping[str, Any]) -> str:
        return self.sources.get(event["source"]["type"], "")


@dataclass
class _Hop:
    """A request being put together; a redirect starts another hop on the same source."""

    url: str
    method: str
    top_site: str
    main_frame: bool
    started_ms: int
    chain: int
    asked_ms: int
    answered_ms: int | None = None
    received_ms: int | None = None
    sent: tuple[tuple[str, str], ...] = ()
    accepts: str = ""
    mime: str = ""
    ended: bool = False
    protocol: str | None = None
    status: int | None = None
    net_error: int | None = None
    raw_bytes: int = 0
    filtered_bytes: int = 0
    raw: list[str] = field(default_factory=list)
    filtered: list[str] = field(default_factory=list)

    @property
    def counts(self) -> bool:
        """Whether this is a request for the network at all."""
        looked_in_cache = self.protocol is None and self.net_error == CACHE_MISS
        return self.url.startswith(("http://", "https://")) and not looked_in_cache

    @property
    def from_cache(self) -> bool:
        """Whether it ended well and sent nothing. A redirect that the browser makes by itself is such a one, too."""
        return self.ended and self.protocol is None and self.net_error is None

    def finished(self, *, of_page: bool) -> Request:
        return Request(
            url=self.url,
            method=self.method,
            of_page=of_page,
            main_frame=self.main_frame,
            started_ms=self.started_ms,
            protocol=self.protocol,
            status=self.status,
            net_error=self.net_error,
            body_bytes=self.raw_bytes or self.filtered_bytes,
            body=b"".join(map(base64.b64decode, self.raw or self.filtered)) or None,
            chain=self.chain,
            from_cache=self.from_cache,
            answered_ms=self.answered_ms,
            accepts=self.accepts,
            mime=self.mime,
            asked_ms=self.asked_ms,
            ended_ms=self.answered_ms if self.received_ms is None else self.received_ms,
            sent=self.sent,
        )


def _hops(events: Iterable[Mapping[str, Any]], names: _Names) -> list[_Hop]:
    hops: list[_Hop] = []
    asked_ms: int | None = None  # of the first; a redirect is asked for when it starts
    for event in events:
        name = names.event(event)
        parameters = event.get("params") or {}
        if name == "REQUEST_ALIVE" and event["phase"] == names.begin:
            asked_ms = int(event["time"])
        elif name == "URL_REQUEST_START_JOB" and event["phase"] == names.begin:
            hops.append(_hop(parameters, int(event["time"]), event["source"]["id"], asked_ms))
            asked_ms = None
        elif hops:
            _note(hops[-1], name, parameters, int(event["time"]), ended=event["phase"] == names.end)
    return hops


def _hop(parameters: Mapping[str, Any], time_ms: int, source: int, asked_ms: int | None) -> _Hop:
    """A request belongs to the page whose site tops its network isolation key, also from within a frame."""
    return _Hop(
        url=parameters.get("url", ""),
        method=parameters.get("method", ""),
        top_site=parameters.get("network_isolation_key", "").partition(" ")[0],
        main_frame=parameters.get("request_type") == "main frame",
        started_ms=time_ms,
        chain=source,
        asked_ms=time_ms if asked_ms is None else asked_ms,
    )


def _note(hop: _Hop, name: str, parameters: Mapping[str, Any], time_ms: int, *, ended: bool) -> None:
    if name in SENT_BY:
        hop.protocol = SENT_BY[name]
        sent = _headers(parameters)
        hop.sent = tuple(sent.items())
        hop.accepts = sent.get("sec-fetch-dest") or sent.get("accept", "")
    elif name == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":
        hop.status = _status(parameters.get("headers", []))
        hop.mime = _headers(parameters).get("content-type", "").partition(";")[0].strip().lower()
        hop.answered_ms = time_ms
    elif name == "URL_REQUEST_JOB_BYTES_READ":
        hop.received_ms = time_ms
        hop.raw_bytes += parameters.get("byte_count", 0)
        hop.raw += [parameters["bytes"]] if "bytes" in parameters else []
    elif name == "URL_REQUEST_JOB_FILTERED_BYTES_READ":
        hop.received_ms = time_ms
        hop.filtered_bytes += parameters.get("byte_count", 0)
        hop.filtered += [parameters["bytes"]] if "bytes" in parameters else []
    elif ended and name in ("REQUEST_ALIVE", "URL_REQUEST_START_JOB"):
        hop.ended = True
        hop.net_error = parameters.get("net_error") or hop.net_error


def _headers(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The headers of an event by their names in lower case."""
    pairs = (line.partition(": ") for line in parameters.get("headers", []) if not line.startswith(":"))
    return {name.lower(): value for name, _, value in pairs}


def _status(headers: list[str]) -> int | None:
    words = headers[0].split() if headers else []
    return int(words[1]) if len(words) > 1 and words[1].isdigit() else None


def _connections(events: Iterable[Mapping[str, Any]], names: _Names) -> list[Connection]:
    remote = local = tls = alpn = None
    resumed = began = took = None
    for event in events:
        name = names.event(event)
        parameters = event.get("params") or {}
        if name == "TCP_CONNECT_ATTEMPT" and event["phase"] == names.begin:
            began = int(event["time"])
        if event["phase"] != names.end:
            continue
        if name == "TCP_CONNECT_ATTEMPT" and began is not None:
            took = int(event["time"]) - began
        elif name == "TCP_CONNECT" and "remote_address" in parameters:
            remote, local = parameters["remote_address"], parameters.get("local_address", "")
        elif name == "SSL_CONNECT" and "version" in parameters:
            tls, alpn = parameters["version"], parameters.get("next_proto")
            resumed = parameters.get("is_resumed")
    return [Connection(remote, local or "", tls, alpn, resumed, took)] if remote else []


def _stream_windows(events: Iterable[Mapping[str, Any]], names: _Names) -> Iterator[int]:
    """What the browser's own SETTINGS say of a stream's window; it does not say what is HTTP/2's default."""
    for event in events:
        if names.event(event) == "HTTP2_SESSION_SEND_SETTINGS":
            said = "\n".join(map(str, (event.get("params") or {}).get("settings", [])))
            yield max(map(int, STREAM_WINDOW.findall(said)), default=USUAL_STREAM_WINDOW)


def _quic_connections(events: Iterable[Mapping[str, Any]], names: _Names) -> list[Connection]:
    """QUIC has TLS 1.3 built in; there is no other."""
    began: int | None = None
    early = False
    for event in events:
        name = names.event(event)
        parameters = event.get("params") or {}
        if name == "QUIC_SESSION_PACKET_SENT":
            began = int(event["time"]) if began is None else began
            early |= parameters.get("encryption_level") == "ENCRYPTION_ZERO_RTT"
        elif name == "QUIC_SESSION_PACKET_RECEIVED" and began is not None:
            remote, local = parameters["peer_address"], parameters["self_address"]
            return [Connection(remote, local, "TLS 1.3", "h3", early, int(event["time"]) - began)]
    return []

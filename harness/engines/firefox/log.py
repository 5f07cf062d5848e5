"""What Firefox's own process told of its requests (browser.js), as a browser's log. Pure but for `read`.

Times become ms since 1970. Connections are known by the requests that they carried: one that carried none is not told.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from harness.engines.browserlog import (
    ERROR_STATUS,
    NOT_MODIFIED,
    BrowserLog,
    Connection,
    Exchange,
    Failure,
    Request,
    Span,
    without_user,
)
from harness.errors import TestbedFailed

OF_THE_NETWORK = ("http://", "https://")
US_PER_MS, DIGITS = 1000.0, 3
DOCUMENT, WEBSOCKET = 6, 16  # nsIContentPolicy: TYPE_DOCUMENT, TYPE_WEBSOCKET
FROM_CACHE = "examine-cached-response"
OVER = "stop-request"
NEVER_OPENED = "failed-opening-request"  # by a rule of the page or the browser: it never reached the network
TLS = {1: "TLS 1.0", 2: "TLS 1.1", 3: "TLS 1.2", 4: "TLS 1.3"}  # nsITransportSecurityInfo
# Names of Firefox's results (xpcom/base/ErrorList.py).
TAKEN_BACK = frozenset({"NS_BINDING_ABORTED", "NS_BINDING_RETARGETED", "NS_ERROR_ABORT"})
CORRUPTED = "NS_ERROR_CORRUPTED_CONTENT"  # by its framing, or of a module by its media type
GIVEN_UP = TAKEN_BACK | {CORRUPTED}  # by Firefox itself, of what has an error status
OF_THE_TRANSPORT = (
    "NS_ERROR_NET_",
    "NS_ERROR_CONNECTION_",
    "NS_ERROR_PROXY_",
    "NS_ERROR_UNKNOWN_HOST",
    "NS_ERROR_UNKNOWN_PROXY_HOST",
    "NS_ERROR_UNKNOWN_SOCKET_TYPE",
    "NS_ERROR_OFFLINE",
)
OF_TLS = ("MODULE_SECURITY", "SEC_ERROR_", "SSL_ERROR_", "MOZILLA_PKIX_ERROR_")
REDIRECTED = "NS_BINDING_REDIRECTED"  # to another address, by the server where there is a status
REDIRECTS = range(300, 400)
FRAMING = frozenset({CORRUPTED, "NS_ERROR_INVALID_CONTENT_ENCODING"})

ToldLine = Mapping[str, Any]


def read(path: Path) -> BrowserLog:
    """Read what was told; raises TestbedFailed when there is nothing, as of a browser that was killed."""
    try:
        return parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedFailed(f"Firefox left no log: {error}") from error


def parse(text: str) -> BrowserLog:
    """`read` on text; raises TestbedFailed when what was observed could not all be understood.

    The handshake of a WebSocket is no request, as in the logs of the other engines; its connection is one.
    """
    log = json.loads(text)
    if log["error"]:
        raise TestbedFailed(f"Firefox could not be observed: {log['error']}")
    urls = {request["url"] for request in log["requests"]}
    told = sorted(
        (
            request
            for request in log["requests"]
            if request["url"].startswith(OF_THE_NETWORK) and _opened(request, urls)
        ),
        key=_began_ms,
    )
    requests = [request for request in told if request["kind"] != WEBSOCKET]
    chains = _chains(requests)
    return BrowserLog(
        tuple(_request(each, chain) for each, chain in zip(requests, chains, strict=True)),
        tuple(connections(told)),
        lookups=_lookups(told),
        browser=("Firefox", log["version"]),
    )


def connections(told: Iterable[ToldLine]) -> list[Connection]:
    """The connections that carried requests. A port that was used again carried several, one after the other.

    A request that began a connection may travel over another one that became free before. It tells of its handshake all
    the same, so a handshake is another connection of the port only when it began after what the port had carried, and
    the server had closed that connection (RFC 9112, 9.6).
    """
    carried: dict[tuple[str, str], list[ToldLine]] = {}
    for request in told:
        if (
            request.get("local")
            and request.get("remote")
            and request.get("protocol")
            and FROM_CACHE not in request["topics"]
        ):
            carried.setdefault((request["local"], request["remote"]), []).append(request)
    carriers = []
    for requests in carried.values():
        free, closed = math.inf, False
        for request in sorted(requests, key=lambda each: _at(each, "requestStart") or 0.0):
            connecting = _at(request, "connectStart")
            if free == math.inf or (closed and connecting is not None and connecting >= free):
                carriers.append(_connection(request))
            ended = _at(request, "responseEnd") or 0.0
            free = ended if free == math.inf else max(free, ended)
            closed = _is_last(request)
    return carriers


def _is_last(told: ToldLine) -> bool:
    """Whether the server closes the connection after this answer."""
    headers = told.get("answered_with", ())
    return any(name.lower() == "connection" and "close" in value.lower() for name, value in headers)


def _connection(first: ToldLine) -> Connection:
    connecting = _span(first, "connectStart", "connectEnd")
    tls = TLS.get(first.get("tls") or 0)
    securing = _span(first, "secureConnectionStart", "connectEnd") if tls else None
    handshake_ms = None
    if connecting is not None:
        of_tcp = _span(first, "connectStart", "tcpConnectEnd") or connecting
        handshake_ms = round(of_tcp.ended_ms - of_tcp.began_ms, DIGITS)
    return Connection(
        remote=first["remote"],
        local=first["local"],
        tls=tls,
        alpn=first["protocol"],
        resumed=first.get("resumed") if tls else None,
        connect_ms=handshake_ms,
        connecting=connecting,
        securing=securing,
    )


def _request(told: ToldLine, chain: int) -> Request:
    cached = FROM_CACHE in told["topics"]
    body = base64.b64decode(told["body"]) if "body" in told else None
    asked = {name.lower(): value for name, value in told.get("asked_with", ())}
    protocol = None if cached else told.get("protocol")
    confirmed = told.get("came_with") == NOT_MODIFIED
    status = NOT_MODIFIED if confirmed else told.get("status") or None
    status_text = "" if confirmed else told.get("status_text") or ""
    failure = _failure(told)
    began = _began_ms(told)
    answered = _at(told, "responseStart")
    return Request(
        url=without_user(told["url"]),
        method=told["method"],
        of_page=not told["system"] or told["kind"] == DOCUMENT,
        main_frame=told["kind"] == DOCUMENT,
        started_ms=began,
        asked_ms=began,
        protocol=protocol,
        status=status,
        failure=failure,
        body_bytes=0 if protocol is None or confirmed else _travelled(told),
        chain=chain,
        from_cache=cached,
        answered_ms=answered,
        tls=TLS.get(told.get("tls") or 0) if protocol else None,
        ended_ms=_at(told, "responseEnd"),
        accepts=asked.get("sec-fetch-dest") or asked.get("accept", ""),
        mime=str(told.get("mime") or "").partition(";")[0].strip().lower(),
        sent=tuple(asked.items()) if protocol else (),
        exchange=Exchange(
            connection=told.get("local"),
            sending_ms=_at(told, "requestStart"),
            asked_with=_headers(told, "asked_with"),
            answered_with=_headers(told, "answered_with"),
            status_line=f"{(protocol or 'HTTP').upper()} {status} {status_text}".strip() if status else "",
            decoded_bytes=None if body is None else len(body),  # it is decoded in the page's process
            decoded=body,
            initiator=told["asked_by"] or "",
            error=str(told["error"] or told["result"] or "") if failure else "",
            over_ms=_at(told, "responseEnd") or _at(told, "stopped"),
        ),
    )


def _travelled(told: ToldLine) -> int | None:
    """The bytes of the body; None where it was under way when the browser was closed: Firefox counts at the end."""
    over = OVER in told["topics"] or told["error"] == REDIRECTED
    return int(told["encoded_bytes"]) if over and told["encoded_bytes"] is not None else None


def _opened(told: ToldLine, urls: Collection[str]) -> bool:
    """Whether it reached the network: not what a rule refuses, nor what gives way to another address beforehand, as
    http:// does to https:// where the page asks for that. `urls` are those of all requests.
    """
    if NEVER_OPENED in told["topics"]:
        return False
    if told.get("status") or told.get("protocol"):
        return True
    secured = told["url"].replace("http://", "https://", 1)
    upgraded = secured != told["url"] and secured in urls and OVER not in told["topics"]
    return told["error"] != REDIRECTED and not upgraded


def _failure(told: ToldLine) -> Failure | None:
    """What was under way when the browser was closed is taken back by that."""
    name = str(told["error"] or "")
    status = told.get("status") or 0
    if name == REDIRECTED or (name in GIVEN_UP and status >= ERROR_STATUS):
        return None
    if not told["result"]:
        return None if status or OVER in told["topics"] else Failure.ABORTED
    if not name.startswith(("NS_ERROR", "NS_BINDING", "SEC_", "SSL_", "MOZILLA_")):
        return Failure.REFUSED
    if name in TAKEN_BACK:
        return Failure.ABORTED
    misframed = name in FRAMING and status not in REDIRECTS  # else it leads where no redirect may
    if name.startswith(OF_THE_TRANSPORT) or misframed or any(part in name for part in OF_TLS):
        return Failure.TRANSPORT
    return Failure.REFUSED


def _chains(told: Sequence[ToldLine]) -> list[int]:
    """Of each request the number of its chain: that of the one that redirected to it, or one of its own."""
    latest: dict[str, int] = {}
    chains = []
    for number, each in enumerate(told):
        chain = latest.get(without_user(each["redirected_from"] or ""), number)
        latest[without_user(each["url"])] = chain
        chains.append(chain)
    return chains


def _lookups(told: Iterable[ToldLine]) -> dict[str, tuple[Span, ...]]:
    lookups: dict[str, tuple[Span, ...]] = {}
    for request in told:
        took = _span(request, "domainLookupStart", "domainLookupEnd")
        if took is not None:
            host = urlsplit(request["url"]).hostname or ""
            lookups[host] = (*lookups.get(host, ()), took)
    return lookups


def _span(told: ToldLine, begin: str, end: str) -> Span | None:
    began, ended = _at(told, begin), _at(told, end)
    return Span(began, ended) if began is not None and ended is not None and began < ended else None


def ms_of(told_us: float | None) -> float | None:
    """A time that Firefox told, as in the log; None where there was none."""
    return round(told_us / US_PER_MS, DIGITS) if told_us else None


def _at(told: ToldLine, phase: str) -> float | None:
    """When a phase was; None for one that the request did not have."""
    return ms_of(told.get(phase))


def _began_ms(told: ToldLine) -> float:
    """When it was asked for. Of one that got no answer Firefox has told that by our clock alone, in whole ms."""
    return _at(told, "asyncOpen") or _at(told, "opening") or 0.0


def _headers(told: ToldLine, name: str) -> tuple[tuple[str, str], ...]:
    return tuple((each, value) for each, value in told.get(name, ()))

"""What the engine and its hop told of requests and connections, as a browser's log. Pure but for `read`."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.engines.browserlog import ERROR_STATUS, BrowserLog, Exchange, Failure, Request, without_user
from harness.engines.relay import connections_made, entries, lookups_made
from harness.errors import TestbedFailed
from harness.model.protocol import Headers

# Qt's errors (QNetworkReply::NetworkError). An error status of HTTP is none of them.
TAKEN_BACK = 5
TRANSPORT_ERRORS = frozenset(
    {
        *(1, 2, 3, 4),  # connection refused or closed, name not found, timed out
        *(6, 7, 8),  # TLS, also for a certificate that is not trusted; the network changed or went
        *range(101, 200),  # the hop did not get through to the server
        *(301, 302, 399),  # no protocol of ours, or what came is none
    }
)
# What Qt sets where WebKit does not (QHttpNetworkConnectionPrivate::prepareRequest).
ADDED_BY_QT = {"accept-encoding": "gzip, deflate", "accept-language": "en,*"}
STATUS_ERRORS = range(201, 600)


def read(requests: Path, connections: Path) -> BrowserLog:
    """Read both logs, also of processes that were killed; raises TestbedFailed when there is none."""
    try:
        return parse(requests.read_text(encoding="utf-8"), connections.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedFailed(f"QtWebKit left no log: {error}") from error


def parse(requests: str, connections: str) -> BrowserLog:
    """`read` on text."""
    notes: dict[int, dict[str, Any]] = {}
    for entry in entries(requests):
        notes.setdefault(entry["request"], {}).update(entry)
    return BrowserLog(
        tuple(_request(number, entry) for number, entry in sorted(notes.items())),
        connections_made(connections),
        lookups=lookups_made(connections),
        in_main_thread=True,
        tells_own=False,
    )


def _request(number: int, entry: Mapping[str, Any]) -> Request:
    """Which requests of the page redirects made of one another QtWebKit does not tell, but of the document."""
    return Request(
        url=without_user(entry["url"]),
        method=entry["method"],
        of_page=True,
        main_frame=entry["document"],
        started_ms=entry["started_ms"],
        protocol=_protocol(entry),
        status=entry.get("status"),
        failure=_failure(entry),
        body_bytes=None,
        chain=0 if entry["document"] else number,
        answered_ms=entry.get("answered_ms"),
        tls=entry.get("tls"),
        pipelined=entry.get("pipelined"),
        ended_ms=entry.get("ended_ms"),
        accepts=entry.get("sent", {}).get("accept", ""),
        mime=entry.get("mime", "").partition(";")[0].strip().lower(),
        sent=_sent(entry),
        exchange=_exchange(entry),
    )


def _exchange(entry: Mapping[str, Any]) -> Exchange:
    """Qt decodes bodies by itself, and does not tell when it sends a request, nor on which connection."""
    body = entry.get("body")
    return Exchange(
        asked_with=_sent(entry),
        answered_with=tuple((name, value) for name, value in entry.get("answered_with", ())),
        status_line=f"HTTP/1.1 {entry['status']} {entry.get('reason', '')}".strip()
        if "status" in entry
        else "",
        decoded_bytes=entry.get("body_bytes"),
        decoded=None if body is None else base64.b64decode(body),
        error=entry.get("error_text") or "",
        over_ms=entry.get("ended_ms"),
    )


def _sent(entry: Mapping[str, Any]) -> Headers:
    return tuple({**ADDED_BY_QT, **entry["sent"]}.items()) if "sent" in entry else ()


def _protocol(entry: Mapping[str, Any]) -> str | None:
    """By what the answer came, as ALPN names it; None without an answer."""
    if entry.get("status") is None:
        return None
    return "spdy/3" if entry["spdy"] else "h2" if entry["h2"] else "http/1.1"


def _failure(entry: Mapping[str, Any]) -> Failure | None:
    """What WebKit itself gives up, as a script with an error status, is told like what the page takes back."""
    error = entry.get("error", 0)
    if error == TAKEN_BACK:
        return None if entry.get("status", 0) >= ERROR_STATUS else Failure.ABORTED
    if error in TRANSPORT_ERRORS:
        return Failure.TRANSPORT
    return None if error == 0 or error in STATUS_ERRORS else Failure.REFUSED

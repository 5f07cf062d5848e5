"""One request as an entry of a HAR, and how its time divides into the phases of one. Pure.

The parts but `ssl` add up to the whole; `ssl` is within `connect`, as HAR 1.2 has it. A phase that the request did
not wait in is None: only the first request of a connection waits for its look-up and its handshakes, and of those only
for what was not over before it was asked for.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from harness.engines.browserlog import Connection, Request, Span
from harness.model.protocol import Headers

DIGITS = 3  # of ms; Chromium counts whole ones


@dataclass(frozen=True)
class Phases:
    """What a request waited for, one after the other, in ms."""

    blocked: float | None
    dns: float | None
    connect: float | None
    ssl: float | None
    send: float
    wait: float
    receive: float

    @property
    def total_ms(self) -> float:
        parts = (self.blocked, self.dns, self.connect, self.send, self.wait, self.receive)
        return round(sum(part or 0.0 for part in parts), DIGITS)

    def to_json(self) -> dict[str, float]:
        """As a HAR has them: -1 for what does not apply."""
        return {
            name: -1 if value is None else round(value, DIGITS)
            for name, value in (
                ("blocked", self.blocked),
                ("dns", self.dns),
                ("connect", self.connect),
                ("ssl", self.ssl),
                ("send", self.send),
                ("wait", self.wait),
                ("receive", self.receive),
            )
        }


def asked_ms(request: Request) -> float:
    """When the page asked for it, as far as its engine tells."""
    return request.started_ms if request.asked_ms is None else request.asked_ms


def phases(request: Request, made: Connection | None, lookup: Span | None) -> Phases:
    """The phases of a request. `made` is its connection where it is the first on it, `lookup` that of its host.

    An engine that does not tell when it sends (QtWebKit) has the time in its own queue in `wait`.
    """
    began, seen = asked_ms(request), request.exchange
    told = (began, seen.sending_ms, seen.sent_ms, request.answered_ms, request.ended_ms)
    end = max(time_ms for time_ms in told if time_ms is not None)
    if request.answered_ms is None and seen.over_ms is not None:
        end = max(end, seen.over_ms)  # it was given up while it waited for something
    answered = _within(began, request.answered_ms, end, unknown=end)
    ready = made.connecting.ended_ms if made is not None and made.connecting is not None else began
    sending = _within(began, seen.sending_ms, answered, unknown=end if request.protocol is None else ready)
    sent = _within(sending, seen.sent_ms, answered, unknown=sending)
    dns, connect, ssl = _handshakes(began, sending, made, lookup)
    blocked = sending - began - (dns or 0.0) - (connect or 0.0)
    knows = seen.sending_ms is not None or request.protocol is None
    return Phases(
        blocked=blocked if knows or blocked > 0 else None,
        dns=dns,
        connect=connect,
        ssl=ssl,
        send=sent - sending,
        wait=answered - sent,
        receive=end - answered,
    )


def _within(least: float, at: float | None, most: float, *, unknown: float) -> float:
    """An instant between two others, whatever a log says of their order."""
    return max(least, min(unknown if at is None else at, most))


def _handshakes(
    began: float, until: float, made: Connection | None, lookup: Span | None
) -> tuple[float | None, float | None, float | None]:
    """How long it waited for the look-up of the name, for the connection, and for TLS within that."""
    connecting = made.connecting if made is not None else None
    if made is None or connecting is None:
        return None, None, None
    dns = lookup.overlap_ms(began, min(until, connecting.began_ms)) if lookup is not None else 0.0
    secured = made.securing.overlap_ms(began, until) if made.securing is not None else 0.0
    connected = connecting.overlap_ms(began, until)
    return dns or None, connected or None, min(secured, connected) or None


PAGE = "page_1"
LONGEST_NUMBER = 16  # digits
UNKNOWN = -1  # of sizes, as HAR 1.2 has it
NO_TYPE = "x-unknown"  # what browsers write where no media type was given
BODILESS_METHODS = ("GET", "HEAD", "OPTIONS", "DELETE", "TRACE")
# The inspector's types of resources, by Sec-Fetch-Dest, by how Accept begins, or by the media type of the answer.
DESTINATIONS = {
    "document": "document",
    "iframe": "document",
    "frame": "document",
    "style": "stylesheet",
    "script": "script",
    "image": "image",
    "font": "font",
    "audio": "media",
    "video": "media",
    "track": "texttrack",
    "manifest": "manifest",
    "empty": "fetch",
}
ACCEPTED = {"text/css": "stylesheet", "image/": "image", "text/html": "document"}
MEDIA_TYPES = {
    "text/html": "document",
    "text/css": "stylesheet",
    "image/": "image",
    "font/": "font",
    "audio/": "media",
    "video/": "media",
}


@dataclass(frozen=True)
class Around:
    """What else is known of a request: its connection, whether it is the first on it, and what came before it.

    `body_bytes` is how long its body was when it travelled; `cached` is the request whose answer it got from the cache,
    `redirected` the one that led to it, `render_blocking` `blocking` where painting waited for it.
    """

    connection: Connection | None = None
    first: bool = False
    lookup: Span | None = None
    body_bytes: int | None = None
    cached: Request | None = None
    redirected: Request | None = None
    render_blocking: str | None = None


def date_text(epoch_ms: float) -> str:
    """An instant as HAR has it."""
    return (
        datetime.fromtimestamp(epoch_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    )


def entry(request: Request, around: Around, epoch_ms: float, *, bodies: bool) -> dict[str, Any]:
    """The entry of a request; `epoch_ms` makes its times ms since 1970, `bodies` puts in the body, if it is known."""
    seen = request.exchange
    took = phases(request, around.connection if around.first else None, around.lookup)
    har_entry: dict[str, Any] = {
        "pageref": PAGE,
        "startedDateTime": date_text(epoch_ms + asked_ms(request)),
        "time": took.total_ms,
        "request": _asked(request),
        "response": _answered(request, around, bodies=bodies),
        "cache": {},
        "timings": took.to_json(),
    }
    if around.connection is not None:
        har_entry["serverIPAddress"] = around.connection.remote.rpartition(":")[0].strip("[]")
        har_entry["connection"] = around.connection.local.rpartition(":")[2]
    if seen.priority:
        har_entry["_priority"] = seen.priority
    har_entry["_resourceType"] = _resource_type(request)
    initiator = _initiator(request, around)
    if initiator:
        har_entry["_initiator"] = initiator
    if around.render_blocking is not None:
        har_entry["_renderBlocking"] = around.render_blocking
    if around.cached is not None:
        har_entry["_fromCache"] = "disk"
    if request.relayed:
        har_entry["_relayed"] = True
    if seen.over_ms is None:
        har_entry["_incomplete"] = True
    return har_entry


def _asked(request: Request) -> dict[str, Any]:
    url = request.url.partition("#")[0]
    headers = request.exchange.asked_with
    length = _header(headers, "content-length")
    none = 0 if request.method in BODILESS_METHODS else UNKNOWN
    target = urlsplit(url)
    start_line = f"{request.method} {target.path or '/'}{'?' * bool(target.query)}{target.query} HTTP/1.1"
    return {
        "method": request.method,
        "url": url,
        "httpVersion": request.protocol or "",
        "cookies": [],
        "headers": _pairs(headers),
        "queryString": _pairs(tuple(parse_qsl(target.query, keep_blank_values=True))),
        "headersSize": _size(request, start_line, headers),
        "bodySize": int(length) if length.isdecimal() and len(length) < LONGEST_NUMBER else none,
    }


def _answered(request: Request, around: Around, *, bodies: bool) -> dict[str, Any]:
    told = around.cached or request
    seen = told.exchange
    words = seen.status_line.split(maxsplit=2)
    status = told.status
    if status is None and len(words) > 1 and words[1].isdecimal():
        status = int(words[1])  # of a redirect that the browser made by itself
    travelled = 0 if around.cached is not None else around.body_bytes
    response: dict[str, Any] = {
        "status": status or 0,
        "statusText": words[2] if len(words) > 2 else "",
        "httpVersion": told.protocol or "",
        "cookies": [],
        "headers": _pairs(seen.answered_with),
        "content": _content(request, told, travelled, bodies=bodies),
        "redirectURL": _header(seen.answered_with, "location"),
        "headersSize": _size(request, seen.status_line, seen.answered_with),
        "bodySize": UNKNOWN if travelled is None else travelled,
    }
    error = request.exchange.error or request.error
    if error:
        response["_error"] = error
    return response


def _content(request: Request, told: Request, travelled: int | None, *, bodies: bool) -> dict[str, Any]:
    decoded = request.exchange.decoded_bytes
    size = decoded if decoded is not None else travelled
    content: dict[str, Any] = {
        "size": UNKNOWN if size is None else size,
        "mimeType": _header(told.exchange.answered_with, "content-type") or told.mime or NO_TYPE,
    }
    if decoded is not None and travelled:
        content["compression"] = decoded - travelled
    body = request.exchange.decoded if bodies else None
    if body is not None:
        content |= _text(body, str(content["mimeType"]))
    return content


def _text(body: bytes, mime: str) -> dict[str, str]:
    """A body so that its bytes come back: as text only where it is declared to be, and is, UTF-8."""
    said = mime.lower().replace('"', "").replace(" ", "")
    if said.startswith(("text/", "application/")) and ("charset=" not in said or "charset=utf-8" in said):
        try:
            return {"text": body.decode("utf-8")}
        except UnicodeDecodeError:
            pass
    return {"text": base64.b64encode(body).decode("ascii"), "encoding": "base64"}


def _initiator(request: Request, around: Around) -> Mapping[str, str]:
    """Who asked for it: what redirected to it, the document or style sheet by its Referer, or else its origin."""
    if around.redirected is not None:
        return {"type": "redirect", "url": around.redirected.url}
    referer = _header(request.exchange.asked_with, "referer")
    origin = request.exchange.initiator
    who = referer or (origin if origin.startswith(("http://", "https://")) else "")
    return {"type": "other", "url": who} if who else {}


def _resource_type(request: Request) -> str:
    asked = request.accepts or _header(request.exchange.asked_with, "accept")
    mime = request.mime or _header(request.exchange.answered_with, "content-type").partition(";")[0].lower()
    if request.main_frame:
        return "document"
    if asked in DESTINATIONS:
        return DESTINATIONS[asked]
    by_accept = (name for start, name in ACCEPTED.items() if asked.startswith(start))
    by_type = (name for start, name in MEDIA_TYPES.items() if mime.startswith(start))
    script = "script" if mime.strip().endswith(("javascript", "ecmascript")) else "other"
    return next(by_accept, next(by_type, script))


def _size(request: Request, start_line: str, headers: Headers) -> int:
    """Bytes of the head as HTTP/1.1 writes it; what HTTP/2, HTTP/3 and SPDY made of it is not known."""
    if request.protocol != "http/1.1" or not headers:
        return UNKNOWN
    lines = [start_line, *(f"{name}: {value}" for name, value in headers), ""]
    return sum(len(line.encode("utf-8", "replace")) + 2 for line in lines)


def _header(headers: Headers, name: str) -> str:
    return next((value for each, value in headers if each.lower() == name), "")


def _pairs(pairs: Headers) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in pairs]

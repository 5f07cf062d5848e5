"""What the Inspector told of the network, as a browser's log. Pure but for `read`.

Times become ms since 1970. They are the network's own but for the end of an answer: that is when the page heard of it,
so it waits for the page's main thread. What the Inspector never tells: local ports, whether a TLS session was resumed,
connections that carried no answer, and by which protocol a request went that has no metrics (redirects, and what was
cancelled, as a script with an error status is): that only the server's log proves. URLs are told as the page
wrote them, not as they were sent.
"""

from __future__ import annotations

import base64
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass, field
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
from harness.engines.relay import entries
from harness.errors import TestbedFailed
from harness.model.protocol import Headers

DIGITS = 3  # of ms
OF_THE_NETWORK = ("http://", "https://")
DOCUMENT = "Document"
MEMORY_CACHE = "memory-cache"
UNRESERVED = frozenset(f"{string.ascii_letters}{string.digits}-._~")  # of RFC 3986
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
# Words of the errors that come of rules of the browser or of the page; all others are of the network.
RULES = (
    "Access-Control",
    "access control",
    "Content Security Policy",
    "Cross-Origin",
    "not allowed",
    "Not allowed",
    "Redirection to URL",
    "do not allow following redirections",
    "cannot follow more than",
    "Too many redirects",
)
BODY = "responseBody"  # no event of the Inspector's: what it answers when it is asked for one
# The engine's three words are the upper three of a HAR.
PRIORITIES = {"high": "VeryHigh", "medium": "High", "low": "Medium"}
UNKNOWN = "Unknown"  # the version of TLS of a connection that has none


def read(told: Path) -> BrowserLog:
    """Read what the Inspector told, also of a browser that was killed; raises TestbedFailed when there is nothing."""
    try:
        return parse(told.read_text(encoding="utf-8"))
    except OSError as error:
        raise TestbedFailed(f"WebKit left no log: {error}") from error


def parse(told: str) -> BrowserLog:
    """`read` on text: one event a line."""
    events = Events()
    for event in entries(told):
        events.note(event)
    asked_for = [
        told_request
        for told_request in events.asked_for
        if told_request.url.startswith(OF_THE_NETWORK) and not told_request.from_memory
    ]
    carriers: dict[str, list[ToldRequest]] = {}
    for request in asked_for:
        if request.carrier:
            carriers.setdefault(request.carrier, []).append(request)
    made = {carrier: _connection(carrier, carried) for carrier, carried in carriers.items()}
    return BrowserLog(
        tuple(told_request.request(events.main_frame) for told_request in asked_for),
        tuple(made.values()),
        lookups=_lookups(carriers),
        in_main_thread=True,
        as_sent=as_sent,
        tells_own=False,
    )


@dataclass
class ToldRequest:
    """A request being put together; a redirect makes another one of the same number."""

    number: str
    chain: int
    frame: str
    kind: str
    asked: Mapping[str, Any]
    asked_ms: float
    offset_ms: float
    answer: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Any] = field(default_factory=dict)
    over_ms: float | None = None
    ended_ms: float | None = None
    error: str = ""
    cancelled: bool = False
    body: bytes | None = None

    @property
    def url(self) -> str:
        """As it was sent."""
        return as_sent(str(self.asked["url"]))

    @property
    def from_memory(self) -> bool:
        """Whether the page had it already and asked nobody. It is no request then: other engines do not tell of those
        at all.
        """
        return self.answer.get("source") == MEMORY_CACHE and self.answer.get("status") != NOT_MODIFIED

    @property
    def carrier(self) -> str:
        """The connection that carried it, by the engine's number; "" where that is not told."""
        return str(self.metrics.get("connectionIdentifier", ""))

    def at(self, phase: str) -> float | None:
        """When a phase was, by the engine's network; None for one that the request did not have."""
        timing = self.answer.get("timing", {})
        if "fetchStart" not in timing:
            return None
        since = 0.0 if phase == "fetchStart" else float(timing.get(phase, 0.0))
        return round(float(timing["fetchStart"]) * 1000 + self.offset_ms + since, DIGITS)

    def span(self, begin: str, end: str) -> Span | None:
        """From one phase to another; None where there was none: a request on a connection that is there already has
        none of those before, and what is told of them is 0 or makes no sense.
        """
        timing = self.answer.get("timing", {})
        if not 0 <= timing.get(begin, 0) < timing.get(end, 0):
            return None
        return Span(self.at(begin) or 0.0, self.at(end) or 0.0)

    def request(self, main_frame: str) -> Request:
        sent = _pairs(self.metrics.get("requestHeaders") or self.asked.get("headers", {}))
        status = int(self.answer["status"]) if self.answer.get("status") else None
        head = {name.lower(): value for name, value in sent}
        protocol = self.metrics.get("protocol") or None
        return Request(
            url=self.url,
            method=str(self.asked["method"]),
            of_page=True,
            main_frame=self.kind == DOCUMENT and self.frame == main_frame,
            started_ms=max(self.asked_ms, self.at("fetchStart") or 0.0),
            asked_ms=self.asked_ms,
            protocol=protocol,
            status=status,
            failure=self._failure,
            body_bytes=None,  # what is told counts the frames of HTTP/2, too
            chain=self.chain,
            answered_ms=(self.at("responseStart") or self.over_ms) if status else None,
            tls=_tls(self.metrics),
            ended_ms=self.ended_ms,
            accepts=head.get("sec-fetch-dest") or head.get("accept", ""),
            mime=str(self.answer.get("mimeType", "")).partition(";")[0].strip().lower(),
            sent=tuple(head.items()) if protocol else (),
            exchange=Exchange(
                connection=self.carrier or None,
                sending_ms=self.at("requestStart"),
                asked_with=sent,
                answered_with=_pairs(self.answer.get("headers", {})),
                status_line=self._status_line(protocol),
                decoded_bytes=self.metrics.get("responseBodyDecodedSize"),
                decoded=self.body,
                priority=PRIORITIES.get(self.metrics.get("priority", ""), ""),
                error=self.error if self._failure is not None else "",
                over_ms=self.over_ms,
            ),
        )

    @property
    def _failure(self) -> Failure | None:
        """What WebKit itself gives up, as a script with an error status, is told like what the page takes back; what
        was under way when the browser was closed is taken back by that.
        """
        if not self.error:
            return Failure.ABORTED if self.over_ms is None and not self.answer else None
        if self.cancelled:
            return None if int(self.answer.get("status", 0)) >= ERROR_STATUS else Failure.ABORTED
        return Failure.REFUSED if any(word in self.error for word in RULES) else Failure.TRANSPORT

    def _status_line(self, protocol: str | None) -> str:
        if not self.answer.get("status"):
            return ""
        version = (protocol or "HTTP").upper()
        return f"{version} {self.answer['status']} {self.answer.get('statusText', '')}".strip()


def as_sent(url: str) -> str:
    """The URL that goes over the network for one of a page. WebKit's network library (libsoup, by GUri of GLib) writes
    escapes in capitals, and those of characters that need none as the characters.
    """
    address, mark, fragment = without_user(url).partition("#")
    return f"{_ESCAPE.sub(_sent_escape, address)}{mark}{fragment}"


def _sent_escape(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in UNRESERVED else escape[0].upper()


class Events:
    """The events of a log, taken in one after the other."""

    def __init__(self) -> None:
        self.asked_for: list[ToldRequest] = []
        self.main_frame = ""
        self._last: dict[str, ToldRequest] = {}
        self._chains: dict[str, int] = {}

    def note(self, event: Mapping[str, Any]) -> None:
        domain, _, name = event["method"].partition(".")
        told = event["params"]
        if domain != "Network" or "requestId" not in told:
            return
        if name == "requestWillBeSent":
            self._asked(told)
            return
        request = self._last.get(told["requestId"])
        if request is None:
            return
        if name == "responseReceived":
            request.answer = told["response"]
        elif name == "dataReceived":
            request.ended_ms = self._time(request, told)
        elif name == BODY:
            request.body = _bytes(told)
        elif name == "loadingFinished":
            request.over_ms = self._time(request, told)
            request.ended_ms = request.ended_ms or request.over_ms
            request.metrics = told.get("metrics", {})
        elif name == "loadingFailed":
            request.over_ms = self._time(request, told)
            request.error, request.cancelled = str(told["errorText"]), bool(told.get("canceled"))

    def _asked(self, told: Mapping[str, Any]) -> None:
        number, offset_ms = told["requestId"], (told["walltime"] - told["timestamp"]) * 1000
        before = self._last.get(number)
        at_ms = round(told["walltime"] * 1000, DIGITS)
        if before is not None and "redirectResponse" in told:
            before.answer, before.over_ms = told["redirectResponse"], at_ms
            before.ended_ms = at_ms
        kind = told.get("type", "") or (before.kind if before else "")
        chain = self._chains.setdefault(number, len(self._chains) + 1)
        request = ToldRequest(number, chain, told["frameId"], kind, told["request"], at_ms, offset_ms)
        if not self.main_frame and kind == DOCUMENT:
            self.main_frame = request.frame
        self._last[number] = request
        self.asked_for.append(request)

    @staticmethod
    def _time(request: ToldRequest, told: Mapping[str, Any]) -> float:
        return round(float(told["timestamp"]) * 1000 + request.offset_ms, DIGITS)


def _connection(carrier: str, carried: list[ToldRequest]) -> Connection:
    """By the first request that it carried: the others found it made.

    How long its handshake took is not known when it began before the request's clock: the begin is told as 0 then.
    """
    first = next((request for request in carried if request.span("connectStart", "connectEnd")), carried[0])
    connecting = first.span("connectStart", "connectEnd")
    securing = (
        first.span("secureConnectionStart", "connectEnd") if connecting and _tls(first.metrics) else None
    )
    handshake_ms = None
    if connecting is not None and first.answer["timing"].get("connectStart"):
        ended = securing.began_ms if securing else connecting.ended_ms
        handshake_ms = round(ended - connecting.began_ms, DIGITS)
    return Connection(
        remote=str(first.metrics.get("remoteAddress", "")),
        local=carrier,
        tls=_tls(first.metrics),
        alpn=first.metrics.get("protocol"),
        resumed=None,
        connect_ms=handshake_ms,
        connecting=connecting,
        securing=securing,
    )


def _lookups(carriers: Mapping[str, list[ToldRequest]]) -> dict[str, tuple[Span, ...]]:
    """The look-ups of each name, as the first requests of connections had them."""
    lookups: dict[str, tuple[Span, ...]] = {}
    for carried in carriers.values():
        for request in carried:
            took = request.span("domainLookupStart", "domainLookupEnd")
            if took is not None and took.ended_ms > took.began_ms:
                host = urlsplit(request.url).hostname or ""
                lookups[host] = (*lookups.get(host, ()), took)
    return lookups


def _tls(metrics: Mapping[str, Any]) -> str | None:
    """The version of TLS, as Chromium names it."""
    told = metrics.get("securityConnection", {}).get("protocol")
    return None if told in (None, "", UNKNOWN) else str(told)


def _bytes(told: Mapping[str, Any]) -> bytes:
    """A body; a text is told as such, and becomes UTF-8."""
    text = str(told["body"])
    return base64.b64decode(text) if told["base64Encoded"] else text.encode("utf-8", "replace")


def _pairs(headers: Mapping[str, Any]) -> Headers:
    return tuple((name, str(value)) for name, value in headers.items())

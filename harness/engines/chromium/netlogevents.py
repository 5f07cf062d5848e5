"""What single events of a NetLog tell: their sources and names, connections and look-ups, a request in detail."""

from __future__ import annotations

import base64
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from harness.engines.browserlog import Connection, Exchange, Span
from harness.errors import TestbedFailed
from harness.model.protocol import Headers

# The events that are read, by the kind of their source; the log of a page has thousands of others.
READ: Mapping[str, frozenset[str]] = {
    "URL_REQUEST": frozenset(
        {
            "CANCELLED",
            "REQUEST_ALIVE",
            "URL_REQUEST_START_JOB",
            "URL_REQUEST_SET_PRIORITY",
            "URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED",
            "URL_REQUEST_JOB_BYTES_READ",
            "URL_REQUEST_JOB_FILTERED_BYTES_READ",
            "HTTP_STREAM_REQUEST_BOUND_TO_JOB",
            "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION",
            "HTTP_TRANSACTION_SEND_REQUEST",
            "HTTP_TRANSACTION_SEND_REQUEST_HEADERS",
            "HTTP_TRANSACTION_HTTP2_SEND_REQUEST_HEADERS",
            "HTTP_TRANSACTION_QUIC_SEND_REQUEST_HEADERS",
            "HTTP_TRANSACTION_READ_RESPONSE_HEADERS",
        }
    ),
    "SOCKET": frozenset({"TCP_CONNECT", "TCP_CONNECT_ATTEMPT", "SSL_CONNECT"}),
    "QUIC_SESSION": frozenset(
        {
            "QUIC_SESSION",
            "QUIC_SESSION_PACKET_SENT",
            "QUIC_SESSION_PACKET_RECEIVED",
            "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE",
        }
    ),
    "HTTP2_SESSION": frozenset({"HTTP2_SESSION_INITIALIZED", "HTTP2_SESSION_SEND_SETTINGS"}),
    "HTTP_STREAM_JOB": frozenset(
        {
            "SOCKET_POOL_BOUND_TO_SOCKET",
            "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET",
            "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION",
            "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL",
        }
    ),
    "HOST_RESOLVER_IMPL_JOB": frozenset({"HOST_RESOLVER_MANAGER_JOB"}),
}


class Event(NamedTuple):
    """One event; a tuple, since a log has thousands."""

    name: str
    time_ms: int
    begins: bool
    ends: bool
    parameters: Mapping[str, Any]

    @property
    def leads_to(self) -> int | None:
        """The number of the source it refers to."""
        there = self.parameters.get("source_dependency")
        return None if there is None else int(there["id"])


@dataclass(frozen=True)
class EventLog:
    """A NetLog. `sources` are its events by the kind of their source and its number; `whole`: it was not cut off.
    `last_ms` is the time of the last event of one that was.
    """

    sources: Mapping[str, Mapping[int, Sequence[Event]]]
    constants: Mapping[str, Any]
    whole: bool
    errors: Mapping[int, str] = field(default_factory=dict)
    last_ms: float = math.inf

    def of(self, kind: str) -> Mapping[int, Sequence[Event]]:
        return self.sources.get(kind, {})

    @property
    def browser(self) -> tuple[str, str] | None:
        """Name and version."""
        told = self.constants.get("clientInfo", {})
        return (str(told["name"]), str(told["version"])) if {"name", "version"} <= set(told) else None

    @property
    def epoch_ms(self) -> float:
        """What makes a time of the log one since 1970."""
        return float(self.constants.get("timeTickOffset", 0))


def read_events(text: str) -> EventLog:
    """The log in a text, also one cut off by the browser's death; raises TestbedFailed when it cannot be read."""
    data, whole = _load(text)
    constants = data["constants"]
    names = {number: name for name, number in constants["logEventTypes"].items()}
    read = {number: READ[name] for name, number in constants["logSourceType"].items() if name in READ}
    kinds = {number: name for name, number in constants["logSourceType"].items()}
    begin, end = (constants["logEventPhase"][phase] for phase in ("PHASE_BEGIN", "PHASE_END"))
    sources: dict[str, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    nothing: frozenset[str] = frozenset()
    for event in data["events"]:
        source, name = event["source"], names.get(event["type"], "")
        if name not in read.get(source["type"], nothing):
            continue
        phase, told = event["phase"], event.get("params") or {}
        made = Event(name, int(event["time"]), phase == begin, phase == end, told)
        sources[kinds[source["type"]]][source["id"]].append(made)
    errors = {number: f"net::{name}" for name, number in constants.get("netError", {}).items()}
    last_ms = math.inf if whole else max((int(event["time"]) for event in data["events"]), default=-math.inf)
    return EventLog(sources, constants, whole, errors, last_ms)


def _load(text: str) -> tuple[Mapping[str, Any], bool]:
    """The log, and whether it is whole; a cut-off one is read to its last whole event: one stands on a line."""
    try:
        return json.loads(text), True
    except ValueError:
        head, marker, tail = text.partition('"events": [')
        whole = tail[: tail.rfind("},\n") + 1] if marker else ""
        try:
            return json.loads(f"{head}{marker}{whole}]}}"), False
        except ValueError as error:
            raise TestbedFailed(f"Chromium's NetLog cannot be read: {error}") from error


def spans(events: Sequence[Event], name: str) -> Iterator[tuple[Span, Event]]:
    """From the beginning to the end of what has that name, with the event that ends it."""
    began: int | None = None
    for event in events:
        if event.name != name:
            continue
        if event.begins:
            began = event.time_ms
        elif event.ends and began is not None:
            yield Span(began, event.time_ms), event
            began = None


def headers_of(event: Event) -> Headers:
    """The headers of an event, without those that HTTP/2 and 3 make of the start line."""
    lines = event.parameters.get("headers", [])
    pairs = (line.partition(":") for line in lines if not line.startswith(":"))
    return tuple((name, value.strip()) for name, colon, value in pairs if colon)


HANDSHAKE_COMPLETE = "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE"


def connections_of(log: EventLog) -> dict[int, Connection]:
    """Every connection that was established, by the number of its source."""
    connections = {number: _of_tcp(events) for number, events in log.of("SOCKET").items()}
    connections |= {number: _of_quic(events) for number, events in log.of("QUIC_SESSION").items()}
    return {number: made for number, made in sorted(connections.items()) if made is not None}


def carriers_of(log: EventLog) -> dict[int, int]:
    """The source of the connection that a job of HTTP/1.1 or HTTP/2 got for its request, by the job's number."""
    of_session = dict(_led(log.of("HTTP2_SESSION"), "HTTP2_SESSION_INITIALIZED"))
    jobs = log.of("HTTP_STREAM_JOB")
    carriers = dict(_led(jobs, "SOCKET_POOL_BOUND_TO_SOCKET"))
    for name in (
        "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET",
        "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION",
        "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL",
    ):
        for job, session in _led(jobs, name):
            if session in of_session:  # it may have another socket than the one the job had made
                carriers[job] = of_session[session]
    return carriers


def lookups_of(log: EventLog) -> dict[str, tuple[Span, ...]]:
    """The look-ups of each name."""
    lookups: dict[str, tuple[Span, ...]] = {}
    for events in log.of("HOST_RESOLVER_IMPL_JOB").values():
        asked = next((event.parameters["host"] for event in events if "host" in event.parameters), "")
        name = urlsplit(asked).hostname or asked
        for took, _ in spans(events, "HOST_RESOLVER_MANAGER_JOB"):
            lookups[name] = (*lookups.get(name, ()), took)
    return lookups


def _led(sources: Mapping[int, Sequence[Event]], name: str) -> Iterator[tuple[int, int]]:
    """The source that the last event of that name leads to, of each source that has one."""
    for number, events in sources.items():
        led = [event.leads_to for event in events if event.name == name]
        if led and led[-1] is not None:
            yield number, led[-1]


def _of_tcp(events: Sequence[Event]) -> Connection | None:
    remote = local = tls = alpn = None
    resumed = securing = None
    attempts = [took for took, _ in spans(events, "TCP_CONNECT_ATTEMPT")]
    for _, end in spans(events, "TCP_CONNECT"):
        remote = end.parameters.get("remote_address")
        local = end.parameters.get("local_address")
    for took, end in spans(events, "SSL_CONNECT"):
        if "version" in end.parameters:
            securing, tls = took, end.parameters["version"]
            alpn, resumed = end.parameters.get("next_proto"), end.parameters.get("is_resumed")
    if not remote:
        return None
    last = attempts[-1] if attempts else None
    took_ms = last.ended_ms - last.began_ms if last else None
    whole = Span(last.began_ms, securing.ended_ms if securing else last.ended_ms) if last else None
    return Connection(remote, local or "", tls, alpn, resumed, took_ms, whole, securing)


def _of_quic(events: Sequence[Event]) -> Connection | None:
    """QUIC has TLS 1.3 built in; there is no other."""
    sent = [event for event in events if event.name == "QUIC_SESSION_PACKET_SENT"]
    received = next((event for event in events if event.name == "QUIC_SESSION_PACKET_RECEIVED"), None)
    if not sent or received is None:
        return None
    early = any(event.parameters.get("encryption_level") == "ENCRYPTION_ZERO_RTT" for event in sent)
    ready = next((event for event in events if event.name == HANDSHAKE_COMPLETE), received)
    whole = Span(events[0].time_ms, ready.time_ms)
    remote, local = received.parameters["peer_address"], received.parameters["self_address"]
    took_ms = received.time_ms - sent[0].time_ms
    return Connection(remote, local, "TLS 1.3", "h3", early, took_ms, whole, whole)


SENDS = "HTTP_TRANSACTION_SEND_REQUEST"
# Headers of the answer, and those that the browser makes for a redirect of its own.
ANSWERS = ("HTTP_TRANSACTION_READ_RESPONSE_HEADERS", "URL_REQUEST_FAKE_RESPONSE_HEADERS_CREATED")
BODY, PLAIN_BODY = "URL_REQUEST_JOB_BYTES_READ", "URL_REQUEST_JOB_FILTERED_BYTES_READ"
# Priorities of the network by the names that Chromium's inspector shows for them, and HARs have.
PRIORITIES = {"HIGHEST": "VeryHigh", "MEDIUM": "High", "LOW": "Medium", "LOWEST": "Low", "IDLE": "VeryLow"}


@dataclass
class ExchangeEvents:
    """What the events of a request have told so far. `job` and `session` are the sources of what carried it."""

    priority: str = ""
    asked_with: Headers = ()
    initiator: str = ""
    job: int | None = None
    session: int | None = None
    sending_ms: int | None = None
    sent_ms: int | None = None
    answered_with: Headers = ()
    status_line: str = ""
    arrived: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    bodies: dict[str, list[str]] = field(default_factory=dict)
    net_error: int | None = None
    over_ms: int | None = None
    cancelled: bool = False

    def note(self, event: Event) -> None:
        """Take in an event of the request."""
        told = event.parameters
        if event.name == "HTTP_STREAM_REQUEST_BOUND_TO_JOB":
            self.job = event.leads_to
        elif event.name == "HTTP_STREAM_REQUEST_BOUND_TO_QUIC_SESSION":
            self.session = event.leads_to
        elif event.name == "URL_REQUEST_SET_PRIORITY":
            self.priority = told.get("priority", self.priority)
        elif event.name == SENDS and event.begins:
            self.sending_ms = event.time_ms
        elif event.name == SENDS and event.ends:
            self.sent_ms = event.time_ms
        elif event.name.startswith("HTTP_TRANSACTION_") and event.name.endswith("SEND_REQUEST_HEADERS"):
            self.asked_with = headers_of(event)
        elif event.name in ANSWERS:
            self._note_answer(event)
        elif event.name in (BODY, PLAIN_BODY):
            self._note_body(event)
        elif event.name == "CANCELLED":
            self.cancelled = True

    def _note_answer(self, event: Event) -> None:
        self.answered_with = headers_of(event)
        self.status_line = next(iter(event.parameters.get("headers", [])), "")

    def _note_body(self, event: Event) -> None:
        arrived = self.arrived.setdefault(event.name, [])
        before = arrived[-1][1] if arrived else 0
        arrived.append((event.time_ms, before + event.parameters.get("byte_count", 0)))
        if "bytes" in event.parameters:
            self.bodies.setdefault(event.name, []).append(event.parameters["bytes"])

    def end(self, time_ms: int, net_error: int | None = None) -> None:
        """The request is over, perhaps with an error."""
        self.over_ms = time_ms
        self.net_error = net_error or self.net_error

    def body(self, *names: str) -> bytes | None:
        """The body by the first of these events that the log holds; None when it holds none."""
        for name in names:
            if name in self.bodies:
                return b"".join(map(base64.b64decode, self.bodies[name]))
        return None

    @property
    def came(self) -> tuple[tuple[float, int], ...]:
        """How many bytes of the body, as it travelled, had come by which time."""
        raw = self.arrived.get(BODY, [])
        return tuple(raw if raw and raw[-1][1] else self.arrived.get(PLAIN_BODY, []))

    def finished(self, carried: str | None, errors: Mapping[int, str]) -> Exchange:
        """The exchange; `carried` is the `local` of the connection that carried it, `errors` are names of errors."""
        plain = self.arrived.get(PLAIN_BODY)
        return Exchange(
            connection=carried,
            sending_ms=self.sending_ms,
            sent_ms=self.sent_ms,
            asked_with=self.asked_with,
            answered_with=self.answered_with,
            status_line=self.status_line,
            decoded_bytes=plain[-1][1] if plain else None,
            decoded=self.body(PLAIN_BODY, BODY),
            priority=PRIORITIES.get(self.priority, self.priority),
            initiator=self.initiator,
            error=errors.get(self.net_error, f"net::{self.net_error}") if self.net_error else "",
            over_ms=self.over_ms,
            arrived=self.came,
            cancelled=self.cancelled,
        )

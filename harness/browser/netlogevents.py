"""The events of a NetLog by the source they are of, with names in the place of numbers."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from harness.browser.browserlog import Headers, Span
from harness.errors import TestbedFailed

# The events that are read, by the kind of their source; the log of a page has thousands of others.
READ: Mapping[str, frozenset[str]] = {
    "URL_REQUEST": frozenset(
        {
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
    """A NetLog. `sources` are its events by the kind of their source and its number; `whole`: it was not cut off."""

    sources: Mapping[str, Mapping[int, Sequence[Event]]]
    constants: Mapping[str, Any]
    whole: bool
    errors: Mapping[int, str] = field(default_factory=dict)

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
    found: dict[str, dict[int, list[Event]]] = defaultdict(lambda: defaultdict(list))
    nothing: frozenset[str] = frozenset()
    for event in data["events"]:
        source, name = event["source"], names.get(event["type"], "")
        if name not in read.get(source["type"], nothing):
            continue
        phase, told = event["phase"], event.get("params") or {}
        made = Event(name, int(event["time"]), phase == begin, phase == end, told)
        found[kinds[source["type"]]][source["id"]].append(made)
    errors = {number: f"net::{name}" for name, number in constants.get("netError", {}).items()}
    return EventLog(found, constants, whole, errors)


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

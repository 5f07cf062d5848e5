"""The connections in a NetLog, which of them carried a request, and the look-ups of names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from harness.browser.browserlog import Connection, Span
from harness.browser.netlogevents import Event, EventLog, spans

HANDSHAKE_COMPLETE = "QUIC_SESSION_CRYPTO_HANDSHAKE_COMPLETE"


def connections_of(log: EventLog) -> dict[int, Connection]:
    """Every connection that was established, by the number of its source."""
    found = {number: _of_tcp(events) for number, events in log.of("SOCKET").items()}
    found |= {number: _of_quic(events) for number, events in log.of("QUIC_SESSION").items()}
    return {number: made for number, made in sorted(found.items()) if made is not None}


def carriers_of(log: EventLog) -> dict[int, int]:
    """The source of the connection that a job of HTTP/1.1 or HTTP/2 got for its request, by the job's number."""
    of_session = dict(_led(log.of("HTTP2_SESSION"), "HTTP2_SESSION_INITIALIZED"))
    jobs = log.of("HTTP_STREAM_JOB")
    found = dict(_led(jobs, "SOCKET_POOL_BOUND_TO_SOCKET"))
    for name in (
        "HTTP2_SESSION_POOL_IMPORTED_SESSION_FROM_SOCKET",
        "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION",
        "HTTP2_SESSION_POOL_FOUND_EXISTING_SESSION_FROM_IP_POOL",
    ):
        for job, session in _led(jobs, name):
            if session in of_session:  # it may have another socket than the one the job had made
                found[job] = of_session[session]
    return found


def lookups_of(log: EventLog) -> dict[str, tuple[Span, ...]]:
    """The look-ups of each name."""
    found: dict[str, tuple[Span, ...]] = {}
    for events in log.of("HOST_RESOLVER_IMPL_JOB").values():
        asked = next((each.parameters["host"] for each in events if "host" in each.parameters), "")
        name = urlsplit(asked).hostname or asked
        for took, _ in spans(events, "HOST_RESOLVER_MANAGER_JOB"):
            found[name] = (*found.get(name, ()), took)
    return found


def _led(sources: Mapping[int, Sequence[Event]], name: str) -> Iterator[tuple[int, int]]:
    """The source that the last event of that name leads to, of each source that has one."""
    for number, events in sources.items():
        led = [each.leads_to for each in events if each.name == name]
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
    sent = [each for each in events if each.name == "QUIC_SESSION_PACKET_SENT"]
    received = next((each for each in events if each.name == "QUIC_SESSION_PACKET_RECEIVED"), None)
    if not sent or received is None:
        return None
    early = any(each.parameters.get("encryption_level") == "ENCRYPTION_ZERO_RTT" for each in sent)
    ready = next((each for each in events if each.name == HANDSHAKE_COMPLETE), received)
    whole = Span(events[0].time_ms, ready.time_ms)
    remote, local = received.parameters["peer_address"], received.parameters["self_address"]
    took_ms = received.time_ms - sent[0].time_ms
    return Connection(remote, local, "TLS 1.3", "h3", early, took_ms, whole, whole)

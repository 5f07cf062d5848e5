"""Probe of the server's log: what it answered, by which protocol, on which connections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import Outcome
from harness.model.engine import Capability
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.model.protocol import Protocol
from harness.probes import proofs
from harness.probes.evidence import Blame, Evidence, Fault, ServerAnswers
from harness.probes.probe import Instant, Load, MeasuredClient, Probe
from sites.servers.server import ServedRequest, served_to

if TYPE_CHECKING:
    from harness.engines.browsers import FreshBrowser

LOG_STEP_US = 2000  # nginx tells times in whole ms


@dataclass(frozen=True)
class ServerLogMetrics:
    """What the server was asked for."""

    server_requests: int | None = metric(
        "Requests answered",
        Unit.COUNT,
        Source.SERVER_LOG,
        "requests that came until the browser was closed, and that the server answered",
        Column(MetricTable.SERVER, 1),
    )
    server_connections: int | None = metric(
        "Connections of the server",
        Unit.COUNT,
        Source.SERVER_LOG,
        "connections that carried one of `server_requests`",
        Column(MetricTable.SERVER, 2, "Connections"),
    )
    pipelining_depth: int | None = metric(
        "Pipelined",
        Unit.COUNT,
        Source.SERVER_LOG,
        "of HTTP/1.1: the most requests of a connection at the server at once",
        Column(MetricTable.TRAFFIC, 9),
    )
    spdy_streams: int | None = metric(
        "SPDY streams",
        Unit.COUNT,
        Source.SERVER_LOG,
        "of SPDY: SYN_STREAM frames the server got, over all connections",
        Column(MetricTable.TRAFFIC, 10),
        needs=Capability.SPDY,
    )


class ServerLogProbe(Probe):
    """The server's log counts from the moment the probe is made, and is read when the browser has gone."""

    metrics = ServerLogMetrics
    reasons = (
        Fault(Blame.PROTOCOL, Outcome.WRONG_PROTOCOL, proofs.wrong_at_server, of_replay=True),
        Fault(Blame.PROTOCOL, Outcome.WRONG_PROTOCOL, proofs.not_pipelined, of_replay=True),
    )
    requests: tuple[ServedRequest, ...] | None = None
    offset: int = 0

    @classmethod
    def wanted(cls, load: Load) -> bool:
        return not load.setup.live

    def begin(self) -> None:
        self.offset = self.load.endpoint.server.log_offset

    def after(self, fresh: FreshBrowser, client: MeasuredClient) -> None:
        del fresh
        self.requests = served_to(self.load.endpoint.server.requests(self.offset), client.address)

    def seen(self) -> ServerAnswers:
        return ServerAnswers(_until(self.requests, self.load.ended))

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        seen, protocol = evidence.of(ServerAnswers), evidence.setup.protocol
        served = seen.requests
        return {
            "server_requests": None if served is None else len(served),
            "server_connections": None if served is None else len({request.connection for request in served}),
            "pipelining_depth": seen.pipelining_depth if protocol.wire == "http/1.1" else None,
            "spdy_streams": _streams(served) if protocol.wire == Protocol.SPDY.wire else None,
        }


def _until(served: tuple[ServedRequest, ...] | None, end: Instant | None) -> tuple[ServedRequest, ...] | None:
    """What the server had been asked for at that time."""
    if served is None or end is None:
        return served
    return tuple(request for request in served if request.started_us <= end.since_1970_us + LOG_STEP_US)


def _streams(served: Iterable[ServedRequest] | None) -> int | None:
    """The SYN_STREAM frames the server got, over all connections."""
    streams: dict[object, int] = {}
    for request in served or ():
        if request.protocol == Protocol.SPDY.wire and request.requests_before is not None:
            streams[request.connection] = max(streams.get(request.connection, 0), request.requests_before + 1)
    return sum(streams.values()) if streams else None

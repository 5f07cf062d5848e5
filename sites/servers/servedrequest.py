"""A request as a replay server has logged it, and how it was answered from the archive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness.model.protocol import Protocol


class Match(StrEnum):
    """How a request was answered from the archive; `preflight` is a CORS question, always answered with yes."""

    EXACT = "exact"
    CLOSEST = "closest"
    MISS = "miss"
    PREFLIGHT = "preflight"


@dataclass(frozen=True)
class ServedRequest:
    """One request as the server logged it, at its end. Fields the server does not log are None.

    `protocol` is named as ALPN does (`http/1.1`, `h2`, `spdy/3`). The client's address and port tell a connection.
    `body_bytes` are those of the body alone. `requests_before` counts the earlier requests on the connection.
    `websocket` is a handshake for one: it needs a connection of its own, in HTTP/1.1 whatever the page's protocol.
    `depth` is how many requests of the connection were waiting or under way once this one had been read, itself
    included: 1 when it was not pipelined (of nginx see its log).
    """

    started_us: int
    duration_us: int
    client_address: str
    client_port: int
    server_address: str
    server_port: int
    protocol: str
    method: str
    host: str
    target: str
    status: int
    body_bytes: int
    requests_before: int | None
    tls: str | None
    resumed: bool
    match: Match
    websocket: bool = False
    depth: int | None = None

    @classmethod
    def logged(cls, values: Mapping[str, Any], **own: Any) -> ServedRequest:
        """One by the values of its line in a log, under our names and `upgrade`, the header; `own` are read already."""
        return cls(
            client_address=values["client_address"],
            client_port=int(values["client_port"]),
            server_address=values["server_address"],
            server_port=int(values["server_port"]),
            host=values["host"].lower(),
            status=int(values["status"]),
            body_bytes=int(values["body_bytes"]),
            websocket=values["upgrade"].lower() == "websocket",
            **own,
        )

    @property
    def url(self) -> str:
        secure = self.tls or self.protocol == Protocol.SPDY.wire  # a page asks by SPDY for https only
        return f"{'https' if secure else 'http'}://{self.host}{self.target}"

    @property
    def connection(self) -> tuple[str, int, str, int]:
        return self.client_address, self.client_port, self.server_address, self.server_port


def served_to(requests: Iterable[ServedRequest], client: str) -> tuple[ServedRequest, ...]:
    """The requests of one client: of one trial, as each has an address of its own."""
    return tuple(request for request in requests if request.client_address == client)

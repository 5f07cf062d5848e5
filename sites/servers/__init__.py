"""Production web servers that serve a materialised site, one module each; this one holds what they share."""

from __future__ import annotations

from dataclasses import dataclass

from harness.model import Protocol


@dataclass(frozen=True)
class Service:
    """One protocol on one address of the server host."""

    protocol: Protocol
    address: str


@dataclass(frozen=True)
class ServedRequest:
    """One request as the server logged it, at its end. Fields the server does not log are None.

    `protocol` is named as ALPN does (`http/1.1`, `h2`). The client's address and port tell a connection.
    `bytes_sent` and `bytes_received` are bytes on the socket with headers (and, over TLS, the handshake in
    the first request of a connection), `body_bytes` those of the body alone. `requests_before` counts the
    earlier requests on the connection. `hit` means answered from the archive, or a CORS preflight.
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
    bytes_sent: int
    bytes_received: int
    requests_before: int | None
    tls: str | None
    resumed: bool
    hit: bool
    preflight: bool

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}{self.target}"

    @property
    def connection(self) -> tuple[str, int]:
        return self.client_address, self.client_port

"""What the server's log says of a crowd, counted as it is read: such a log may have millions of lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sites.servers.server import ServedRequest

NO_TLS = "none"


@dataclass(frozen=True)
class ServedCounts:
    """How many requests of the crowd the server logged: by protocol (ALPN name), and by version of TLS."""

    requests: int
    by_protocol: Mapping[str, int]
    by_tls: Mapping[str, int]
    resumed: int = 0


def counted(requests: Iterable[ServedRequest], clients: Collection[str]) -> ServedCounts:
    """The requests of these addresses, but for handshakes of WebSockets."""
    protocols: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    resumed = 0
    for each in requests:
        if each.client_address in clients and not each.websocket:
            protocols[each.protocol] += 1
            versions[each.tls or NO_TLS] += 1
            resumed += each.resumed
    return ServedCounts(protocols.total(), dict(protocols), dict(versions), resumed)

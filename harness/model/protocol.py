"""The protocols by which a page is loaded."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

# As they travelled, in their order; HTTP/2 and 3 have names in lower case.
Headers = tuple[tuple[str, str], ...]


class Protocol(StrEnum):
    """How bytes travel, one line per protocol; the order is that of tables.

    `scheme` is that of the page's URLs. `wire` is what the browser and the server must both report, named as ALPN and
    Resource Timing name it. `label` is the name for figures. Which engines speak it: `harness.model.engine`; which
    servers: `harness.study.rules`.
    """

    _value_: str
    scheme: str
    wire: str
    keep_alive: bool
    label: str

    def __new__(
        cls, value: str, scheme: str = "", wire: str = "", keep_alive: bool = True, label: str = ""
    ) -> Protocol:
        member = str.__new__(cls, value)
        member._value_ = value
        member.scheme, member.wire, member.keep_alive, member.label = scheme, wire, keep_alive, label
        return member

    HTTP1_CLOSE = "http1-close", "http", "http/1.1", False, "HTTP/1.1, no keep-alive"
    HTTP1 = "http1", "http", "http/1.1", True, "HTTP/1.1"
    HTTP1_PIPELINED = "http1-pipelined", "http", "http/1.1", True, "HTTP/1.1, pipelined"
    HTTPS1_CLOSE = "https1-close", "https", "http/1.1", False, "HTTP/1.1 + TLS, no keep-alive"
    HTTPS1 = "https1", "https", "http/1.1", True, "HTTP/1.1 + TLS"
    HTTPS1_PIPELINED = "https1-pipelined", "https", "http/1.1", True, "HTTP/1.1 + TLS, pipelined"
    SPDY = "spdy", "https", "spdy/3", True, "SPDY (TLS)"
    SPDY_PLAIN = "spdy-plain", "https", "spdy/3", True, "SPDY, no TLS"
    H2 = "h2", "https", "h2", True, "HTTP/2 (TLS)"
    H3 = "h3", "https", "h3", True, "HTTP/3 (QUIC)"

    @property
    def over_quic(self) -> bool:
        """Whether it runs over UDP, in QUIC's own connections."""
        return self.wire == "h3"

    @property
    def pipelined(self) -> bool:
        """Whether the browser sends requests of HTTP/1.1 before the answers to earlier ones."""
        return self in (Protocol.HTTP1_PIPELINED, Protocol.HTTPS1_PIPELINED)

    @property
    def takes_depth(self) -> bool:
        """Whether a generator can have several requests under way on a connection, one behind the other."""
        return self in (Protocol.HTTP1, Protocol.HTTPS1)

    @property
    def encrypted(self) -> bool:
        """Whether there is TLS on the link, which the page's URLs alone do not tell."""
        return self.scheme == "https" and self is not Protocol.SPDY_PLAIN


# By the age of those that speak them. Browsers and servers of both ages speak HTTP/1.1, with keep-alive and without.
TODAY = (
    Protocol.HTTP1_CLOSE,
    Protocol.HTTP1,
    Protocol.HTTPS1_CLOSE,
    Protocol.HTTPS1,
    Protocol.H2,
    Protocol.H3,
)
OF_2012 = (
    Protocol.HTTP1_CLOSE,
    Protocol.HTTP1,
    Protocol.HTTP1_PIPELINED,
    Protocol.HTTPS1_CLOSE,
    Protocol.HTTPS1,
    Protocol.HTTPS1_PIPELINED,
    Protocol.SPDY,
    Protocol.SPDY_PLAIN,
)


def in_order(names: Iterable[str]) -> tuple[str, ...]:
    """Each protocol once: ours in their order, then those that nobody knows by name."""
    present, ours = set(names), [protocol.value for protocol in Protocol]
    return (*(name for name in ours if name in present), *sorted(present.difference(ours)))


def baseline(names: Iterable[str]) -> str | None:
    """What others are compared with: http1 where it is present, else the first in order."""
    protocols = in_order(names)
    return Protocol.HTTP1.value if Protocol.HTTP1.value in protocols else next(iter(protocols), None)

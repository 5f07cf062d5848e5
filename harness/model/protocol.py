"""The protocols by which a page is loaded."""

from __future__ import annotations

from enum import StrEnum

from harness.errors import StudyError
from harness.model.engine import BOTH, HISTORICAL, MODERN, Engine


class Protocol(StrEnum):
    """How bytes travel, one line per protocol; the order is that of tables.

    `scheme` is that of the page's URLs. `wire` is what the browser and the server must both report, named as ALPN and
    Resource Timing name it. `engines` are the browsers that speak it. `label` is the name for figures.
    """

    _value_: str
    scheme: str
    wire: str
    keep_alive: bool
    engines: frozenset[Engine]
    label: str

    def __new__(  # noqa: PLR0917 - a line of the table below
        cls,
        value: str,
        scheme: str = "",
        wire: str = "",
        keep_alive: bool = True,
        engines: frozenset[Engine] = BOTH,
        label: str = "",
    ) -> Protocol:
        member = str.__new__(cls, value)
        member._value_ = value
        member.scheme, member.wire, member.keep_alive = scheme, wire, keep_alive
        member.engines, member.label = engines, label
        return member

    HTTP1_CLOSE = "http1-close", "http", "http/1.1", False, MODERN, "HTTP/1.1, no keep-alive"
    HTTP1 = "http1", "http", "http/1.1", True, BOTH, "HTTP/1.1"
    HTTP1_PIPELINED = "http1-pipelined", "http", "http/1.1", True, HISTORICAL, "HTTP/1.1, pipelined"
    HTTPS1_CLOSE = "https1-close", "https", "http/1.1", False, MODERN, "HTTP/1.1 + TLS, no keep-alive"
    HTTPS1 = "https1", "https", "http/1.1", True, BOTH, "HTTP/1.1 + TLS"
    HTTPS1_PIPELINED = "https1-pipelined", "https", "http/1.1", True, HISTORICAL, "HTTP/1.1 + TLS, pipelined"
    SPDY = "spdy", "https", "spdy/3", True, HISTORICAL, "SPDY (TLS)"
    SPDY_PLAIN = "spdy-plain", "https", "spdy/3", True, HISTORICAL, "SPDY, no TLS"
    H2 = "h2", "https", "h2", True, MODERN, "HTTP/2 (TLS)"
    H3 = "h3", "https", "h3", True, MODERN, "HTTP/3 (QUIC)"

    @property
    def over_quic(self) -> bool:
        """Whether it runs over UDP, in QUIC's own connections."""
        return self.wire == "h3"

    @property
    def pipelined(self) -> bool:
        """Whether the browser sends requests of HTTP/1.1 before the answers to earlier ones."""
        return self in (Protocol.HTTP1_PIPELINED, Protocol.HTTPS1_PIPELINED)

    @property
    def encrypted(self) -> bool:
        """Whether there is TLS on the link, which the page's URLs alone do not tell."""
        return self.scheme == "https" and self is not Protocol.SPDY_PLAIN

    def refuse_unless_spoken_by(self, engine: Engine) -> None:
        """Raise StudyError when a browser does not speak it, naming the one that does."""
        if engine not in self.engines:
            able = ", ".join(sorted(self.engines))
            raise StudyError(f"engine: {engine} does not speak {self}; engines that do: {able}")


# What verifies a page unless another protocol is named.
USUAL_PROTOCOLS = {Engine.CHROMIUM: Protocol.H2, Engine.QTWEBKIT: Protocol.HTTP1}

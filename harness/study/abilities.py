"""What each replay server can do. `harness.study.rules` refuses what asks for more.

The servers themselves: `sites.servers`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from harness.model.compression import Compression
from harness.model.engine import DEFAULT_ENGINE
from harness.model.protocol import OF_2012, TODAY, Protocol

DEFAULT_SERVER = DEFAULT_ENGINE.traits.server


@dataclass(frozen=True)
class Ability:
    """The protocols a server speaks, and those by which it can let requests wait side by side (think time).

    `coding` holds the levels at which it can compress as it sends, by kind of compression; `resuming` is whether it can
    let a TLS session be resumed.
    """

    protocols: frozenset[Protocol]
    thinking: frozenset[Protocol] = frozenset()
    coding: Mapping[str, Collection[int]] = field(default_factory=dict)
    resuming: bool = True

    def compresses(self, compression: Compression) -> bool:
        """Whether text can be served so: what is coded beforehand, any server can."""
        return not compression.dynamic or compression.level in self.coding.get(compression.kind, ())


OVER_TCP = frozenset(TODAY) - {Protocol.H3}
# Apache and Caddy cannot tell whether requests were pipelined, so that nothing would prove it there.
PIPELINED = frozenset(protocol for protocol in Protocol if protocol.pipelined)
GZIP = range(1, 10)
CADDY_ZSTD = (1, 3, 7, 11)  # the four that its library has, by the level of zstd each comes near to
ABILITIES = {
    # Apache lets only six requests of an HTTP/2 connection begin at once and more as those end (mod_http2,
    # h2_mplx.c): their waiting would be added up.
    "apache": Ability(OVER_TCP, OVER_TCP - {Protocol.H2}, {"gzip": GZIP, "brotli": range(12)}),
    "caddy": Ability(frozenset(TODAY), coding={"gzip": GZIP, "zstd": CADDY_ZSTD}),
    "nginx": Ability(OVER_TCP | PIPELINED, OVER_TCP, {"gzip": GZIP}),
    "spdy-gateway": Ability(frozenset(OF_2012), frozenset(OF_2012), {"gzip": GZIP}, resuming=False),
}

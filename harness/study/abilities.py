"""What each replay server can do, so that a study that asks for more is refused when it is read.

The servers themselves: `sites.servers`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from harness.errors import StudyError
from harness.model.engine import Engine
from harness.model.protocol import Protocol
from harness.model.settings import Replay

DEFAULT_SERVERS = {Engine.CHROMIUM: "caddy", Engine.QTWEBKIT: "spdy-gateway"}
DEFAULT_SERVER = DEFAULT_SERVERS[Engine.CHROMIUM]


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


TODAY = tuple(protocol for protocol in Protocol if Engine.CHROMIUM in protocol.engines)
OVER_TCP = frozenset(TODAY) - {Protocol.H3}
# Apache and Caddy cannot tell whether requests were pipelined, so that nothing would prove it there.
PIPELINED = frozenset(protocol for protocol in Protocol if protocol.pipelined)
OF_2012 = frozenset(protocol for protocol in Protocol if Engine.QTWEBKIT in protocol.engines)
GZIP = range(1, 10)
CADDY_ZSTD = (1, 3, 7, 11)  # the four that its library has, by the level of zstd each comes near to
ABILITIES = {
    # Apache lets only six requests of an HTTP/2 connection begin at once and more as those end (mod_http2,
    # h2_mplx.c): their waiting would be added up.
    "apache": Ability(OVER_TCP, OVER_TCP - {Protocol.H2}, {"gzip": GZIP, "brotli": range(12)}),
    "caddy": Ability(frozenset(TODAY), coding={"gzip": GZIP, "zstd": CADDY_ZSTD}),
    "nginx": Ability(OVER_TCP | PIPELINED, OVER_TCP, {"gzip": GZIP}),
    "spdy-gateway": Ability(OF_2012, OF_2012, {"gzip": GZIP}, resuming=False),
}


def refuse_unless_reached(engine: Engine, page: str, hosts: Iterable[str]) -> None:
    """Raise StudyError when an engine does not reach one of a page's hosts: QtWebKit behind its hop, IPv6 addresses."""
    found = [host for host in hosts if ":" in host]
    if found and engine is Engine.QTWEBKIT:
        raise StudyError(
            f"page {page}: {engine} loads nothing from an IPv6 address here, and the page has [{found[0]}]; leave the "
            'page out, choose engine = "chromium", or archive it anew under a name'
        )


def refuse_unless_able(server: str, protocols: Iterable[Protocol], replay: Replay) -> None:
    """Raise StudyError when a server cannot do one of the protocols or a setting, naming those that can."""
    ability = ABILITIES[server]
    compression, think_time = replay.compression, replay.think_time
    if compression.dynamic and compression.level not in ability.coding.get(compression.kind, ()):
        able = [
            name
            for name, other in ABILITIES.items()
            if compression.level in other.coding.get(compression.kind, ())
        ]
        raise StudyError(
            f"compression: the server {server} cannot compress by {compression}; "
            + (
                f"servers that can: {', '.join(able)}"
                if able
                else "leave -dynamic out, or choose another level"
            )
        )
    if replay.tls_resumption and not ability.resuming:
        able = [name for name, other in ABILITIES.items() if other.resuming]
        raise StudyError(
            f"tls_resumption: the server {server} lets no session be resumed; servers that do: {', '.join(able)}"
        )
    for protocol in protocols:
        if protocol not in ability.protocols:
            able = [name for name, other in ABILITIES.items() if protocol in other.protocols]
            raise StudyError(
                f"server: {server} does not speak {protocol}; servers that do: {', '.join(able)}"
            )
        if think_time and protocol not in ability.thinking:
            able = [name for name, other in ABILITIES.items() if protocol in other.thinking]
            raise StudyError(
                f"think_time: the server {server} cannot let requests by {protocol} wait side by side; "
                + (f"servers that can: {', '.join(able)}" if able else f"leave {protocol} out, or think_time")
            )

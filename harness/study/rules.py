"""What cannot be measured, and why: what each replay server can do, and one rule per reason.

All that loads a page asks `check` first. The servers themselves: `sites.servers`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

from harness.errors import StudyError
from harness.model.condition import CODINGS, FULL_SPEED, HTTPS_ONLY, CacheState, Compression, Condition
from harness.model.engine import (
    BROWSERS,
    DEFAULT_ENGINE,
    DESKTOP,
    Capability,
    Device,
    Driver,
    Engine,
    engines_of,
    speaking,
)
from harness.model.kind import Kind
from harness.model.link import NO_LINK
from harness.model.protocol import OF_2012, TODAY, Protocol
from harness.model.settings import Replay
from harness.model.variant import AS_ARCHIVED, Variant

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


@dataclass(frozen=True, kw_only=True)
class Combination:
    """What the rules look at. `hosts` are those of the page, where its archive is at hand already."""

    page: str
    engine: Engine
    protocol: Protocol
    server: str
    replay: Replay
    driver: Driver | None = None  # the usual one
    device: Device = DESKTOP
    variant: Variant = AS_ARCHIVED
    hosts: tuple[str, ...] = ()
    per_client: bool = False
    emulated: bool = True  # the link
    kind: Kind | None = None  # one that the engine measures
    depth: int = 1
    cpu_slowdown: int = FULL_SPEED
    cache: CacheState = CacheState.COLD

    @property
    def ability(self) -> Ability:
        """What the server can do."""
        return ABILITIES[self.server]

    @classmethod
    def usual(cls, page: str, engine: Engine, variant: Variant) -> Combination:
        """A variant in an engine, with everything else as the engine has it where nothing is said."""
        return cls(
            page=page,
            engine=engine,
            protocol=engine.traits.usual_protocol,
            server=engine.traits.server,
            replay=Replay.usual(engine),
            variant=variant,
        )


@dataclass(frozen=True)
class Rule:
    """`breaks` tells whether a combination cannot be, `says` why and what to do, after the key of the study file."""

    name: str
    breaks: Callable[[Combination], bool]
    says: Callable[[Combination], str]


def check(condition: Condition, replay: Replay, program: str | None = None) -> None:
    """Raise StudyError with one line when a page cannot be loaded so, served with these settings.

    `program` is what runs as the condition's server, where that has a name of its own.
    """
    check_combination(
        Combination(
            page=condition.page,
            engine=condition.engine,
            protocol=condition.protocol,
            server=program or condition.server,
            replay=replay,
            driver=condition.driver,
            device=condition.device,
            variant=condition.variant,
            per_client=condition.link.per_client,
            emulated=condition.link.emulated,
            kind=condition.kind,
            depth=getattr(condition.workload, "depth", 1),
            cpu_slowdown=condition.cpu_slowdown,
            cache=condition.cache,
        )
    )


def check_combination(asked: Combination) -> None:
    """`check`, of what is known of a condition. The first rule that is broken is told."""
    for rule in RULES:
        if rule.breaks(asked):
            raise StudyError(rule.says(asked))


def unspoken(protocol: Protocol, engine: Engine, kind: Kind | None = None) -> str:
    """Why an engine cannot load by a protocol, in a study of a kind (None: the first that it measures)."""
    kind = kind or engine.traits.kinds[0]
    key, able = ("engine" if kind is Kind.LOAD else "generator"), ", ".join(speaking(protocol, kind))
    return f"{key}: {engine} does not speak {protocol}; {key}s that do: {able or 'none'}"


def unpipelined(protocol: Protocol) -> str:
    """Why a protocol cannot be measured with a depth above 1 alone."""
    return f"depth: {protocol} has no pipelining, which is of HTTP/1.1; leave {protocol} out, or put 1 among the depths"


def _servers(can: Callable[[Ability], bool]) -> str:
    """The servers that can do something; "" when none can."""
    return ", ".join(name for name, ability in ABILITIES.items() if can(ability))


def _engines(can: Callable[[Engine], bool]) -> str:
    return ", ".join(engine for engine in BROWSERS if can(engine))


def _names(things: Iterable[object]) -> str:
    return " or ".join(map(str, things))


def _not_served(asked: Combination) -> str:
    name, reason = next(iter(asked.variant.unserved_by_name(asked.engine).items()))
    return f"variant {asked.variant.name[:100]!r}: {reason}; leave {name} or {asked.engine} out"


def _not_coded(asked: Combination) -> str:
    wanted = asked.replay.compression
    able = _servers(lambda ability: ability.compresses(wanted))
    mend = f"servers that can: {able}" if able else "leave -dynamic out, or choose another level"
    return f"compression: the server {asked.server} cannot compress by {wanted}; {mend}"


def _not_thinking(asked: Combination) -> str:
    protocol = asked.protocol
    able = _servers(lambda ability: protocol in ability.thinking)
    mend = f"servers that can: {able}" if able else f"leave {protocol} out, or think_time"
    return (
        f"think_time: the server {asked.server} cannot let requests by {protocol} wait side by side; {mend}"
    )


def _ipv6(asked: Combination) -> list[str]:
    return [host for host in asked.hosts if ":" in host]


CLIENTS = {Kind.LOAD: "a page load has one client", Kind.REQUESTS: "a closed loop has one client"}
RULES: tuple[Rule, ...] = (
    Rule(
        "engine measures the kind",
        lambda asked: asked.kind is not None and asked.kind not in asked.engine.traits.kinds,
        lambda asked: (
            f"engine: {asked.engine} measures no {asked.kind}; engines that do: "
            f"{', '.join(engines_of(asked.kind or Kind.LOAD))}"
        ),
    ),
    Rule(
        "a link per client has several clients",
        lambda asked: asked.per_client and asked.kind is not Kind.USERS,
        lambda asked: (
            f"per_client: {CLIENTS[asked.kind or Kind.LOAD]}, which has the link to itself; leave per_client out"
        ),
    ),
    Rule(
        "pages are loaded over a link",
        lambda asked: (
            not asked.emulated and (asked.kind or asked.engine.traits.kinds[0]) is not Kind.REQUESTS
        ),
        lambda _: (
            f"links: {NO_LINK.name} is no link, and pages are loaded over one; name a link ({NO_LINK.name} goes with "
            f'kind = "{Kind.REQUESTS}")'
        ),
    ),
    Rule(
        "protocol takes requests behind each other",
        lambda asked: asked.depth > 1 and not asked.protocol.takes_depth,
        lambda asked: unpipelined(asked.protocol),
    ),
    Rule(
        "engine speaks protocol",
        lambda asked: asked.protocol not in asked.engine.traits.protocols,
        lambda asked: unspoken(asked.protocol, asked.engine, asked.kind),
    ),
    Rule(
        "driver steers engine",
        lambda asked: asked.driver is not None and asked.driver not in asked.engine.traits.drivers,
        lambda asked: (
            f"driver: {asked.driver} does not steer {asked.engine}; choose {_names(asked.engine.traits.drivers)}, or "
            "leave it out"
        ),
    ),
    Rule(
        "engine can be device",
        lambda asked: asked.device not in asked.engine.traits.devices,
        lambda asked: (
            f"device: {asked.engine} cannot be {asked.device}; choose {_names(asked.engine.traits.devices)}, "
            f"or leave {asked.engine} out"
        ),
    ),
    Rule(
        "engine slows its processor",
        lambda asked: asked.cpu_slowdown != FULL_SPEED and not asked.engine.can(Capability.SLOWS_CPU),
        lambda asked: (
            f"cpu_slowdown: nothing slows the processor for {asked.engine}; leave cpu_slowdown out, or choose an "
            f"engine that can ({_engines(lambda engine: engine.can(Capability.SLOWS_CPU))})"
        ),
    ),
    Rule(
        "engine keeps what it loaded",
        lambda asked: asked.cache is CacheState.WARM and not asked.engine.can(Capability.KEEPS_CACHE),
        lambda asked: (
            f"cache: {asked.engine} keeps nothing of a page here; leave {CacheState.WARM} out, or choose an engine "
            f"that does ({_engines(lambda engine: engine.can(Capability.KEEPS_CACHE))})"
        ),
    ),
    Rule(
        "engine takes what the variant names",
        lambda asked: bool(asked.variant.unserved_by_name(asked.engine)),
        _not_served,
    ),
    Rule(
        "server can compress",
        lambda asked: not asked.ability.compresses(asked.replay.compression),
        _not_coded,
    ),
    Rule(
        "server lets sessions be resumed",
        lambda asked: asked.replay.tls_resumption and not asked.ability.resuming,
        lambda asked: (
            f"tls_resumption: the server {asked.server} lets no session be resumed; servers that do: "
            f"{_servers(lambda ability: ability.resuming)}"
        ),
    ),
    Rule(
        "server speaks protocol",
        lambda asked: asked.protocol not in asked.ability.protocols,
        lambda asked: (
            f"server: {asked.server} does not speak {asked.protocol}; servers that do: "
            f"{_servers(lambda ability: asked.protocol in ability.protocols)}"
        ),
    ),
    Rule(
        "server lets requests wait side by side",
        lambda asked: bool(asked.replay.think_time) and asked.protocol not in asked.ability.thinking,
        _not_thinking,
    ),
    Rule(
        "QUIC has TLS 1.3",
        lambda asked: asked.replay.tls == "1.2" and asked.protocol.over_quic,
        lambda asked: (
            f'tls: {asked.protocol} has TLS 1.3 built in; leave {asked.protocol} out, or choose tls = "1.3"'
        ),
    ),
    Rule(
        "engine resumes sessions",
        lambda asked: asked.replay.tls_resumption and not asked.engine.can(Capability.RESUMES_TLS),
        lambda asked: f"tls_resumption: {asked.engine} resumes nothing here; leave tls_resumption out",
    ),
    Rule(
        "engine sets its windows",
        lambda asked: (
            asked.replay.h2_stream_window_bytes is not None
            and not asked.engine.can(Capability.SETS_H2_WINDOW)
        ),
        lambda asked: (
            f"h2_stream_window_bytes: {asked.engine} has no such setting; leave it out, or choose an engine that has "
            f"({_engines(lambda engine: engine.can(Capability.SETS_H2_WINDOW))})"
        ),
    ),
    Rule(
        "SPDY's headers can be compressed",
        lambda asked: (
            asked.replay.spdy_header_compression
            and (not asked.engine.can(Capability.SPDY) or asked.protocol is Protocol.SPDY)
        ),
        lambda asked: (
            f"spdy_header_compression: not of {asked.engine} by {asked.protocol}; it is for an engine that speaks "
            f"{Protocol.SPDY_PLAIN}, without {Protocol.SPDY}, whose headers TLS hides"
        ),
    ),
    Rule(
        "engine takes the coding",
        lambda asked: CODINGS.get(asked.replay.compression.kind, "gzip") not in asked.engine.traits.codings,
        lambda asked: (
            f"compression: {asked.engine} does not take {asked.replay.compression.kind}; choose gzip"
        ),
    ),
    Rule(
        "coding goes over the scheme",
        lambda asked: asked.replay.compression.kind in HTTPS_ONLY and asked.protocol.scheme == "http",
        lambda asked: (
            f"compression: browsers take {asked.replay.compression.kind} over https only, not by {asked.protocol}; "
            "choose gzip, or protocols over https alone"
        ),
    ),
    Rule(
        "engine reaches the page",
        lambda asked: bool(_ipv6(asked)) and not asked.engine.can(Capability.REACHES_IPV6),
        lambda asked: (
            f"page {asked.page}: {asked.engine} loads nothing from an IPv6 address here, and the page has "
            f"[{_ipv6(asked)[0]}]; leave the page out, choose an engine that does "
            f"({_engines(lambda engine: engine.can(Capability.REACHES_IPV6))}), or archive it anew under a name"
        ),
    ),
)

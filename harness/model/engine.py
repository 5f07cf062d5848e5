"""The engines, one description each, and the drivers that steer them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from harness.model.device import DESKTOP, MOBILE, Device
from harness.model.protocol import OF_2012, TODAY, Protocol

WEBP = "WebP images"
AVIF = "AVIF images"
LAZY_IMAGES = 'loading="lazy"'
PRELOAD = "Link: rel=preload"


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What the project needs to know of an engine.

    `label` is the name for readers. `usual_protocol` is what a page is verified by, `server` what serves the engine and
    `tls` the version of TLS, where a study names no other. `codings` are the content codings it takes over https. It
    can be each of the `devices`. `takes` is what it takes of that which filters put into a page and which is younger
    than some engine: tests/system/test_variants.py asks the engines themselves. Of languages there is nothing to
    state: filters write no syntax into scripts and style sheets that was not there before. `unseen` are the metrics
    that no load in it can have (`harness.model.observation`).
    """

    label: str
    protocols: tuple[Protocol, ...]
    usual_protocol: Protocol
    server: str
    tls: str
    codings: frozenset[str]
    devices: tuple[Device, ...]
    resumes_tls: bool
    reaches_ipv6: bool
    tells_of_paints: bool
    takes: frozenset[str]
    unseen: frozenset[str]


class Engine(StrEnum):
    """The browser: today's, or the one that speaks what the 2012 study compared. The youngest stands first."""

    _value_: str
    traits: Traits

    def __new__(cls, value: str, *traits: Traits) -> Engine:  # mypy takes Engine("chromium") for a call
        member = str.__new__(cls, value)
        member._value_ = value
        (member.traits,) = traits
        return member

    CHROMIUM = (
        "chromium",
        Traits(
            label="Chromium",
            protocols=TODAY,
            usual_protocol=Protocol.H2,
            server="caddy",
            tls="1.3",
            codings=frozenset({"gzip", "deflate", "br", "zstd"}),
            devices=(DESKTOP, MOBILE),
            resumes_tls=True,
            reaches_ipv6=True,
            tells_of_paints=True,
            takes=frozenset({WEBP, AVIF, LAZY_IMAGES, PRELOAD}),
            unseen=frozenset({"speed_index_ms", "spdy_streams"}),
        ),
    )
    QTWEBKIT = (
        "qtwebkit",
        Traits(
            label="QtWebKit",
            protocols=OF_2012,
            usual_protocol=Protocol.HTTP1,
            server="spdy-gateway",
            tls="1.2",  # SPDY is older than 1.3
            codings=frozenset({"gzip", "deflate"}),
            devices=(DESKTOP,),
            resumes_tls=False,
            reaches_ipv6=False,  # behind its hop
            tells_of_paints=False,
            takes=frozenset({WEBP}),
            unseen=frozenset(
                {"speed_index_ms", "fcp_ms", "lcp_ms", "cls", "tbt_ms", "cache_hits", "tls_resumed"}
            ),
        ),
    )

    @property
    def drivers(self) -> tuple[Driver, ...]:
        """What steers it; the first is the usual one."""
        return tuple(driver for driver in Driver if driver.engine is self)


DEFAULT_ENGINE = Engine.CHROMIUM


class Driver(StrEnum):
    """What steers the browser; each driver steers one engine, the first of an engine unless another one is named.

    `overhead_s` is a rough guess for plans: what a trial costs beyond its load.
    """

    _value_: str
    engine: Engine
    overhead_s: float

    def __new__(cls, value: str, engine: Engine = DEFAULT_ENGINE, overhead_s: float = 1.0) -> Driver:
        member = str.__new__(cls, value)
        member._value_ = value
        member.engine, member.overhead_s = engine, overhead_s
        return member

    PLAYWRIGHT = "playwright", Engine.CHROMIUM, 0.8
    SELENIUM = "selenium", Engine.CHROMIUM, 1.3
    PYQT = "pyqt", Engine.QTWEBKIT, 0.8


def speaking(protocol: Protocol) -> tuple[Engine, ...]:
    """The engines that speak a protocol, in the order of engines."""
    return tuple(engine for engine in Engine if protocol in engine.traits.protocols)

"""What makes the load: browsers and load generators, what steers them, and what a browser says it runs on. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from harness.model.kind import Kind
from harness.model.protocol import OF_2012, TODAY, Protocol

WEBP = "WebP images"
AVIF = "AVIF images"
LAZY_IMAGES = 'loading="lazy"'
PRELOAD = "Link: rel=preload"
OF_CHROMIUM = frozenset({WEBP, AVIF, LAZY_IMAGES, PRELOAD})
CODINGS_OF_TODAY = frozenset({"gzip", "deflate", "br", "zstd"})
CODINGS_OF_2012 = frozenset({"gzip", "deflate"})


class Capability(StrEnum):
    """What an engine can be asked for: probes and metrics name what they need of it."""

    RESUMES_TLS = "tells of TLS sessions that it resumes"
    SETS_H2_WINDOW = "takes a window for streams of HTTP/2"
    REACHES_IPV6 = "reaches IPv6 addresses"
    FIRST_PAINT = "tells of the first paint of a page"
    LARGEST_PAINT = "tells of the largest paint of a page"
    SHIFTS = "tells of layout shifts"
    TASKS = "tells of long tasks"
    TRACE = "records a trace, with pictures of its tab"
    SLOWS_CPU = "slows the processor of a page"
    KEEPS_CACHE = "keeps a cache, and tells of it"
    WIRE_BODIES = "tells bodies as they travel"
    GLYPHS = "tells which text no font of its own shows"
    SPDY = "speaks SPDY"


@dataclass(frozen=True)
class Screen:
    """A touch screen in portrait: CSS pixels, and device pixels per CSS pixel."""

    width: int
    height: int
    scale_factor: float


@dataclass(frozen=True)
class Device:
    """What the browser says it runs on. Without a screen: a window. Without a user agent: its own, which says that
    it is headless, and to which some pages show something else.

    `cpu_slowdown` is how many times slower its processor usually is than that of a desktop. It is a suggestion: a
    processor is slowed where a study says so.
    """

    name: str
    user_agent: str | None = None
    screen: Screen | None = None
    cpu_slowdown: int = 1

    def __str__(self) -> str:
        return self.name


# Chrome's reduced user agents, the same on all desktops with Linux, and on all Android phones, of a major version.
DESKTOP = Device(
    "desktop",
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36",
)
MOBILE = Device(
    "mobile",
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Mobile Safari/537.36",
    Screen(412, 915, 2.625),  # Google Pixel 6 and 7
    cpu_slowdown=4,  # Lighthouse's for a mid-range phone
)
DEVICES: Mapping[str, Device] = {device.name: device for device in (DESKTOP, MOBILE)}


class Driver(StrEnum):
    """What steers engines; a generator steers itself.

    `overhead_s` is a rough guess for plans: what a trial costs beyond its load.
    """

    _value_: str
    overhead_s: float

    def __new__(
        cls, value: str, overhead_s: float = 1.0
    ) -> Driver:  # mypy takes Driver("playwright") for a call
        member = str.__new__(cls, value)
        member._value_ = value
        member.overhead_s = overhead_s
        return member

    PLAYWRIGHT = "playwright", 0.8
    SELENIUM = "selenium", 1.3
    MARIONETTE = "marionette", 1.3
    WEBKITGTK = "webkitgtk", 0.9
    PYQT = "pyqt", 0.8
    K6 = "k6", 10.0
    WRK = "wrk", 2.0
    H2LOAD = "h2load", 2.0
    SPDY_CLIENT = "spdy-client", 5.0

    @property
    def engines(self) -> tuple[Engine, ...]:
        """Those that it steers."""
        return tuple(engine for engine in Engine if self in engine.traits.drivers)


@dataclass(frozen=True, kw_only=True)
class Traits:
    """What the project needs to know of an engine.

    `label` is the name for readers. Each of the `drivers` steers it; the first is the usual one. `usual_protocol` is
    what a page is verified by, `server` what serves the engine and `tls` the version of TLS, where a study names no
    other. `codings` are the content codings it takes over https. It can be each of the `devices`. `takes` is what it
    takes of that which filters put into a page and which is younger than some engine: tests/system/test_variants.py
    asks the engines themselves. Of languages there is nothing to state: filters write no syntax into scripts and style
    sheets that was not there before.

    `kinds` is what it can measure. A browser loads a page, and only a browser does. The users of a generator ask for
    what the browser `like` them asked for, so it takes what that takes. One that is `optional` is installed, or in a
    root, only when that is asked for. Later releases of Debian have no `historical` one: there it is in a root of its
    own.
    """

    label: str
    drivers: tuple[Driver, ...]
    protocols: tuple[Protocol, ...]
    usual_protocol: Protocol
    server: str
    tls: str
    codings: frozenset[str] = CODINGS_OF_TODAY
    devices: tuple[Device, ...] = (DESKTOP,)
    capabilities: frozenset[Capability] = frozenset()
    takes: frozenset[str] = OF_CHROMIUM
    kinds: tuple[Kind, ...] = (Kind.LOAD,)
    like: str = "chromium"
    optional: bool = False
    historical: bool = False


class Engine(StrEnum):
    """The browsers, today's first, then the one that speaks what the 2012 study compared; and the load generators."""

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
            drivers=(Driver.PLAYWRIGHT, Driver.SELENIUM),
            protocols=TODAY,
            usual_protocol=Protocol.H2,
            server="caddy",
            tls="1.3",
            devices=(DESKTOP, MOBILE),
            capabilities=frozenset(Capability) - {Capability.SPDY},
        ),
    )
    FIREFOX = (
        "firefox",
        Traits(
            label="Firefox",
            drivers=(Driver.MARIONETTE,),
            protocols=TODAY,
            usual_protocol=Protocol.H2,
            server="caddy",
            tls="1.3",
            capabilities=frozenset({Capability.FIRST_PAINT, Capability.LARGEST_PAINT}),
            optional=True,
        ),
    )
    WEBKIT = (
        "webkit",
        Traits(
            label="WebKit",
            drivers=(Driver.WEBKITGTK,),
            protocols=tuple(
                protocol for protocol in TODAY if not protocol.over_quic
            ),  # its network library has no HTTP/3
            usual_protocol=Protocol.H2,
            server="caddy",
            tls="1.3",
            codings=CODINGS_OF_TODAY - {"zstd"},
            capabilities=frozenset({Capability.FIRST_PAINT}),
            optional=True,
        ),
    )
    QTWEBKIT = (
        "qtwebkit",
        Traits(
            label="QtWebKit",
            drivers=(Driver.PYQT,),
            protocols=OF_2012,
            usual_protocol=Protocol.HTTP1,
            server="spdy-gateway",
            tls="1.2",  # SPDY is older than 1.3
            codings=CODINGS_OF_2012,
            capabilities=frozenset({Capability.SPDY}),  # behind its hop it reaches no IPv6
            takes=frozenset({WEBP}),
            historical=True,
        ),
    )
    K6 = (
        "k6",
        Traits(
            label="k6",
            drivers=(Driver.K6,),
            protocols=TODAY,
            usual_protocol=Protocol.H2,
            server="caddy",
            tls="1.3",
            capabilities=frozenset({Capability.REACHES_IPV6}),
            kinds=(Kind.USERS,),
        ),
    )
    WRK = (
        "wrk",
        Traits(
            label="wrk",
            drivers=(Driver.WRK,),
            protocols=(Protocol.HTTP1, Protocol.HTTPS1),
            usual_protocol=Protocol.HTTP1,
            server="nginx",
            tls="1.3",
            kinds=(Kind.REQUESTS,),
        ),
    )
    H2LOAD = (
        "h2load",
        Traits(
            label="h2load",
            drivers=(Driver.H2LOAD,),
            protocols=(Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2),
            usual_protocol=Protocol.H2,
            server="nginx",
            tls="1.3",
            kinds=(Kind.REQUESTS,),
        ),
    )
    SPDY_CLIENT = (
        "spdy-client",
        Traits(
            label="SPDY client",
            drivers=(Driver.SPDY_CLIENT,),
            protocols=(Protocol.HTTP1, Protocol.HTTPS1, Protocol.SPDY, Protocol.SPDY_PLAIN),
            usual_protocol=Protocol.SPDY,
            server="spdy-gateway",
            tls="1.2",
            codings=CODINGS_OF_2012,
            takes=frozenset({WEBP}),
            kinds=(Kind.REQUESTS, Kind.USERS),
            like="qtwebkit",
        ),
    )

    def can(self, *capabilities: Capability) -> bool:
        """Whether it can be asked for all of these."""
        return self.traits.capabilities.issuperset(capabilities)

    @property
    def browser(self) -> Engine:
        """Itself; of a generator the browser that its users are like."""
        return self if Kind.LOAD in self.traits.kinds else Engine(self.traits.like)


DEFAULT_ENGINE = Engine.CHROMIUM  # of loads
BROWSERS = tuple(engine for engine in Engine if Kind.LOAD in engine.traits.kinds)
OPTIONAL_ENGINES = tuple(engine for engine in Engine if engine.traits.optional)
HISTORICAL_ENGINE = next(engine for engine in Engine if engine.traits.historical)


def engines_of(kind: Kind) -> tuple[Engine, ...]:
    """The engines that measure a kind; the first is the usual one."""
    return tuple(engine for engine in Engine if kind in engine.traits.kinds)


BROWSER_DRIVERS = tuple(driver for driver in Driver if not set(driver.engines).isdisjoint(BROWSERS))


def speaking(protocol: Protocol, kind: Kind = Kind.LOAD) -> tuple[Engine, ...]:
    """The engines of a kind that speak a protocol, in the order of engines."""
    return tuple(engine for engine in engines_of(kind) if protocol in engine.traits.protocols)

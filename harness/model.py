"""The nouns of a study as frozen, self-validating values.

Units stand in the names: `_ms`, `_mbps` (10^6 bit/s), `_bytes` (IP bytes on the link). RTT is the full round
trip. Nothing here touches a file, a clock or the network.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from harness import keys
from harness.direction import LEAST_DELAY_MS, MTU_BYTES, Direction, Discipline, Queue, Way
from harness.errors import StudyError
from harness.rates import ConstantRate
from harness.shown import shown

MAX_RTT_MS = 60_000.0
QUEUE_FLOOR_BYTES = 1000 * MTU_BYTES  # the default limit of Linux netem, so what other tools' links have
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Engine(StrEnum):
    """The browser: today's, or the one that speaks what the 2012 study compared."""

    CHROMIUM = "chromium"
    QTWEBKIT = "qtwebkit"


MODERN = frozenset({Engine.CHROMIUM})
HISTORICAL = frozenset({Engine.QTWEBKIT})
BOTH = MODERN | HISTORICAL


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


class Driver(StrEnum):
    """What steers the browser; each driver steers one engine."""

    _value_: str
    engine: Engine

    def __new__(cls, value: str, engine: Engine = Engine.CHROMIUM) -> Driver:
        member = str.__new__(cls, value)
        member._value_ = value
        member.engine = engine
        return member

    PLAYWRIGHT = "playwright", Engine.CHROMIUM
    SELENIUM = "selenium", Engine.CHROMIUM
    PYQT = "pyqt", Engine.QTWEBKIT


class Backend(StrEnum):
    """What emulates the link and how packets get there; a run has one kind."""

    TUN = "tun"  # our emulator over TUN devices
    VETH = "veth"  # our emulator over veth pairs and packet sockets, for ordinary users
    NETEM = "netem"  # the kernel's own emulator, where it has one


class Origins(StrEnum):
    """How many server addresses the names of a page resolve to."""

    SINGLE = "single"  # one for all, as in the 2012 study
    RECORDED = "recorded"  # one per recorded server address; per host where the recording does not tell


class Outcome(StrEnum):
    """How a trial ended. Only `ok` trials enter an estimate; the others are counted by name."""

    OK = "ok"
    PAGE_TIMEOUT = "page-timeout"
    PAGE_ERROR = "page-error"
    WRONG_PROTOCOL = "wrong-protocol"
    MISSING_OBJECTS = "missing-objects"
    TESTBED_FAILED = "testbed-failed"


@dataclass(frozen=True)
class Link:
    """An emulated access link: a description of each direction and the full round-trip time.

    Half of `rtt_ms` is added in each direction. `seed` is that of random loss and jitter: each block of a run draws
    anew from it, all conditions of a block alike.
    """

    name: str
    rtt_ms: float
    down: Direction
    up: Direction
    seed: int = 1

    def __post_init__(self) -> None:
        if not NAME_PATTERN.fullmatch(self.name):
            raise StudyError(
                f"link name {shown(self.name)}: it may hold up to 100 letters, digits, '.', '_' and '-' only"
            )
        keys.positive(f"link {self.name}: rtt_ms", self.rtt_ms, LEAST_DELAY_MS, MAX_RTT_MS, zero=True)

    @classmethod
    def of(
        cls, down_mbps: float, rtt_ms: float, up_mbps: float | None = None, *, name: str | None = None
    ) -> Link:
        """A link of constant rates with the defaults filled in: symmetric, default queues, no loss, no jitter."""
        down, up = (
            Direction(way, ConstantRate(rate), default_queue(rate, rtt_ms))
            for way, rate in (
                (Way.DOWN, float(down_mbps)),
                (Way.UP, float(down_mbps if up_mbps is None else up_mbps)),
            )
        )
        return cls(name or default_name(down, up, rtt_ms), float(rtt_ms), down, up)

    @property
    def directions(self) -> tuple[Direction, Direction]:
        return self.down, self.up

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "rtt_ms": self.rtt_ms,
            **self.down.to_json(),
            **self.up.to_json(),
            "seed": self.seed,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Link:
        down, up = (Direction.from_json(way, data) for way in Way)
        return cls(data["name"], data["rtt_ms"], down, up, data["seed"])


def default_name(down: Direction, up: Direction, rtt_ms: float) -> str:
    """A name made of the link's numbers."""
    fast, slow = down.rate.mean_mbps, up.rate.mean_mbps
    rate = f"{fast:g}mbps" if fast == slow else f"{fast:g}-{slow:g}mbps"
    return f"{rate}-{rtt_ms:g}ms"


def default_queue(rate_mbps: float, rtt_ms: float) -> Queue:
    """Drop-tail of one bandwidth-delay product, at least QUEUE_FLOOR_BYTES.

    A page load alone then loses no packet to its own bursts; a smaller queue is a setting of the study, not a hidden
    source of noise. Tolerates values that `Link` will refuse.
    """
    product = rate_mbps * 1e6 / 8 * rtt_ms / 1e3
    size = max(QUEUE_FLOOR_BYTES, math.ceil(product)) if math.isfinite(product) else QUEUE_FLOOR_BYTES
    return Queue(Discipline.DROP_TAIL, size)


CONGESTION_CONTROLS = ("cubic", "bbr", "reno")


@dataclass(frozen=True)
class TcpSettings:
    """The transport settings of both hosts of a testbed. `initial_window` is in segments (RFC 6928: 10)."""

    congestion_control: str = "cubic"
    initial_window: int = 10
    slow_start_after_idle: bool = True

    def __post_init__(self) -> None:
        if self.congestion_control not in CONGESTION_CONTROLS:
            known = ", ".join(CONGESTION_CONTROLS)
            raise StudyError(f"congestion_control: unknown {self.congestion_control!r}; known: {known}")
        if not 1 <= self.initial_window <= 1000:
            raise StudyError(f"initial_window is {self.initial_window}; it must be 1 to 1000 segments")


DEFAULT_DRIVERS = {Engine.CHROMIUM: Driver.PLAYWRIGHT, Engine.QTWEBKIT: Driver.PYQT}


@dataclass(frozen=True)
class Screen:
    """A touch screen in portrait: CSS pixels, and device pixels per CSS pixel."""

    width: int
    height: int
    scale_factor: float


@dataclass(frozen=True)
class Device:
    """What the browser says it runs on. Without screen and user agent: the browser as it is, in a window."""

    name: str
    user_agent: str | None = None
    screen: Screen | None = None

    def __str__(self) -> str:
        return self.name


DESKTOP = Device("desktop")
MOBILE = Device(
    "mobile",
    # Chrome's reduced user agent, the same on all Android phones of a major version.
    "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) "
    "Chrome/156.0.0.0 Mobile Safari/537.36",
    Screen(412, 915, 2.625),  # Google Pixel 6 and 7
)
DEVICES: Mapping[str, Device] = {device.name: device for device in (DESKTOP, MOBILE)}


RECORDED_COMPRESSION = "recorded"


@dataclass(frozen=True)
class Condition:
    """One cell of a study: what is loaded, how its bytes travel, over which link, in which browser.

    `compression` is that of text, as `harness.replay.Compression` writes it.
    """

    page: str
    variant: str
    protocol: Protocol
    link: Link
    engine: Engine
    driver: Driver
    origins: Origins
    server: str
    device: Device = DESKTOP
    compression: str = RECORDED_COMPRESSION

    def to_json(self) -> dict[str, Any]:
        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return fields | {"link": self.link.to_json(), "device": self.device.name}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Condition:
        """Inverse of `to_json`; raises StudyError when a value is not one of ours."""
        try:
            return cls(
                page=data["page"],
                variant=data["variant"],
                protocol=Protocol(data["protocol"]),
                link=Link.from_json(data["link"]),
                engine=Engine(data["engine"]),
                driver=Driver(data["driver"]),
                origins=Origins(data["origins"]),
                server=data["server"],
                # Plans of older versions have neither.
                device=DEVICES[data.get("device", DESKTOP.name)],
                compression=data.get("compression", RECORDED_COMPRESSION),
            )
        except (KeyError, ValueError, TypeError) as error:
            raise StudyError(f"not a condition ({error}): {shown(data)}") from error

    def __str__(self) -> str:
        device = "" if self.device is DESKTOP else f" {self.device}"
        coding = "" if self.compression == RECORDED_COMPRESSION else f" {self.compression}"
        browser = self.driver if self.engine is Engine.CHROMIUM else f"{self.engine} {self.driver}"
        return f"{self.page} {self.variant}{coding} {self.protocol} {self.link.name} {browser}{device}"

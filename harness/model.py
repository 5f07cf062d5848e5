"""The nouns of a study as frozen, self-validating values.

Units stand in the names: `_ms`, `_mbps` (10^6 bit/s), `_bytes` (IP bytes on the link). RTT is the full round
trip. Nothing here touches a file, a clock or the network.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from harness.errors import StudyError

MAX_RATE_MBPS = 10_000.0
MAX_RTT_MS = 60_000.0
MTU_BYTES = 1500
QUEUE_FLOOR_BYTES = 1000 * MTU_BYTES  # the default limit of Linux netem, so what other tools' links have
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


class Protocol(StrEnum):
    """How bytes travel. `wire` is what the browser and the server must both report."""

    HTTP1_CLOSE = "http1-close"
    HTTP1 = "http1"
    HTTPS1 = "https1"
    H2 = "h2"

    @property
    def scheme(self) -> str:
        return "http" if self in (Protocol.HTTP1_CLOSE, Protocol.HTTP1) else "https"

    @property
    def wire(self) -> str:
        """The protocol of every request as ALPN and Resource Timing name it."""
        return "h2" if self is Protocol.H2 else "http/1.1"

    @property
    def keep_alive(self) -> bool:
        return self is not Protocol.HTTP1_CLOSE

    @property
    def label(self) -> str:
        """The name for figures."""
        return {
            Protocol.HTTP1_CLOSE: "HTTP/1.1, no keep-alive",
            Protocol.HTTP1: "HTTP/1.1",
            Protocol.HTTPS1: "HTTP/1.1 + TLS",
            Protocol.H2: "HTTP/2 (TLS)",
        }[self]


class Engine(StrEnum):
    """The browser."""

    CHROMIUM = "chromium"


class Driver(StrEnum):
    """What steers Chromium."""

    PLAYWRIGHT = "playwright"
    SELENIUM = "selenium"


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


def _positive(what: str, value: float, most: float) -> None:
    if not math.isfinite(value) or value <= 0 or value > most:
        raise StudyError(f"{what} is {value:g}; it must be more than 0 and at most {most:g}")


@dataclass(frozen=True)
class Link:
    """An emulated access link: rates per direction, full round-trip time, byte-limited drop-tail queues.

    Half of `rtt_ms` is added in each direction. A packet of n IP bytes occupies a direction for n*8/rate. The
    default queue is one bandwidth-delay product with a floor of 1000 full packets: a page load alone then loses no
    packet to its own bursts. A smaller queue is a setting of the study, not a hidden source of noise.
    """

    name: str
    down_mbps: float
    up_mbps: float
    rtt_ms: float
    queue_down_bytes: int
    queue_up_bytes: int

    def __post_init__(self) -> None:
        _positive(f"link {self.name}: down_mbps", self.down_mbps, MAX_RATE_MBPS)
        _positive(f"link {self.name}: up_mbps", self.up_mbps, MAX_RATE_MBPS)
        if not math.isfinite(self.rtt_ms) or not 0 <= self.rtt_ms <= MAX_RTT_MS:
            raise StudyError(f"link {self.name}: rtt_ms is {self.rtt_ms:g}; it must be 0 to {MAX_RTT_MS:g}")
        for way, size in (("down", self.queue_down_bytes), ("up", self.queue_up_bytes)):
            if size < MTU_BYTES:
                raise StudyError(
                    f"link {self.name}: queue_{way}_bytes is {size}; it must hold one packet ({MTU_BYTES})"
                )
        if not NAME_PATTERN.fullmatch(self.name):
            raise StudyError(f"link name {self.name!r} may hold letters, digits, '.', '_' and '-' only")

    @classmethod
    def of(
        cls,
        down_mbps: float,
        rtt_ms: float,
        up_mbps: float | None = None,
        *,
        name: str | None = None,
        queue_down_bytes: int | None = None,
        queue_up_bytes: int | None = None,
    ) -> Link:
        """A link with the defaults filled in: symmetric rate, one BDP of queue, a name made of its numbers."""
        up = down_mbps if up_mbps is None else up_mbps
        rate = f"{down_mbps:g}mbps" if up == down_mbps else f"{down_mbps:g}-{up:g}mbps"
        return cls(
            name=name or f"{rate}-{rtt_ms:g}ms",
            down_mbps=float(down_mbps),
            up_mbps=float(up),
            rtt_ms=float(rtt_ms),
            queue_down_bytes=queue_down_bytes or default_queue_bytes(down_mbps, rtt_ms),
            queue_up_bytes=queue_up_bytes or default_queue_bytes(up, rtt_ms),
        )


def default_queue_bytes(rate_mbps: float, rtt_ms: float) -> int:
    """One bandwidth-delay product in bytes, at least QUEUE_FLOOR_BYTES; tolerates values `Link` will refuse."""
    product = rate_mbps * 1e6 / 8 * rtt_ms / 1e3
    return max(QUEUE_FLOOR_BYTES, math.ceil(product)) if math.isfinite(product) else QUEUE_FLOOR_BYTES


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


# Least, most and default level: what servers use when they compress as they send.
COMPRESSION_LEVELS = {"gzip": (1, 9, 6), "brotli": (0, 11, 5)}


@dataclass(frozen=True)
class Compression:
    """The content coding of text: as `recorded`, `none`, or `gzip` or `brotli` of one level for all of it."""

    kind: str = "recorded"
    level: int | None = None

    @classmethod
    def parse(cls, text: str) -> Compression:
        """`recorded`, `none`, `gzip`, `brotli`, or one of the latter with its level, as `gzip-9`."""
        kind, _, level = text.partition("-")
        if kind in ("recorded", "none") and not level and not text.endswith("-"):
            return cls(kind)
        if kind not in COMPRESSION_LEVELS:
            raise StudyError(f"compression: unknown {text!r}; known: recorded, none, gzip, brotli, gzip-9")
        least, most, default = COMPRESSION_LEVELS[kind]
        if text == kind:
            return cls(kind, default)
        if not level.isascii() or not level.isdigit() or not least <= int(level) <= most:
            raise StudyError(f"compression: {text!r}; {kind} has the levels {kind}-{least} to {kind}-{most}")
        return cls(kind, int(level))

    def __str__(self) -> str:
        return self.kind if self.level is None else f"{self.kind}-{self.level}"


@dataclass(frozen=True)
class ThinkTime:
    """How long the server waits before it answers from the archive: `constant_ms`, or as long as was `recorded`."""

    constant_ms: float = 0.0
    recorded: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.constant_ms <= MAX_RTT_MS:  # also refuses NaN
            raise StudyError(f"think_time is {self.constant_ms:g}; it must be 0 to {MAX_RTT_MS:g} ms")

    def of(self, recorded_ms: float | None) -> float:
        """The think time of a response in ms; 0 where the recording does not tell."""
        return (recorded_ms or 0.0) if self.recorded else self.constant_ms

    def __bool__(self) -> bool:
        return self.recorded or self.constant_ms > 0

    def __str__(self) -> str:
        return "recorded" if self.recorded else f"{self.constant_ms:g} ms" if self else "none"


@dataclass(frozen=True)
class Replay:
    """How archives are served: the settings of a study that hold for all its conditions."""

    origins: Origins = Origins.SINGLE
    determinism: bool = True
    compression: Compression = Compression()
    think_time: ThinkTime = ThinkTime()

    def refuse_unless_for(self, protocols: Iterable[Protocol]) -> None:
        """Raise StudyError when a browser could not read what it would get by one of the protocols."""
        plain = [protocol for protocol in protocols if protocol.scheme == "http"]
        if self.compression.kind == "brotli" and plain:
            raise StudyError(
                f"compression: browsers take brotli over https only, not by {plain[0]}; "
                "choose gzip, or protocols over https alone"
            )


@dataclass(frozen=True)
class Condition:
    """One cell of a study: what is loaded, how its bytes travel, over which link, in which browser."""

    page: str
    variant: str
    protocol: Protocol
    link: Link
    engine: Engine
    driver: Driver
    origins: Origins
    server: str

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Condition:
        """Inverse of `to_json`; raises StudyError when a value is not one of ours."""
        try:
            return cls(
                page=data["page"],
                variant=data["variant"],
                protocol=Protocol(data["protocol"]),
                link=Link(**data["link"]),
                engine=Engine(data["engine"]),
                driver=Driver(data["driver"]),
                origins=Origins(data["origins"]),
                server=data["server"],
            )
        except (KeyError, ValueError, TypeError) as error:
            raise StudyError(f"not a condition ({error}): {dict(data)}") from error

    def __str__(self) -> str:
        return f"{self.page} {self.variant} {self.protocol} {self.link.name} {self.driver}"

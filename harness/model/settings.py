"""Settings that hold for all conditions of a study: how archives are served, and TCP."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.errors import StudyError
from harness.input import keys
from harness.model.condition import RECORDED_COMPRESSION, Origins
from harness.model.engine import Engine
from harness.model.link import MAX_RTT_MS
from harness.model.protocol import Protocol

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


TLS_VERSIONS = ("1.3", "1.2")
# What a study gets that names none: what the protocols of the engine have in common.
DEFAULT_TLS = {Engine.CHROMIUM: "1.3", Engine.QTWEBKIT: "1.2"}
# Least, most and default level: what servers use when they compress as they send.
COMPRESSION_LEVELS = {"gzip": (1, 9, 6), "brotli": (0, 11, 5), "zstd": (1, 19, 3)}
DYNAMIC = "-dynamic"


@dataclass(frozen=True)
class Compression:
    """The content coding of text: as `recorded`, `none`, or `gzip`, `brotli` or `zstd` of one level for all of it.

    All was coded beforehand; if `dynamic`, the server codes each answer as it sends it.
    """

    kind: str = RECORDED_COMPRESSION
    level: int | None = None
    dynamic: bool = False

    @classmethod
    def parse(cls, text: str) -> Compression:
        """`recorded`, `none`, or a coding, also with its level and `-dynamic`: `gzip`, `gzip-9`, `gzip-9-dynamic`."""
        if text in (RECORDED_COMPRESSION, "none"):
            return cls(text)
        kind, dash, level = text.removesuffix(DYNAMIC).partition("-")
        if kind not in COMPRESSION_LEVELS:
            raise StudyError(
                f"compression: unknown {text!r}; known: recorded, none, {', '.join(COMPRESSION_LEVELS)}, "
                "a level as in gzip-9, and gzip-9-dynamic"
            )
        least, most, default = COMPRESSION_LEVELS[kind]
        if not dash:
            return cls(kind, default, text.endswith(DYNAMIC))
        if not level.isascii() or not level.isdigit() or not least <= int(level) <= most:
            raise StudyError(f"compression: {text!r}; {kind} has the levels {kind}-{least} to {kind}-{most}")
        return cls(kind, int(level), text.endswith(DYNAMIC))

    def __str__(self) -> str:
        if self.level is None:
            return self.kind
        return f"{self.kind}-{self.level}{DYNAMIC if self.dynamic else ''}"


@dataclass(frozen=True)
class ThinkTime:
    """How long the server waits before it answers from the archive: `constant_ms`, or as long as was `recorded`."""

    constant_ms: float = 0.0
    recorded: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.constant_ms <= MAX_RTT_MS:  # also refuses NaN
            raise StudyError(f"think_time is {self.constant_ms:g}; it must be 0 to {MAX_RTT_MS:g} ms")

    @classmethod
    def parse(cls, value: object) -> ThinkTime:
        """`none`, `recorded`, or a number of ms."""
        if value in ("none", "recorded"):
            return cls(recorded=value == "recorded")
        if isinstance(value, str):
            raise StudyError(f'think_time: unknown {value!r}; it is "none", "recorded" or a number of ms')
        return cls(keys.checked_number("think_time", value, 0, MAX_RTT_MS))

    def of(self, recorded_ms: float | None) -> float:
        """The think time of a response in ms; 0 where the recording does not tell."""
        return (recorded_ms or 0.0) if self.recorded else self.constant_ms

    def __bool__(self) -> bool:
        return self.recorded or self.constant_ms > 0

    def __str__(self) -> str:
        return "recorded" if self.recorded else f"{self.constant_ms:g} ms" if self else "none"


@dataclass(frozen=True)
class Replay:
    """How archives are served: the settings of a study that hold for all its conditions.

    `tls` is the one version of TLS there is. With `tls_resumption` a connection may resume the session of another one
    of the same load, by ticket; never with early data (0-RTT).
    """

    origins: Origins = Origins.SINGLE
    determinism: bool = True
    compression: Compression = Compression()
    think_time: ThinkTime = ThinkTime()
    tls: str = TLS_VERSIONS[0]
    tls_resumption: bool = False

    def refuse_unless_for(self, protocols: Iterable[Protocol], engine: Engine = Engine.CHROMIUM) -> None:
        """Raise StudyError when the browser could not read what it would get by one of the protocols."""
        protocols = tuple(protocols)
        plain = [protocol for protocol in protocols if protocol.scheme == "http"]
        quic = [protocol for protocol in protocols if protocol.over_quic]
        spdy = [protocol for protocol in protocols if protocol.wire == "spdy/3"]
        if self.tls == "1.2" and quic:
            raise StudyError(
                f'tls: {quic[0]} has TLS 1.3 built in; leave {quic[0]} out, or choose tls = "1.3"'
            )
        if self.tls == "1.3" and spdy:
            raise StudyError(f'tls: {spdy[0]} is older than TLS 1.3; choose tls = "1.2"')
        if self.tls_resumption and engine is Engine.QTWEBKIT:
            raise StudyError("tls_resumption: qtwebkit resumes nothing here; leave tls_resumption out")
        kind = self.compression.kind
        if kind in ("brotli", "zstd") and engine is Engine.QTWEBKIT:
            raise StudyError(f"compression: qtwebkit is older than {kind}; choose gzip")
        if kind in ("brotli", "zstd") and plain:
            raise StudyError(
                f"compression: browsers take {kind} over https only, not by {plain[0]}; "
                "choose gzip, or protocols over https alone"
            )


AS_RECORDED = Replay(determinism=False)  # for a crawl: what is archived is what was recorded

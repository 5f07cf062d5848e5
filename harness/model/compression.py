"""How text is compressed on its way to the browser. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from harness.errors import StudyError

RECORDED = "recorded"
NONE = "none"
# The content coding of each kind of compression, as HTTP names it.
CODINGS = {"gzip": "gzip", "brotli": "br", "zstd": "zstd"}
HTTPS_ONLY = frozenset({"brotli", "zstd"})  # no browser takes these over plain http
# Least, most and default level: what servers use when they compress as they send.
COMPRESSION_LEVELS = {"gzip": (1, 9, 6), "brotli": (0, 11, 5), "zstd": (1, 19, 3)}
DYNAMIC = "-dynamic"


@dataclass(frozen=True)
class Compression:
    """The content coding of text: as `recorded`, `none`, or `gzip`, `brotli` or `zstd` of one level for all of it.

    All was coded beforehand; if `dynamic`, the server codes each answer as it sends it.
    """

    kind: str = RECORDED
    level: int | None = None
    dynamic: bool = False

    @classmethod
    def parse(cls, text: str) -> Compression:
        """`recorded`, `none`, or a coding, also with its level and `-dynamic`: `gzip`, `gzip-9`, `gzip-9-dynamic`."""
        if text in (RECORDED, NONE):
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


RECORDED_COMPRESSION = Compression()

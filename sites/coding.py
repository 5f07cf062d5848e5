"""Content codings (gzip, deflate, br, zstd): decode recorded bodies, encode changed ones. Pure."""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Callable, Mapping
from enum import IntEnum

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import zstandard

from sites.response import BODY_LIMIT_BYTES

# What browsers take. Over plain http they neither ask for brotli and zstd nor decode brotli (Chromium 156).
BROWSER_CODINGS: Mapping[str, frozenset[str]] = {
    "http": frozenset({"gzip", "deflate"}),
    "https": frozenset({"gzip", "deflate", "br", "zstd"}),
}
KNOWN = frozenset({"", "gzip", "deflate", "br", "zstd"})
# What servers use unless told otherwise.
_USUAL_LEVELS: Mapping[str, int] = {"gzip": 6, "deflate": 6, "br": 5, "zstd": 3}
# The levels that are told apart, from quick to thorough. Others lie within some 4 % of one of these, most within 2 %.
_LEVELS: Mapping[str, tuple[int, ...]] = {
    "gzip": (1, 2, 3, 4, 5, 6, 9),
    "deflate": (1, 2, 3, 4, 5, 6, 9),
    "br": (1, 4, 5, 9, 11),
    "zstd": (1, 3, 6, 9, 19),
}
_SLOW_LEVEL, _SLOW_LIMIT_BYTES = 9, 4_000_000  # from that level on a MB may take a second and more
_HEADER_BYTES = 20  # so much more a gzip header may take than ours, with the name of a file in it
_TRIAL_BYTES = 65536
_ZSTD_STEP_BYTES = 1024  # what comes of it is at most some 32 MB
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f]")
_ALIASES = {"x-gzip": "gzip"}
_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def coding_of(header: str | None) -> str:
    """The coding a Content-Encoding header names, several as `gzip, br`; "" for none.

    "" also when it names one that no browser knows (`UTF-8`, `none`, `binary`; `identity` beside others): Chromium then
    shows the body as it comes, undecoded.
    """
    names = [name.strip().lower() for name in (header or "").split(",")]
    names = [_ALIASES.get(name, name) for name in names]
    return ", ".join(names) if all(name in KNOWN - {""} for name in names) else ""


class TooLargeError(ValueError):
    """A body that decodes to more than a body may have: made to fill a machine, as far as can be told."""


def decode(body: bytes, coding: str, limit: int = BODY_LIMIT_BYTES) -> bytes:
    """The body without its coding; ValueError when it is not so coded or cut short, or the coding unknown.

    TooLargeError when it has more than `limit` bytes then; no more than about that is ever decoded.
    """
    if not coding:
        return body
    if coding not in _DECODERS:
        raise ValueError(f"the coding {coding} is not known")
    try:
        plain = _DECODERS[coding](body, limit)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise ValueError(f"the body is not {coding}: {error}") from error
    if len(plain) > limit:
        raise TooLargeError(f"the body decodes to more than {limit:,} bytes")
    return plain


def encode(body: bytes, coding: str, level: int | None = None) -> bytes:
    """The body in that coding at that level (None: the usual one); the same input gives the same bytes."""
    chosen = _USUAL_LEVELS.get(coding, 0) if level is None else level
    if coding == "gzip":
        squeeze = zlib.compressobj(chosen, zlib.DEFLATED, 31)  # a gzip header with mtime 0
        return squeeze.compress(body) + squeeze.flush()
    if coding == "deflate":
        return zlib.compress(body, chosen)
    if coding == "br":
        coded: bytes = brotli.compress(body, quality=chosen)
        return coded
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=chosen).compress(body)
    return body


def level_of(plain: bytes, coding: str, coded_bytes: int) -> int | None:
    """The level at which a body, `plain` without its coding, has about the `coded_bytes` that it was recorded with.

    None where that size tells nothing. The usual level stays unless another meets the size exactly, or comes nearer
    by more than a header. Levels are tried from the usual one on towards the size, slow ones of texts up to 4 MB alone.
    """
    if coding not in _LEVELS or coded_bytes >= len(plain):
        return None
    chosen, levels = _USUAL_LEVELS[coding], _LEVELS[coding]
    least = first = len(encode(plain, coding)) - coded_bytes
    at = levels.index(chosen)
    for level in levels[at + 1 :] if first > 0 else levels[:at][::-1]:
        if not least or (level >= _SLOW_LEVEL and len(plain) > _SLOW_LIMIT_BYTES):
            break
        over = len(encode(plain, coding, level)) - coded_bytes
        if not over or abs(over) + _HEADER_BYTES < abs(least):
            chosen, least = level, over
        if (over > 0) != (first > 0):
            break
    return chosen


def is_coded(body: bytes, coding: str, *, cut: bool = False) -> bool:
    """Whether a body that is said to be so coded begins as one; no more of it is decoded than that takes.

    Its end may be missing. `cut`: it is known to be, so that nothing need be decoded of what there is. Text is not
    coded, as no coding makes text.
    """
    if coding in _MAGIC:
        return body.startswith(_MAGIC[coding]) or (cut and _MAGIC[coding].startswith(body))
    start = body[:_TRIAL_BYTES]
    stages = [_trial_of_brotli(start)] if coding == "br" else []
    stages = [_trial_of_deflate(start, window) for window in (15, -15)] if coding == "deflate" else stages
    best = max(stages, default=_Stage.NOT)
    if best is _Stage.OVER and len(body) <= _TRIAL_BYTES:
        return True
    return best >= (_Stage.SILENT if cut else _Stage.BEGUN) and not _is_text(start)


class _Stage(IntEnum):
    """How far a decoder came with the beginning of a body."""

    NOT = 0  # it is not so coded
    SILENT = 1  # nothing is wrong, and nothing was decoded
    BEGUN = 2
    OVER = 3  # it is whole


def _trial_of_brotli(start: bytes) -> _Stage:
    stream = brotli.Decompressor()
    try:
        plain = stream.process(start, output_buffer_limit=_TRIAL_BYTES)
    except brotli.error:
        return _Stage.NOT
    return _Stage.OVER if stream.is_finished() else _Stage.BEGUN if plain else _Stage.SILENT


def _trial_of_deflate(start: bytes, window: int) -> _Stage:
    stream = zlib.decompressobj(window)
    try:
        plain = stream.decompress(start, _TRIAL_BYTES)
    except zlib.error:
        return _Stage.NOT
    return _Stage.OVER if stream.eof and not stream.unused_data else _Stage.BEGUN if plain else _Stage.SILENT


def _is_text(start: bytes) -> bool:
    """Whether bytes are printable UTF-8, of which the last character may be cut."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return _CONTROL.search(text) is None


# Each decoder stops soon after `limit` bytes; a body that is cut short before that is a ValueError.


def _gunzip(body: bytes, limit: int) -> bytes:
    plain, at, rest = bytearray(), 0, memoryview(body)
    while at < len(body) and len(plain) <= limit and (not at or body.startswith(_MAGIC["gzip"], at)):
        member, size = zlib.decompressobj(31), 512
        while at < len(body) and len(plain) <= limit and not member.eof:
            plain += member.decompress(rest[at : at + size], limit + 1 - len(plain))
            at, size = (
                min(at + size, len(body)),
                2 * size,
            )  # a member may be small, and what is behind it is copied
        if not member.eof and len(plain) <= limit:
            raise ValueError("the body is not gzip, or is cut short")
        at -= len(member.unused_data)
    return bytes(plain)


def _inflate(body: bytes, limit: int) -> bytes:
    """Both readings of `deflate`: with the zlib header, as written down, and raw, as some servers send it."""
    try:
        return _inflated(body, 15, limit)
    except zlib.error:
        return _inflated(body, -15, limit)


def _inflated(body: bytes, window: int, limit: int) -> bytes:
    stream = zlib.decompressobj(window)
    plain = stream.decompress(body, limit + 1)
    if not stream.eof and len(plain) <= limit:
        raise ValueError("the body is not deflate, or is cut short")
    return plain


def _unbrotli(body: bytes, limit: int) -> bytes:
    stream = brotli.Decompressor()
    plain: bytes = stream.process(body, output_buffer_limit=limit + 1)
    if not stream.is_finished() and len(plain) <= limit:
        raise ValueError("the body is not br, or is cut short")
    return plain


def _unzstd(body: bytes, limit: int) -> bytes:
    """All frames; the size need not stand in the first one's header."""
    plain, at = bytearray(), 0
    while at < len(body) and len(plain) <= limit:
        frame = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
        while at < len(body) and not frame.eof and len(plain) <= limit:
            plain += frame.decompress(body[at : at + _ZSTD_STEP_BYTES])
            at += _ZSTD_STEP_BYTES
        if frame.eof:
            at = min(at, len(body)) - len(frame.unused_data)
        elif len(plain) <= limit:
            raise ValueError("the body is not zstd, or is cut short")
    return bytes(plain)


_DECODERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": _gunzip,
    "deflate": _inflate,
    "br": _unbrotli,
    "zstd": _unzstd,
}

"""Content codings (gzip, deflate, br, zstd): decode recorded bodies, encode changed ones. Pure."""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import brotli  # type: ignore[import-untyped, unused-ignore]  # has no types
import zstandard

# What browsers take. Over plain http they neither ask for brotli and zstd nor decode brotli (Chromium 156).
BROWSER_CODINGS: Mapping[str, frozenset[str]] = {
    "http": frozenset({"gzip", "deflate"}),
    "https": frozenset({"gzip", "deflate", "br", "zstd"}),
}
CODINGS_OF_2012 = frozenset({"gzip", "deflate"})  # QtWebKit's, over both
KNOWN = frozenset({"", "gzip", "deflate", "br", "zstd"})
GZIP_LEVEL = 6  # what web servers use unless told otherwise
ZSTD_LEVEL = 3  # likewise
BROTLI_QUALITIES = (5, 11)  # compressed on the fly; compressed ahead of time
BROTLI_AHEAD_LIMIT_BYTES = 4_000_000
BROTLI_TOLERANCE = 1.03
_TRIAL_BYTES = 65536
_ALIASES = {"x-gzip": "gzip", "identity": ""}
_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}


def coding_of(header: str | None) -> str:
    """The coding a Content-Encoding header names; "" for none."""
    name = (header or "").strip().lower()
    return _ALIASES.get(name, name)


def decode(body: bytes, coding: str) -> bytes:
    """The body without its coding; ValueError when it is not so coded or cut short, or the coding unknown."""
    try:
        if coding == "gzip":
            return _gunzip(body)
        if coding == "deflate":
            return _inflate(body)
        if coding == "br":
            plain: bytes = brotli.decompress(body)
            return plain
        if coding == "zstd":
            return _unzstd(body)
    except (zlib.error, brotli.error, zstandard.ZstdError) as error:
        raise ValueError(f"the body is not {coding}: {error}") from error
    if coding:
        raise ValueError(f"the coding {coding} is not known")
    return body


def encode(body: bytes, coding: str, recorded_bytes: int, level: int | None = None) -> bytes:
    """The body in that coding (the same input gives the same bytes), at `level` if it is gzip or brotli.

    Without a level, `recorded_bytes`, the coded size before the change, tells whether the origin had compressed
    with brotli on the fly or ahead of time.
    """
    if coding == "gzip":
        chosen = GZIP_LEVEL if level is None else level
        squeeze = zlib.compressobj(chosen, zlib.DEFLATED, 31)  # a gzip header with mtime 0
        return squeeze.compress(body) + squeeze.flush()
    if coding == "deflate":
        return zlib.compress(body, GZIP_LEVEL)
    if coding == "br":
        fast, best = BROTLI_QUALITIES
        coded: bytes = brotli.compress(body, quality=fast if level is None else level)
        if (
            level is None
            and len(coded) > recorded_bytes * BROTLI_TOLERANCE
            and len(body) <= BROTLI_AHEAD_LIMIT_BYTES
        ):
            coded = brotli.compress(body, quality=best)
        return coded
    if coding == "zstd":
        return zstandard.ZstdCompressor(level=ZSTD_LEVEL).compress(body)
    return body


def looks_coded(body: bytes, coding: str) -> bool:
    """Whether a body that does not decode was so coded nevertheless (cut short), as far as can be told."""
    return coding in _MAGIC and body.startswith(_MAGIC[coding])


def is_coded(body: bytes, coding: str) -> bool:
    """Whether a body that is said to be so coded begins as one; no more of it is decoded than that takes."""
    if coding in _MAGIC:
        return body.startswith(_MAGIC[coding])
    start, whole = body[:_TRIAL_BYTES], len(body) <= _TRIAL_BYTES
    if coding == "br":
        brotli_stream = brotli.Decompressor()
        try:
            full = len(brotli_stream.process(start, output_buffer_limit=_TRIAL_BYTES)) >= _TRIAL_BYTES
        except brotli.error:
            return False
        return full or not whole or bool(brotli_stream.is_finished())
    for window in (15, -15) if coding == "deflate" else ():
        stream = zlib.decompressobj(window)
        try:
            full = len(stream.decompress(start, _TRIAL_BYTES)) == _TRIAL_BYTES
        except zlib.error:
            continue
        if full or not whole or stream.eof:
            return True
    return False


def _gunzip(body: bytes) -> bytes:
    parts = []
    while body:
        member = zlib.decompressobj(31)
        parts.append(member.decompress(body))
        if not member.eof:
            raise ValueError("the body is not gzip, or is cut short")
        body = member.unused_data if member.unused_data.startswith(_MAGIC["gzip"]) else b""
    return b"".join(parts)


def _inflate(body: bytes) -> bytes:
    """Both readings of `deflate`: with the zlib header, as written down, and raw, as some servers send it."""
    try:
        return zlib.decompress(body)
    except zlib.error:
        return zlib.decompress(body, -15)


def _unzstd(body: bytes) -> bytes:
    """All frames; the size need not stand in the first one's header."""
    parts = []
    while body:
        frame = zstandard.ZstdDecompressor(max_window_size=2**27).decompressobj()
        parts.append(frame.decompress(body))
        if not frame.eof:
            raise ValueError("the body is not zstd, or is cut short")
        body = frame.unused_data
    return b"".join(parts)

"""Content codings (gzip, deflate, br): decode a recorded body, encode a changed one as servers do. Pure."""

from __future__ import annotations

import zlib

import brotli

GZIP_LEVEL = 6  # what web servers use unless told otherwise
BROTLI_QUALITIES = (5, 11)  # compressed on the fly; compressed ahead of time
BROTLI_AHEAD_LIMIT_BYTES = 4_000_000
BROTLI_TOLERANCE = 1.03
_ALIASES = {"x-gzip": "gzip", "identity": ""}


def coding_of(header: str | None) -> str:
    """The coding a Content-Encoding header names; "" for none."""
    name = (header or "").strip().lower()
    return _ALIASES.get(name, name)


def can_decode(coding: str) -> bool:
    return coding in ("", "gzip", "deflate", "br")


def decode(body: bytes, coding: str) -> bytes:
    """The body without its coding; ValueError when it is not so coded, or cut short."""
    try:
        if coding == "gzip":
            return _gunzip(body)
        if coding == "deflate":
            return _inflate(body)
        if coding == "br":
            plain: bytes = brotli.decompress(body)
            return plain
    except (zlib.error, brotli.error) as error:
        raise ValueError(f"the body is not {coding}: {error}") from error
    if coding:
        raise ValueError(f"the coding {coding} is not known")
    return body


def encode(body: bytes, coding: str, recorded_bytes: int) -> bytes:
    """The body in that coding (the same input gives the same bytes).

    `recorded_bytes` is the coded size before the change: it tells whether the origin had compressed with
    brotli on the fly or ahead of time.
    """
    if coding == "gzip":
        squeeze = zlib.compressobj(GZIP_LEVEL, zlib.DEFLATED, 31)  # a gzip header with mtime 0
        return squeeze.compress(body) + squeeze.flush()
    if coding == "deflate":
        return zlib.compress(body, GZIP_LEVEL)
    if coding == "br":
        fast, best = BROTLI_QUALITIES
        coded: bytes = brotli.compress(body, quality=fast)
        if len(coded) > recorded_bytes * BROTLI_TOLERANCE and len(body) <= BROTLI_AHEAD_LIMIT_BYTES:
            coded = brotli.compress(body, quality=best)
        return coded
    return body


def looks_coded(body: bytes, coding: str) -> bool:
    """Whether a body that does not decode was coded nevertheless (cut short), as far as can be told."""
    return coding == "gzip" and body.startswith(b"\x1f\x8b")


def _gunzip(body: bytes) -> bytes:
    parts = []
    while body:
        member = zlib.decompressobj(31)
        parts.append(member.decompress(body))
        if not member.eof:
            raise ValueError("the body is not gzip, or is cut short")
        body = member.unused_data if member.unused_data.startswith(b"\x1f\x8b") else b""
    return b"".join(parts)


def _inflate(body: bytes) -> bytes:
    """Both readings of `deflate`: with the zlib header, as written down, and raw, as some servers send it."""
    try:
        return zlib.decompress(body)
    except zlib.error:
        return zlib.decompress(body, -15)

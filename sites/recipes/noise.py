"""`noise-200` to `noise-100k`: pages of one file that nothing can compress, to count requests with.

The file is a picture, so that a browser can load it: random grey pixels as PNG. 1 kB is 1000 bytes. 200 bytes are about
what the page was that servers of 2012 came with.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from math import isqrt
from pathlib import Path

import numpy as np

from sites.archive import Response
from sites.recipes.recipe import Recipe, static

START_URL = "http://noise.example/"
MADE = datetime(2012, 3, 1, 12, 0, tzinfo=UTC)
SIZES = {"200": 200, "1k": 1000, "10k": 10_000, "100k": 100_000}  # bytes, by what the page is called
SEED = 2012

SIGNATURE = b"\x89PNG\r\n\x1a\n"
AROUND_BYTES = 75  # signature, header, the frames of four chunks and of the compressed data
EIGHT_BITS_OF_GREY = b"\x08\0\0\0\0"
UNREAD = b"reST"  # a chunk for what does not fill a row: the letters say that it may be passed over
BLOCK_BYTES, BLOCK_FRAME_BYTES = 65_535, 5


def responses(_packages: Path, size_bytes: int) -> Iterator[Response]:
    yield static(START_URL, "image/png", noise(size_bytes), MADE)


def noise(size_bytes: int) -> bytes:
    """A PNG of that many bytes: about as many rows as columns, out of a documented random stream (PCG64)."""
    blocks = -(-size_bytes // BLOCK_BYTES)
    room = size_bytes - AROUND_BYTES - blocks * BLOCK_FRAME_BYTES
    width = isqrt(room)
    rows, rest = divmod(room, 1 + width)  # a row begins with the number of its filter
    drawn = np.random.PCG64(SEED).random_raw(room // 8 + 1).astype("<u8").tobytes()
    pixels = b"".join(b"\0" + drawn[row * width : (row + 1) * width] for row in range(rows))
    header = width.to_bytes(4, "big") + rows.to_bytes(4, "big") + EIGHT_BITS_OF_GREY
    chunks = ((b"IHDR", header), (b"IDAT", _stored(pixels)), (UNREAD, drawn[:rest]), (b"IEND", b""))
    return SIGNATURE + b"".join(_chunk(kind, content) for kind, content in chunks)


def _chunk(kind: bytes, content: bytes) -> bytes:
    checksum = zlib.crc32(kind + content)
    return len(content).to_bytes(4, "big") + kind + content + checksum.to_bytes(4, "big")


def _stored(data: bytes) -> bytes:
    """The format of zlib without compression, so that the size depends on no library."""
    blocks = [data[at : at + BLOCK_BYTES] for at in range(0, len(data), BLOCK_BYTES)]
    framed = (
        (block is blocks[-1]).to_bytes(1, "little")
        + len(block).to_bytes(2, "little")
        + (len(block) ^ 0xFFFF).to_bytes(2, "little")
        + block
        for block in blocks
    )
    return b"\x78\x01" + b"".join(framed) + zlib.adler32(data).to_bytes(4, "big")


NOISE = tuple(
    Recipe(
        name=f"noise-{name}",
        start_url=START_URL,
        summary=f"One file of {size:,} bytes that nothing can compress.",
        licence="as coldload itself: random numbers",
        made=partial(responses, size_bytes=size),
    )
    for name, size in SIZES.items()
)

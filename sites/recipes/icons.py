"""`icons-2013`: a page with the composition of a study of virtual users (about 2013), and contents of its own.

The study gives: HTML of 9.5 kB and 50 PNG icons of 32x32 pixels, on one host, and no size of the icons. Ours are
drawn as icons were in 2013: a sign on a button with a gradient, in true colour with transparency. They have 1.0 to
1.8 kB each, 64 kB together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from sites.recipes.pictures import draw_polygon, png
from sites.recipes.recipe import Recipe, static
from sites.response import Response

START_URL = "http://icons.example/"
MADE = datetime(2013, 2, 1, 12, 0, tzinfo=UTC)

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


def responses(_packages: Path) -> Iterator[Response]:
    """The 51 responses: the page, then the icons in the order in which it names them."""
    page = files("sites.recipes").joinpath("icons-2013", "index.html").read_bytes()
    yield static(START_URL, "text/html", page, MADE)
    for name in NAMES:
        yield static(f"{START_URL}icons/{name}", "image/png", icon(name), MADE)


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
    start_url=START_URL,
    summary="The composition of a study of virtual users, about 2013: HTML 9.5 kB, 50 PNG icons of 32x32.",
    licence="as coldload itself: text and icons were made for it",
    made=responses,
)

RECIPES = (ICONS,)

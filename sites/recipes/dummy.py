"""`dummy-2012`: a page with the composition of the 2012 study's dummy page, and contents of its own; `dummy-nocache`:
the same page from a server that lets a browser use nothing of it again without asking.

The study (Padhye and Nielsen, July 2012) gives: index.html 14 kB, 20 images 1.1 MB together, 3 style
sheets 1.3 kB together. Read with 1 kB = 1000 bytes and 1 MB = 1000 kB: 14,000 + 1,100,000 + 1,300 bytes. The
sizes of the single images are not known; those below are spread like real ones, about log-normally around
40 kB.

Page and styles lie in the folder dummy-2012, uncompressed and with the comments and white space of their
day. All is served by one host without compression, as in the study.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path

from sites.recipes.pictures import Picture
from sites.recipes.recipe import Recipe, static
from sites.response import Response

START_URL = "http://dummy.example/"
MADE = datetime(2012, 7, 1, 12, 0, tzinfo=UTC)
STYLE_SHEETS = ("reset.css", "layout.css", "type.css")
PICTURES = (
    Picture("logo.png", 200, 80, 8_412, 14),
    Picture("morning-ridge.jpg", 940, 560, 183_892, 10),
    Picture("north-shore.jpg", 700, 540, 138_290, 3),
    Picture("quarry.jpg", 340, 240, 29_466, 2),
    Picture("shore-map.png", 340, 240, 25_907, 5),
    Picture("estuary-chart.png", 460, 330, 42_611, 2),
    Picture("estuary.jpg", 640, 480, 112_764, 7),
    Picture("keepers-road.jpg", 600, 440, 94_183, 8),
    Picture("seven-headlands.jpg", 560, 420, 80_526, 1),
    Picture("rain.jpg", 560, 360, 69_940, 9),
    Picture("after-the-rain.jpg", 500, 350, 61_377, 19),
    Picture("reader-heath.jpg", 460, 345, 54_208, 13),
    Picture("reader-sound.jpg", 440, 310, 47_935, 5),
    Picture("reader-dusk.jpg", 360, 260, 33_120, 11),
    Picture("reader-fields.jpg", 280, 210, 22_318, 18),
    Picture("harbour-today.jpg", 240, 160, 15_930, 15),
    Picture("walk-of-the-month.jpg", 180, 120, 9_870, 20),
    Picture("where.png", 220, 160, 12_655, 8),
    Picture("map-coast.png", 420, 300, 37_852, 9),
    Picture("map-islands.png", 280, 200, 18_744, 3),
)
CONTENT_TYPES = {"html": "text/html", "css": "text/css", "jpg": "image/jpeg", "png": "image/png"}
# Cache-Control of each kind.
FRESH = dict.fromkeys(CONTENT_TYPES, "max-age=604800") | {"html": "max-age=300"}
ASK_AGAIN = dict.fromkeys(CONTENT_TYPES, "no-cache")


def responses(_packages: Path, control: Mapping[str, str]) -> Iterator[Response]:
    """The 24 responses, in the order in which the page names them."""
    folder = files("sites.recipes").joinpath("dummy-2012")
    contents = [
        ("", "html", folder.joinpath("index.html").read_bytes()),
        *((f"css/{name}", "css", folder.joinpath("css", name).read_bytes()) for name in STYLE_SHEETS),
    ]
    pictures = ((f"images/{each.name}", each.kind, each.encoded()) for each in PICTURES)
    for path, kind, body in itertools.chain(contents, pictures):
        fresh = ("Cache-Control", control[kind])
        yield static(START_URL + path, CONTENT_TYPES[kind], body, MADE, fresh)


DUMMY = Recipe(
    name="dummy-2012",
    start_url=START_URL,
    summary="The composition of the 2012 study's dummy page: HTML 14 kB, 20 images 1.1 MB, 3 CSS 1.3 kB.",
    licence="as coldload itself: text and pictures were made for it",
    made=partial(responses, control=FRESH),
)
DUMMY_NOCACHE = replace(
    DUMMY,
    name="dummy-nocache",
    summary="dummy-2012 from a server that says no-cache: a browser asks anew for all of it, with If-None-Match.",
    made=partial(responses, control=ASK_AGAIN),
)

RECIPES = (DUMMY, DUMMY_NOCACHE)

"""The two pages of the 2012 study (Padhye and Nielsen, July 2012): what they were composed of, and contents of our own.

`dummy-2012`. The study gives: index.html 14 kB, 20 images 1.1 MB together, 3 style sheets 1.3 kB together. Read with
1 kB = 1000 bytes and 1 MB = 1000 kB: 14,000 + 1,100,000 + 1,300 bytes. The sizes of the single images are not known;
those below are spread like real ones, about log-normally around 40 kB. Page and styles lie in the folder dummy-2012,
uncompressed and with the comments and white space of their day. All is served by one host without compression, as in
the study. `dummy-nocache` is the same page from a server that lets a browser use nothing of it again without asking.

`mobile-news-2012`. The study gives: 11 objects, of them 1 HTML, 1 style sheet on another host and 9 images, 38.5 kB
together: 38,500 bytes of bodies. The sizes of the single objects are not known. Ours is what a phone with a touch
screen got in 2012: XHTML for phones, a commented style sheet, nothing compressed, and photographs at twice the size
they are shown at, as for the new fine screens. The pictures still hold what image editors of that day wrote into them:
an XMP packet with room to write in, by which each picture has its exact size. The bytes of the pixels depend on the
encoder in Pillow, the sizes never do. With `core-2012` the style sheet and all pictures move into the page: one request
instead of eleven. `mobile-news-one-host` has the style sheet on the page's own host, to see what the second host costs.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path

from PIL import Image

from sites.recipes.pictures import Picture, draw_polygon, jpeg, landscape, png, png_chunk
from sites.recipes.recipe import Recipe, static
from sites.response import Response

MADE = datetime(2012, 7, 1, 12, 0, tzinfo=UTC)
DUMMY_URL = "http://dummy.example/"
STYLE_SHEETS = ("reset.css", "layout.css", "type.css")
DUMMY_PICTURES = (
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


def _dummy(_packages: Path, control: Mapping[str, str]) -> Iterator[Response]:
    """The 24 responses, in the order in which the page names them."""
    folder = files("sites.recipes").joinpath("dummy-2012")
    contents = [
        ("", "html", folder.joinpath("index.html").read_bytes()),
        *((f"css/{name}", "css", folder.joinpath("css", name).read_bytes()) for name in STYLE_SHEETS),
    ]
    pictures = ((f"images/{picture.name}", picture.kind, picture.encoded()) for picture in DUMMY_PICTURES)
    for path, kind, body in itertools.chain(contents, pictures):
        fresh = ("Cache-Control", control[kind])
        yield static(DUMMY_URL + path, CONTENT_TYPES[kind], body, MADE, fresh)


DUMMY = Recipe(
    name="dummy-2012",
    start_url=DUMMY_URL,
    summary="The composition of the 2012 study's dummy page: HTML 14 kB, 20 images 1.1 MB, 3 CSS 1.3 kB.",
    licence="as coldload itself: text and pictures were made for it",
    made=partial(_dummy, control=FRESH),
)
DUMMY_NOCACHE = replace(
    DUMMY,
    name="dummy-nocache",
    summary="dummy-2012 from a server that says no-cache: a browser asks anew for all of it, with If-None-Match.",
    made=partial(_dummy, control=ASK_AGAIN),
)


NEWS_URL = "http://m.wire.example/"
STYLE_SHEET_URL = "http://cdn.wire.example/touch/touch.css"
OWN_STYLE_SHEET_URL = f"{NEWS_URL}touch/touch.css"
JPEG_QUALITY = 70
FINE = 4  # a sign is drawn as many times as large, for smooth edges
INK, PAPER = (13, 47, 69), (236, 242, 246)

XMP_NAME = b"http://ns.adobe.com/xap/1.0/\0"
XMP_HEAD = (
    b'<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
    b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\n'
    b'<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" '
    b'dc:rights="Harbour Wire picture desk"/>\n</rdf:RDF></x:xmpmeta>\n'
)
XMP_TAIL = b'<?xpacket end="w"?>'
XMP_LINE = 100  # its room to write in is lines of white space


@dataclass(frozen=True)
class Thumbnail:
    """A photograph: width and height of its pixels, the file size, and what it shows."""

    name: str
    width: int
    height: int
    size_bytes: int
    seed: int

    def encoded(self) -> bytes:
        data = jpeg(landscape(self.width, self.height, self.seed), JPEG_QUALITY)
        xmp = XMP_NAME + packet(self.size_bytes - len(data) - 4 - len(XMP_NAME))
        return data[:2] + b"\xff\xe1" + (len(xmp) + 2).to_bytes(2, "big") + xmp + data[2:]


@dataclass(frozen=True)
class Sign:
    """A drawing in two colours: polygons, written as in SVG, in hundredths of its width."""

    name: str
    width: int
    height: int
    size_bytes: int
    polygons: tuple[str, ...]

    def encoded(self) -> bytes:
        large = Image.new("RGB", (self.width * FINE, self.height * FINE), INK)
        unit = self.width * FINE / 100
        for polygon in self.polygons:
            draw_polygon(large, polygon, unit, PAPER)
        data = png(large.reduce(FINE), level=1)
        name = b"XML:com.adobe.xmp\0\0\0\0\0"
        chunk = png_chunk(b"iTXt", name + packet(self.size_bytes - len(data) - 12 - len(name)))
        return data[:-12] + chunk + data[-12:]


LOGO = (
    "4,26 20,26 24,10 28,26 44,26 36,31 12,31",
    "50,14 54,14 54,19 60,19 60,14 64,14 64,28 60,28 60,23 54,23 54,28 50,28",
    "70,14 74,14 76,24 80,14 84,24 86,14 90,14 87,28 83,28 80,20 77,28 73,28",
)
NEWS_PICTURES: tuple[Thumbnail | Sign, ...] = (
    Sign("logo.png", 96, 32, 3_712, LOGO),
    Sign("search.png", 24, 24, 1_938, ("20,20 60,20 60,54 88,82 82,88 54,60 20,60",)),
    Sign("weather.png", 24, 24, 2_041, ("50,8 60,34 90,34 66,52 76,82 50,64 24,82 34,52 10,34 40,34",)),
    Thumbnail("ferry.jpg", 144, 108, 5_604, 7),
    Thumbnail("light.jpg", 108, 108, 4_017, 2),
    Thumbnail("herring.jpg", 108, 108, 3_802, 5),
    Thumbnail("rowing.jpg", 108, 108, 3_978, 3),
    Thumbnail("dune.jpg", 108, 108, 3_766, 10),
    Sign("play.png", 24, 24, 2_004, ("25,15 85,50 25,85",)),
)  # fmt: skip


def packet(length: int) -> bytes:
    """An XMP packet of that many bytes. ValueError when it cannot be so short."""
    room = length - len(XMP_HEAD) - len(XMP_TAIL)
    if room < 0:
        raise ValueError(f"an XMP packet takes {length - room} bytes; {length} are left")
    line = b" " * (XMP_LINE - 1) + b"\n"
    return XMP_HEAD + (line * (room // XMP_LINE + 1))[:room] + XMP_TAIL


def _news(_packages: Path, style_sheet: str = STYLE_SHEET_URL) -> Iterator[Response]:
    """The 11 responses, in the order in which the page names them, with the style sheet at a URL."""
    folder = files("sites.recipes").joinpath("mobile-news-2012")
    page = folder.joinpath("index.html").read_bytes().replace(STYLE_SHEET_URL.encode(), style_sheet.encode())
    yield static(NEWS_URL, "text/html", page, MADE)
    yield static(style_sheet, "text/css", folder.joinpath("touch.css").read_bytes(), MADE)
    for picture in NEWS_PICTURES:
        kind = "image/png" if isinstance(picture, Sign) else "image/jpeg"
        yield static(f"{NEWS_URL}images/{picture.name}", kind, picture.encoded(), MADE)


MOBILE_NEWS = Recipe(
    name="mobile-news-2012",
    start_url=NEWS_URL,
    summary="The composition of the 2012 study's mobile news page, as a phone got it: 11 objects of 2 hosts, 38.5 kB.",
    licence="as coldload itself: text and pictures were made for it",
    made=_news,
)
MOBILE_NEWS_ONE_HOST = replace(
    MOBILE_NEWS,
    name="mobile-news-one-host",
    summary="mobile-news-2012 with its style sheet on the page's own host.",
    made=partial(_news, style_sheet=OWN_STYLE_SHEET_URL),
)

RECIPES = (DUMMY, DUMMY_NOCACHE, MOBILE_NEWS, MOBILE_NEWS_ONE_HOST)

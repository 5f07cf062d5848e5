"""`mobile-news-2012`: a page with the composition of the 2012 study's mobile news page, and contents of its own.

The study (Padhye and Nielsen, July 2012) gives: 11 objects, of them 1 HTML, 1 style sheet on another host and 9 images,
38.5 kB together. Read with 1 kB = 1000 bytes of bodies: 38,500. The sizes of the single objects are not known. Ours is
what a phone with a touch screen got in 2012: XHTML for phones, a commented style sheet, nothing compressed (as the
study served it), and photographs at twice the size they are shown at, as for the new fine screens.

The pictures still hold what image editors of that day wrote into them: an XMP packet with room to write in, by which
each picture has its exact size. The bytes of the pixels depend on the encoder in Pillow, the sizes never do.

With `core-2012` the style sheet and all pictures move into the page: one request instead of eleven.

`mobile-news-one-host` is the same with the style sheet on the page's own host, to see what the second host costs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.resources import files
from pathlib import Path

from PIL import Image

from sites.recipes.pictures import draw_polygon, jpeg, landscape, png, png_chunk
from sites.recipes.recipe import Recipe, static
from sites.response import Response

START_URL = "http://m.wire.example/"
STYLE_SHEET_URL = "http://cdn.wire.example/touch/touch.css"
OWN_STYLE_SHEET_URL = f"{START_URL}touch/touch.css"
MADE = datetime(2012, 7, 1, 12, 0, tzinfo=UTC)
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
PICTURES: tuple[Thumbnail | Sign, ...] = (
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


def responses(_packages: Path, style_sheet: str = STYLE_SHEET_URL) -> Iterator[Response]:
    """The 11 responses, in the order in which the page names them, with the style sheet at a URL."""
    folder = files("sites.recipes").joinpath("mobile-news-2012")
    page = folder.joinpath("index.html").read_bytes().replace(STYLE_SHEET_URL.encode(), style_sheet.encode())
    yield static(START_URL, "text/html", page, MADE)
    yield static(style_sheet, "text/css", folder.joinpath("touch.css").read_bytes(), MADE)
    for picture in PICTURES:
        kind = "image/png" if isinstance(picture, Sign) else "image/jpeg"
        yield static(f"{START_URL}images/{picture.name}", kind, picture.encoded(), MADE)


MOBILE_NEWS = Recipe(
    name="mobile-news-2012",
    start_url=START_URL,
    summary="The composition of the 2012 study's mobile news page, as a phone got it: 11 objects of 2 hosts, 38.5 kB.",
    licence="as coldload itself: text and pictures were made for it",
    made=responses,
)
MOBILE_NEWS_ONE_HOST = replace(
    MOBILE_NEWS,
    name="mobile-news-one-host",
    summary="mobile-news-2012 with its style sheet on the page's own host.",
    made=partial(responses, style_sheet=OWN_STYLE_SHEET_URL),
)

RECIPES = (MOBILE_NEWS, MOBILE_NEWS_ONE_HOST)

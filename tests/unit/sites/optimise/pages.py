"""Small pages for the filters' tests."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from io import BytesIO

from PIL import Image

from sites.optimise.page import Page, Resource
from sites.response import Response

START = "http://page.example/"
TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "png": "image/png",
    "jpg": "image/jpeg",
    "html": "text/html",
    "json": "application/json",
    "svg": "image/svg+xml",
    "txt": "text/plain",
    "xml": "text/xml",
}


def page(html: str | bytes, files: Mapping[str, str | bytes] | None = None, kind: str = "text/html") -> Page:
    """A page at START with files by path or URL; their types go by their suffix."""
    body = html.encode() if isinstance(html, str) else html
    responses = [Response(START, 200, (("Content-Type", kind),), body)]
    for path, content in (files or {}).items():
        url = path if path.startswith("http") else START + path
        mime = TYPES[url.partition("?")[0].rpartition(".")[2]]
        data = content.encode() if isinstance(content, str) else content
        responses.append(Response(url, 200, (("Content-Type", mime),), data))
    return Page(START, {each.url: Resource.of(each) for each in responses})


def html_of(result: Page) -> str:
    return result.resources[START].body.decode("utf-8", "replace")


def photo(kind: str = "JPEG", size: tuple[int, int] = (64, 48), **options: object) -> bytes:
    """A smooth picture with a little structure."""
    file = BytesIO()
    image = Image.linear_gradient("L").resize(size).convert("RGB")
    image.putpixel((3, 3), (255, 0, 0))
    image.save(file, kind, **options)
    return file.getvalue()


def png(
    samples: Callable[[int, int], Sequence[int]],
    *chunks: tuple[bytes, bytes],
    size: tuple[int, int] = (64, 48),
    kind: tuple[int, int] = (2, 8),
) -> bytes:
    """A PNG file by hand: the samples of a pixel by x and y, chunks before the pixels, colour type and depth."""
    colour, depth = kind
    rows = bytearray()
    for y in range(size[1]):
        bits = "".join(f"{sample:0{depth}b}" for x in range(size[0]) for sample in samples(x, y))
        rows += b"\0" + int(bits + "0" * (-len(bits) % 8), 2).to_bytes((len(bits) + 7) // 8, "big")
    head = struct.pack(">IIBBBBB", *size, depth, colour, 0, 0, 0)
    parts = (b"IHDR", head), *chunks, (b"IDAT", zlib.compress(bytes(rows))), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in parts
    )

"""Small pages for the filters' tests."""

from __future__ import annotations

from collections.abc import Mapping
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

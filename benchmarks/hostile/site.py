"""A hostile page as a value: its responses, how its load may end, and what is true of it by construction."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from io import BytesIO

from PIL import Image

from harness.errors import Outcome
from harness.model.engine import BROWSERS, Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from sites.response import Response

START = "http://site.example/"
LINK = Link.of(2, 50)
SIDE = 288  # of the picture, in pixels: some 250 kB of noise, which take a second on the link

LOADED = frozenset({Outcome.OK})
BROKEN = frozenset({Outcome.PAGE_ERROR, Outcome.PAGE_TIMEOUT})
LOST = frozenset({Outcome.MISSING_OBJECTS})
ANY = LOADED | BROKEN


@dataclass(frozen=True)
class Page:
    """One page. `may` is how its load may end; any other outcome blames somebody who is not at fault.

    With `weighs` the load event waits for the picture, so that a load time below what the picture takes on the link
    is not true; with `light` the page has nothing else that takes long, so that a load time far above that of the
    honest page is not true either. `objects` are the least requests of a load that ended well. `flag` is what another
    distribution would start Chromium with. Only its `engines` load the page. `server` is the engine's usual one unless
    it is named. Of its objects those under `missed`, paths of this site, are ordinary misses and all others answered;
    None where that is not known.
    """

    name: str
    responses: tuple[Response, ...]
    may: frozenset[Outcome] = ANY
    weighs: bool = False
    objects: int = 1
    start: str = START
    light: bool = False
    flag: str = ""
    engines: frozenset[Engine] = frozenset(BROWSERS)
    server: str = ""
    protocol: Protocol = Protocol.HTTP1
    missed: frozenset[str] | None = None


@cache
def picture() -> bytes:
    """A picture that cannot be compressed."""
    noise = random.Random(1).randbytes(3 * SIDE * SIDE)  # noqa: S311
    file = BytesIO()
    Image.frombytes("RGB", (SIDE, SIDE), noise).save(file, "PNG")
    return file.getvalue()


def picture_ms() -> float:
    """What the picture takes on the link at the very least."""
    return len(picture()) * 8 / (LINK.down.rate.mean_mbps * 1000)


def weight() -> Response:
    return Response(START + "weight.png", 200, (("Content-Type", "image/png"),), picture())


def text(url: str, body: str | bytes, kind: str = "text/html", status: int = 200, **headers: str) -> Response:
    """A response of text; the underscores of header names become hyphens."""
    named = [(name.replace("_", "-"), value) for name, value in headers.items()]
    data = body.encode() if isinstance(body, str) else body
    return Response(url, status, (("Content-Type", kind), *named), data)


def html(head: str = "", body: str = "", *, picture: bool = True) -> str:
    image = '<img src="/weight.png" width="288" height="288">' if picture else ""
    return f"<!doctype html><html><head><title>t</title>{head}</head><body><h1>A page</h1>{image}{body}</body></html>"


def scripted(name: str, script: str, *, may: frozenset[Outcome] = ANY, light: bool = False) -> Page:
    """A page with the picture whose script runs first of all."""
    document = text(START, html(f"<script>{script}</script>"))
    return Page(name, (document, weight()), may, weighs=True, objects=2, light=light)


def made_of(
    name: str,
    head: str = "",
    body: str = "",
    others: Sequence[Response] = (),
    *,
    may: frozenset[Outcome] = ANY,
    weighs: bool = False,
) -> Page:
    """A page with the picture and other things."""
    return Page(
        name, (text(START, html(head, body)), weight(), *others), may, weighs, objects=2 if weighs else 1
    )

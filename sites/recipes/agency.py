"""`agency`: a real multi-host page under permissive licences, put together from npm packages.

The page is Start Bootstrap's Agency as published, with what it refers to on four other hosts: Bootstrap's
scripts (cdn.jsdelivr.net), Font Awesome (use.fontawesome.com), style sheets and fonts of Google Fonts. The
packages hold the very files. Ours are only the host name agency.example, the response headers (modelled on
those hosts) and the style sheets of Google Fonts: one Latin face per weight. One object is not to be had
(cdn.startbootstrap.com/sb-forms-latest.js) and remains a miss: 33 requests, 32 of them answered by 5 hosts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path

from sites.archive import Response
from sites.htcache import recompress
from sites.recipes.packages import Package, fetch, read_files
from sites.recipes.recipe import Recipe

START_URL = "https://agency.example/"
MADE = datetime(2023, 3, 1, 12, 0, tzinfo=UTC)

PAGE = Package(
    "startbootstrap-agency",
    "7.0.12",
    "VpdOVgqYq+Yomt72/gZueBuB99wWyqL1rvqaGaqRwHtDMJlXSf9eGfisyQXPx7//z3dnlGHIMzIk2I8CCmtXOQ==",
)
BOOTSTRAP = Package(
    "bootstrap",
    "5.2.3",
    "cEKPM+fwb3cT8NzQZYEu4HilJ3anCrWqh3CHAok1p9jXqMPsPTBhU25fBckEJHJ/p+tTxTFTsFQGM+gaHpi3QQ==",
)
FONT_AWESOME = Package(
    "@fortawesome/fontawesome-free",
    "6.3.0",
    "qVtd5i1Cc7cdrqnTWqTObKQHjPWAiRwjUPaXObaeNPcy7+WKxJumGBx66rfSFgK6LNpIasVKkEgW8oyf0tmPLA==",
)
MONTSERRAT = Package(
    "@fontsource/montserrat",
    "4.5.14",
    "fTvrteVzuFUePhr4QYBGoK8G/YHLJ3IhF1HhKg0AxcFvZajJT7rM7ULdmKLSd2PkX44R3aaFZq1zDbmjbGGI+w==",
)
ROBOTO_SLAB = Package(
    "@fontsource/roboto-slab",
    "4.5.11",
    "0HXK8WNvZZg4vglhUY4ySBmlh+wnO1JsGcPfCaxDhY24gtRf2POmmeNpSxKFjjQTDV8BiYDXF2H9p15d/6c/YA==",
)
PACKAGES = (PAGE, BOOTSTRAP, FONT_AWESOME, MONTSERRAT, ROBOTO_SLAB)

CONTENT_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "application/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "jpg": "image/jpeg",
    "png": "image/png",
    "ico": "image/vnd.microsoft.icon",
    "woff2": "font/woff2",
}
ANY_ORIGIN = ("Access-Control-Allow-Origin", "*")
TIMED = ("Timing-Allow-Origin", "*")
# What each host says besides the type, in the manner of the real one; the page's own as static hosting does.
HOST_HEADERS: dict[str, tuple[tuple[str, str], ...]] = {
    "agency.example": (ANY_ORIGIN, ("Cache-Control", "max-age=600")),
    "cdn.jsdelivr.net": (
        ANY_ORIGIN,
        TIMED,
        ("Cache-Control", "public, max-age=31536000, s-maxage=31536000, immutable"),
    ),
    "use.fontawesome.com": (ANY_ORIGIN, ("Cache-Control", "max-age=31556926")),
    "fonts.googleapis.com": (ANY_ORIGIN, TIMED, ("Cache-Control", "private, max-age=86400")),
    "fonts.gstatic.com": (ANY_ORIGIN, TIMED, ("Cache-Control", "public, max-age=31536000")),
}


def responses(packages: Path) -> Iterator[Response]:
    """The 35 responses: the page, its own files, then the other hosts'. Fetches the packages when need be."""
    fetch(PACKAGES, packages)
    site = dict(read_files(PAGE, packages, "dist/"))
    yield _response("agency.example/", "html", site.pop("dist/index.html"))
    for name, body in sorted(site.items()):
        yield _response(f"agency.example/{name.removeprefix('dist/')}", name.rpartition(".")[2], body)
    script = "dist/js/bootstrap.bundle.min.js"
    body = read_files(BOOTSTRAP, packages, script)[script]
    yield _response(f"cdn.jsdelivr.net/npm/{BOOTSTRAP}/{script}", "js", body)
    body = read_files(FONT_AWESOME, packages, "js/all.js")["js/all.js"]
    yield _response(f"use.fontawesome.com/releases/v{FONT_AWESOME.version}/js/all.js", "js", body)
    yield from _family(MONTSERRAT, packages, "Montserrat", (400, 700), "Montserrat:400,700")
    yield from _family(
        ROBOTO_SLAB, packages, "Roboto Slab", (100, 300, 400, 700), "Roboto+Slab:400,100,300,700"
    )


def _family(
    package: Package, packages: Path, family: str, weights: tuple[int, ...], query: str
) -> Iterator[Response]:
    """A family as Google Fonts serves it: the style sheet for `query`, and a Latin font per weight."""
    files = read_files(package, packages, "files/", "unicode.json")
    latin = json.loads(files["unicode.json"])["latin"]
    rules, fonts = [], []
    for weight in weights:
        name = f"{family.lower().replace(' ', '-')}-latin-{weight}-normal.woff2"
        address = f"fonts.gstatic.com/s/{family.lower().replace(' ', '')}/{name}"
        fonts.append(_response(address, "woff2", files[f"files/{name}"]))
        rules.append(
            f"/* latin */\n@font-face {{\n  font-family: '{family}';\n  font-style: normal;\n"
            f"  font-weight: {weight};\n  src: url(https://{address}) format('woff2');\n"
            f"  unicode-range: {latin.replace(',', ', ')};\n}}\n"
        )
    yield _response(f"fonts.googleapis.com/css?family={query}", "css", "".join(rules).encode())
    yield from fonts


def _response(address: str, kind: str, body: bytes) -> Response:
    """200 with the host's headers; text gzip-encoded, as all of these hosts do."""
    headers = (
        ("Content-Type", CONTENT_TYPES[kind]),
        ("Content-Length", str(len(body))),
        ("Last-Modified", format_datetime(MADE, usegmt=True)),
        *HOST_HEADERS[address.partition("/")[0]],
    )
    plain = Response(f"https://{address}", 200, headers, body, date=MADE, reason="OK")
    return next(recompress([plain]))


AGENCY = Recipe(
    name="agency",
    start_url=START_URL,
    summary="Start Bootstrap's Agency with Bootstrap, Font Awesome and Google Fonts: 33 requests, 5 hosts.",
    licence="page, Bootstrap, Font Awesome's code MIT; its icons CC BY 4.0; Montserrat OFL 1.1; "
    "Roboto Slab Apache 2.0",
    responses=responses,
    crawled=True,
)

"""Pages that npm packages hold, put together with what they refer to on other hosts.

A template is served as it was published. What it refers to on other hosts comes from the packages that hold the very
files; style sheets of Google Fonts are ours, one Latin face per weight. Ours are also the host name and the response
headers, which are modelled on those hosts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime
from pathlib import Path

from harness.model.protocol import Headers
from sites.htcache import text_gzipped
from sites.recipes.recipe import Package, read_files
from sites.response import Response

CONTENT_TYPES: Mapping[str, str] = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "application/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "json": "application/json",
    "svg": "image/svg+xml",
    "gif": "image/gif",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "png": "image/png",
    "webp": "image/webp",
    "ico": "image/vnd.microsoft.icon",
    "mp4": "video/mp4",
    "eot": "application/vnd.ms-fontobject",
    "otf": "font/otf",
    "ttf": "font/ttf",
    "woff": "font/woff",
    "woff2": "font/woff2",
}
ANY_ORIGIN = ("Access-Control-Allow-Origin", "*")
TIMED = ("Timing-Allow-Origin", "*")
# What hosts say besides the type, in the manner of the real ones; all others as static hosting does.
STATIC: Headers = (ANY_ORIGIN, ("Cache-Control", "max-age=600"))
HOST_HEADERS: Mapping[str, Headers] = {
    "cdn.jsdelivr.net": (
        ANY_ORIGIN,
        TIMED,
        ("Cache-Control", "public, max-age=31536000, s-maxage=31536000, immutable"),
    ),
    "cdnjs.cloudflare.com": (ANY_ORIGIN, TIMED, ("Cache-Control", "public, max-age=30672000")),
    "code.jquery.com": (
        ANY_ORIGIN,
        ("Cache-Control", "public, max-age=31536000, stale-while-revalidate=604800"),
    ),
    "use.fontawesome.com": (ANY_ORIGIN, ("Cache-Control", "max-age=31556926")),
    "fonts.googleapis.com": (ANY_ORIGIN, TIMED, ("Cache-Control", "private, max-age=86400")),
    "fonts.gstatic.com": (ANY_ORIGIN, TIMED, ("Cache-Control", "public, max-age=31536000")),
}
GOOGLE_FONTS, GOOGLE_FILES = "fonts.googleapis.com", "fonts.gstatic.com"


@dataclass(frozen=True)
class Face:
    """A font of a family, from a package of Fontsource."""

    package: Package
    family: str
    weight: int
    style: str = "normal"

    @property
    def file_name(self) -> str:
        return f"{self.family.lower().replace(' ', '-')}-latin-{self.weight}-{self.style}.woff2"

    @property
    def address(self) -> str:
        """Where Google Fonts would have it, without the scheme."""
        return f"{GOOGLE_FILES}/s/{self.family.lower().replace(' ', '')}/{self.file_name}"

    @property
    def file(self) -> str:
        """The path in the package."""
        return f"files/{self.file_name}"


def faces(
    package: Package, family: str, weights: tuple[int, ...], styles: tuple[str, ...] = ("normal",)
) -> tuple[Face, ...]:
    """The fonts of a family in these weights and styles."""
    return tuple(Face(package, family, weight, style) for style in styles for weight in weights)


@dataclass(frozen=True)
class FontSheet:
    """A style sheet of Google Fonts: what the page writes behind the host, and the fonts it gets."""

    path: str
    faces: tuple[Face, ...]


@dataclass(frozen=True)
class Template:
    """A page of a package, under a host of its own.

    `folder` of the package is the root of the host. All is on one `scheme`. `elsewhere` are the files of other hosts by
    address (without the scheme), each a file of a package. `made` is when all was last modified.
    """

    host: str
    package: Package
    made: datetime
    folder: str = ""
    page: str = "index.html"
    scheme: str = "https"
    elsewhere: tuple[tuple[str, Package, str], ...] = ()
    fonts: tuple[FontSheet, ...] = ()

    @property
    def start_url(self) -> str:
        return f"{self.scheme}://{self.host}/{'' if self.page == 'index.html' else self.page}"

    @property
    def packages(self) -> tuple[Package, ...]:
        """Every package the page is made of, the page's own first."""
        others = (package for _, package, _ in self.elsewhere)
        fonts = (face.package for sheet in self.fonts for face in sheet.faces)
        return tuple(dict.fromkeys((self.package, *others, *fonts)))

    def responses(self, packages: Path) -> Iterator[Response]:
        """The page, its own files, then the other hosts'. All packages are in the folder."""
        files = read_files(self.package, packages, self.folder)
        site = {
            path.removeprefix(self.folder): body
            for path, body in files.items()
            if _kind(path) in CONTENT_TYPES
        }
        yield self.response(self.start_url.removeprefix(f"{self.scheme}://"), site.pop(self.page))
        for path, body in sorted(site.items()):
            yield self.response(f"{self.host}/{path}", body)
        yield from self.others(packages)

    def others(self, packages: Path) -> Iterator[Response]:
        """What the page refers to on other hosts."""
        for address, body in self._elsewhere(packages):
            yield self.response(address, body)

    def _elsewhere(self, packages: Path) -> Iterator[tuple[str, bytes]]:
        wanted = {package: tuple(self._wanted(package)) for package in self.packages}
        held = {package: read_files(package, packages, *paths) for package, paths in wanted.items() if paths}
        for address, package, path in self.elsewhere:
            yield address, held[package][path]
        for sheet in self.fonts:
            rules = (self._rule(face, held[face.package].get("unicode.json")) for face in sheet.faces)
            yield f"{GOOGLE_FONTS}/{sheet.path}", "".join(rules).encode()
            for face in sheet.faces:
                yield face.address, held[face.package][face.file]

    def _wanted(self, package: Package) -> Iterator[str]:
        """How the paths begin that other hosts have from a package."""
        yield from (path for _, holder, path in self.elsewhere if holder == package)
        for face in (face for sheet in self.fonts for face in sheet.faces if face.package == package):
            yield from (face.file, "unicode.json")

    def _rule(self, face: Face, ranges: bytes | None) -> str:
        """The rule of a face as Google Fonts writes it; `ranges`: of its package, by subset, as JSON."""
        latin = json.loads(ranges)["latin"].replace(",", ", ") if ranges else None
        return (
            f"/* latin */\n@font-face {{\n  font-family: '{face.family}';\n  font-style: {face.style};\n"
            f"  font-weight: {face.weight};\n  src: url({self.scheme}://{face.address}) format('woff2');\n"
            + (f"  unicode-range: {latin};\n" if latin else "")
            + "}\n"
        )

    def response(self, address: str, body: bytes) -> Response:
        """200 with the host's headers; text gzip-encoded, as all of these hosts do."""
        host, _, path = address.partition("/")
        kind = "css" if host == GOOGLE_FONTS else _kind(path) or "html"
        headers = (
            ("Content-Type", CONTENT_TYPES[kind]),
            ("Content-Length", str(len(body))),
            ("Last-Modified", format_datetime(self.made, usegmt=True)),
            *HOST_HEADERS.get(host, STATIC),
        )
        plain = Response(f"{self.scheme}://{address}", 200, headers, body, date=self.made, reason="OK")
        return text_gzipped(plain)


def _kind(path: str) -> str:
    name = path.rpartition("/")[2]
    return name.rpartition(".")[2].lower() if "." in name else ""

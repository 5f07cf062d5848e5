"""The files of a plain folder, as a web server gives them: served, they are archived as a live page is."""

from __future__ import annotations

import mimetypes
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from harness.errors import ArchiveError
from harness.input.textfile import read_file
from sites.htcache import text_gzipped
from sites.importers.recording import RESPONSE_LIMIT, TOTAL_LIMIT_BYTES
from sites.response import BODY_LIMIT_BYTES, Response
from sites.urls import ascii_host, is_local, parse_url

INDEXES = ("index.html", "index.htm")
# Types that Python's table lacks, or has otherwise than browsers want them.
TYPES = {
    ".avif": "image/avif",
    ".ico": "image/x-icon",
    ".js": "text/javascript",
    ".map": "application/json",
    ".mjs": "text/javascript",
    ".otf": "font/otf",
    ".ttf": "font/ttf",
    ".wasm": "application/wasm",
    ".webmanifest": "application/manifest+json",
    ".webp": "image/webp",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
}


def is_plain(folder: Path) -> bool:
    """Whether a folder holds a page of its own."""
    return any((folder / name).is_file() for name in INDEXES)


def address_of(name: str, start_url: str | None = None) -> str:
    """The URL to load of the folder that becomes the archive `name`: the one given, else one made of the name.

    ArchiveError when there is none, or its host is one that nobody looks up: localhost is the machine of what loads it.
    """
    host = ascii_host(name if "." in name else f"{name}.example")
    if not start_url and host is None:
        raise ArchiveError(
            f"no host can be called {name!r}; give --start-url, as in https://site.example/, under which it is served"
        )
    url = parse_url(start_url or f"https://{host}/")
    if is_local(url.host):
        raise ArchiveError(
            f"a folder is served under a name that is looked up, and {url.host} is none: it leads to the machine that "
            "loads the page, or to an address; give a name, as in --start-url https://site.example/"
        )
    return str(url)


def responses_of_folder(folder: Path, origin: str) -> Iterator[Response]:
    """Every file below a folder at its place on `origin`, and indexes at that of their folder; text gzip-encoded.

    Hidden files and what symbolic links lead to are left out: a `.git` or `.env` is no part of a page, and a link may
    lead anywhere. ArchiveError when there is more than a page can have.
    """
    count = size = 0
    for path in _files(folder):
        try:
            body = read_file(path, BODY_LIMIT_BYTES)
        except OSError as error:
            raise ArchiveError(f"{path} cannot be read: {error.strerror or error}") from error
        count, size = count + 1, size + len(body)
        if count > RESPONSE_LIMIT or size > TOTAL_LIMIT_BYTES:
            most = f"{RESPONSE_LIMIT} files or {TOTAL_LIMIT_BYTES / 1e9:g} GB"
            raise ArchiveError(f"{folder} holds more than {most}; give the folder of one site")
        kind = TYPES.get(path.suffix.lower()) or mimetypes.guess_type(path.name)[0]
        headers = (("Content-Type", kind or "application/octet-stream"),)
        place = quote(os.fsencode(path.relative_to(folder)))
        shown = next((name for name in INDEXES if (path.parent / name).is_file()), "") == path.name
        for each in [place, place.removesuffix(path.name)] if shown else [place]:
            yield text_gzipped(Response(f"{origin}{each}", 200, headers, body))


def _files(folder: Path) -> Iterator[Path]:
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(above, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path

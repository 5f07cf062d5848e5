"""Archives made from what others made: recordings (WARC, WACZ, HAR, HTTrack mirror folders), and the folder of a site.

This is the one door. `import_recording` tells the format by what the file holds, not by its name. Only responses are
taken; what the recorder sent, and its cookies, are not. All that is left out or changed is counted in the notes.
`responses_of_folder` gives the files of a plain folder as a web server does: served, they are archived as a live page.

Bodies of a HAR may be in files of their own: beside it, or all in a zip (Playwright, `record_har_content="attach"`). A
name in a HAR is a stranger's: it leads to a file of the HAR's own folder or of its zip, or to nothing.
"""

from __future__ import annotations

import mimetypes
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import quote

from harness.errors import ArchiveError
from harness.input.shown import brief
from harness.input.textfile import read_file
from harness.system.files import remove_leftovers
from sites.archive import TOTAL_LIMIT_BYTES, Archive, check_free, write_archive
from sites.htcache import UNREADABLE, is_mirror, text_gzipped
from sites.httrack import NOTES, read_rounds, responses_of
from sites.importers.har import read_har
from sites.importers.recording import ONE_PAGE, RESPONSE_LIMIT, Recording, why
from sites.importers.settle import responses, settle
from sites.importers.wacz import WARC_NAME, check_names, read_wacz
from sites.importers.warcfile import read_warc
from sites.importers.warcrecords import GZIP_MAGIC
from sites.response import BODY_LIMIT_BYTES, Response
from sites.urls import ascii_host, is_local, parse_url
from sites.warc import About

__all__ = ["address_of", "holds_mirror", "holds_page", "import_recording", "responses_of_folder"]
KINDS = "a .warc, .warc.gz, .wacz or .har file, an HTTrack mirror folder, or a folder with an index.html"
_SNIFFED_BYTES = 4096
_OBJECT = re.compile(rb"(\xef\xbb\xbf)?\s*\{")
# Formats of recordings that are not read, by how they begin.
_OTHERS: Mapping[bytes, str] = {
    b"filedesc:": "an ARC file, the format before WARC; make a WARC of it (`warcio recompress IT.arc.gz IT.warc.gz`)",
    b"bplist00": "a web archive of Safari; record the page as HAR or WARC",
    b"From: <Saved by": "an MHTML file, which lacks headers; record the page as HAR or WARC",
    b" CDX ": "a CDX file, the index of a WARC; give the WARC",
}
LEFT_OUT = (
    "bodies left out because the file that they are said to be in is not beside the HAR, or is too large"
)

MOST_TIMES = 300  # the size of a zip, once its HAR is unpacked
ALWAYS_FINE_BYTES = 50_000_000  # also of a tiny zip
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


def import_recording(
    path: Path, root: Path, name: str, start_url: str | None = None, *, replace: bool = False
) -> Archive:
    """Store the recording at `path` as the archive `name` under `root`, all or nothing.

    Without `start_url` the page is the one the recording names, else its first HTML document; a note says which.
    ArchiveError when the recording cannot be read or holds no page, or when there is such an archive already and
    `replace` is not given.
    """
    check_free(root, name, replace=replace)
    remove_leftovers(root)
    try:
        with Recording(root) as recording:
            kind = _read(path, recording)
            settled = settle(recording, start_url)
            agents = recording.user_agents.most_common(1)
            source = brief(recording.source, 100)
            return write_archive(
                root,
                name,
                About(
                    settled.start_url,
                    f"{kind} by {source}" if source else kind,
                    brief(agents[0][0], 500) if agents else "",
                    (f"Imported from {brief(path.resolve().name, 100)}.", *settled.notes),
                    load=recording.loads.get(settled.start_url),
                ),
                responses(recording, settled),
            )
    except ArchiveError as error:
        said = brief(" ".join(str(error).split()), 2000)
        raise ArchiveError(f"cannot import {brief(str(path), 200)}: {said}") from error


def _read(path: Path, recording: Recording) -> str:
    """Fill the recording from `path`; the name of its format."""
    try:
        if path.is_dir():
            read_mirror(path, recording)
            return "mirror"
        if not path.is_file():
            raise ArchiveError(f"there is no such file or folder; give {KINDS}")
        with path.open("rb") as file:
            kind = _kind(file)
            _READERS[kind](file, recording)
            return kind.removesuffix(".zip")
    except OSError as error:
        raise ArchiveError(f"it cannot be read ({error.strerror or error}); give {KINDS}") from error


def holds_mirror(folder: Path) -> bool:
    """Whether HTTrack wrote a folder, or our own rounds of it."""
    return is_mirror(folder) or any(is_mirror(part) for part in folder.glob("round-*"))


def read_mirror(folder: Path, into: Recording) -> None:
    """The responses of a mirror, the page first; ArchiveError when the folder holds none."""
    if not holds_mirror(folder):
        raise ArchiveError(
            "it is a folder without an HTTrack mirror (no hts-cache/new.zip) and without a page (no index.html); give "
            "the folder that HTTrack wrote, the one with hts-cache in it, or that of a site"
        )
    into.source = "HTTrack"
    into.asked_for_coding = True  # what travelled compressed has been compressed again already
    for response in responses_of(folder):
        into.take(response)
    for url in sorted(read_rounds(folder).lost):
        into.tally.add(
            "responses left out because the mirror lacks their bodies, or they are over 100 MB", url
        )
    into.pages.extend(capture.response.url for capture in into.captures[:1])
    into.remarks.extend(NOTES)


def is_har_zip(file: IO[bytes]) -> bool:
    """Whether a zip is of a HAR; not when it is a WACZ or damaged."""
    try:
        with zipfile.ZipFile(file) as packed:
            names = packed.namelist()
    except UNREADABLE:
        return False
    return bool(_hars(names)) and not any(WARC_NAME.fullmatch(name) for name in names)


def read_har_file(file: IO[bytes], into: Recording) -> None:
    """A HAR and the files beside it; ArchiveError as `read_har`."""
    read_har(file, into, _Attached(into, partial(_beside, Path(file.name).resolve().parent)))


def read_har_zip(file: IO[bytes], into: Recording) -> None:
    """A HAR in a zip with its files; ArchiveError as `read_har`, and when the zip is damaged, has several, or has one
    that unpacks beyond measure.
    """
    size = file.seek(0, os.SEEK_END)
    try:
        with zipfile.ZipFile(file) as packed:
            names = packed.namelist()
            check_names(names)
            hars = _hars(names)
            if len(hars) > 1:
                raise ArchiveError(f"it is a zip of {len(hars)} HARs; unpack it and give one of them")
            unpacked = packed.getinfo(hars[0]).file_size
            if unpacked > max(ALWAYS_FINE_BYTES, MOST_TIMES * size):
                raise ArchiveError(
                    f"it has {size:,} bytes and its HAR would unpack to {unpacked:,}; get it from its source"
                )
            within = partial(_within, packed, frozenset(names), PurePosixPath(hars[0]).parent)
            with packed.open(hars[0]) as har:
                read_har(har, into, _Attached(into, within))
    except UNREADABLE as error:
        raise ArchiveError(f"it is damaged or cut short ({why(error)}); record it again") from error


class _Attached:
    """The bodies in files of their own, by name; ArchiveError when they are more than a page can have."""

    def __init__(self, into: Recording, read: Callable[[str], bytes | None]) -> None:
        self._into, self._read = into, read
        self._bytes = 0

    def __call__(self, name: str) -> bytes | None:
        """None for a file that is not there; also for a hidden one, and one elsewhere."""
        parts = name.split("/")
        plain = all(part and not part.startswith(".") for part in parts) and not set(name) & set("\\\0")
        body = self._read(name) if plain else None
        if body is None:
            self._into.tally.add(LEFT_OUT, name)
            return None
        self._bytes += len(body)
        if self._bytes > TOTAL_LIMIT_BYTES:
            raise ArchiveError(
                f"its entries name files of more than {TOTAL_LIMIT_BYTES / 1e9:g} GB together, and {ONE_PAGE}"
            )
        return body


def _beside(folder: Path, name: str) -> bytes | None:
    try:
        path = (folder / name).resolve()
        if not path.is_relative_to(folder) or not path.is_file() or path.stat().st_size > BODY_LIMIT_BYTES:
            return None
        return path.read_bytes()
    except (OSError, RuntimeError, ValueError):  # no name at all; symbolic links in a circle
        return None


def _within(
    packed: zipfile.ZipFile, known: Collection[str], folder: PurePosixPath, name: str
) -> bytes | None:
    place = str(folder / name)
    if place not in known:
        return None
    with packed.open(place) as member:
        body = member.read(BODY_LIMIT_BYTES + 1)
    return body if len(body) <= BODY_LIMIT_BYTES else None


def _hars(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.lower().endswith(".har")]


_READERS: Mapping[str, Callable[[IO[bytes], Recording], None]] = {
    "warc": read_warc,
    "wacz": read_wacz,
    "har": read_har_file,
    "har.zip": read_har_zip,
}


def _kind(file: IO[bytes]) -> str:
    """What a file holds, by the names of `_READERS`; ArchiveError when it is none of these."""
    start = file.read(_SNIFFED_BYTES)
    file.seek(0)
    packed = start.startswith(GZIP_MAGIC)
    start = _gunzipped(start) if packed else start
    other = next((what for magic, what in _OTHERS.items() if start.startswith(magic)), None)
    if other:
        raise ArchiveError(f"it is {other}")
    if packed:
        if start and not start.startswith(
            b"WARC/"
        ):  # what does not decompress is for the WARC reader to name
            raise ArchiveError(f"it is gzip-compressed, but no WARC; give {KINDS}")
        return "warc"
    if start.startswith(b"WARC/"):
        return "warc"
    if start.startswith(b"PK"):
        return "har.zip" if is_har_zip(file) else "wacz"
    if _OBJECT.match(start):
        return "har"
    raise ArchiveError(
        f"it is no recording ({'it starts with ' + repr(start[:12]) if start else 'it is empty'}); give {KINDS}"
    )


def _gunzipped(start: bytes) -> bytes:
    try:
        return zlib.decompressobj(31).decompress(start, _SNIFFED_BYTES)
    except zlib.error:
        return b""


def holds_page(folder: Path) -> bool:
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
    for path in _files_below(folder):
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
        for target in [place, place.removesuffix(path.name)] if shown else [place]:
            yield text_gzipped(Response(f"{origin}{target}", 200, headers, body))


def _files_below(folder: Path) -> Iterator[Path]:
    for above, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(above, name)
            if not name.startswith(".") and path.is_file() and not path.is_symlink():
                yield path

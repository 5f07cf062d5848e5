"""What HTTrack recorded, from its own cache: original URL, status, headers and body of every response.

A mirror folder holds `hts-cache/new.zip`. Each entry's headers stand in the extra field of the LOCAL zip
header (Python's zipfile shows only the central one); its data is the body as HTTrack received it, decoded,
before any link was rewritten. Without HTTrack's -k the cache holds the bodies of HTML and CSS alone, which
are those it rewrites; the others lie unchanged in the mirror. `hts-cache/new.txt` lists every request and
tells which bodies travelled gzip-encoded.

HTTrack keeps status, Content-Type, Last-Modified, ETag, Location, Content-Disposition. All else is lost.
"""

from __future__ import annotations

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote

from harness.errors import ArchiveError
from harness.input.textfile import read_file
from harness.model.protocol import Headers
from sites.archive import TOTAL_LIMIT_BYTES
from sites.coding import coding_of, encode
from sites.response import BODY_LIMIT_BYTES, Response
from sites.urls import canonical_url

CACHE_FILE, LIST_FILE, LOG_FILE = Path("hts-cache/new.zip"), Path("hts-cache/new.txt"), Path("hts-log.txt")
KEPT_HEADERS = ("Location", "Last-Modified", "ETag", "Content-Disposition")
TEXT_LIMIT_BYTES = 100_000_000  # of the list and the log: far more lines than an archive has responses
# HTTrack puts the Date header where Last-Modified is missing; a real one is older than the visit.
NOT_MODIFIED_BEFORE = timedelta(minutes=10)
# What servers usually compress: text, and the two font formats that are not compressed themselves.
TEXT_TYPE = re.compile(
    r"text/.+|image/svg\+xml|font/[ot]tf|application/(?:(?:x-)?javascript|json|xml|.+\+(?:json|xml))"
)
_LOCAL_HEADER = struct.Struct("<4s22xHH")
_PRINTABLE = "".join(map(chr, range(0x21, 0x7F)))
_ESCAPE = re.compile(r"%[0-9a-f]{2}", re.IGNORECASE)
_LAUNCHED = re.compile(r" launched on (\w{3}, \d{2} \w{3} \d{4} \d{2}:\d{2}:\d{2}) at ")
UNREADABLE = (  # what the reading of a damaged zip raises
    OSError,
    EOFError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    ValueError,
    RuntimeError,
)


@dataclass(frozen=True)
class Cached:
    """One response of the cache. `gzipped`: its body, decoded here, travelled so; None when nothing tells."""

    response: Response
    gzipped: bool | None

    @property
    def key(self) -> str:
        return url_key(self.response.url)


@dataclass(frozen=True)
class Cache:
    """A cache as read: its responses, first requested first, and the keys of those without their bodies."""

    entries: tuple[Cached, ...]
    lost: frozenset[str]

    @property
    def body_bytes(self) -> int:
        return sum(len(entry.response.body) for entry in self.entries)


def is_mirror(folder: Path) -> bool:
    """Whether HTTrack made this folder."""
    return (folder / CACHE_FILE).is_file()


def read_cache(mirror: Path, most_bytes: int = TOTAL_LIMIT_BYTES) -> Cache:
    """Everything a mirror folder holds; ArchiveError when its cache is missing or damaged, or holds over `most_bytes`.

    Dates are those of HTTrack's launch, read as UTC (its log names no time zone; `sites.httrack` sets UTC).
    """
    launched = _launched(mirror)
    listed = _listed(mirror)
    entries: dict[str, Cached] = {}
    lost = {key for key, line in listed.items() if 200 <= line.status <= 399}
    left_bytes = most_bytes
    for response, body in _stored(mirror, launched):
        key = url_key(response.url)
        left_bytes -= len(body or b"")
        if left_bytes < 0:
            raise ArchiveError(
                f"the mirror {mirror} holds more than {TOTAL_LIMIT_BYTES / 1e9:g} GB of bodies, and an archive is of "
                "one page; mirror that page alone"
            )
        if body is None:
            lost.add(key)
        else:
            gzipped = listed[key].gzipped if key in listed else None
            entries[key] = Cached(replace(response, body=body), gzipped)
    for key, line in listed.items():
        if key not in entries and line.needs_no_body:
            headers = (("Content-Type", line.mime),) if line.mime else ()
            entries[key] = Cached(Response(line.url, line.status, headers, b"", launched), False)
    return Cache(tuple(entries.values()), frozenset(lost - entries.keys()))


def text_gzipped(response: Response) -> Response:
    """Text of the usual types gzip-encoded, as by most servers; all else, and what is encoded, as it is."""
    return gzip_encoded(response) if TEXT_TYPE.fullmatch(response.mime) else response


def gzip_encoded(response: Response) -> Response:
    """The response with its body gzip-encoded (level 6); unchanged when it is encoded or would not shrink."""
    if coding_of(response.header("Content-Encoding")):
        return response
    coded = with_coding(response, "gzip")
    return coded if len(coded.body) < len(response.body) else response


def with_coding(response: Response, coding: str, level: int | None = None) -> Response:
    """The response with its decoded body in that coding (see `coding.encode`), and headers that say so."""
    body = encode(response.body, coding, level)
    replaced = ("content-encoding", "content-length")
    headers = tuple(h for h in response.headers if h[0].lower() not in replaced)
    vary = () if _varies_by_coding(headers) else (("Vary", "Accept-Encoding"),)
    told = (("Content-Encoding", coding), *vary, ("Content-Length", str(len(body))))
    return replace(response, headers=headers + told, body=body)


def _varies_by_coding(headers: Headers) -> bool:
    """Whether headers say that the response varies by what codings are asked for, or by anything."""
    named = {
        word.strip().lower() for name, value in headers if name.lower() == "vary" for word in value.split(",")
    }
    return not named.isdisjoint(("accept-encoding", "*"))


def url_key(url: str) -> str:
    """What tells two URLs apart: the canonical URL, whatever the case of its percent escapes.

    HTTrack decodes and encodes URLs on its way, so that the case it shows is not always the page's.
    """
    return _ESCAPE.sub(lambda escape: escape[0].upper(), canonical_url(url))


def _stored(mirror: Path, launched: datetime | None) -> Iterator[tuple[Response, bytes | None]]:
    """Each entry of the cache in the order of writing: the response, and its body when there is one."""
    path = mirror / CACHE_FILE
    if not path.is_file():
        raise ArchiveError(
            f"{mirror} is no HTTrack mirror: {CACHE_FILE} is missing; "
            "give the folder that HTTrack wrote (the one with hts-cache in it)"
        )
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as cache:
            for info in sorted(cache.infolist(), key=lambda info: info.header_offset):
                headers = _local_headers(raw, info)
                response = _response(headers, launched)
                if response is not None:
                    yield response, _body(mirror, cache, info, headers)
    except UNREADABLE as error:
        raise ArchiveError(f"HTTrack's cache {path} is damaged ({error}); mirror the page again") from error


def _local_headers(raw: IO[bytes], info: zipfile.ZipInfo) -> dict[str, str]:
    """The `Name: value` lines in the extra field of an entry's local header."""
    raw.seek(info.header_offset)
    signature, name_length, extra_length = _LOCAL_HEADER.unpack(raw.read(_LOCAL_HEADER.size))
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no local header for {info.filename}")
    raw.seek(name_length, 1)
    lines = raw.read(extra_length).decode("utf-8", "surrogateescape").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return {"ETag" if name == "Etag" else name: value for name, value in headers.items()}


def _response(headers: Mapping[str, str], launched: datetime | None) -> Response | None:
    """The response without its body; None for what no page asks for or no archive can hold."""
    status, path = int(headers.get("X-StatusCode") or 0), headers.get("X-Fil", "")
    if not 200 <= status <= 599 or not path.startswith("/") or path == "/robots.txt":
        return None
    kept = {"Content-Type": headers.get("Content-Type", "")}
    if kept["Content-Type"] and headers.get("X-Charset"):
        kept["Content-Type"] += f"; charset={headers['X-Charset']}"
    kept |= {name: headers.get(name, "") for name in KEPT_HEADERS}
    if launched is not None and _is_after(kept["Last-Modified"], launched - NOT_MODIFIED_BEFORE):
        kept["Last-Modified"] = ""
    # HTTrack drops http:// and decodes, in the path, what it takes for harmless.
    address = headers.get("X-Addr", "")
    start = address if "://" in address else f"http://{address}"
    try:
        url = canonical_url(start + quote(path, safe=_PRINTABLE, errors="surrogateescape"))
    except ArchiveError:
        return None
    given = tuple((name, value) for name, value in kept.items() if value)
    return Response(url, status, given, b"", launched, headers.get("X-StatusMessage", ""))


def _is_after(http_date: str, moment: datetime) -> bool:
    try:
        return parsedate_to_datetime(http_date) >= moment
    except (TypeError, ValueError):
        return False


def _body(
    mirror: Path, cache: zipfile.ZipFile, info: zipfile.ZipInfo, headers: Mapping[str, str]
) -> bytes | None:
    """The body from where HTTrack put it; None when it is not there or larger than an archive takes."""
    if headers.get("X-In-Cache") != "1":
        return _mirrored(mirror, headers)
    return cache.read(info) if info.file_size <= BODY_LIMIT_BYTES else None


def _mirrored(mirror: Path, headers: Mapping[str, str]) -> bytes | None:
    """The body from the mirrored file; None when there is none. Only a 2xx has a file of its own."""
    if headers["X-StatusCode"][0] != "2" or headers.get("X-Size", "0") == "0":
        return b""
    file = (mirror / headers.get("X-Save", "")).resolve()
    if not file.is_relative_to(mirror.resolve()) or not file.is_file():
        return None
    if file.stat().st_size > BODY_LIMIT_BYTES:
        return None
    return file.read_bytes()


def _launched(mirror: Path) -> datetime | None:
    match = _LAUNCHED.search(text_in(mirror / LOG_FILE))
    try:
        return parsedate_to_datetime(match[1]).replace(tzinfo=UTC) if match else None
    except ValueError:  # a date that no calendar has
        return None


@dataclass(frozen=True)
class _Line:
    """A line of new.txt: what HTTrack says of one request."""

    url: str
    status: int
    mime: str
    size: int
    gzipped: bool

    @property
    def needs_no_body(self) -> bool:
        """Whether the response is whole without a body: it was empty, or the page of an error."""
        return 400 <= self.status <= 599 or (200 <= self.status <= 299 and self.size == 0)


def _listed(mirror: Path) -> dict[str, _Line]:
    """new.txt by key: time, size, flags, status, message, type, validator, URL, file. Empty when missing."""
    listed: dict[str, _Line] = {}
    for line in text_in(mirror / LIST_FILE).splitlines()[1:]:
        try:
            _, size, flags, status, _, mime, _, url, *_ = line.split("\t")
            shown = _Line(canonical_url(url), int(status), mime, int(size.partition("/")[0]), "Z" in flags)
        except (ValueError, ArchiveError):
            continue  # a line cut short, or what is no http URL
        listed[url_key(url)] = shown
    return listed


def text_in(path: Path) -> str:
    """The text of a file of HTTrack's; "" when it is not there, or too long to be one."""
    try:
        return read_file(path, TEXT_LIMIT_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""

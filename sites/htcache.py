"""What HTTrack recorded, from its own cache: original URL, status, headers and body of every response.

A mirror folder holds `hts-cache/new.zip`. Each entry's headers stand in the extra field of the LOCAL zip header
(Python's zipfile shows only the central one); its data is the body as HTTrack received it, decoded, before
any link was rewritten. Without HTTrack's -k the cache holds the bodies of HTML and CSS alone, which are those
it rewrites; the others lie unchanged in the mirror. `hts-cache/new.txt` tells which bodies travelled gzip-encoded.

Kept by HTTrack: status, Content-Type, Last-Modified, ETag, Location, Content-Disposition. All else is lost.
"""

from __future__ import annotations

import gzip
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO
from urllib.parse import quote

from harness.errors import ArchiveError
from sites.archive import Response
from sites.urls import canonical_url

CACHE_FOLDER = "hts-cache"
GZIP_LEVEL = 6  # the default of Apache's mod_deflate and of zlib
KEPT_HEADERS = ("Location", "Last-Modified", "ETag", "Content-Disposition")
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


@dataclass(frozen=True)
class Cached:
    """One response of the cache. `gzipped`: its body, decoded here, travelled so; None when nothing tells."""

    response: Response
    gzipped: bool | None


@dataclass(frozen=True)
class Cache:
    """A cache as read: its responses, first requested first, and URLs that were fetched but have no body here."""

    entries: tuple[Cached, ...]
    lost: tuple[str, ...]


def is_mirror(folder: Path) -> bool:
    """Whether HTTrack made this folder."""
    return (folder / CACHE_FOLDER / "new.zip").is_file()


def read_cache(mirror: Path) -> Cache:
    """Everything a mirror folder holds; ArchiveError when its cache is missing or damaged.

    The dates are those of HTTrack's launch, read as UTC (its log names no time zone; `sites.capture` sets UTC).
    """
    path = mirror / CACHE_FOLDER / "new.zip"
    launched = _launched(mirror)
    listed = _listed(mirror)
    entries: dict[str, Cached] = {}
    lost: list[str] = []
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as cache:
            for info in sorted(cache.infolist(), key=lambda info: info.header_offset):
                headers = _local_headers(raw, info)
                response = _response(headers, launched)
                if response is None:
                    continue
                body = cache.read(info) if headers.get("X-In-Cache") == "1" else _mirrored(mirror, headers)
                if body is None:
                    lost.append(response.url)
                else:
                    line = listed.get(response.url)
                    entries[response.url] = Cached(replace(response, body=body), line and line.gzipped)
    except FileNotFoundError as error:
        raise ArchiveError(
            f"{mirror} is no HTTrack mirror: {CACHE_FOLDER}/new.zip is missing; "
            "give the folder that HTTrack wrote (the one with hts-cache in it)"
        ) from error
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, ValueError, RuntimeError) as error:
        raise ArchiveError(f"HTTrack's cache {path} is damaged ({error}); mirror the page again") from error
    for url, line in listed.items():
        if url not in entries and line.has_no_body:
            headers = (("Content-Type", line.mime),) if line.mime else ()
            entries[url] = Cached(Response(url, line.status, headers, b"", launched), False)
    lost += [url for url, line in listed.items() if line.status == 200]
    return Cache(tuple(entries.values()), tuple(dict.fromkeys(url for url in lost if url not in entries)))


def recompress(responses: Iterable[Response]) -> Iterator[Response]:
    """Gzip-encode text of the usual types that is not encoded, as most servers do."""
    for response in responses:
        yield gzip_encoded(response) if TEXT_TYPE.fullmatch(response.mime) else response


def gzip_encoded(response: Response) -> Response:
    """The response with its body gzip-encoded (level 6); unchanged when it is encoded or would not shrink."""
    if response.header("Content-Encoding") is not None:
        return response
    body = gzip.compress(response.body, GZIP_LEVEL, mtime=0)
    if len(body) >= len(response.body):
        return response
    headers = tuple(h for h in response.headers if h[0].lower() not in ("content-length", "vary"))
    added = (
        ("Content-Encoding", "gzip"),
        ("Vary", "Accept-Encoding"),
        ("Content-Length", str(len(body))),
    )
    return replace(response, headers=headers + added, body=body)


def _local_headers(raw: IO[bytes], info: zipfile.ZipInfo) -> dict[str, str]:
    """The `Name: value` lines in the extra field of an entry's local header."""
    raw.seek(info.header_offset)
    head = raw.read(_LOCAL_HEADER.size)
    signature, name_length, extra_length = _LOCAL_HEADER.unpack(head)
    if signature != b"PK\x03\x04":
        raise zipfile.BadZipFile(f"no local header for {info.filename}")
    raw.seek(name_length, 1)
    lines = raw.read(extra_length).decode("utf-8", "surrogateescape").split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines if ": " in line)
    return {"ETag" if name == "Etag" else name: value for name, value in headers.items()}


def _response(headers: Mapping[str, str], launched: datetime | None) -> Response | None:
    """The response without its body; None for what no page asks for or no archive can hold."""
    status = int(headers.get("X-StatusCode") or 0)
    path = headers.get("X-Fil", "")
    if not 200 <= status <= 599 or not path.startswith("/") or path == "/robots.txt":
        return None
    kept = [("Content-Type", _content_type(headers)), *((name, headers.get(name, "")) for name in KEPT_HEADERS)]
    date = headers.get("Last-Modified", "")
    if launched is not None and _is_after(date, launched - NOT_MODIFIED_BEFORE):
        kept.remove(("Last-Modified", date))
    return Response(
        url=_url(headers.get("X-Addr", ""), path),
        status=status,
        headers=tuple((name, value) for name, value in kept if value),
        body=b"",
        date=launched,
        reason=headers.get("X-StatusMessage", ""),
    )


def _content_type(headers: Mapping[str, str]) -> str:
    mime, charset = headers.get("Content-Type", ""), headers.get("X-Charset", "")
    return f"{mime}; charset={charset}" if mime and charset else mime


def _url(address: str, path: str) -> str:
    """The URL as a browser requests it: HTTrack drops http:// and decodes what it takes for harmless."""
    scheme = "" if "://" in address else "http://"
    return url_key(scheme + address + quote(path, safe=_PRINTABLE, errors="surrogateescape"))


def url_key(url: str) -> str:
    """The canonical URL with upper-case percent escapes, which is how browsers write those they add."""
    return _ESCAPE.sub(lambda escape: escape[0].upper(), canonical_url(url))


def _is_after(http_date: str, moment: datetime) -> bool:
    try:
        return parsedate_to_datetime(http_date) >= moment
    except (TypeError, ValueError):
        return False


def _mirrored(mirror: Path, headers: Mapping[str, str]) -> bytes | None:
    """The body from the mirrored file; None when there is none. Only a 2xx has a file of its own."""
    if headers["X-StatusCode"][0] != "2" or headers.get("X-Size", "0") == "0":
        return b""
    file = (mirror / headers.get("X-Save", "")).resolve()
    if not file.is_relative_to(mirror.resolve()) or not file.is_file():
        return None
    return file.read_bytes()


def _launched(mirror: Path) -> datetime | None:
    try:
        first = (mirror / "hts-log.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = _LAUNCHED.search(first)
    return parsedate_to_datetime(found[1]).replace(tzinfo=UTC) if found else None


@dataclass(frozen=True)
class _Listed:
    """A line of new.txt: what HTTrack says of one URL."""

    status: int
    mime: str
    size: int
    gzipped: bool

    @property
    def has_no_body(self) -> bool:
        """Whether the body is empty, or one that HTTrack does not keep (of an error or a redirect)."""
        return 200 <= self.status <= 599 and (self.size == 0 or self.status >= 300)


def _listed(mirror: Path) -> dict[str, _Listed]:
    """new.txt by URL: time, size, flags, status, message, type, validator, URL, file; empty when it is missing."""
    try:
        text = (mirror / CACHE_FOLDER / "new.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return {}
    listed: dict[str, _Listed] = {}
    for line in text.splitlines()[1:]:
        try:
            _, size, flags, status, _, mime, _, url, *_ = line.split("\t")
            size = size.partition("/")[0]
            listed[url_key(url)] = _Listed(int(status), mime, int(size), "Z" in flags)
        except (ValueError, ArchiveError):
            continue  # a line cut short, or what is no http URL
    return listed

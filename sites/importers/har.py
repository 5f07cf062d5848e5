"""HAR files: the JSON log that browsers and proxies export. Bodies in it are decoded.

Chrome, Firefox, Safari, Playwright and proxies each write what the format leaves open in their own way: status 0 or 304
with a body from the browser's cache (Firefox, Chrome), several headers of one name as one with line breaks (Chrome),
text "" for a body that was not kept (Chrome).
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import IO, Any

from harness.errors import ArchiveError
from harness.input.jsontext import part
from harness.model.protocol import Headers
from sites.charset import UTF_8, Encoded, encoded, encoding_of
from sites.coding import coding_of, is_coded
from sites.importers.recording import (
    BODILESS_METHODS,
    NEED_BODY,
    NOT_MODIFIED,
    WITHOUT_BODY,
    Head,
    Recording,
    parse_date,
    parse_ip,
    parse_wait,
    why,
)
from sites.importers.settle import DOCUMENT
from sites.mediatype import HTML_TYPES, is_text, mime_of
from sites.response import LATEST_MS, RecordedLoad, RecordedRequest, header_of, is_load_time
from sites.urls import canonical_url, parse_url

FILE_LIMIT_BYTES = 500_000_000  # it is read as a whole, which takes some times as much memory
# Firefox has no status for some of what its cache gave; Chrome has that of the question whether it still held.
FROM_CACHE = (0, NOT_MODIFIED)
ERROR_STATUS = 400  # of these Chrome calls an empty body an error, too
TLS_APART = ("Firefox",)  # the format wants `ssl` within `connect`, and Firefox counts it beside
QUEUED = "blocked"  # the phase before a name is looked up
_LATEST = datetime.max.replace(tzinfo=UTC)
_NEXT_HEADER, _FOLDED = re.compile(r"\r?\n(?![ \t])"), re.compile(r"(?<!\s)\s*\r?\n[ \t]+")
Attached = Callable[[str], bytes | None]
"""The body in the file of that name; None when there is none."""
Travelled = Callable[[str, str, int], bool]
"""Whether the body of an answer (method, URL, status) is known from elsewhere."""


def read_har(
    file: IO[bytes],
    into: Recording,
    attached: Attached = lambda _name: None,
    travelled: Travelled = lambda _method, _url, _status: False,
) -> None:
    """Every entry of a HAR; ArchiveError when it is none, is damaged, or holds no bodies.

    An answer whose body the HAR lacks is left out, but for one that has `travelled`: that is taken in without.
    """
    data = file.read(FILE_LIMIT_BYTES + 1)
    if len(data) > FILE_LIMIT_BYTES:
        raise ArchiveError(f"it is too large a HAR; at most {FILE_LIMIT_BYTES / 1e9:g} GB can be read")
    try:
        log = part(json.loads(data), "log")
    except (ValueError, RecursionError) as error:
        raise ArchiveError(
            f"it is damaged or cut short, no JSON ({why(error)}); export the HAR again"
        ) from error
    entries, pages = log.get("entries"), log.get("pages") or []
    if not isinstance(entries, list) or not isinstance(pages, list):
        raise ArchiveError("it is JSON but no HAR: log.entries is missing or no list; export the HAR again")
    creator = part(log, "browser") or part(log, "creator")
    into.source = f"{creator.get('name', '')} {creator.get('version', '')}".strip()
    told = [_Entry(entry, apart=creator.get("name") in TLS_APART) for entry in entries]
    into.pages.extend(_pages(pages, told))
    into.loads.update(_loads(pages, told))
    utf_8_around = all(entry.is_in_utf_8 for entry in told if entry.is_document and entry.text)
    bodies = sum([_take(entry, into, attached, travelled, utf_8_around=utf_8_around) for entry in told])
    only_failures = into.captures and all(capture.response.status >= 300 for capture in into.captures)
    if entries and not bodies and not only_failures and not into.tally.count(WITHOUT_BODY):
        raise ArchiveError(
            f"none of its {len(entries)} entries holds a body; export the HAR with content "
            '(in a browser: "Save all as HAR with content"), or record a WARC'
        )


class _Entry:
    """An entry as it is written: one request and what came of it."""

    def __init__(self, entry: Any, *, apart: bool) -> None:
        self.request, self.response = part(entry, "request"), part(entry, "response")
        self.content, self.timings = part(self.response, "content"), part(entry, "timings")
        self.apart = apart
        self.fields: dict[str, Any] = entry if isinstance(entry, dict) else {}
        url = self.request.get("url")
        self.url = url if isinstance(url, str) else ""
        self.status = self.response.get("status")
        self.method = str(self.request.get("method") or "GET")
        self.asked = _headers(self.request)
        self.headers = _headers(self.response)
        mime, redirect = self.content.get("mimeType"), self.response.get("redirectURL")
        if self.is_redirect and redirect and header_of(self.headers, "location") is None:
            self.headers += (("Location", str(redirect)),)
        if isinstance(mime, str) and "/" in mime and header_of(self.headers, "content-type") is None:
            # x-unknown is what browsers write where no type was given.
            self.headers += (("Content-Type", mime),)

    @property
    def is_redirect(self) -> bool:
        return type(self.status) is int and 300 <= self.status < 400 and self.status != NOT_MODIFIED

    @property
    def content_type(self) -> str:
        return header_of(self.headers, "content-type") or ""

    @property
    def mime(self) -> str:
        return mime_of(self.content_type)

    @property
    def text(self) -> str | None:
        text = self.content.get("text")
        return text if isinstance(text, str) else None

    @property
    def connect_ms(self) -> float | None:
        """The handshake of TCP; None for a connection that there was, and where it is not told apart (of QUIC)."""
        connect, tls = (parse_wait(self.timings.get(name)) or 0.0 for name in ("connect", "ssl"))
        within = (
            self.url.startswith("https:") and not self.apart
        )  # Playwright writes `ssl` of plain http, too
        alone = round(connect - tls * within, 3)
        return alone if alone > 0 else None

    @property
    def is_sent(self) -> bool:
        """Whether it is a request to a server, not to the browser's cache (data:, blob: are none at all)."""
        try:
            parse_url(self.url)
        except ArchiveError:
            return False
        return "_fromCache" not in self.fields

    def waited(self, since: datetime) -> tuple[RecordedRequest, tuple[float, float]]:
        """Its times since then, one phase after the other, and when it waited for a look-up or a handshake."""
        asked = (self.date - since) / timedelta(milliseconds=1)
        connecting = asked + _ms(self.timings, QUEUED)
        sending = connecting + _ms(self.timings, "dns", "connect", *["ssl"] * self.apart)
        answered = sending + _ms(self.timings, "send", "wait")
        ended = answered + _ms(self.timings, "receive")
        return RecordedRequest(parse_url(self.url).host, asked, sending, answered, ended), (
            connecting,
            sending,
        )

    @property
    def destination(self) -> str:
        """As Sec-Fetch-Dest has it, where it was sent; else Chrome's own word, which says "document" of frames, too."""
        kind = self.fields.get("_resourceType")
        unsure = "" if kind == DOCUMENT or not isinstance(kind, str) else kind
        return (header_of(self.asked, "sec-fetch-dest") or unsure).strip().lower()

    @property
    def is_document(self) -> bool:
        return self.mime in HTML_TYPES and self.status in (200, *FROM_CACHE)

    @property
    def is_in_utf_8(self) -> bool:
        return encoding_of(self.text or "", self.mime, self.content_type) == UTF_8

    @property
    def date(self) -> datetime:
        return parse_date(self.fields.get("startedDateTime")) or _LATEST


def _pages(pages: list[Any], entries: list[_Entry]) -> Iterator[str]:
    """The URL of each page, the first in time first: its title, which browsers fill with the URL, or its document's.

    A title that is the URL of a picture, say, counts when there is no document at all.
    """
    by_page: dict[str, list[_Entry]] = {}
    for entry in entries:
        if entry.is_redirect or entry.is_document:
            by_page.setdefault(str(entry.fields.get("pageref")), []).append(entry)
    documents = any(entry.is_document for entry in entries)
    objects = {entry.url for entry in entries if documents and entry.status == 200 and not entry.is_document}
    known = [page for page in pages if isinstance(page, dict)]
    for page in sorted(known, key=lambda page: parse_date(page.get("startedDateTime")) or _LATEST):
        if isinstance(page.get("title"), str) and page["title"] not in objects:
            yield page["title"]
        theirs = [
            entry for entry in by_page.pop(str(page.get("id")), ()) if entry.destination in (DOCUMENT, "")
        ]
        if theirs:
            yield min(theirs, key=lambda entry: (entry.destination != DOCUMENT, entry.date)).url


def _loads(pages: list[Any], entries: list[_Entry]) -> Iterator[tuple[str, RecordedLoad]]:
    """The load of each page, by the URL that it began with.

    Not where the time in queues is left out (Playwright), so that nothing tells when anything was sent.
    """
    by_page: defaultdict[str, list[_Entry]] = defaultdict(list)
    for entry in sorted(entries, key=lambda entry: entry.date):
        if entry.is_sent:
            by_page[str(entry.fields.get("pageref"))].append(entry)
    for page in (page for page in pages if isinstance(page, dict)):
        began, took_ms = parse_date(page.get("startedDateTime")), _ms(part(page, "pageTimings"), "onLoad")
        asked = by_page[str(page.get("id"))]
        if (
            began is None
            or not is_load_time(took_ms)
            or all(entry.timings.get(QUEUED) is None for entry in asked)
        ):
            continue
        waited = [entry.waited(began) for entry in asked]
        over = [
            (request, connecting)
            for request, connecting in waited
            if request.asked_ms >= -LATEST_MS and request.ended_ms <= took_ms
        ]
        if over:
            requests, handshakes = zip(*over, strict=True)
            yield canonical_url(asked[0].url), RecordedLoad(took_ms, requests, handshakes)


def _take(
    entry: _Entry, into: Recording, attached: Attached, travelled: Travelled, *, utf_8_around: bool
) -> bool:
    """Take an entry in; whether it holds a body that is not empty."""
    url, status = entry.url, entry.status
    if not url or type(status) is not int:
        into.tally.add("entries left out because they have no URL or no status")
        return False
    for name, value in entry.asked:
        if name.lower() == "user-agent":
            into.user_agents[value] += 1
        if name.lower() == "accept-encoding" and "gzip" in value:
            into.asked_for_coding = True
    content = _body(entry, into, attached, utf_8_around=utf_8_around)
    body = content.body if content else b""
    cached = "_fromCache" in entry.fields
    if status in FROM_CACHE and body and not entry.response.get("_error"):
        into.tally.add(f"entries of status {status} with a whole body, taken as answered with 200", url)
        status, cached = 200, True
    if 200 <= status <= 599 and _lacks_body(entry, content) and not travelled(entry.method, url, status):
        into.tally.add(NEED_BODY, url)
        return False
    if into.too_large(url, len(body)):
        return True
    told = entry.content.get("size")
    # The size may be that of the text in UTF-8, which is up to three times as long.
    most = len(body) if body.isascii() or not is_text(entry.mime) else 3 * len(body)
    if isinstance(told, int) and told > most > 0:
        into.tally.add("bodies shorter than the recording says they were", url)
    wire = entry.response.get("bodySize")
    head = Head(
        url,
        status,
        entry.headers,
        date=into.date(entry.fields.get("startedDateTime"), url),
        reason=str(entry.response.get("statusText") or ""),
        ip=None if cached else parse_ip(entry.fields.get("serverIPAddress")),
        wait_ms=None if cached else parse_wait(entry.timings.get("wait")),
        connect_ms=None if cached else entry.connect_ms,
        method=entry.method,
        destination=entry.destination,
        cached=cached,
    )
    into.add(
        head,
        into.keep(body),
        decoded=bool(body) and not _still_coded(entry, body, into),
        wire_bytes=wire if isinstance(wire, int) and wire > 0 else None,
        charset=content.charset if content else "",
    )
    return bool(body)


def _lacks_body(entry: _Entry, found: Encoded | None) -> bool:
    """Whether the recording lacks the body that an answer must have had."""
    if entry.is_redirect or entry.status in (204, 205, NOT_MODIFIED) or entry.method in BODILESS_METHODS:
        return False
    size, length = entry.content.get("size"), header_of(entry.headers, "content-length") or ""
    if found is None and size != 0:
        return True
    told = length.isdecimal() and length.strip("0") and not header_of(entry.headers, "content-encoding")
    broken_off = entry.response.get("_error") and length != "0" and (entry.status or 0) < ERROR_STATUS
    empty = found is None or not found.body
    return empty and bool((isinstance(size, int) and size > 0) or told or broken_off)


def _still_coded(entry: _Entry, body: bytes, into: Recording) -> bool:
    """Whether a body of text is not decoded, as proxies write it: no text looks so."""
    coding = coding_of(header_of(entry.headers, "content-encoding"))
    binary = entry.content.get("encoding") == "base64" and is_text(entry.mime)
    if not (coding and binary and is_coded(body, coding)):
        return False
    into.tally.add("bodies that the recorder left encoded", entry.url)
    return True


def _body(entry: _Entry, into: Recording, attached: Attached, *, utf_8_around: bool) -> Encoded | None:
    """The decoded body; None when it is missing or cannot be read."""
    text, file, raw = entry.text, entry.content.get("_file"), None
    if text is None and isinstance(file, str):
        raw = attached(file)
        text = _text_of(raw) if raw and is_text(entry.mime) else None
    elif text is not None and entry.content.get("encoding") == "base64":
        try:
            raw, text = base64.b64decode(text, validate=False), None
        except (binascii.Error, ValueError):
            into.tally.add("bodies that are not the base64 they should be", entry.url)
            return None
    if text is not None:
        return encoded(text, entry.mime, entry.content_type, utf_8_around=utf_8_around)
    return None if raw is None else Encoded(raw)


def _text_of(raw: bytes) -> str | None:
    """The text in a file: Playwright gets it decoded from Chromium and writes it in UTF-8. None when it is not that."""
    try:
        return raw.decode()
    except UnicodeError:
        return None


def _headers(message: Mapping[str, Any]) -> Headers:
    """Name and value of each header; not those HTTP/2 makes of the start line."""
    given = message.get("headers")
    return tuple(
        (header["name"], value)
        for header in (given if isinstance(given, list) else ())
        if isinstance(header, dict) and isinstance(header.get("name"), str) and header["name"][:1] != ":"
        for value in _NEXT_HEADER.split(_FOLDED.sub(" ", str(header.get("value", ""))))
    )


def _ms(holder: Mapping[str, Any], *phases: str) -> float:
    """Times of a HAR together; 0 for what does not apply."""
    return sum(parse_wait(holder.get(phase)) or 0.0 for phase in phases)

"""WARC files, plain or gzip-compressed, as any recorder writes them and as damage leaves them.

Only what a server answered is taken: `response` records, `resource` records of http(s) URLs, and `revisit` records
with the body they refer to. Of `request` records no more is read than method, user agent, accepted codings and what the
answer was asked for as (Sec-Fetch-Dest).
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from dataclasses import dataclass, replace
from io import BytesIO
from typing import IO, Any

import msgspec

# warcio has no types.
from warcio.statusandheaders import StatusAndHeaders  # type: ignore[import-untyped, unused-ignore]

from harness.errors import ArchiveError
from harness.input.shown import brief
from sites.coding import KNOWN, coding_of, is_coded
from sites.importers.recording import (
    BODILESS_METHODS,
    NEED_BODY,
    ONE_PAGE,
    RESPONSE_LIMIT,
    Body,
    Head,
    Recording,
    parse_ip,
    parse_wait,
)
from sites.importers.warcrecords import (
    LINE_LIMIT_BYTES,
    final_head,
    http_head,
    records,
    status,
    without_chunks,
)
from sites.warc import CONNECT_HEADER, IP_HEADER, WAIT_HEADER, About

# What archiveweb.page and browsertrix name the coding that they removed.
REMOVED_CODING = "x-orig-content-encoding"
BODY_HEADERS = frozenset({"content-encoding", REMOVED_CODING, "content-length"})  # they go with the body
CUT_SHORT = "bodies that the recorder itself cut short"
MOST_NOTES, NOTE_CHARACTERS = 100, 2000  # of one of our own recordings
MOST_RECORDS = 2 * RESPONSE_LIMIT  # of answers, with revisits that may come to nothing
_PAGE_URN = "urn:pageinfo:"  # browsertrix: one resource record for each page of the recording


@dataclass(frozen=True)
class _Seen:
    """A record that may become a response. `body` is None for a revisit, whose body is `original`'s."""

    url: str
    record_id: str
    concurrent_to: str
    date: str
    digest: str
    head: StatusAndHeaders | None
    body: Body | None
    ip: str | None = None
    wait_ms: float | None = None
    connect_ms: float | None = None
    refers_to: tuple[str, str, str] = ("", "", "")  # record id, URL, date
    decoded: bool = False
    wire_bytes: int | None = None
    cut: bool = False  # the end of the body is missing
    lost: bool = False  # the recording lacks the body that there was


def read_warc(file: IO[bytes], into: Recording) -> None:
    """One WARC file; ArchiveError when it is none, is damaged or cut short."""
    reader = WarcReader(into)
    reader.read(file)
    reader.finish()


class WarcReader:
    """Reads one or more WARC files into a recording; `finish` takes over what they hold together."""

    def __init__(self, into: Recording) -> None:
        self._into = into
        self._seen: list[_Seen] = []
        # Method and Sec-Fetch-Dest, by the id of the response's or the request's own record.
        self._asked: dict[str, tuple[str, str]] = {}
        self._software: Counter[str] = Counter()

    def read(self, file: IO[bytes]) -> None:
        """Every record of one file; ArchiveError when it is no WARC, damaged or cut short."""
        for record in records(file):
            kind = record.rec_type
            if kind in ("response", "resource", "revisit"):
                self._answer(record, kind)
            elif kind == "request":
                self._request(record)
            elif kind == "warcinfo":
                self._about(record.raw_stream.read(LINE_LIMIT_BYTES))
            else:
                self._into.tally.add(f"{str(kind)[:40]} records left out")

    def finish(self) -> None:
        """Hand everything over, revisits with the bodies they refer to."""
        by_id = {record.record_id: record for record in self._seen if record.body and record.record_id}
        by_digest = {
            record.digest: record for record in reversed(self._seen) if record.body and record.digest
        }
        by_url: dict[tuple[str, str], _Seen] = {}
        for record in reversed(self._seen):
            if record.body:
                by_url[record.url, record.date] = by_url[record.url, ""] = record
        for record in self._seen:
            original: _Seen | None = record
            if record.body is None:
                ident, url, date = record.refers_to
                wanted = (by_id.get(ident), by_digest.get(record.digest), by_url.get((url, date)))
                original = next((one for one in (*wanted, by_url.get((url, ""))) if one), None)
            self._hand_over(record, original)
        self._into.source = next((name for name, _ in self._software.most_common(1)), "")

    def _hand_over(self, each: _Seen, original: _Seen | None) -> None:
        tally = self._into.tally
        if original is None or original.body is None or original.head is None:
            tally.add("revisits left out because what they refer to is not in the recording", each.url)
            return
        head, headers = original.head, original.head.headers
        if original is not each:
            tally.add("revisits given the body they refer to")
            # Status 304 is what the recorder's own cache was told; a cold load gets the whole.
            if each.head is not None and status(each.head) != 304:
                head = each.head
                headers = [h for h in head.headers if h[0].lower() not in BODY_HEADERS]
                headers += [h for h in original.head.headers if h[0].lower() in BODY_HEADERS]
        asked = self._asked.get(each.record_id) or self._asked.get(each.concurrent_to)
        method, destination = asked or ("GET", "")
        if original.lost and 200 <= status(head) <= 299 and method not in BODILESS_METHODS:
            tally.add(NEED_BODY, each.url)
            return
        self._into.add(
            Head(
                each.url,
                status(head),
                tuple(headers),
                date=self._into.date(each.date, each.url),
                reason=head.statusline.partition(" ")[2],
                ip=each.ip,
                wait_ms=each.wait_ms,
                connect_ms=each.connect_ms,
                method=method,
                destination=destination,
            ),
            original.body,
            decoded=original.decoded,
            wire_bytes=original.wire_bytes,
            cut=original.cut,
        )

    def _answer(self, record: Any, kind: str) -> None:
        if len(self._seen) >= MOST_RECORDS:
            raise ArchiveError(f"it holds more than {MOST_RECORDS} records, and {ONE_PAGE}")
        headers = record.rec_headers
        url = headers.get_header("WARC-Target-URI") or ""
        if url.startswith(_PAGE_URN):
            self._into.pages.append(url.removeprefix(_PAGE_URN))
        if not url[:8].lower().startswith(("http://", "https://")):
            self._into.tally.add(f"{kind} records left out because they are not of http or https", url)
            return
        if headers.get_header("WARC-Segment-Number") not in (None, "1"):
            self._into.tally.add("segments of split records left out", url)
            return
        if self._into.too_large(url, record.length):
            return
        payload = BytesIO(record.raw_stream.read(record.length))
        if kind == "resource":
            typed = [("Content-Type", record.content_type)] if record.content_type else []
            head = StatusAndHeaders("200 OK", typed, protocol="HTTP/1.1")
            self._into.tally.add("resource records taken as responses with status 200")
        else:
            head, interim = final_head(payload)
            self._into.tally.add("interim responses (1xx) left out", url if interim else "", interim)
        truncated = bool(headers.get_header("WARC-Truncated"))
        if truncated:
            self._into.tally.add(CUT_SHORT, url)
        rest = payload.read()
        seen = _Seen(
            url=url,
            record_id=headers.get_header("WARC-Record-ID") or "",
            concurrent_to=headers.get_header("WARC-Concurrent-To") or "",
            date=headers.get_header("WARC-Date") or "",
            # A revisit holds no payload whose digest could be computed.
            digest=_digest_name(
                headers.get_header("WARC-Payload-Digest"), None if kind == "revisit" else rest
            ),
            head=head,
            body=None,
            ip=parse_ip(headers.get_header(IP_HEADER)),
            wait_ms=parse_wait(headers.get_header(WAIT_HEADER)),
            connect_ms=parse_wait(headers.get_header(CONNECT_HEADER)),
            refers_to=(
                headers.get_header("WARC-Refers-To") or "",
                (headers.get_header("WARC-Refers-To-Target-URI") or "").strip("<>"),
                headers.get_header("WARC-Refers-To-Date") or "",
            ),
            cut=truncated,
        )
        if kind == "revisit":
            self._seen.append(seen)
        elif head is None:
            self._into.tally.add("response records left out because they hold no HTTP response", url)
        else:
            self._seen.append(self._with_body(seen, head, rest))

    def _with_body(self, seen: _Seen, head: StatusAndHeaders, rest: bytes) -> _Seen:
        """The response with its body as it travelled but for transfer coding, and headers that do not lie."""
        cut = seen.cut
        if "chunked" in (head.get_header("Transfer-Encoding") or "").lower():
            joined = without_chunks(rest)
            if joined is None:
                self._into.tally.add("bodies not chunked although their headers say so", seen.url)
            else:
                rest, unfinished = joined
                if unfinished and not cut:
                    self._into.tally.add(CUT_SHORT, seen.url)
                cut = cut or unfinished
        length = head.get_header("Content-Length") or ""
        told = int(length) if length.isascii() and length.isdigit() and len(length) < 16 else None
        short = told is not None and told > len(rest)
        removed = head.get_header(REMOVED_CODING)
        named = coding_of(head.get_header("Content-Encoding"))
        if removed and not named:
            replaced = (REMOVED_CODING, "content-encoding")
            head.headers = [h for h in head.headers if h[0].lower() not in replaced]
            head.headers.append(("Content-Encoding", removed))
            decoded = bool(rest)
        else:
            decoded = bool(rest and named in KNOWN and named and not is_coded(rest, named, cut=cut or short))
            if decoded:
                self._into.tally.add("bodies not encoded although their headers say so", seen.url)
        if short and rest and not decoded:
            self._into.tally.add("bodies shorter than their Content-Length", seen.url)
        wire = told if decoded and told is not None and 0 < told < len(rest) else None
        lost = not rest and (cut or (bool(told) and not named and not removed))
        cut = cut or (short and not decoded)
        return replace(seen, body=self._into.keep(rest), decoded=decoded, wire_bytes=wire, cut=cut, lost=lost)

    def _request(self, record: Any) -> None:
        self._into.tally.add("request records not taken")
        if len(self._asked) >= 2 * MOST_RECORDS:  # by two names each
            return
        head = http_head(BytesIO(record.raw_stream.read(min(record.length, LINE_LIMIT_BYTES))))
        if head is None:
            return
        destination = (head.get_header("Sec-Fetch-Dest") or "").strip().lower()
        for name in ("WARC-Record-ID", "WARC-Concurrent-To"):
            ident = record.rec_headers.get_header(name)
            if ident:
                self._asked[ident] = (head.protocol, destination)
        if head.get_header("User-Agent"):
            self._into.user_agents[head.get_header("User-Agent")] += 1
        if "gzip" in (head.get_header("Accept-Encoding") or ""):
            self._into.asked_for_coding = True

    def _about(self, block: bytes) -> None:
        """What a warcinfo record tells: the recorder, and the pages of Webrecorder's and of our own recordings."""
        for line in block.decode(errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip().lower() == "software":
                self._software[" ".join(value.split())] += 1
            if name.strip().lower() in ("json-metadata", "coldload"):
                self._into.pages.extend(_pages_of(value))
            if name.strip().lower() == "coldload":
                self._our_own(value)

    def _our_own(self, text: str) -> None:
        """What our own recordings say of themselves beside the page; they are coded as they travelled."""
        self._into.asked_for_coding = True
        try:
            about = msgspec.json.decode(text, type=About)
        except (ValueError, RecursionError):
            return
        self._into.remarks.extend(brief(note, NOTE_CHARACTERS) for note in about.notes[:MOST_NOTES])
        if about.load is not None:
            self._into.loads[about.start_url] = about.load
        if about.user_agent:
            self._into.user_agents[about.user_agent] += 1


def _digest_name(given: str | None, payload: bytes | None) -> str:
    """The payload's digest as recorders write it; computed when it was not written, "" without a payload."""
    if given or payload is None:
        return (given or "").strip().lower()
    return f"sha1:{base64.b32encode(hashlib.sha1(payload, usedforsecurity=False).digest()).decode()}".lower()


def _pages_of(text: str) -> list[str]:
    """The page URLs that a JSON text names."""
    try:
        said = json.loads(text)
        pages = (
            [said["start_url"]] if "start_url" in said else [page["url"] for page in said.get("pages", ())]
        )
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return []
    return [page for page in pages if isinstance(page, str)]

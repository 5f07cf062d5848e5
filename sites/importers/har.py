"""HAR files: the JSON log that browsers and proxies export. Bodies in it are decoded."""

from __future__ import annotations

import base64
import binascii
import codecs
import json
import os
from typing import IO, Any

from harness.errors import ArchiveError
from sites.importers.recording import Head, Recording, parse_date, parse_ip, parse_wait
from sites.mediatype import charset_of

FILE_LIMIT_BYTES = 500_000_000  # it is read as a whole, which takes some times as much memory
NEED_BODY = "responses left out because their bodies are not in the recording"


def read_har(file: IO[bytes], into: Recording) -> None:
    """Every entry of a HAR; ArchiveError when it is none, is damaged, or holds no bodies."""
    size = os.fstat(file.fileno()).st_size
    if size > FILE_LIMIT_BYTES:
        raise ArchiveError(
            f"it is a HAR of {size / 1e9:.1f} GB; at most {FILE_LIMIT_BYTES / 1e9:g} GB can be read"
        )
    try:
        log = _dict(json.loads(file.read()), "log")
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:200]
        raise ArchiveError(f"it is damaged or cut short, no JSON ({why}); export the HAR again") from error
    entries, pages = log.get("entries"), log.get("pages") or []
    if not isinstance(entries, list) or not isinstance(pages, list):
        raise ArchiveError("it is JSON but no HAR: log.entries is missing or no list; export the HAR again")
    creator = _dict(log, "browser") or _dict(log, "creator")
    into.source = f"{creator.get('name', '')} {creator.get('version', '')}".strip()
    into.pages.extend(_pages(pages, entries))
    bodies = sum([_entry(entry, into) for entry in entries])
    if entries and not bodies:
        raise ArchiveError(
            f"none of its {len(entries)} entries holds a body; export the HAR with content "
            '(in a browser: "Save all as HAR with content"), or record a WARC'
        )


def _pages(pages: list[Any], entries: list[Any]) -> list[str]:
    """The URL of each page's first entry; the page's title, too, which browsers fill with the URL."""
    first: dict[str, str] = {}
    for entry in entries:
        url = _dict(entry, "request").get("url")
        if isinstance(url, str) and isinstance(entry.get("pageref"), str):
            first.setdefault(entry["pageref"], url)
    found: list[str] = []
    for page in pages:
        if isinstance(page, dict):
            found += [u for u in (page.get("title"), first.get(str(page.get("id")))) if isinstance(u, str)]
    return found


def _entry(entry: Any, into: Recording) -> bool:
    """Take an entry in; whether it holds a body that is not empty."""
    request, response = _dict(entry, "request"), _dict(entry, "response")
    content = _dict(response, "content")
    url, status = request.get("url"), response.get("status")
    if not isinstance(url, str) or type(status) is not int:
        into.tally.add("entries left out because they have no URL or no status")
        return False
    asked = _headers(request)
    for name, value in asked:
        if name.lower() == "user-agent":
            into.user_agents[value] += 1
        if name.lower() == "accept-encoding" and "gzip" in value:
            into.asked_for_coding = True
    headers = _headers(response)
    names = {name.lower() for name, _ in headers}
    if "location" not in names and 300 <= status < 400 and response.get("redirectURL"):
        headers += (("Location", str(response["redirectURL"])),)
    if "content-type" not in names and isinstance(content.get("mimeType"), str):
        # x-unknown is what browsers write where no type was given.
        headers += (("Content-Type", content["mimeType"]),) if "/" in content["mimeType"] else ()
    body = _body(content, headers, url, into)
    if body is None and 200 <= status <= 599 and _needs_body(status, content, request):
        into.tally.add(NEED_BODY, url)
        return False
    body = body or b""
    if into.too_large(url, len(body)):
        return True
    told = content.get("size")
    if isinstance(told, int) and told > len(body) > 0:
        into.tally.add("bodies shorter than the recording says they were", url)
    network = "_fromCache" not in entry
    wire = response.get("bodySize")
    head = Head(
        url,
        status,
        headers,
        date=parse_date(entry.get("startedDateTime")),
        reason=str(response.get("statusText") or ""),
        ip=parse_ip(entry.get("serverIPAddress")) if network else None,
        wait_ms=parse_wait(_dict(entry, "timings").get("wait")) if network else None,
    )
    into.add(
        head,
        into.keep(body),
        method=str(request.get("method") or "GET"),
        decoded=bool(body),
        wire_bytes=wire if isinstance(wire, int) and wire > 0 else None,
    )
    return bool(body)


def _needs_body(status: int, content: dict[str, Any], request: dict[str, Any]) -> bool:
    """Whether an answer without a body in the recording must have had one."""
    if status in (204, 304) or 300 <= status < 400 or request.get("method") in ("HEAD", "OPTIONS"):
        return False
    return content.get("size") != 0


def _body(
    content: dict[str, Any], headers: tuple[tuple[str, str], ...], url: str, into: Recording
) -> bytes | None:
    """The decoded body; None when it is missing or cannot be read."""
    text = content.get("text")
    if not isinstance(text, str):
        return None
    if content.get("encoding") == "base64":
        try:
            return base64.b64decode(text, validate=False)
        except (binascii.Error, ValueError):
            into.tally.add("bodies that are not the base64 they should be", url)
            return None
    types = [value for name, value in headers if name.lower() == "content-type"]
    named = charset_of(types[0]) if types else None
    try:
        charset = codecs.lookup(named).name if named else "utf-8"
        return text.encode(charset)
    except (LookupError, UnicodeError):
        return text.encode("utf-8", "replace")


def _headers(message: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    """Name and value of each header; not those HTTP/2 makes of the start line."""
    given = message.get("headers")
    return tuple(
        (header["name"], str(header.get("value", "")))
        for header in (given if isinstance(given, list) else ())
        if isinstance(header, dict) and isinstance(header.get("name"), str) and header["name"][:1] != ":"
    )


def _dict(holder: Any, key: str) -> dict[str, Any]:
    value = holder.get(key) if isinstance(holder, dict) else None
    return value if isinstance(value, dict) else {}

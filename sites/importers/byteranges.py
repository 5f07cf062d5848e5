"""Answers that are parts of a body (206), as players of films ask for them: put together where they make a whole.

A browser that plays a film asks for its beginning, breaks that off, asks for its end, and so on. A server of the replay
cuts a whole body (200) as it is asked to; a part (206) it sends whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sites.archive import WARNING
from sites.coding import coding_of
from sites.importers.recording import IN_FAVOUR, Body, Capture, Recording, in_time
from sites.response import ByteRange, Response

JOINED = "bodies put together of answers 206, which are parts of them, now with status 200"
BEGINNING = f"{WARNING}bodies of which only the beginning was recorded (206), which answers for every part"
LATER = f"{WARNING}bodies left out because their beginning was not recorded, only later parts (206)"
# Parts are of one body when these are the same.
SAME = ("etag", "last-modified", "content-encoding")


@dataclass(frozen=True)
class _Part:
    """A capture and which bytes of the body it holds."""

    capture: Capture
    held: ByteRange

    @property
    def of(self) -> tuple[object, ...]:
        """Equal in parts of one body."""
        return self.held.total, *(self.capture.response.header(name) for name in SAME)


def joined(recording: Recording, captures: Sequence[Capture]) -> list[Capture]:
    """The captures with the parts of each URL made one; not where the whole was recorded, too."""
    whole = {
        answer.response.url
        for answer in captures
        if answer.response.status == 200 and answer.body.length and not answer.cut
    }
    parts: dict[str, list[_Part]] = {}
    for capture in in_time(captures):
        held = _held(capture)
        if held is not None and capture.response.url not in whole:
            parts.setdefault(capture.response.url, []).append(_Part(capture, held))
    made = {url: _made_one(recording, of_url) for url, of_url in parts.items()}
    put_away = {id(part.capture) for of_url in parts.values() for part in of_url}
    settled: list[Capture] = []
    for capture in captures:
        one = made.pop(capture.response.url, None) if id(capture) in put_away else capture
        if one is not None:
            settled.append(one)
    return settled


def _held(capture: Capture) -> ByteRange | None:
    """The bytes that a capture really holds; None where it is no part, or its body was changed on the way."""
    told = capture.response.byte_range
    decoded = capture.decoded and coding_of(capture.response.header("Content-Encoding"))
    if told is None or decoded or not 0 < capture.body.length <= told.end - told.first:
        return None
    return replace(told, end=told.first + capture.body.length)


def _made_one(recording: Recording, parts: Sequence[_Part]) -> Capture | None:
    """One capture of all parts of a URL; None where nothing was recorded of its beginning."""
    url = parts[0].capture.response.url
    bodies: dict[tuple[object, ...], list[_Part]] = {}
    for part in parts:
        bodies.setdefault(part.of, []).append(part)
    covering = max((_from_the_beginning(pieces) for pieces in bodies.values()), key=_worth)
    if not covering:
        recording.tally.add(LATER, url)
        return None
    end, total = covering[-1].held.end, covering[0].held.total
    if recording.too_large(url, end):
        return None
    recording.tally.add(JOINED if end == total else BEGINNING, url)
    recording.tally.add(IN_FAVOUR, url, len(parts) - len(covering))
    first = covering[0].capture
    body = _body(recording, covering) if len(covering) > 1 else first.body
    return replace(first, response=_head(first.response, end, total), body=body, wire_bytes=None, cut=False)


def _from_the_beginning(parts: Iterable[_Part]) -> list[_Part]:
    """Parts of one body that follow on each other from its first byte, as far as they reach."""
    covering: list[_Part] = []
    end = 0
    for part in sorted(parts, key=lambda part: (part.held.first, -part.held.end)):
        if part.held.first <= end < part.held.end:
            covering.append(part)
            end = part.held.end
    return covering


def _worth(covering: Sequence[_Part]) -> tuple[bool, int]:
    """A whole body before a beginning, a long one before a short one."""
    end = covering[-1].held.end if covering else 0
    return bool(covering) and end == covering[0].held.total, end


def _body(recording: Recording, covering: Iterable[_Part]) -> Body:
    body = bytearray()
    for part in covering:
        kept, known = part.capture.body, len(body) - part.held.first
        body += recording.body(replace(kept, offset=kept.offset + known, length=kept.length - known))
    return recording.keep(bytes(body))


def _head(response: Response, end: int, total: int | None) -> Response:
    """The response of a part as that of all up to `end`."""
    others = tuple(header for header in response.headers if header[0].lower() != "content-range")
    if end == total:
        return replace(response, status=200, reason="OK", headers=others)
    told = ("Content-Range", f"bytes 0-{end - 1}/{'*' if total is None else total}")
    return replace(response, headers=(*others, told))

"""A recording made ready to be an archive: one response per URL, bodies as they travel, a start URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.errors import ArchiveError
from sites.coding import KNOWN, coding_of
from sites.htcache import TEXT_TYPE, gzip_encoded, with_coding
from sites.importers.charset import with_charset
from sites.importers.recording import BODILESS_METHODS, WITHOUT_BODY, Capture, Recording, in_time
from sites.importers.start import Start, start_of
from sites.response import Response
from sites.urls import canonical_url

# They differ between two captures of what is the same to a browser.
PASSING_HEADERS = frozenset({"date", "age", "content-length", "connection", "keep-alive"})


@dataclass(frozen=True)
class Settled:
    """What is archived of a recording. Bodies are still in its temporary file."""

    start_url: str
    captures: tuple[Capture, ...]
    notes: tuple[str, ...]


def settle(recording: Recording, start_url: str | None) -> Settled:
    """Choose, in recorded order, what is archived; ArchiveError when there is nothing to start from."""
    captures = _one_of_each(recording, _different(recording, _of_one_method(recording)))
    if not captures:
        raise ArchiveError(_why_nothing(recording))
    start = Start(canonical_url(start_url), ()) if start_url else start_of(recording, captures)
    coded = tuple(_as_travelled(recording, captures))
    return Settled(start.url, coded, (*start.notes, *recording.remarks, *recording.tally.notes()))


def _why_nothing(recording: Recording) -> str:
    tally = recording.tally
    left_out = "; ".join(tally.notes()) or "it is empty"
    mend = "give a recording of a page"
    if tally.count(WITHOUT_BODY):
        mend = (
            "the browser had the page in its cache: record it again with an empty one (in a browser: tick "
            '"Disable cache" in the developer tools and reload)'
        )
    return f"it holds no response that can be archived ({left_out}); {mend}"


def responses(recording: Recording, settled: Settled) -> Iterator[Response]:
    """The responses, whole, in recorded order."""
    for capture in settled.captures:
        yield replace(capture.response, body=recording.body(capture.body))


def _of_one_method(recording: Recording) -> Iterator[Capture]:
    """An archive tells responses apart by URL, so where there is one to GET, those to other methods go."""
    fetched = {capture.response.url for capture in recording.captures if capture.method == "GET"}
    for capture in recording.captures:
        url = capture.response.url
        if capture.method in BODILESS_METHODS:
            recording.tally.add(f"responses to {capture.method} left out", url)
        elif capture.method != "GET" and url in fetched:
            recording.tally.add(
                f"responses to {capture.method[:10]} left out in favour of those to GET of the same URL", url
            )
        else:
            if capture.method != "GET":
                recording.tally.add(f"responses to {capture.method[:10]} kept; they answer by URL", url)
            yield capture


def _different(recording: Recording, captures: Iterator[Capture]) -> list[Capture]:
    """The captures without those that repeat an earlier one of the same URL."""
    kept: dict[tuple[object, ...], Capture] = {}
    for capture in captures:
        response = capture.response
        lasting = [
            (name.lower(), value) for name, value in response.headers if name.lower() not in PASSING_HEADERS
        ]
        key = (response.url, response.status, capture.body, *sorted(lasting))
        if key in kept:
            recording.tally.add("captures left out because they repeat an earlier one", response.url)
        else:
            kept[key] = capture
    return list(kept.values())


def _one_of_each(recording: Recording, captures: list[Capture]) -> list[Capture]:
    """Of the captures of one URL the one to be replayed, in recorded order."""
    best: dict[str, Capture] = {}
    for capture in in_time(captures):
        other = best.setdefault(capture.response.url, capture)
        if _rank(capture) < _rank(other):
            best[capture.response.url] = capture
    for capture in captures:
        if best[capture.response.url] is not capture:
            recording.tally.add(
                "captures left out in favour of another one of the same URL", capture.response.url
            )
    return [capture for capture in captures if best[capture.response.url] is capture]


def _rank(capture: Capture) -> tuple[bool, ...]:
    """What goes before what: success, then a redirect, then an error; with a body, then without; whole, then a part;
    from a server, then from the browser's cache. Of those alike, the first in time.
    """
    status, empty = capture.response.status, not capture.body.length
    redirect = 300 <= status < 400
    return (status >= 300, not redirect, empty and not redirect, status != 200, capture.cached)


def _as_travelled(recording: Recording, captures: list[Capture]) -> Iterator[Capture]:
    """The captures with decoded bodies encoded again.

    When no text of a recording is encoded and no request offered to take it so, the recorder either decoded all or
    never asked: a browser would have got it compressed.
    """
    texts = [capture for capture in captures if TEXT_TYPE.fullmatch(capture.response.mime)]
    none_coded = not any(coding_of(capture.response.header("Content-Encoding")) for capture in texts)
    all_again = none_coded and not recording.asked_for_coding
    for capture in (_with_charset(recording, capture) for capture in captures):
        response = capture.response
        coding = coding_of(response.header("Content-Encoding"))
        compressible = all_again and TEXT_TYPE.fullmatch(response.mime)
        if not capture.body.length or not (compressible or (capture.decoded and coding)):
            yield capture
            continue
        whole = replace(response, body=recording.body(capture.body))
        if coding:
            yield _encoded_again(recording, capture, whole, coding)
            continue
        encoded = gzip_encoded(whole)
        if encoded is not whole:
            recording.tally.add("bodies of text gzip-encoded (level 6), since the recording has none encoded")
        yield _stored(recording, capture, encoded)


def _with_charset(recording: Recording, capture: Capture) -> Capture:
    """The capture, whose Content-Type names the character set that its body was stored in."""
    if not capture.charset:
        return capture
    response = capture.response
    recording.tally.add(
        f"headers made to name the character set in which the text is stored ({capture.charset})",
        response.url,
    )
    headers = tuple(
        (name, with_charset(value, capture.charset) if name.lower() == "content-type" else value)
        for name, value in response.headers
    )
    return replace(capture, response=replace(response, headers=headers))


def _encoded_again(recording: Recording, capture: Capture, whole: Response, coding: str) -> Capture:
    if coding not in KNOWN:
        recording.tally.add(f"bodies kept decoded because their coding {coding[:20]} is not known", whole.url)
        headers = tuple(h for h in whole.headers if h[0].lower() != "content-encoding")
        return replace(capture, response=replace(capture.response, headers=headers))
    recording.tally.add(f"bodies decoded by the recorder encoded with {coding} again")
    recorded_bytes = len(whole.body) if capture.wire_bytes is None else capture.wire_bytes
    return _stored(recording, capture, with_coding(whole, coding, recorded_bytes))


def _stored(recording: Recording, capture: Capture, whole: Response) -> Capture:
    return replace(capture, response=replace(whole, body=b""), body=recording.keep(whole.body), decoded=False)

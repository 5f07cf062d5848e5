"""A recording made ready to be an archive: one method per URL, no duplicates, bodies as they travel, a start URL."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from harness.errors import ArchiveError
from sites.coding import KNOWN, coding_of
from sites.htcache import TEXT_TYPE, gzip_encoded, with_coding
from sites.importers.recording import Capture, Recording
from sites.mediatype import HTML_TYPES
from sites.response import Response
from sites.urls import canonical_url, resolve

BODILESS_METHODS = frozenset({"HEAD", "OPTIONS", "CONNECT", "TRACE"})
# They differ between two captures of what is the same to a browser.
PASSING_HEADERS = frozenset({"date", "age", "content-length", "connection", "keep-alive"})
MAX_REDIRECTS = 20


@dataclass(frozen=True)
class Settled:
    """What is archived of a recording. Bodies are still in its temporary file."""

    start_url: str
    captures: tuple[Capture, ...]
    notes: tuple[str, ...]


def settle(recording: Recording, start_url: str | None) -> Settled:
    """Choose, in recorded order, what is archived; ArchiveError when there is nothing to start from."""
    captures = _different(recording, _of_one_method(recording))
    if not captures:
        left_out = "; ".join(recording.tally.notes()) or "it is empty"
        raise ArchiveError(
            f"it holds no response that can be archived ({left_out}); give a recording of a page"
        )
    start, why = (canonical_url(start_url), "") if start_url else _start(recording, captures)
    coded = tuple(_as_travelled(recording, captures))
    notes = ([why] if why else []) + recording.remarks + list(recording.tally.notes()) + _several(coded)
    return Settled(start, coded, tuple(notes))


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


def _start(recording: Recording, captures: list[Capture]) -> tuple[str, str]:
    """The page to start from, and a note on how it was chosen."""
    recorded = {capture.response.url for capture in captures}
    told = list(dict.fromkeys(url for url in map(_canonical, recording.pages) if url in recorded))
    if told:
        others = f" It names {len(told)} pages; --start-url chooses another." if len(told) > 1 else ""
        return told[0], f"Start URL {told[0]}: the recording names it as its page.{others}"
    documents = list(dict.fromkeys(c.response.url for c in captures if _is_document(c.response)))
    if not documents:
        raise ArchiveError(
            "it names no page and holds no HTML document with status 200; give --start-url URL"
        )
    start = _first_of_redirects(documents[0], captures)
    others = f" of {len(documents)}; --start-url chooses another" if len(documents) > 1 else ""
    led = f", which leads to {documents[0]}" if start != documents[0] else ""
    return start, f"Start URL {start}{led}: the first HTML document{others}."


def _first_of_redirects(page: str, captures: list[Capture]) -> str:
    """Where the redirects that lead to a page begin."""
    came_from: dict[str, str] = {}
    for capture in captures:
        response = capture.response
        target = resolve(response.url, response.location) if response.location else None
        if target is not None:
            came_from.setdefault(target, response.url)
    seen = {page}
    while page in came_from and came_from[page] not in seen and len(seen) < MAX_REDIRECTS:
        page = came_from[page]
        seen.add(page)
    return page


def _as_travelled(recording: Recording, captures: list[Capture]) -> Iterator[Capture]:
    """The captures with decoded bodies encoded again.

    When no text of a recording is encoded and no request offered to take it so, the recorder either decoded all or
    never asked: a browser would have got it compressed.
    """
    texts = [capture for capture in captures if TEXT_TYPE.fullmatch(capture.response.mime)]
    none_coded = not any(coding_of(capture.response.header("Content-Encoding")) for capture in texts)
    all_again = none_coded and not recording.asked_for_coding
    for capture in captures:
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


def _several(captures: tuple[Capture, ...]) -> list[str]:
    """A note on URLs with more than one capture."""
    urls = [capture.response.url for capture in captures]
    more = len(urls) - len(set(urls))
    return [f"further captures of the same URL with another answer, kept in order: {more}"] if more else []


def _is_document(response: Response) -> bool:
    return response.status == 200 and response.mime in HTML_TYPES


def _canonical(url: str) -> str | None:
    try:
        return canonical_url(url)
    except ArchiveError:
        return None

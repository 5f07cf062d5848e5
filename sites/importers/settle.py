"""A recording made ready to be an archive: one response per URL, bodies as they travel, the page to start from.

A recording may name no page, hold several, or hold them in any order. The page that it names goes before all else.
Then: what the browser asked for as a document (`Sec-Fetch-Dest: document`) before what it did not (a frame, a fetch),
and the first in time, whatever the order in the file. Redirects that led there before that belong to it; a redirect
recorded later is a click.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.errors import ArchiveError
from harness.input.shown import brief
from sites.archive import MAX_REDIRECTS, fragment_warning
from sites.charset import with_charset
from sites.coding import KNOWN, coding_of, level_of
from sites.htcache import TEXT_TYPE, gzip_encoded, with_coding
from sites.importers.byteranges import joined
from sites.importers.recording import (
    BODILESS_METHODS,
    EXAMPLES,
    IN_FAVOUR,
    WITHOUT_BODY,
    Capture,
    Recording,
    in_time,
)
from sites.mediatype import HTML_TYPES
from sites.response import Response
from sites.urls import canonical_url, resolve

# They differ between two captures of what is the same to a browser.
PASSING_HEADERS = frozenset({"date", "age", "content-length", "connection", "keep-alive"})
DOCUMENT = "document"


@dataclass(frozen=True)
class Settled:
    """What is archived of a recording. Bodies are still in its temporary file."""

    start_url: str
    captures: tuple[Capture, ...]
    notes: tuple[str, ...]


def settle(recording: Recording, start_url: str | None) -> Settled:
    """Choose, in recorded order, what is archived; ArchiveError when there is nothing to start from."""
    different = _different(recording, _of_one_method(recording))
    captures = _one_of_each(recording, joined(recording, different))
    if not captures:
        raise ArchiveError(_why_nothing(recording))
    start = (
        Start(canonical_url(start_url), fragment_warning(start_url))
        if start_url
        else start_of(recording, captures)
    )
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
    """An archive tells responses apart by URL, so where there is one to GET, those to other methods go; not those that
    succeeded where GET failed.
    """
    gets = [capture.response for capture in recording.captures if capture.method == "GET"]
    fetched = {response.url for response in gets}
    answered = {response.url for response in gets if response.status < 400}
    for capture in recording.captures:
        url = capture.response.url
        preferred = fetched if capture.response.status >= 400 else answered
        if capture.method in BODILESS_METHODS:
            recording.tally.add(f"responses to {capture.method} left out", url)
        elif capture.method != "GET" and url in preferred:
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
            recording.tally.add(IN_FAVOUR, capture.response.url)
    return [capture for capture in captures if best[capture.response.url] is capture]


def _rank(capture: Capture) -> tuple[bool, ...]:
    """What goes before what: success, then a redirect, then an error; with a body, then without; whole, then a part;
    to its end, then cut; from a server, then from the browser's cache. Of those alike, the first in time.
    """
    status, empty = capture.response.status, not capture.body.length
    redirect = 300 <= status < 400
    return (status >= 300, not redirect, empty and not redirect, status != 200, capture.cut, capture.cached)


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
    level = None if capture.wire_bytes is None else level_of(whole.body, coding, capture.wire_bytes)
    return _stored(recording, capture, with_coding(whole, coding, level))


def _stored(recording: Recording, capture: Capture, whole: Response) -> Capture:
    return replace(capture, response=replace(whole, body=b""), body=recording.keep(whole.body), decoded=False)


@dataclass(frozen=True)
class Start:
    """The page to start from; notes say why, and what else there is to choose."""

    url: str
    notes: tuple[str, ...]


def start_of(recording: Recording, archived: Sequence[Capture]) -> Start:
    """The page of the captures that are archived; ArchiveError when there is none among them.

    `recording` has also those that are not archived, which tell what led where.
    """
    by_url = {capture.response.url: capture.response for capture in archived}
    _refuse_without_answer(recording, archived)
    documents = list(dict.fromkeys(c.response.url for c in _documents(archived)))
    told = list(dict.fromkeys(url for url in map(_canonical, recording.pages) if url in by_url))
    if told:
        others = f" It names {len(told)} pages; --start-url chooses another." if len(told) > 1 else ""
        status = by_url[told[0]].status
        failed = f" It was answered with status {status}." if status >= 400 else ""
        note = f"Start URL {told[0]}: the recording names it as its page.{failed}{others}"
        named = next(url for url in recording.pages if _canonical(url) == told[0])
        choices = _choices(documents) if len(told) > 1 else ()
        return Start(told[0], (*fragment_warning(named), note, *choices))
    if not documents:
        raise ArchiveError(
            f"it names no page and holds no HTML document with status 200 ({_what_there_is(archived)}"
            f"{_warm(recording)}); give --start-url URL"
        )
    asked_for = [c.response.url for c in archived if c.destination == DOCUMENT and is_document(c.response)]
    page = documents[0]
    start = _before(page, by_url, recording.captures)
    sure = len(set(asked_for)) == 1
    which = "the HTML document that the browser went to" if sure else "the first HTML document"
    others = f" of {len(documents)}; --start-url chooses another" if len(documents) > 1 else ""
    led = f", which leads to {page}" if start != page else ""
    return Start(start, (f"Start URL {start}{led}: {which}{others}.", *(() if sure else _choices(documents))))


def is_document(response: Response) -> bool:
    """Whether a browser shows a response as a page."""
    return response.status == 200 and response.mime in HTML_TYPES


def _documents(captures: Iterable[Capture]) -> list[Capture]:
    """The HTML documents, the likeliest start first."""
    ranks = {DOCUMENT: 0, "": 1}
    documents = [capture for capture in in_time(captures) if is_document(capture.response)]
    return sorted(documents, key=lambda capture: ranks.get(capture.destination, 2))


def _before(page: str, archived: dict[str, Response], captures: Iterable[Capture]) -> str:
    """Where the redirects begin that led to a page when it was first shown."""
    past: list[Response] = []
    for capture in in_time(captures):
        response = capture.response
        if response.url == page and is_document(response):
            break
        if response.location and capture.destination in (DOCUMENT, ""):
            past.append(response)
    start, led = page, 0
    for redirect in reversed(past):
        if led == MAX_REDIRECTS - 1 or resolve(redirect.url, redirect.location or "") != start:
            continue
        if redirect.url == page:  # it led to itself, by way of what sets a cookie
            return page
        if (kept := archived.get(redirect.url)) and kept.location:
            start, led = redirect.url, led + 1
    return start


def _choices(documents: Sequence[str]) -> tuple[str, ...]:
    if len(documents) < 2:
        return ()
    shown = " ".join(brief(url, 200) for url in documents[:EXAMPLES])
    more = f" and {len(documents) - EXAMPLES} more" if len(documents) > EXAMPLES else ""
    return (f"HTML documents for --start-url: {shown}{more}",)


def _refuse_without_answer(recording: Recording, captures: Sequence[Capture]) -> None:
    """ArchiveError when nothing was answered as it was asked for."""
    if any(capture.response.status < 300 for capture in captures):
        return
    redirects = [capture.response for capture in captures if capture.response.location]
    if len(redirects) == len(captures):
        first = redirects[0]
        target = brief(resolve(first.url, first.location or "") or first.location or "", 200)
        raise ArchiveError(
            f"it holds only redirects ({len(redirects)}, the first from {first.url} to {target}){_warm(recording)}; "
            "record the page that they lead to"
        )
    raise ArchiveError(
        f"it holds only redirects and errors ({_what_there_is(captures)}{_warm(recording)}); record the page when it "
        "answers, or give --start-url URL for the page of an error"
    )


def _what_there_is(captures: Sequence[Capture]) -> str:
    """Statuses and types of the captures, the most frequent first, and the first URL."""
    kinds = Counter(f"{c.response.status} {brief(c.response.mime, 40) or 'no type'}" for c in captures)
    shown = ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common(5))
    return f"{shown}; the first is {brief(captures[0].response.url, 200)}"


def _warm(recording: Recording) -> str:
    """What is missing because the browser had it in its cache."""
    count = recording.tally.count(WITHOUT_BODY)
    return f"; {count} answers 304 were left out: record again with an empty cache" if count else ""


def _canonical(url: str) -> str | None:
    try:
        return canonical_url(url)
    except ArchiveError:
        return None

"""The page to start from, in a recording that may name none, hold several, or hold them in any order.

The page that the recording names goes before all else. Then: what the browser asked for as a document
(`Sec-Fetch-Dest: document`) before what it did not (a frame, a fetch), and the first in time, whatever the order in the
file. Redirects that led there before that belong to it; a redirect recorded later is a click.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.errors import ArchiveError
from sites.importers.recording import EXAMPLES, WITHOUT_BODY, Capture, Recording, in_time, printable
from sites.mediatype import HTML_TYPES
from sites.response import Response
from sites.urls import canonical_url, resolve

MAX_REDIRECTS = 20
DOCUMENT = "document"


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
        return Start(told[0], (note, *(_choices(documents) if len(told) > 1 else ())))
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
    shown = " ".join(printable(url, 200) for url in documents[:EXAMPLES])
    more = f" and {len(documents) - EXAMPLES} more" if len(documents) > EXAMPLES else ""
    return (f"HTML documents for --start-url: {shown}{more}",)


def _refuse_without_answer(recording: Recording, captures: Sequence[Capture]) -> None:
    """ArchiveError when nothing was answered as it was asked for."""
    if any(capture.response.status < 300 for capture in captures):
        return
    redirects = [capture.response for capture in captures if capture.response.location]
    if len(redirects) == len(captures):
        first = redirects[0]
        target = printable(resolve(first.url, first.location or "") or first.location or "", 200)
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
    kinds = Counter(f"{c.response.status} {printable(c.response.mime, 40) or 'no type'}" for c in captures)
    shown = ", ".join(f"{count} x {kind}" for kind, count in kinds.most_common(5))
    return f"{shown}; the first is {printable(captures[0].response.url, 200)}"


def _warm(recording: Recording) -> str:
    """What is missing because the browser had it in its cache."""
    count = recording.tally.count(WITHOUT_BODY)
    return f"; {count} answers 304 were left out: record again with an empty cache" if count else ""


def _canonical(url: str) -> str | None:
    try:
        return canonical_url(url)
    except ArchiveError:
        return None

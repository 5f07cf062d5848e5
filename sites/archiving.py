"""Archiving live pages: with HTTrack, with the browser, or HTTrack's mirror completed by a real load; one of them, or a
list of them several at a time.

What a visitor brings (headers, cookies, what a script did before) is in no archive. Values that a server sends back to
them are left out with their headers, and told of where they stand in bodies.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.engines.browserlog import Failure, Request
from harness.errors import ArchiveError, ColdloadError
from harness.input.textfile import read_file
from harness.model.engine import DESKTOP, MOBILE, Device, Engine
from sites.archive import (
    MAX_REDIRECTS,
    WARNING,
    Archive,
    check_name,
    fragment_warning,
    open_archive,
    write_archive,
)
from sites.browsing import CHECK, browse
from sites.coding import coding_of, decode
from sites.htcache import TEXT_TYPE, url_key
from sites.httrack import NOTES as HTTRACK_NOTES
from sites.httrack import USER_AGENTS, Visit, archive_with_httrack, mirror, responses_of
from sites.importers.recording import Capture, Recording
from sites.importers.settle import responses, settle
from sites.response import Response
from sites.urls import canonical_url, fragment_of, parse_url, resolve
from sites.visitor import hidden, without_secrets
from sites.warc import About

BROWSER_NOTES = (
    "Recorded in {browser} ({device}): headers, and bodies as they travelled.",
    "What this load did not ask for is not in the archive: pictures for other screens, what comes when scrolling.",
)
LISTED = 10  # addresses in a note
WORTH_COMPRESSING_BYTES = 1460  # what is smaller travels in one packet anyhow
LIST_LIMIT_BYTES = 10_000_000  # of a list: some 100,000 pages


class Tool(StrEnum):
    """What a live page is archived with: HTTrack's mirror, a load in the browser, or the mirror completed by a load."""

    BOTH = "both"
    HTTRACK = "httrack"
    BROWSER = "browser"


@dataclass(frozen=True)
class RecordedPage:
    """A recording ready to be stored: what it says of itself, and its responses, each read as it is asked for."""

    about: About
    responses: Iterable[Response]


def archive_page(url: str, root: Path, name: str, tool: Tool, visit: Visit) -> Archive:
    """Archive the page at `url` as `name`; ArchiveError when there is no such page."""
    if tool is Tool.HTTRACK:
        return archive_with_httrack(url, root, name, visit, fragment_warning(url))
    with recorded_page(url, root, tool, visit) as made:
        return write_archive(root, name, made.about, made.responses)


@contextlib.contextmanager
def recorded_page(url: str, root: Path, tool: Tool, visit: Visit) -> Iterator[RecordedPage]:
    """A load of the page at `url`, by itself or behind HTTrack's mirror; bodies wait beside the archives in `root`."""
    start, device = canonical_url(url), device_of(visit.user_agent)
    mirrored: list[Response] = []
    if tool is Tool.BOTH:
        mirrored = list(responses_of(mirror(start, replace(visit, work=visit.work / "mirror")).folder))
    if visit.progress is not None:
        visit.progress(visit.engine.traits.label, 0, "")
    browsed = browse(start, device, replace(visit, work=visit.work / "browser"))
    secrets = browsed.visitor.secrets
    notes = [*fragment_warning(url), *([browsed.visitor.note] if browsed.visitor.note else [])]
    with Recording(root, secrets) as recording:
        browsed.read(recording)
        if browsed.late:
            notes.append(f"The load was recorded without its end: {browsed.late}.")
        _refuse_error_page(start, recording, visit.engine)
        recording.asked_for_coding = True
        notes += not_found(recording, browsed.requests)
        browser = visit.engine.traits.label
        notes += [
            note.format(browser=browser, device=device) for note in BROWSER_NOTES[: 1 if mirrored else None]
        ]
        if mirrored:
            notes += complete(recording, mirrored)
        settled = settle(recording, start)
        notes = [*uncompressed(settled.captures), *notes, *broken_off(settled.captures), *settled.notes]
        kept: Iterable[Response] = responses(recording, settled)
        if secrets:
            notes = [hidden(note, secrets) for note in (*said_back(kept, secrets), *notes)]
            kept = filter(
                None, (without_secrets(response, secrets) for response in responses(recording, settled))
            )
        source = f"httrack and {visit.engine}" if mirrored else visit.engine.value
        about = About(start, source, device.user_agent or "", tuple(notes), load=browsed.load(start))
        yield RecordedPage(about, kept)


def device_of(user_agent: str) -> Device:
    """The device of a user agent: `desktop`, `mobile`, or a desktop that sends this string.

    ArchiveError when no browser could send it.
    """
    if user_agent == MOBILE.name:
        return MOBILE
    if not user_agent.strip() or not user_agent.isprintable() or not user_agent.isascii():
        raise ArchiveError(
            f"no browser can send the user agent {user_agent[:60]!r}; give {', '.join(USER_AGENTS)} "
            "or printable ASCII characters"
        )
    return replace(DESKTOP, user_agent=USER_AGENTS.get(user_agent, user_agent))


def uncompressed(captures: Iterable[Capture]) -> list[str]:
    """A warning of text that the server sent as it is: a visitor waits for all of it."""
    plain = [
        capture
        for capture in captures
        if capture.body.length >= WORTH_COMPRESSING_BYTES
        and TEXT_TYPE.fullmatch(capture.response.mime)
        and not coding_of(capture.response.header("Content-Encoding"))
    ]
    if not plain:
        return []
    size, named = (
        sum(capture.body.length for capture in plain) / 1000,
        _some(capture.response.url for capture in plain),
    )
    return [
        f"{WARNING}text came uncompressed: {len(plain)} responses, {size:,.0f} kB ({named}); "
        'loads measure it so, unless compression = "gzip" (of `load`: --compression gzip) is given'
    ]


def broken_off(captures: Iterable[Capture]) -> list[str]:
    """A note of bodies that the load did not fetch to their end, as a stream of events has none."""
    cut = [capture.response.url for capture in captures if capture.cut]
    what = "Bodies that the load broke off, kept as far as they came"
    return [f"{what}: {len(cut)} ({_some(cut)})"] if cut else []


def said_back(whole: Iterable[Response], secrets: tuple[str, ...]) -> list[str]:
    """Notes on where a server has said what the visitor brought: what is left out of the archive, and what stays."""
    left_out = headers = 0
    bodies: list[str] = []
    for response in whole:
        kept = without_secrets(response, secrets)
        if kept is None:
            left_out += 1
            continue
        headers += len(response.headers) - len(kept.headers)
        if any(secret.encode() in _plain(response) for secret in secrets):
            bodies.append(response.url)
    told = (
        (
            left_out,
            f"responses left out because their addresses hold a cookie or header of the visitor: {left_out}",
        ),
        (
            headers,
            f"response headers left out because they hold a cookie or header of the visitor: {headers}",
        ),
        (
            len(bodies),
            f"{WARNING}bodies that hold a cookie or header of the visitor: {len(bodies)} ({_some(bodies)}); whoever "
            "gets the archive can read it: end the session, or keep the archive to yourself",
        ),
    )
    return [note for count, note in reversed(told) if count]


def _plain(response: Response) -> bytes:
    """The body without its coding, where it can be decoded."""
    try:
        return decode(response.body, coding_of(response.header("Content-Encoding")))
    except ValueError:
        return response.body


def _some(urls: Iterable[str]) -> str:
    named = list(dict.fromkeys(urls))
    return f"{' '.join(named[:LISTED])}{' ...' if len(named) > LISTED else ''}"


def complete(recording: Recording, mirrored: Iterable[Response]) -> list[str]:
    """Put what only HTTrack fetched behind what the load asked for; notes on what came from where.

    Of what both have the browser's is taken: it has all headers, the server's address and its time. Not where the load
    broke it off and HTTrack has it whole.
    """
    browsed = {url_key(capture.response.url) for capture in recording.captures}
    cut = {
        url_key(capture.response.url): capture.response.url for capture in recording.captures if capture.cut
    }
    for capture in recording.captures:
        if capture.body.length and not capture.cut:
            cut.pop(url_key(capture.response.url), None)
    by_httrack: list[str] = []
    mended: list[str] = []
    for response in mirrored:
        key = url_key(response.url)
        by_httrack.append(key)
        if key not in browsed:
            recording.take(response)
        elif key in cut and response.status == 200 and response.body:
            mended.append(cut.pop(key))
            recording.take(replace(response, url=mended[-1]))
    both = browsed.intersection(by_httrack)
    unseen = [
        c.response.url
        for c in recording.captures
        if url_key(c.response.url) in browsed and url_key(c.response.url) not in both
    ]
    some = f" ({' '.join(dict.fromkeys(unseen[:10]))})" if unseen else ""
    broken = f"; from HTTrack, as the load broke them off: {len(mended)} ({_some(mended)})" if mended else ""
    return [
        f"URLs that the load asked for and HTTrack did not see: {len(browsed) - len(both)}{some}",
        f"URLs that both fetched, taken from the load: {len(both) - len(mended)}{broken}",
        f"URLs that HTTrack alone fetched: {len(set(by_httrack) - browsed)}. {HTTRACK_NOTES[0]} {HTTRACK_NOTES[1]}",
    ]


def not_found(recording: Recording, requests: Iterable[Request]) -> list[str]:
    """Notes on what the load asked for and did not get."""
    refused = dict.fromkeys(
        f"{capture.response.status} {capture.response.url}"
        for capture in recording.captures
        if capture.response.status >= 400
    )
    silent = dict.fromkeys(
        request.url
        for request in requests
        if request.of_page and request.status is None and request.failure not in (None, Failure.ABORTED)
    )
    return [
        f"{what}: {len(urls)} ({_some(urls)})"
        for what, urls in (
            ("Asked for by the page and answered with an error", refused),
            ("Asked for by the page, but nobody answered", silent),
        )
        if urls
    ]


def _refuse_error_page(start: str, recording: Recording, engine: Engine) -> None:
    """ArchiveError when the page was answered with an error."""
    answers = {capture.response.url: capture.response for capture in recording.captures}
    page = start
    for _ in range(MAX_REDIRECTS):
        response = answers.get(page)
        target = resolve(page, response.location) if response is not None and response.location else None
        if response is None or target is None:
            break
        page = target
    if response is None or response.status >= 400:
        said = "gave no answer" if response is None else f"says {response.status} {response.reason}".rstrip()
        raise ArchiveError(f"{engine.traits.label} could not fetch {page}: the server {said}; {CHECK}")


@dataclass(frozen=True)
class Wanted:
    """A page to archive: its URL, with what stands behind a #, and the archive's name."""

    url: str
    name: str


@dataclass(frozen=True)
class PageResult:
    """What became of a page. Without `archive` it failed, for the reason in `said`."""

    wanted: Wanted
    archive: Archive | None
    said: str = ""


def read_list(path: Path) -> list[Wanted]:
    """One page a line: the URL and, after white space, a name; # starts a comment. ArchiveError names bad lines."""
    try:
        lines = read_file(path, LIST_LIMIT_BYTES).decode("utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        why = "it is no text" if isinstance(error, ValueError) else getattr(error, "strerror", None) or error
        raise ArchiveError(
            f"cannot read the list {str(path)[:200]}: {why}; give a text file of URLs"
        ) from error
    wanted: dict[str, tuple[int, Wanted]] = {}
    for number, line in enumerate(lines, 1):
        # A # within a word is the URL's.
        words = re.split(r"(?:^|\s)#", line, maxsplit=1)[0].split()
        if not words:
            continue
        try:
            page = _wanted(words)
        except ArchiveError as error:
            raise ArchiveError(f"{path}, line {number}: {error}") from error
        first, same = wanted.setdefault(page.name, (number, page))
        if canonical_url(same.url) != canonical_url(page.url):
            raise ArchiveError(
                f"{path}, lines {first} and {number}: both pages would be archived as {page.name}; "
                "write another name after one of the URLs"
            )
        if fragment_of(page.url):  # of two lines that differ by it alone, one that its archive warns of
            wanted[page.name] = first, page
    if not wanted:
        raise ArchiveError(f"{path} names no page; write one URL per line")
    return [page for _, page in wanted.values()]


def default_name(url: str) -> str:
    """A name for the archive of a URL: the host, and for more than its home page what follows."""
    parsed = parse_url(url)
    words = re.findall(r"[A-Za-z0-9._]+(?:-+[A-Za-z0-9._]+)*", f"{parsed.host} {parsed.target}")
    return "-".join(words).strip("._")[:100]


def archive_all(
    wanted: Sequence[Wanted],
    root: Path,
    archive_one: Callable[[Wanted, Callable[[], None]], Archive],
    *,
    jobs: int,
    replace: bool = False,
) -> Iterator[PageResult]:
    """Archive each page, `jobs` at a time; yields what became of each as soon as that is known.

    A page that is archived already is not archived again unless `replace` is given, so that the same call goes on
    where an earlier one ended. `archive_one` is given the page and a function to call now and then, which
    raises when all is to stop.
    """
    stopping = threading.Event()

    def go_on() -> None:
        if stopping.is_set():
            raise ArchiveError("stopped")

    def archived(page: Wanted) -> PageResult:
        try:
            go_on()
            return PageResult(page, archive_one(page, go_on))
        except (ColdloadError, OSError) as error:
            return PageResult(page, None, str(error))

    todo = []
    for page in wanted:
        before = None if replace else _before(page, root)
        if before is None:
            todo.append(page)
        else:
            yield before
    with ThreadPoolExecutor(jobs) as pool:
        try:
            for future in as_completed([pool.submit(archived, page) for page in todo]):
                yield future.result()
        finally:
            stopping.set()


def _before(page: Wanted, root: Path) -> PageResult | None:
    """What an earlier call left of a page; None when it is still to be archived."""
    if not (root / page.name).exists():
        return None
    try:
        archive = open_archive(root, page.name)
    except ArchiveError as error:
        return PageResult(page, None, str(error))
    if archive.start_url != canonical_url(page.url):
        return PageResult(
            page, None, f"the name {page.name} is taken by {archive.start_url}; write another name"
        )
    return PageResult(page, archive, "archived already")


def _wanted(words: list[str]) -> Wanted:
    if len(words) > 2:
        raise ArchiveError(f"{len(words)} words; write a URL and, if you like, a name")
    url = canonical_url(words[0])
    name = words[1] if len(words) == 2 else default_name(url)
    check_name(name)
    return Wanted(f"{url}{fragment_of(words[0])}", name)

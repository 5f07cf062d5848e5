"""Archiving a live page: with HTTrack, with the browser, or HTTrack's mirror completed by a real load.

A load in Chromium records everything it asks for. Playwright writes a HAR: requests of all frames and workers in their
order, headers, times, addresses. Its bodies are those of the browser's inspector, decoded and, for text, put into
another character set. So bodies are taken from the browser's NetLog, which holds them byte by byte as they travelled;
the HAR's are for what it may lack.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from harness.engines.browserlog import Failure, Request
from harness.engines.chromium.home import ChromiumHome, write_launcher
from harness.engines.chromium.netlog import read_netlog
from harness.engines.chromium.playwright import playwright_driver
from harness.errors import ArchiveError, TestbedFailed
from harness.model.device import DESKTOP, MOBILE, Device
from harness.outcome import Outcome, TrialFailed
from sites.archive import MAX_REDIRECTS, Archive, write_archive
from sites.htcache import url_key
from sites.httrack import NOTES as HTTRACK_NOTES
from sites.httrack import USER_AGENTS, Visit, archive_with_httrack, mirror, responses_of
from sites.importers.har import read_har
from sites.importers.recording import Recording
from sites.importers.settle import responses, settle
from sites.response import Response
from sites.urls import canonical_url, resolve
from sites.warc import About

BROWSER_NOTES = (
    "Recorded in Chromium ({device}): headers, and bodies as they travelled.",
    "What this load did not ask for is not in the archive: pictures for other screens, what comes when scrolling.",
)
LISTED = 10  # addresses in a note
LOAD_TIMEOUT_S = 60.0
QUIET_S = 5.0  # longer than `coldload verify` looks at a page
QUIET_LIMIT_S = 20.0
NO_PAGE = "ERR_HTTP_RESPONSE_CODE_FAILURE"  # an error status without a body


class Tool(StrEnum):
    """What a live page is archived with: HTTrack's mirror, a load in the browser, or the mirror completed by a load."""

    BOTH = "both"
    HTTRACK = "httrack"
    BROWSER = "browser"


def archive_page(url: str, root: Path, name: str, tool: Tool, visit: Visit) -> Archive:
    """Archive the page at `url` as `name`; ArchiveError when there is no such page."""
    if tool is Tool.HTTRACK:
        return archive_with_httrack(url, root, name, visit)
    start, device = canonical_url(url), device_of(visit.user_agent)
    notes: list[str] = []
    mirrored: list[Response] = []
    if tool is Tool.BOTH:
        mirrored = list(responses_of(mirror(start, replace(visit, work=visit.work / "mirror")).folder))
    if visit.progress is not None:
        visit.progress(len(mirrored), "")
    browsed = _browse(start, device, replace(visit, work=visit.work / "browser"))
    with Recording(root) as recording:
        browsed.read(recording)
        if browsed.late:
            notes.append(f"The load was recorded without its end: {browsed.late}.")
        _refuse_error_page(start, recording)
        recording.asked_for_coding = True
        notes += not_found(recording, browsed.requests)
        notes += [note.format(device=device) for note in BROWSER_NOTES[: 1 if mirrored else None]]
        if mirrored:
            notes += complete(recording, mirrored)
        settled = settle(recording, start)
        return write_archive(
            root,
            name,
            About(
                start,
                "httrack and chromium" if mirrored else "chromium",
                device.user_agent or "",
                (*notes, *settled.notes),
            ),
            responses(recording, settled),
        )


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


def complete(recording: Recording, mirrored: Iterable[Response]) -> list[str]:
    """Put what only HTTrack fetched behind what the load asked for; notes on what came from where.

    Of what both have the browser's is taken: it has all headers, the server's address and its time.
    """
    browsed = {url_key(capture.response.url) for capture in recording.captures}
    by_httrack: list[str] = []
    for response in mirrored:
        by_httrack.append(url_key(response.url))
        if by_httrack[-1] not in browsed:
            recording.take(response)
    both = browsed.intersection(by_httrack)
    unseen = [
        c.response.url
        for c in recording.captures
        if url_key(c.response.url) in browsed and url_key(c.response.url) not in both
    ]
    some = f" ({' '.join(dict.fromkeys(unseen[:10]))})" if unseen else ""
    return [
        f"URLs that the load asked for and HTTrack did not see: {len(browsed) - len(both)}{some}",
        f"URLs that both fetched, taken from the load: {len(both)}",
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
        each.url
        for each in requests
        if each.of_page and each.status is None and each.failure not in (None, Failure.ABORTED)
    )
    return [
        f"{what}: {len(urls)} ({' '.join([*urls][:LISTED])}{' ...' if len(urls) > LISTED else ''})"
        for what, urls in (
            ("Asked for by the page and answered with an error", refused),
            ("Asked for by the page, but nobody answered", silent),
        )
        if urls
    ]


def _refuse_error_page(start: str, recording: Recording) -> None:
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
        raise ArchiveError(
            f"Chromium could not fetch {page}: the server {said}; check the address and the network"
        )


@dataclass(frozen=True)
class Browsed:
    """A recorded load. `late` is why it has no load event; "" when it has one."""

    late: str
    har: Path
    requests: tuple[Request, ...]

    def read(self, into: Recording) -> None:
        """Put the responses of the load into a recording, in the order of the requests."""
        with self.har.open("rb") as file:
            read_har(file, into)
        bodies: defaultdict[tuple[str, str, int], list[bytes]] = defaultdict(list)
        for request in self.requests:
            if request.body is not None and request.status is not None:
                bodies[request.method, _key(request.url), request.status].append(request.body)
        for number, capture in enumerate(into.captures):
            response = capture.response
            travelled = bodies[capture.method, _key(response.url), response.status]
            if travelled:
                body = into.keep(travelled.pop(0))
                into.captures[number] = replace(capture, body=body, decoded=False, charset="")
            elif capture.body.length:
                into.tally.add("bodies as the browser's inspector shows them", response.url)


def _key(url: str) -> str:
    try:
        return canonical_url(url)
    except ArchiveError:
        return url


def _browse(url: str, device: Device, visit: Visit) -> Browsed:
    """Load a page with an empty profile in our own Chromium, sandboxed, and record it in the new folder of the visit.

    The page may go on for QUIET_S after its load event, and then until it asks for nothing, at most QUIET_LIMIT_S.
    ArchiveError when the page cannot be loaded.
    """
    folder = visit.work
    folder.mkdir(parents=True)
    home = ChromiumHome(folder / "home", page_hosts=None, device=device)
    home.make(visit.trust)
    current = folder / "current"
    current.symlink_to(home.folder)
    launcher = write_launcher(folder / "chromium", visit.network, current)
    har = folder / "load.har"
    late = ""
    launch = replace(home.launch(), log_bodies=True)
    with playwright_driver(launcher) as driver, driver.start(launch, har=har) as browser:
        try:
            browser.load(url, LOAD_TIMEOUT_S)
        except TrialFailed as failure:
            if failure.outcome is not Outcome.PAGE_TIMEOUT:
                no_page = NO_PAGE in failure.reason
                why = "the server answered with an error and no page" if no_page else failure.reason
                raise ArchiveError(
                    f"Chromium could not load {url}: {why}; check the address and the network"
                ) from failure
            late = failure.reason
        browser.linger(QUIET_S)
        browser.wait_for_quiet(QUIET_LIMIT_S)
    try:
        requests = read_netlog(home.netlog).page_requests
    except TestbedFailed as error:
        raise ArchiveError(f"cannot record {url}: {error}; try again") from error
    home.remove()
    return Browsed(late, har, requests)

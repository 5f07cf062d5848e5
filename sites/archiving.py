"""Archiving a live page: with HTTrack, with the browser, or HTTrack's mirror completed by a real load."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from harness.engines.browserlog import ABORTED, Request
from harness.errors import ArchiveError
from harness.model.device import DESKTOP, MOBILE, Device
from sites.archive import Archive, write_archive
from sites.browse import browse
from sites.htcache import url_key
from sites.httrack import NOTES as HTTRACK_NOTES
from sites.httrack import USER_AGENTS, Visit, archive_with_httrack, mirror, responses_of
from sites.importers.recording import Recording
from sites.importers.settle import responses, settle
from sites.importers.start import MAX_REDIRECTS
from sites.response import Response
from sites.tool import Tool
from sites.urls import canonical_url, resolve
from sites.warc import About

BROWSER_NOTES = (
    "Recorded in Chromium ({device}): headers, and bodies as they travelled.",
    "What this load did not ask for is not in the archive: pictures for other screens, what comes when scrolling.",
)
LISTED = 10  # addresses in a note


def archive_page(url: str, root: Path, name: str, tool: Tool, visit: Visit) -> Archive:
    """Archive the page at `url` as `name`; ArchiveError when there is no such page."""
    if tool is Tool.HTTRACK:
        return archive_with_httrack(url, root, name, visit)
    start, device = canonical_url(url), device_of(visit.user_agent)
    notes: list[str] = []
    mirrored: list[Response] = []
    if tool is Tool.BOTH:
        made = mirror(
            start,
            visit.work / "mirror",
            user_agent=visit.user_agent,
            network=visit.network,
            progress=visit.progress,
        )
        mirrored = list(responses_of(made.folder))
    if visit.progress is not None:
        visit.progress(len(mirrored), "")
    browsed = browse(start, visit.work / "browser", device, network=visit.network, trust=visit.trust)
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
        if each.of_page and each.status is None and each.net_error not in (None, ABORTED)
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

"""What is said of an archive, for commands that make or show one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.cli.telling import say
from harness.input.shown import brief
from sites.archive import WARNING, Archive, readable_archives
from sites.archiveindex import METADATA_FILE, Entry, hosts_of, round_trips
from sites.asked import normalised
from sites.warc import About

NOTES_SHOWN, NOTE_CHARACTERS, WARNING_CHARACTERS = 10, 200, 600
EXAMPLES = 3


def say_made(archive: Archive) -> None:
    """Say what was archived, what to look at, and its notes."""
    say(made_line(archive))
    for line in (*warning_lines(archive), *note_lines(archive)):
        say(f"  {line}")


def made_line(archive: Archive) -> str:
    """What was archived, and how much."""
    return (
        f"archived {archive.start_url} as {archive.name}: {len(archive.entries)} responses of "
        f"{len(archive.hosts)} host(s), {total_bytes(archive) / 1000:,.0f} kB ({archive.folder})"
    )


def recorded_lines(about: About, entries: Sequence[Entry], path: Path) -> list[str]:
    """What a file holds of a page, how far its hosts were, and its notes, warnings first."""
    hosts, size = hosts_of(entries), sum(entry.body_bytes for entry in entries)
    far = "".join(f", {name} {ms:g} ms" for name, ms in round_trips(entries).items())
    notes = sorted(about.notes, key=lambda note: not note.startswith(WARNING))
    return [
        f"recorded {about.start_url}: {len(entries)} responses of {len(hosts)} host(s), {size / 1000:,.0f} kB "
        f"({path}); `coldload import {path}` makes an archive of it",
        f"  round trips: {far.removeprefix(', ') or 'not known'}",
        *(f"  {brief(note, WARNING_CHARACTERS)}" for note in notes),
    ]


def warning_lines(archive: Archive) -> list[str]:
    """What to look at before a page is measured: warnings of its making, and what only one crawl of it found."""
    warnings = [note for note in archive.notes if note.startswith(WARNING)]
    return [*(brief(note, WARNING_CHARACTERS) for note in warnings), *difference_lines(archive)]


def difference_lines(archive: Archive) -> list[str]:
    """What the archive and the last one of the page do not have in common; none when there is nothing to tell.

    The last one is the one whose place it took, else the newest of the same start URL. Addresses that differ by the
    time or a random number are the same.
    """
    last = LastCrawl.of(archive)
    if last is None:
        return []
    urls, before = _by_object(entry.url for entry in archive.entries), _by_object(last.urls)
    parts = [
        _some(f"objects only in {last.called}", [url for key, url in before.items() if key not in urls]),
        _some("only in this one", [url for key, url in urls.items() if key not in before]),
    ]
    if not any(parts):
        return []
    told = ", ".join(filter(None, parts))
    return [
        f"{WARNING}{told}; a page that changes from load to load is archived best when nothing is on the move"
    ]


@dataclass(frozen=True)
class LastCrawl:
    """The URLs of an earlier archive of a page, and what to call it."""

    called: str
    urls: Collection[str]

    @classmethod
    def of(cls, archive: Archive) -> LastCrawl | None:
        if archive.replaced is not None:
            return cls("the archive it replaces", sorted(archive.replaced))
        others = [
            other
            for other in readable_archives(archive.folder.parent)
            if other.start_url == archive.start_url and other.name != archive.name
        ]
        if not others:
            return None
        newest = max(others, key=lambda each: each.captured_utc or "")
        return cls(newest.name, [entry.url for entry in newest.entries])


def _by_object(urls: Iterable[str]) -> dict[str, str]:
    """URLs by what they ask for."""
    return {normalised(url): url for url in urls}


def _some(what: str, urls: list[str]) -> str:
    shown = " ".join(brief(url, NOTE_CHARACTERS) for url in urls[:EXAMPLES])
    return f"{len(urls)} {what} ({shown}{' ...' if len(urls) > EXAMPLES else ''})" if urls else ""


def note_lines(archive: Archive) -> list[str]:
    """The notes of an archive but for warnings, short: what was changed, left out or not found."""
    notes = [note for note in archive.notes if not note.startswith(WARNING)]
    shown = [brief(note, NOTE_CHARACTERS) for note in notes[:NOTES_SHOWN]]
    more = len(notes) - len(shown)
    cut = any(len(note) > NOTE_CHARACTERS for note in notes[:NOTES_SHOWN])
    if more:
        shown.append(f"and {more} more in {archive.folder / METADATA_FILE}")
    elif cut:
        shown.append(f"in full in {archive.folder / METADATA_FILE}")
    return shown


def total_bytes(archive: Archive) -> int:
    return sum(entry.body_bytes for entry in archive.entries)

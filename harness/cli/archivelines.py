"""What is said of an archive, for commands that make or show one."""

from __future__ import annotations

from rich.console import Console

from sites.archive import METADATA_FILE, Archive
from sites.importers.recording import printable

NOTES_SHOWN, NOTE_CHARACTERS = 10, 200
EXAMPLES = 3


def print_made(out: Console, archive: Archive) -> None:
    out.print(made_line(archive))
    if difference := difference_line(archive):
        out.print(difference, markup=False, soft_wrap=True)
    for line in note_lines(archive):
        out.print(f"  {line}", markup=False, soft_wrap=True)


def made_line(archive: Archive) -> str:
    """What was archived, and how much."""
    return (
        f"archived {archive.start_url} as {archive.name}: {len(archive.entries)} responses of "
        f"{len(archive.hosts)} host(s), {total_bytes(archive) / 1000:,.0f} kB ({archive.folder})"
    )


def difference_line(archive: Archive) -> str:
    """What the archive and the one whose place it took do not have in common; "" when there is nothing to tell."""
    if archive.replaced is None:
        return ""
    urls = dict.fromkeys(entry.url for entry in archive.entries)
    new = [url for url in urls if url not in archive.replaced]
    old = sorted(archive.replaced - urls.keys())
    if not new and not old:
        return ""
    parts = (_some("objects only in the archive it replaces", old), _some("only in this one", new))
    return f"  {', '.join(parts)}"


def _some(what: str, urls: list[str]) -> str:
    shown = " ".join(printable(url, NOTE_CHARACTERS) for url in urls[:EXAMPLES])
    return f"{len(urls)} {what}" + (f" ({shown}{' ...' if len(urls) > EXAMPLES else ''})" if urls else "")


def note_lines(archive: Archive) -> list[str]:
    """The notes of an archive, short: what was changed, left out or not found."""
    shown = [printable(note, NOTE_CHARACTERS) for note in archive.notes[:NOTES_SHOWN]]
    more = len(archive.notes) - len(shown)
    cut = any(len(note) > NOTE_CHARACTERS for note in archive.notes[:NOTES_SHOWN])
    if more:
        shown.append(f"and {more} more in {archive.folder / METADATA_FILE}")
    elif cut:
        shown.append(f"in full in {archive.folder / METADATA_FILE}")
    return shown


def total_bytes(archive: Archive) -> int:
    return sum(entry.body_bytes for entry in archive.entries)

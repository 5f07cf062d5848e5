"""HTTrack mirror folders."""

from __future__ import annotations

from pathlib import Path

from harness.errors import ArchiveError
from sites.htcache import is_mirror
from sites.httrack import NOTES, read_rounds, responses_of
from sites.importers.recording import Recording


def read_mirror(folder: Path, into: Recording) -> None:
    """The responses of a mirror, the page first; ArchiveError when the folder holds none."""
    if not is_mirror(folder) and not any(is_mirror(part) for part in folder.glob("round-*")):
        raise ArchiveError(
            "it is a folder without an HTTrack mirror (no hts-cache/new.zip); "
            "give the folder that HTTrack wrote, the one with hts-cache in it"
        )
    into.source = "HTTrack"
    into.asked_for_coding = True  # what travelled compressed has been compressed again already
    for response in responses_of(folder):
        into.take(response)
    for url in sorted(read_rounds(folder).lost):
        into.tally.add(
            "responses left out because the mirror lacks their bodies, or they are over 100 MB", url
        )
    into.pages.extend(capture.response.url for capture in into.captures[:1])
    into.remarks.extend(NOTES)

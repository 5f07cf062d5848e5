"""What becomes of one recorded response: bodies that no replay can code, and texts that are too large together."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from harness.model.condition import Compression
from harness.model.settings import ThinkTime
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.served import Draft, Memory, Treatment, draft
from sites.urls import parse_url
from sites.warc import About
from tests.facts import tells

URL = "https://site.example/"
HTML = ("Content-Type", "text/html")


def drafts(
    archive: Archive, changes: Counter[str], scheme: str = "http", memory: Memory | None = None
) -> list[Draft]:
    treatment = Treatment(
        archive, scheme, {"gzip"}, Compression(), None, ThinkTime(), {}, memory=memory or Memory()
    )
    return [draft(parse_url(entry.url).under(scheme), entry, treatment, changes) for entry in archive.entries]


def archive(root: Path, *responses: Response) -> Archive:
    return write_archive(root, "site", About(URL, "test", "test", ()), responses)


@pytest.mark.parametrize("coding", ["dcb", "DCZ"])
def test_a_body_that_a_dictionary_codes_is_served_as_recorded(tmp_path: Path, coding: str) -> None:
    body = b"\xffDCB" + bytes(32) + b"https://a.example/"
    coded = Response(
        URL, 200, (HTML, ("Content-Encoding", coding), ("Use-As-Dictionary", 'match="/*"')), body
    )
    changes: Counter[str] = Counter()
    (made,) = drafts(archive(tmp_path, coded), changes)
    served = made.finish()
    assert served.body == body
    assert served.header("Content-Encoding") == coding.lower()
    assert served.header("Use-As-Dictionary") is None
    notes = [f"{count} {what}" for what, count in changes.items()]
    assert tells(notes, "1 bodies", f"coding {coding.lower()} needs a dictionary")
    assert not tells(notes, "browsers know no coding")


def test_texts_that_are_too_large_together_are_refused(tmp_path: Path) -> None:
    """Many small bodies may decode to more than a machine's memory. What a replay does not change takes none."""
    html = b"<a href=https://a.example/>".ljust(1000)
    coded = (HTML, ("Content-Encoding", "gzip"))
    pages = [Response(f"{URL}{number}", 200, coded, gzip.compress(html)) for number in range(5)]
    stored = archive(tmp_path, Response(URL, 200, (HTML,), b"x"), *pages)
    assert len(drafts(stored, Counter(), memory=Memory(5000))) == 6
    assert len(drafts(stored, Counter(), "https", Memory(0))) == 6
    with pytest.raises(ArchiveError, match="of one page"):
        drafts(stored, Counter(), memory=Memory(4900))

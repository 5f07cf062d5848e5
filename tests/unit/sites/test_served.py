"""What becomes of one recorded response: bodies that no replay can code, texts that are too large together, dates until
which an answer could be kept.
"""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from harness.model.condition import Compression
from harness.model.protocol import Headers
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


STREAM = ("Content-Type", "text/event-stream; charset=utf-8")


@pytest.mark.parametrize(
    ("recorded", "ended"),
    [
        (b"", b""),
        (b"retry: 3000\ndata: a\n\n", b"retry: 3000\ndata: a\n\n"),
        (b"data: a\r\rdata: b\r", b"data: a\r\rdata: b\r"),  # b is never dispatched
        (b"data: a\n\ndata: b", b"data: a\n\ndata: b\n"),
    ],
)
def test_an_event_stream_is_asked_for_once(tmp_path: Path, recorded: bytes, ended: bytes) -> None:
    changes: Counter[str] = Counter()
    headers = (STREAM, ("Content-Encoding", "gzip"))
    (made,) = drafts(archive(tmp_path, Response(URL, 200, headers, gzip.compress(recorded))), changes)
    assert gzip.decompress(made.finish().body) == ended + b"retry: 86400000\n"
    assert [count for what, count in changes.items() if "event streams" in what] == [1]
    refused = archive(tmp_path, Response(URL, 404, (STREAM,), recorded))
    assert drafts(refused, Counter())[0].finish().body == recorded


EXPIRES = ("Expires", "Tue, 06 Aug 2013 12:10:00 GMT")
DATE = ("Date", "Tue, 06 Aug 2013 12:00:00 GMT")


@pytest.mark.parametrize(
    ("recorded", "told"),
    [
        ((DATE, EXPIRES), "max-age=600"),
        (
            (EXPIRES, ("Cache-Control", "public"), DATE, ("cache-control", "s-maxage=9")),
            "public, s-maxage=9, max-age=600",
        ),
        (
            (("date", "Tuesday, 06-Aug-13 12:00:00 GMT"), ("expires", "Tue Aug  6 12:10:00 2013")),
            "max-age=600",
        ),
        ((DATE, ("Expires", "Fri, 31 Dec 9999 23:59:59 GMT")), "max-age=2147483647"),
    ],
)
def test_how_long_an_answer_may_be_kept_counts_from_the_recording(
    tmp_path: Path, recorded: Headers, told: str
) -> None:
    changes: Counter[str] = Counter()
    (made,) = drafts(archive(tmp_path, Response(URL, 200, (HTML, *recorded), b"x")), changes)
    served = made.finish()
    said = [(name.lower(), value) for name, value in served.headers]
    assert [value for name, value in said if name == "cache-control"] == [told]
    assert served.header("Expires") is None
    assert [count for what, count in changes.items() if "max-age" in what] == [1]


@pytest.mark.parametrize(
    "recorded",
    [
        (DATE, EXPIRES, ("Cache-Control", "public,Max-Age=60")),
        (DATE, EXPIRES, ("Cache-Control", "no-cache")),
        (DATE, EXPIRES, ("Cache-Control", "private"), ("Cache-Control", "no-store")),
        (DATE, EXPIRES, ("Pragma", "no-cache")),
        (EXPIRES,),
        (DATE, ("Expires", "0")),
        (DATE, ("Expires", DATE[1])),
        (DATE, ("Expires", "Mon, 05 Aug 2013 12:00:00 GMT")),
        (("Date", "never"), EXPIRES),
        (DATE, ("Expires", "Tue, 06 Aug 99999999999999999999 12:10:00 GMT")),
        (DATE, ("Cache-Control", "public")),
    ],
)
def test_what_does_not_count_from_a_date_is_served_as_recorded(tmp_path: Path, recorded: Headers) -> None:
    changes: Counter[str] = Counter()
    (made,) = drafts(archive(tmp_path, Response(URL, 200, (HTML, *recorded), b"x")), changes)
    assert made.headers == (HTML, *(header for header in recorded if header[0] != "Date"))
    assert not tells(list(changes), "max-age")

"""The start page: named, asked for as a document, first in time; a redirect that came later is a click."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from harness.errors import ArchiveError
from sites.archive import WARNING, Archive
from sites.importers import import_recording
from tests.facts import tells
from tests.unit.sites.importers.recordings import CSS, HTML, PAGE, Warc, entry, har, saved

FRAME, OTHER = "https://player.example/embed", f"{PAGE}other"
ICON = ("Content-Type", "image/svg+xml")


def imported(tmp_path: Path, data: bytes, start_url: str | None = None) -> Archive:
    return import_recording(saved(tmp_path, data), tmp_path / "archives", "site", start_url)


def at(second: int, minute: int = 0) -> dict[str, str]:
    return {"WARC_Date": f"2024-05-06T07:{minute:02}:{second:02}Z"}


def redirect(warc: Warc, url: str, target: str, **named: str) -> None:
    warc.response(url, b"", ("Location", target), status="302 Found", **named)


@pytest.mark.parametrize("late", [f"{PAGE}setprefs?skin=1", f"{PAGE}index.php?skin=1"])
def test_a_redirect_recorded_after_the_document_is_no_start(tmp_path: Path, late: str) -> None:
    warc = Warc()
    redirect(warc, late, PAGE, **at(9, minute=3))  # first in the file, last in time
    redirect(warc, "http://site.example/", PAGE, **at(0))
    warc.response(PAGE, b"<p>1", HTML, **at(1)).response(PAGE, b"<p>2", HTML, **at(10, minute=3))
    assert imported(tmp_path, warc.data).start_url == "http://site.example/"
    (tmp_path / "har").mkdir()
    clicked = entry(
        late, None, "x-unknown", status=302, redirectURL=PAGE, startedDateTime="2024-05-06T07:08:15Z"
    )
    entries = (entry(startedDateTime="2024-05-06T07:08:10Z"), clicked)
    for pages in ((), ({"id": "p", "title": "Named otherwise"},)):
        recorded = har(*({**one, "pageref": "p"} for one in reversed(entries)), pages=pages)
        archive = import_recording(saved(tmp_path, recorded), tmp_path / "har", "site", replace=True)
        assert archive.start_url == PAGE


def test_a_page_that_redirects_to_itself_once_is_the_start(tmp_path: Path) -> None:
    warc = Warc()
    redirect(warc, PAGE, f"{PAGE}cookie", **at(0))
    redirect(warc, f"{PAGE}cookie", PAGE, **at(1))
    archive = imported(tmp_path, warc.response(PAGE, b"<p>", HTML, **at(2)).data)
    assert archive.start_url == PAGE
    assert [(e.url, e.status) for e in archive.entries] == [(f"{PAGE}cookie", 302), (PAGE, 200)]


def test_of_a_long_chain_of_redirects_as_many_are_taken_as_can_be_followed(tmp_path: Path) -> None:
    warc = Warc()
    for step in range(30):
        redirect(warc, f"{PAGE}{step}", f"{PAGE}{step + 1}", **at(step))
    archive = imported(tmp_path, warc.response(f"{PAGE}30", b"<p>", HTML, **at(40)).data)
    assert archive.start_url == f"{PAGE}11"


def test_dates_beat_the_order_in_the_file(tmp_path: Path) -> None:
    warc = Warc().response(FRAME, b"<p>", HTML, **at(5)).response(PAGE, b"<p>", HTML, **at(1))
    archive = imported(tmp_path, warc.data)
    assert archive.start_url == PAGE
    assert f"HTML documents for --start-url: {PAGE} {FRAME}" in archive.notes


@pytest.mark.parametrize("kind", ["warc", "har"])
def test_what_was_asked_for_as_a_document_beats_a_frame(tmp_path: Path, kind: str) -> None:
    asked = ((FRAME, "iframe", 1), (f"{PAGE}part", "empty", 2), (PAGE, "document", 3))
    warc, entries = Warc(), []
    for url, destination, second in asked:
        ident = {"WARC_Record_ID": f"<urn:{second}>", **at(second)}
        warc.response(url, b"<p>", HTML, **ident)
        warc.request(url, "GET", ("Sec-Fetch-Dest", destination), WARC_Concurrent_To=f"<urn:{second}>")
        made: dict[str, Any] = entry(url, startedDateTime=f"2024-05-06T07:00:0{second}Z")
        made["request"]["headers"].append({"name": "sec-fetch-dest", "value": destination})
        entries.append(made)
    archive = imported(tmp_path, warc.data if kind == "warc" else har(*entries))
    assert archive.start_url == PAGE
    assert tells(archive.notes[1:2], f"Start URL {PAGE}", "the browser went to of 3", "--start-url")


def test_a_fragment_that_chrome_says_a_script_fetched_is_no_page(tmp_path: Path) -> None:
    part = entry(f"{PAGE}part", _resourceType="xhr", startedDateTime="2024-05-06T07:00:00Z")
    assert imported(tmp_path, har({**part, "_resourceType": "xhr"}, entry())).start_url == PAGE


def test_a_named_page_that_is_a_picture_gives_way_to_a_document(tmp_path: Path) -> None:
    picture = entry(f"{PAGE}a.svg", "<svg/>", "image/svg+xml")
    archive = imported(tmp_path, har(picture, entry(), pages=[{"id": "1", "title": f"{PAGE}a.svg"}]))
    assert archive.start_url == PAGE


def test_a_start_that_was_not_recorded_names_the_documents(tmp_path: Path) -> None:
    warc = Warc().response(f"{PAGE}a.svg", b"<svg/>", ICON).response(f"{PAGE}s.css", b"i{}", CSS)
    with pytest.raises(ArchiveError, match=rf"no HTML document .*first of 2 responses is {PAGE}a\.svg"):
        imported(tmp_path, warc.data, f"{PAGE}none")
    warc.response(OTHER, b"<p>", HTML).response(FRAME, b"<p>", HTML)
    with pytest.raises(ArchiveError, match=rf"for {PAGE}none \(HTML documents: {OTHER}, {FRAME}\)"):
        imported(tmp_path, warc.data, f"{PAGE}none")


def test_a_recording_without_a_page_says_what_it_holds(tmp_path: Path) -> None:
    moved, errors = Warc(), Warc().response(PAGE, b"<p>", HTML, status="404 Not Found")
    redirect(moved, PAGE, f"{PAGE}en/")
    redirect(errors, f"{PAGE}x", PAGE)
    named = har(entry(status=503), pages=[{"id": "1", "title": PAGE}])
    empty = har(entry(text=None, status=302, redirectURL=f"{PAGE}en/", headers=[]))
    for data, why in (
        (moved.data, rf"only redirects \(1, the first from {PAGE} to {PAGE}en/\); record the page that they"),
        (
            errors.data,
            r"only redirects and errors \(1 x 404 text/html, 1 x 302 no type; the first is .*--start",
        ),
        (empty, rf"only redirects \(1, the first from {PAGE} to"),
        (named, r"only redirects and errors \(1 x 503 text/html"),
    ):
        with pytest.raises(ArchiveError, match=why) as caught:
            imported(tmp_path, data)
        assert str(tmp_path / "recording") in str(caught.value)
        assert not (tmp_path / "archives").exists()
    assert imported(tmp_path, errors.data, PAGE).start_url == PAGE


@pytest.mark.parametrize(
    ("got", "posted", "kept", "told"),
    [
        ("200 OK", "200 OK", b"GET", "left out in favour of those to GET"),
        ("302 Found", "200 OK", b"GET", "left out in favour of those to GET"),
        ("401 Unauthorized", "200 OK", b"POST", "kept; they answer by URL"),
        ("405 Not Allowed", "302 Found", b"POST", "kept; they answer by URL"),
        ("404 Not Found", "500 Broken", b"GET", "left out in favour of those to GET"),
    ],
)
def test_an_answer_to_another_method_is_archived_where_get_failed(
    tmp_path: Path, got: str, posted: str, kept: bytes, told: str
) -> None:
    api = f"{PAGE}api"
    warc = Warc().response(PAGE, b"<p>", HTML)
    for method, status in (("GET", got), ("POST", posted)):
        moved = (("Location", PAGE),) if status.startswith("302") else ()
        warc.response(api, method.encode(), *moved, status=status, WARC_Record_ID=f"<urn:{method}>")
        warc.request(api, method, WARC_Concurrent_To=f"<urn:{method}>")
    archive = imported(tmp_path, warc.data)
    assert [each.body for each in archive.responses() if each.url == api] == [kept]
    assert tells(archive.notes, f"responses to POST {told}", f": 1 ({api})")
    assert tells(archive.notes, "captures left out in favour", f": 1 ({api})") == (kept == b"POST")


def test_a_view_that_a_fragment_chooses_is_warned_of(tmp_path: Path) -> None:
    view = f"{PAGE}#/reports/7"
    plain = har(entry())
    for data, start_url, warned in (
        (plain, view, True),
        (har(entry(), pages=[{"id": "1", "title": view}]), None, True),
        (har(entry(), pages=[{"id": "1", "title": view}]), PAGE, False),
        (plain, f"{PAGE}#", False),
        (plain, None, False),
    ):
        recorded = saved(tmp_path, data)
        archive = import_recording(recorded, tmp_path / "archives", "site", start_url, replace=True)
        assert archive.start_url == PAGE
        warnings = [note for note in archive.notes if note.startswith(WARNING)]
        assert tells(warnings, "behind #", "first view") == warned
        assert len(warnings) == warned
        assert "reports" not in str(archive.notes)  # it may be a token

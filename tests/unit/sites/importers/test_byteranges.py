"""Films, of which players ask for parts: what is archived of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sites.archive import Archive
from sites.importers import import_recording
from sites.importers.byteranges import BEGINNING, JOINED, LATER
from sites.importers.recording import IN_FAVOUR
from sites.materialise import materialise
from sites.response import Response
from tests.facts import tells
from tests.unit.sites.importers.recordings import HTML, PAGE, Warc, entry, har, saved

FILM, BODY = f"{PAGE}film.mp4", bytes(range(200))
VIDEO = ("Content-Type", "video/mp4")


def imported(tmp_path: Path, *parts: tuple[int, int], kind: str = "warc", **more: str) -> Archive:
    """An import of the page and of these parts (first byte, byte after the last) of the film, in this order."""
    warc, entries = Warc().response(PAGE, b"<p>", HTML), [entry()]
    for second, (first, end) in enumerate(parts):
        told = f"bytes {first}-{end - 1}/{more.get('total', len(BODY))}"
        headers = (VIDEO, ("Content-Range", told), ("ETag", more.get(f"etag_{second}", '"1"')))
        date = f"2024-05-06T07:09:{second:02}Z"
        warc.response(FILM, BODY[first:end], *headers, status="206 Partial Content", WARC_Date=date)
        named = [{"name": name, "value": value} for name, value in headers]
        body = BODY[first:end]
        entries.append(entry(FILM, body, "video/mp4", status=206, headers=named, startedDateTime=date))
    data = warc.data if kind == "warc" else har(*entries)
    return import_recording(saved(tmp_path, data), tmp_path / "archives", "site")


def film(archive: Archive) -> Response | None:
    return next((response for response in archive.responses() if response.url == FILM), None)


@pytest.mark.parametrize("kind", ["warc", "har"])
@pytest.mark.parametrize(
    "parts",
    [
        ((0, 200),),
        ((150, 200), (0, 150)),
        ((0, 100), (190, 200), (50, 195)),  # they overlap
        ((0, 10), (0, 120), (100, 200), (30, 40)),  # and hold one another
    ],
)
def test_parts_that_make_a_whole_are_one(
    tmp_path: Path, parts: tuple[tuple[int, int], ...], kind: str
) -> None:
    archive = imported(tmp_path, *parts, kind=kind)
    whole = film(archive)
    assert whole is not None
    assert (whole.status, whole.reason, whole.body) == (200, "OK", BODY)
    assert (whole.header("Content-Range"), whole.header("ETag")) == (None, '"1"')
    assert f"{JOINED}: 1 ({FILM})" in archive.notes
    assert not tells(archive.notes, "Warning")
    (served,) = (each for each in materialise(archive, "https").objects if each.target == "/film.mp4")
    assert (served.status, served.body) == (200, BODY)


def test_a_beginning_is_kept_with_a_warning(tmp_path: Path) -> None:
    archive = imported(tmp_path, (190, 200), (0, 50), (50, 90), (40, 60))
    beginning = film(archive)
    assert beginning is not None
    assert (beginning.status, beginning.body) == (206, BODY[:90])
    assert beginning.header("Content-Range") == "bytes 0-89/200"
    assert f"{BEGINNING}: 1 ({FILM})" in archive.notes
    assert f"{IN_FAVOUR}: 1 ({FILM})" in archive.notes
    assert tells(materialise(archive, "https").notes, "206", "served as recorded")


@pytest.mark.parametrize("kind", ["warc", "har"])
def test_a_tail_alone_is_left_out_with_a_warning(tmp_path: Path, kind: str) -> None:
    archive = imported(tmp_path, (190, 200), kind=kind)
    assert film(archive) is None
    assert f"{LATER}: 1 ({FILM})" in archive.notes
    assert LATER.startswith("Warning: ")


def test_parts_of_two_versions_are_not_put_together(tmp_path: Path) -> None:
    archive = imported(tmp_path, (0, 100), (100, 200), (0, 150), etag_1='"2"')
    beginning = film(archive)
    assert beginning is not None
    assert (beginning.status, beginning.body) == (206, BODY[:150])
    assert beginning.header("ETag") == '"1"'


def test_what_is_not_what_its_range_says_stays_as_it_is(tmp_path: Path) -> None:
    odd = ("bytes 0-9/5", "bytes 9-0/20", "bytes 0-0/1", "bytes 0-99999999999999999999/*", "items 0-1/2", "")
    warc = Warc().response(PAGE, b"<p>", HTML)
    for number, told in enumerate(odd):
        headers = (VIDEO, ("Content-Range", told))
        warc.response(f"{PAGE}{number}", BODY, *headers, status="206 Partial Content")
    archive = import_recording(saved(tmp_path, warc.data), tmp_path / "archives", "site")
    parts = list(archive.responses())[1:]
    assert [(part.status, part.body) for part in parts] == [(206, BODY)] * len(odd)
    assert [part.header("Content-Range") for part in parts] == [*odd]


def test_a_length_that_is_not_told_is_no_whole(tmp_path: Path) -> None:
    beginning = film(imported(tmp_path, (0, 150), (150, 200), total="*"))
    assert beginning is not None
    assert (beginning.status, beginning.header("Content-Range")) == (206, "bytes 0-199/*")


def test_the_whole_goes_before_its_parts(tmp_path: Path) -> None:
    warc = Warc().response(PAGE, b"<p>", HTML)
    part = (VIDEO, ("Content-Range", "bytes 0-99/100"))
    warc.response(FILM, BODY[:100], *part, status="206 Partial Content")
    warc.response(FILM, BODY, VIDEO, WARC_Date="2025-01-01T00:00:00Z")
    archive = import_recording(saved(tmp_path, warc.data), tmp_path / "archives", "site")
    whole = film(archive)
    assert whole is not None
    assert (whole.status, whole.body) == (200, BODY)


def test_parts_that_make_a_whole_go_before_one_that_was_cut(tmp_path: Path) -> None:
    warc = Warc().response(PAGE, b"<p>", HTML).response(FILM, BODY[:50], VIDEO, WARC_Truncated="time")
    for first, end, came in ((0, 150, 120), (120, 200, 200)):  # of the first part, too, the end is missing
        told = ("Content-Range", f"bytes {first}-{end - 1}/{len(BODY)}")
        named = {} if came == end else {"WARC_Truncated": "time"}
        warc.response(FILM, BODY[first:came], VIDEO, told, status="206 Partial Content", **named)
    archive = import_recording(saved(tmp_path, warc.data), tmp_path / "archives", "site")
    whole = film(archive)
    assert whole is not None
    assert (whole.status, whole.body) == (200, BODY)

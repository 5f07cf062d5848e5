"""Reading HTTrack's cache: against what HTTrack 3.49-4 wrote for a small site (tests/data/httrack).

`rounds` was made by sites.capture (with -k), `plain` with HTTrack's default options; of the latter the mirrored
files of two pictures are missing.
"""

from __future__ import annotations

import contextlib
import gzip
import os
import shutil
import struct
import zipfile
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import ArchiveError
from sites import htcache, httrack
from sites.htcache import Cached, gzip_encoded, is_mirror, read_cache, text_gzipped, url_key
from sites.httrack import read_rounds
from sites.response import Response

DATA = Path(__file__).parents[2] / "data" / "httrack"
SECOND, THIRD, PLAIN = DATA / "rounds" / "round-2", DATA / "rounds" / "round-3", DATA / "plain"
SHOP = "http://www.shop.example/"
PNG = b"\x89PNG\r\n\x1a\n"


def by_url(mirror: Path) -> dict[str, Cached]:
    return {each.response.url: each for each in read_cache(mirror).entries}


def a_mirror(folder: Path, headers: dict[str, str], body: bytes = b"body", method: int = 0) -> Path:
    """A mirror with one entry, its headers in the local zip header alone, where HTTrack puts them."""
    lines = {"X-In-Cache": "1", "X-StatusCode": "200", "X-Addr": "a.example", "X-Fil": "/x"} | headers
    extra = "".join(f"{name}: {value}\r\n" for name, value in lines.items()).encode()
    name = b"http://a.example/x"
    common = struct.pack("<5H3I", 20, 0, method, 0, 33, zlib.crc32(body), len(body), len(body))
    local = b"PK\3\4" + common + struct.pack("<2H", len(name), len(extra)) + name + extra + body
    central = b"PK\1\2\x14\0" + common + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, 0) + name
    end = b"PK\5\6" + struct.pack("<4H2IH", 0, 0, 1, 1, len(central), len(local), 0)
    (folder / "hts-cache").mkdir(parents=True)
    (folder / "hts-cache" / "new.zip").write_bytes(local + central + end)
    return folder


def test_url_status_headers_body_and_date_are_restored() -> None:
    picture = by_url(SECOND)[SHOP + "bg.png"].response
    assert (picture.status, picture.reason) == (200, "OK")
    assert picture.headers == (
        ("Content-Type", "image/png"),
        ("Last-Modified", "Mon, 02 Jan 2012 10:00:00 GMT"),
        ("ETag", '"bg1"'),
    )
    assert picture.body.startswith(PNG)
    assert picture.date is not None
    assert picture.date.tzinfo is UTC


def test_the_page_is_as_the_server_sent_it() -> None:
    page = by_url(SECOND)[SHOP].response
    assert page.header("Content-Type") == "text/html; charset=utf-8"
    assert page.body.startswith(b"<!DOCTYPE html>\n<html><head>")
    assert b"HTTrack" not in page.body
    assert by_url(PLAIN)[SHOP].response.body == page.body
    assert b"Mirrored from" in (PLAIN / "www.shop.example" / "index.html").read_bytes()


@pytest.mark.parametrize(
    ("mirror", "url"),
    [
        (SECOND, SHOP + "style.css?v=3"),
        (SECOND, SHOP + "a%20b.png"),
        (SECOND, SHOP + "caf%C3%A9.png"),
        (SECOND, "http://shop.example/bare.png"),
        (THIRD, SHOP + "photo?id=7&size=m"),
        (THIRD, "http://cdn.example/css?family=Serif:400,700&display=swap"),
        (THIRD, "https://ads.example/frame?slot=1"),
    ],
)
def test_urls_are_as_the_browser_asks_for_them(mirror: Path, url: str) -> None:
    assert by_url(mirror)[url].response.status == 200


def test_redirects_keep_their_location_and_target() -> None:
    entries = by_url(SECOND)
    moved = entries[SHOP + "moved.png"].response
    assert (moved.status, moved.header("Location")) == (301, "http://cdn.example/target.png")
    assert entries["http://cdn.example/target.png"].response.body.startswith(PNG)


def test_errors_and_empty_bodies_are_kept() -> None:
    entries = by_url(SECOND)
    missing = entries[SHOP + "missing.png"].response
    assert (missing.status, missing.mime) == (404, "text/html")
    assert missing.body == b"<html><body>Not found, sorry</body></html>"
    assert entries[SHOP + "empty.gif"].response.body == b""
    assert by_url(THIRD)[SHOP + "gone"].response.status == 410
    # HTTrack's defaults leave the empty picture out of the zip; new.txt still tells of it.
    assert by_url(PLAIN)[SHOP + "empty.gif"].response.status == 200


def test_last_modified_that_httrack_made_of_the_date_is_left_out() -> None:
    entries = by_url(SECOND)
    assert entries[SHOP + "favicon.ico"].response.header("Last-Modified") is None
    assert entries[SHOP + "style.css?v=3"].response.header("Last-Modified") is not None


def test_what_travelled_gzip_encoded_is_known() -> None:
    entries = by_url(SECOND)
    assert entries["http://cdn.example/lib.js"].gzipped is True
    assert entries[SHOP + "extra.css"].gzipped is False


def test_without_the_list_nothing_is_known_of_the_coding(tmp_path: Path) -> None:
    shutil.copytree(SECOND, tmp_path / "mirror")
    (tmp_path / "mirror" / "hts-cache" / "new.txt").unlink()
    assert {each.gzipped for each in read_cache(tmp_path / "mirror").entries} == {None}


def test_bodies_outside_the_cache_come_from_the_mirror_and_lost_ones_are_named() -> None:
    entries = by_url(PLAIN)
    assert entries[SHOP + "bg.png"].response.body == by_url(SECOND)[SHOP + "bg.png"].response.body
    assert read_cache(PLAIN).lost == {url_key(SHOP + "a b.png"), url_key(SHOP + "caf\u00e9.png")}
    assert SHOP + "a%20b.png" not in entries


def test_a_mirrored_file_outside_the_mirror_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("secret")
    mirror = a_mirror(tmp_path / "mirror", {"X-In-Cache": "0", "X-Size": "6", "X-Save": "../secret"})
    assert read_cache(mirror).entries == ()
    assert read_cache(mirror).lost == {"http://a.example/x"}


@pytest.mark.parametrize(
    "headers",
    [
        {"X-StatusCode": "-5"},
        {"X-StatusCode": "100"},
        {"X-Fil": "/robots.txt"},
        {"X-Addr": "ftp://a.example"},
    ],
)
def test_what_no_page_asks_for_is_left_out(tmp_path: Path, headers: dict[str, str]) -> None:
    assert read_cache(a_mirror(tmp_path / "mirror", headers)).entries == ()


def test_dates_are_those_of_the_launch(tmp_path: Path) -> None:
    mirror = a_mirror(tmp_path / "mirror", {"Last-Modified": "Fri, 20 Nov 2026 10:00:00 GMT"})
    (mirror / "hts-log.txt").write_text("HTTrack3.49-4 launched on Sat, 21 Nov 2026 10:00:00 at http://a/\n")
    response = read_cache(mirror).entries[0].response
    assert response.date == datetime(2026, 11, 21, 10, tzinfo=UTC)
    assert response.header("Last-Modified") is not None


def test_a_launch_at_no_possible_time_is_not_known(tmp_path: Path) -> None:
    mirror = a_mirror(tmp_path / "mirror", {})
    (mirror / "hts-log.txt").write_text("HTTrack3.49-4 launched on Sat, 31 Feb 2026 10:00:00 at http://a/\n")
    assert read_cache(mirror).entries[0].response.date is None


@pytest.mark.parametrize("name", ["hts-log.txt", "hts-cache/new.txt"])
def test_a_list_or_log_that_has_no_end_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    mirror = a_mirror(tmp_path / "mirror", {})
    (mirror / name).symlink_to("/dev/zero")
    assert len(read_cache(mirror).entries) == 1
    (mirror / name).unlink()
    os.mkfifo(mirror / name)
    assert len(read_cache(mirror).entries) == 1
    (mirror / name).unlink()
    monkeypatch.setattr(htcache, "TEXT_LIMIT_BYTES", 3)
    (mirror / name).write_text("long")
    assert htcache.text_in(mirror / name) == ""


def test_a_mirror_of_more_than_a_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = (a_mirror(tmp_path / f"round-{number}", {"X-Addr": f"{number}.example"}) for number in (1, 2))
    assert len(read_cache(one, 4).entries) == 1
    with pytest.raises(
        ArchiveError, match=r"holds more than .* GB of bodies.*mirror that page alone"
    ) as caught:
        read_cache(one, 3)
    assert "\n" not in str(caught.value)
    monkeypatch.setattr(httrack, "TOTAL_LIMIT_BYTES", 8)
    assert len(read_rounds(tmp_path).entries) == 2
    monkeypatch.setattr(httrack, "TOTAL_LIMIT_BYTES", 7)
    with pytest.raises(ArchiveError, match=f"{two.name} holds more than"):
        read_rounds(tmp_path)


def test_a_folder_without_a_cache_is_refused(tmp_path: Path) -> None:
    assert is_mirror(SECOND)
    assert not is_mirror(tmp_path)
    with pytest.raises(ArchiveError, match=r"is no HTTrack mirror.*new\.zip is missing"):
        read_cache(tmp_path)


def test_a_cache_of_broken_lzma_is_refused(tmp_path: Path) -> None:
    broken = b"\x09\x04\x05\x00" + b"\xff" * 20
    with pytest.raises(ArchiveError, match="damaged"):
        read_cache(a_mirror(tmp_path, {}, broken, zipfile.ZIP_LZMA))


def test_a_cut_cache_is_refused(tmp_path: Path) -> None:
    mirror = shutil.copytree(SECOND, tmp_path / "mirror")
    cache = mirror / "hts-cache" / "new.zip"
    cache.write_bytes(cache.read_bytes()[:5000])
    with pytest.raises(ArchiveError, match=r"new\.zip is damaged .*; mirror the page again"):
        read_cache(mirror)


@pytest.mark.thorough
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), value=st.integers(0, 255))
def test_a_damaged_cache_is_read_or_refused_but_nothing_else(
    tmp_path: Path, place: float, value: int
) -> None:
    mirror = tmp_path / "mirror"
    shutil.copytree(THIRD, mirror, dirs_exist_ok=True)
    cache = mirror / "hts-cache" / "new.zip"
    data = bytearray(cache.read_bytes())
    data[int(place * len(data))] = value
    cache.write_bytes(data)
    with contextlib.suppress(ArchiveError):
        read_cache(mirror)


def a_response(mime: str, body: bytes, *headers: tuple[str, str]) -> Response:
    return Response("http://a.example/", 200, (("Content-Type", mime), *headers), body)


@pytest.mark.parametrize(
    "mime",
    [
        "text/html; charset=utf-8",
        "text/css",
        "application/javascript",
        "application/ld+json",
        "image/svg+xml",
        "font/ttf",
    ],
)
def test_text_is_compressed_again(mime: str) -> None:
    plain = b"a word and another word, " * 40
    response = text_gzipped(a_response(mime, plain, ("Vary", "Cookie"), ("Content-Length", "1000")))
    assert gzip.decompress(response.body) == plain
    assert response.header("Content-Encoding") == "gzip"
    assert response.header("Content-Length") == str(len(response.body))
    assert [value for name, value in response.headers if name == "Vary"] == ["Cookie", "Accept-Encoding"]


@pytest.mark.parametrize("recorded", [("Origin, accept-encoding",), ("*",), ("Cookie", "Accept-Encoding")])
def test_what_varies_by_coding_already_is_told_as_recorded(recorded: tuple[str, ...]) -> None:
    varying = [("Vary", value) for value in recorded]
    response = text_gzipped(a_response("text/css", b"a { color: red } " * 40, *varying))
    assert [header for header in response.headers if header[0] == "Vary"] == varying


def test_headers_of_what_was_recorded_without_any() -> None:
    response = text_gzipped(a_response("text/css", b"a { color: red } " * 40))
    length = str(len(response.body))
    assert response.headers == (
        ("Content-Type", "text/css"),
        ("Content-Encoding", "gzip"),
        ("Vary", "Accept-Encoding"),
        ("Content-Length", length),
    )


@pytest.mark.parametrize("mime", ["image/png", "font/woff2", "application/octet-stream", "video/mp4"])
def test_what_is_compressed_by_nature_stays(mime: str) -> None:
    response = a_response(mime, b"a word and another word, " * 40)
    assert text_gzipped(response) == response


def test_nothing_is_compressed_twice_or_in_vain() -> None:
    once = gzip_encoded(a_response("text/css", b"a { color: red } " * 40))
    assert gzip_encoded(once) == once
    short = a_response("text/css", b"a{}")
    assert gzip_encoded(short) == short

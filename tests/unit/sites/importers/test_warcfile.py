"""WARC files: what is taken, what is left out, and what is told."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.errors import ArchiveError
from sites.archive import Archive
from sites.coding import decode, encode
from sites.importers import import_recording, recording
from sites.materialise import materialise
from sites.response import RecordedLoad
from tests.facts import tells
from tests.unit.sites.importers.recordings import CSS, DATE, HTML, PAGE, Warc, saved

TEXT = b"body { color: rebeccapurple } " * 50


def imported(tmp_path: Path, warc: Warc | bytes, start_url: str | None = None) -> Archive:
    data = warc if isinstance(warc, bytes) else warc.data
    return import_recording(saved(tmp_path, data), tmp_path / "archives", "site", start_url)


def refused(tmp_path: Path, warc: Warc | bytes, why: str) -> None:
    """The import fails with one line that matches, and leaves nothing."""
    with pytest.raises(ArchiveError, match=why) as caught:
        imported(tmp_path, warc)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "archives").exists() or list((tmp_path / "archives").iterdir()) == []


@pytest.mark.parametrize("compressed", [True, False])
def test_order_times_addresses_and_headers_are_kept(tmp_path: Path, *, compressed: bool) -> None:
    warc = Warc(gzip=compressed)
    warc.response(
        "http://CDN.example/a.png", b"\x89P", ("Content-Type", "image/png"), WARC_IP_Address="192.0.2.1"
    )
    warc.response(PAGE, b"<p>x", HTML, ("X", "1"), ("X", "2"), WARC_Date="2024-01-01T00:00:00.25Z")
    warc.response(
        f"{PAGE}font",
        b"\0\1",
        WARC_IP_Address="2001:db8::1",
        Coldload_Wait_Ms="7.5",
        Coldload_Connect_Ms="30",
    )
    archive = imported(tmp_path, warc)
    assert [e.url for e in archive.entries] == ["http://cdn.example/a.png", PAGE, f"{PAGE}font"]
    assert [e.ip for e in archive.entries] == ["192.0.2.1", None, "2001:db8::1"]
    assert [e.wait_ms for e in archive.entries] == [None, None, 7.5]
    assert [e.connect_ms for e in archive.entries] == [None, None, 30.0]
    page = archive.read(archive.entries[1])
    assert (page.headers, page.body, page.reason) == ((HTML, ("X", "1"), ("X", "2")), b"<p>x", "OK")
    assert page.date == datetime(2024, 1, 1, 0, 0, 0, 250000, UTC)
    assert archive.entries[2].mime == ""
    assert archive.captured_with == "warc"


def test_one_gzip_member_around_all_records_is_read_too(tmp_path: Path) -> None:
    plain = Warc(gzip=False).response(PAGE, b"<p>", HTML).response(f"{PAGE}x", b"x").data
    assert len(imported(tmp_path, gzip.compress(plain)).entries) == 2


def test_cookies_and_requests_of_the_recorder_are_not_stored(tmp_path: Path) -> None:
    warc = Warc()
    warc.response(PAGE, b"<p>", HTML, ("Set-Cookie", "secret=1"), ("Authorization", "secret"))
    warc.request(
        PAGE, "GET", ("Cookie", "secret=2"), ("Authorization", "Basic secret"), ("User-Agent", "Me/1")
    )
    archive = imported(tmp_path, warc)
    for file in archive.folder.iterdir():
        data = file.read_bytes()
        assert b"secret" not in (gzip.decompress(data) if file.suffix == ".gz" else data)
    assert archive.user_agent == "Me/1"
    assert tells(archive.notes, "cookies or credentials", ": 2")
    assert "request records not taken: 1" in archive.notes


def test_the_page_is_the_first_document_with_the_redirects_to_it(tmp_path: Path) -> None:
    warc = Warc()
    warc.response("http://site.example/", b"", ("Location", PAGE), status="301 Moved")
    warc.response(PAGE, b"", ("Location", "/en/"), status="302 Found")
    warc.response(f"{PAGE}404", b"<p>no", HTML, status="404 Not Found")
    warc.response(f"{PAGE}en/", b"<p>yes", HTML).response(f"{PAGE}other", b"<p>other", HTML)
    archive = imported(tmp_path, warc)
    assert archive.start_url == "http://site.example/"
    assert [e.status for e in archive.entries] == [301, 302, 404, 200, 200]
    start = ("http://site.example/", "leads to https://site.example/en/")
    assert tells(archive.notes[1:2], *start, "first HTML document of 2", "--start-url")
    other = imported(tmp_path / "archives", warc, f"{PAGE}other")
    assert other.start_url == f"{PAGE}other"
    with pytest.raises(ArchiveError, match=r"no response .*https://site\.example/none"):
        import_recording(tmp_path / "recording", tmp_path, "none", f"{PAGE}none")


def test_the_page_that_browsertrix_names_is_taken(tmp_path: Path) -> None:
    warc = Warc().response(f"{PAGE}frame", b"<p>", HTML).response(PAGE, b"<p>", HTML)
    warc.record("resource", f"urn:pageinfo:{PAGE}", b"{}")
    assert imported(tmp_path, warc).start_url == PAGE


def test_transfer_coding_goes_and_content_coding_stays(tmp_path: Path) -> None:
    packed = gzip.compress(TEXT, mtime=0)
    chunks = b"%x;ext=1\r\n%s\r\n" % (9, packed[:9]) + b"%X\r\n%s\r\n" % (len(packed) - 9, packed[9:])
    chunked, coded = ("Transfer-Encoding", "Chunked"), ("Content-Encoding", "gzip")
    warc = Warc().response(PAGE, b"<p>", HTML)
    warc.response(f"{PAGE}a", chunks + b"0\r\n\r\n", CSS, chunked, coded)
    warc.response(f"{PAGE}trailer", chunks + b"0\r\nExpires: never\r\n\r\n", CSS, chunked, coded)
    warc.response(f"{PAGE}plain", TEXT, CSS, chunked)
    warc.response(f"{PAGE}cut", chunks[:60], CSS, chunked, coded)
    archive = imported(tmp_path, warc)
    _, a, trailer, plain, cut = archive.responses()
    assert a.body == trailer.body == packed
    assert a.header("Transfer-Encoding") is None
    assert a.header("Content-Encoding") == "gzip"
    assert plain.body == TEXT
    assert packed.startswith(cut.body)
    assert tells(archive.notes, "not chunked", f": 1 ({PAGE}plain)")


@pytest.mark.parametrize(
    ("came", "kept", "cut"),
    [
        (b"5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n", b"helloworld", False),
        (b"5\r\nhello\r\n5\r\nworld\r\n0\r\n", b"helloworld", False),  # all but the end of the trailers
        (b"5\r\nhello\r\n5\r\nworld\r\n", b"helloworld", True),
        (b"5\r\nhello\r\n5\r\nworld\r", b"helloworld", True),
        (b"5\r\nhello\r\n5\r\nwor", b"hellowor", True),
        (b"ff\r\nhello", b"hello", True),
        (b"5\r\nhello\r\nno number\r\n", b"hello", True),
        (b"5\r\n", None, True),
    ],
)
def test_of_chunks_that_end_early_all_that_came_is_kept(
    tmp_path: Path, came: bytes, kept: bytes | None, *, cut: bool
) -> None:
    png = ("Content-Type", "image/png")
    warc = Warc().response(PAGE, b"<p>", HTML)
    warc.response(f"{PAGE}a", came, png, ("Transfer-Encoding", "chunked"))
    archive = imported(tmp_path, warc)
    assert [response.body for response in archive.responses()][1:] == ([] if kept is None else [kept])
    assert tells(archive.notes, "recorder itself cut short", f": 1 ({PAGE}a)") == cut
    assert tells(archive.notes, "bodies are not in the recording", f": 1 ({PAGE}a)") == (kept is None)


def test_a_body_of_which_the_end_is_missing_gives_way_to_a_whole_one(tmp_path: Path) -> None:
    png = ("Content-Type", "image/png")
    warc = Warc().response(PAGE, b"<p>", HTML)
    for name, body, told, named in (
        ("truncated", b"who", (), {"WARC_Truncated": "length"}),
        ("short", b"who", (("Content-Length", "5"),), {}),
        ("chunked", b"5\r\nwho", (("Transfer-Encoding", "chunked"),), {}),
    ):
        warc.response(f"{PAGE}{name}", body, png, *told, **named)
        warc.response(f"{PAGE}{name}", b"whole", png, WARC_Date="2025-01-01T00:00:00Z")
        warc.response(f"{PAGE}{name}-alone", body, png, *told, **named)
    bodies = {response.url: response.body for response in imported(tmp_path, warc).responses()}
    for name in ("truncated", "short", "chunked"):
        assert (bodies[f"{PAGE}{name}"], bodies[f"{PAGE}{name}-alone"]) == (b"whole", b"who")


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd"])
def test_headers_that_lie_about_the_coding_are_made_true(tmp_path: Path, coding: str) -> None:
    warc = (
        Warc().response(PAGE, b"<p>", HTML).response(f"{PAGE}s.css", TEXT, CSS, ("Content-Encoding", coding))
    )
    archive = imported(tmp_path, warc)
    style = list(archive.responses())[1]
    assert style.header("Content-Encoding") == coding
    assert decode(style.body, coding) == TEXT
    assert len(style.body) < len(TEXT)
    assert tells(archive.notes, "not encoded", f": 1 ({PAGE}s.css)")
    assert tells(archive.notes, "decoded", f"with {coding} again: 1")


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate", "zstd"])
@pytest.mark.parametrize("told", [True, False])
def test_a_coded_body_that_was_cut_short_stays_as_it_is(tmp_path: Path, coding: str, *, told: bool) -> None:
    text = "".join(f"function f{number}() {{ return {number**7} }}\n" for number in range(2000)).encode()
    whole = encode(text, coding)
    cut = whole[: len(whole) // 2]
    headers = (CSS, ("Content-Encoding", coding), *((("Content-Length", str(len(whole))),) if told else ()))
    warc = Warc().response(PAGE, b"<p>", HTML)
    warc.response(f"{PAGE}s.css", cut, *headers, **({"WARC_Truncated": "length"} if told else {}))
    archive = imported(tmp_path, warc)
    style = list(archive.responses())[1]
    assert (style.header("Content-Encoding"), style.body) == (coding, cut)
    served = materialise(archive, "https").objects[1]
    assert (served.header("Content-Encoding"), served.body) == (coding, cut)


def test_the_coding_that_a_recorder_removed_is_put_back(tmp_path: Path) -> None:
    removed = ("x-orig-content-encoding", "br")
    warc = Warc().response(PAGE, b"<p>", HTML).response(f"{PAGE}s.css", TEXT, CSS, removed)
    style = list(imported(tmp_path, warc).responses())[1]
    assert brotli.decompress(style.body) == TEXT
    assert style.header("x-orig-content-encoding") is None


def test_bodies_stay_as_they_travelled_if_the_recorder_offered_to_take_gzip(tmp_path: Path) -> None:
    warc = Warc().response(PAGE, b"<p>", HTML).response(f"{PAGE}s.css", TEXT, CSS)
    assert decode(list(imported(tmp_path, warc).responses())[1].body, "gzip") == TEXT
    warc.request(PAGE, "GET", ("Accept-Encoding", "gzip, br"))
    (tmp_path / "offered").mkdir()
    assert list(imported(tmp_path / "offered", warc).responses())[1].body == TEXT


def test_revisits_get_the_body_they_refer_to(tmp_path: Path) -> None:
    warc = Warc().response(PAGE, b"<p>", HTML)
    warc.response(f"{PAGE}a", TEXT, CSS, ("X", "a"), WARC_Payload_Digest="sha1:AAA", WARC_Record_ID="<urn:a>")
    common = {"WARC_Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"}
    warc.record("revisit", f"{PAGE}digest", WARC_Payload_Digest="sha1:aaa", **common)
    warc.record("revisit", f"{PAGE}id", WARC_Refers_To="<urn:a>", WARC_Payload_Digest="sha1:B", **common)
    named = {"WARC_Refers_To_Target_URI": f"{PAGE}a", "WARC_Refers_To_Date": DATE}
    warc.record("revisit", f"{PAGE}named", **named, **common)
    warc.record("revisit", f"{PAGE}lost", WARC_Payload_Digest="sha1:C", **common)
    archive = imported(tmp_path, warc)
    _, a, *again = archive.responses()
    assert [r.url.removeprefix(PAGE) for r in again] == ["digest", "id", "named"]
    assert {r.body for r in again} == {a.body}
    assert {r.header("X") for r in again} == {"a"}
    assert tells(archive.notes, "revisits given the body", ": 3")
    assert tells(archive.notes, "revisits left out", f": 1 ({PAGE}lost)")


def test_a_revisit_without_a_digest_is_no_empty_answer(tmp_path: Path) -> None:
    """The digest of nothing is that of every answer without a body, as of a redirect."""
    warc = Warc(gzip=False).response(PAGE, b"<p>", HTML)
    nothing = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"
    moved = ("Location", f"{PAGE}en")
    warc.response(f"{PAGE}old", b"", HTML, moved, status="301 Moved Permanently", WARC_Payload_Digest=nothing)
    warc.raw(f"{PAGE}a.css", b"HTTP/1.1 304 Not Modified\r\n\r\n", "revisit")
    archive = imported(tmp_path, warc)
    assert [answer.url.removeprefix(PAGE) for answer in archive.responses()] == ["", "old"]
    assert tells(archive.notes, "revisits left out", f": 1 ({PAGE}a.css)")


def test_a_revisit_before_what_it_refers_to_keeps_its_own_headers(tmp_path: Path) -> None:
    head = b"HTTP/1.1 %s\r\nContent-Type: text/css\r\nX: own\r\n\r\n"
    warc = Warc(gzip=False).raw(f"{PAGE}b", head % b"203 Mine", "revisit", WARC_Payload_Digest="sha1:A")
    warc.raw(f"{PAGE}c", head % b"304 Not Modified", "revisit", WARC_Payload_Digest="sha1:A")
    warc.response(PAGE, b"<p>", HTML, WARC_Payload_Digest="sha1:A")
    first, unmodified, _ = imported(tmp_path, warc).responses()
    assert (first.status, first.reason, first.header("X"), first.body) == (203, "Mine", "own", b"<p>")
    assert (unmodified.status, unmodified.header("X"), unmodified.body) == (200, None, b"<p>")


def test_of_captures_that_repeat_one_is_kept(tmp_path: Path) -> None:
    warc = Warc().response(PAGE, b"<p>1", HTML, ("Date", "Monday")).response(PAGE, b"<p>2", HTML)
    warc.response(PAGE, b"<p>1", HTML, ("Date", "Tuesday"))
    archive = imported(tmp_path, warc)
    assert [r.body for r in archive.responses()] == [b"<p>1"]
    assert tells(archive.notes, "captures left out", "repeat", f": 1 ({PAGE})")
    assert tells(archive.notes, "captures left out", "in favour of another", f": 1 ({PAGE})")


PART, GONE, MOVED = "206 Partial Content", "404 Not Found", "302 Found"


@pytest.mark.parametrize(
    ("captures", "status", "body"),
    [
        ((("200 OK", b"1", 1), ("200 OK", b"2", 2)), 200, b"1"),
        ((("200 OK", b"2", 2), ("200 OK", b"1", 1)), 200, b"1"),  # in time, not in the file
        ((("200 OK", b"", 1), ("200 OK", b"2", 2)), 200, b"2"),
        ((("200 OK", b"1", 1), ("200 OK", b"", 2)), 200, b"1"),
        (((PART, b"1", 1), ("200 OK", b"whole", 2)), 200, b"whole"),
        ((("204 No Content", b"", 1), (PART, b"2", 2)), 206, b"2"),
        (((GONE, b"gone", 1), ("200 OK", b"", 2)), 200, b""),
        (((GONE, b"gone", 1), ("503 Busy", b"busy", 2)), 404, b"gone"),
        (((GONE, b"", 1), ("503 Busy", b"busy", 2)), 503, b"busy"),
        (((MOVED, b"", 1), ("200 OK", b"2", 2)), 200, b"2"),
        (((GONE, b"gone", 1), (MOVED, b"", 2)), 302, b""),
        ((("304 Not Modified", b"", 1), ("200 OK", b"2", 2)), 200, b"2"),
        ((("200 OK", b"1", 1), ("304 Not Modified", b"", 2)), 200, b"1"),
    ],
)
def test_which_capture_of_a_url_wins(
    tmp_path: Path, captures: tuple[tuple[str, bytes, int], ...], status: int, body: bytes
) -> None:
    warc, url = Warc().response(PAGE, b"<p>", HTML), f"{PAGE}a"
    for said, data, second in captures:
        headers = (("Content-Type", "text/css"), *((("Location", PAGE),) if said == MOVED else ()))
        warc.response(url, data, *headers, status=said, WARC_Date=f"2024-05-06T07:08:0{second}Z")
    (archived,) = (r for r in imported(tmp_path, warc).responses() if r.url == url)
    assert (archived.status, decode(archived.body, "gzip" if archived.header("Vary") else "")) == (
        status,
        body,
    )


def test_an_empty_record_of_what_had_a_body_is_none(tmp_path: Path) -> None:
    told = ("Content-Length", "5")
    warc = Warc().response(PAGE, b"<p>", HTML).response(f"{PAGE}a", b"", CSS, told)
    warc.response(f"{PAGE}cut", b"", CSS, WARC_Truncated="length").response(f"{PAGE}b", b"", CSS)
    warc.response(f"{PAGE}head", b"", CSS, told, WARC_Record_ID="<urn:1>")
    warc.request(f"{PAGE}head", "HEAD", WARC_Concurrent_To="<urn:1>")
    archive = imported(tmp_path, warc)
    assert [e.url for e in archive.entries] == [PAGE, f"{PAGE}b"]
    assert tells(archive.notes, "bodies are not in the recording", f": 2 ({PAGE}a {PAGE}cut)")


def test_answers_304_are_left_out(tmp_path: Path) -> None:
    warc = Warc().response(f"{PAGE}s", b"", CSS, status="304 Not Modified")
    warm = r"holds no response that can be archived \(answers 304 .* 1 \(.*\)\); .* record it again with an empty one"
    refused(tmp_path, warc, warm)
    refused(
        tmp_path,
        warc.response(f"{PAGE}t", b"i{}", CSS),
        r"holds no HTML document .* 1 answers 304 were left out: record again with an empty cache\); give --start",
    )
    archive = imported(tmp_path, warc.response(PAGE, b"<p>", HTML))
    assert tells(archive.notes, "304", "left out", f": 1 ({PAGE}s)")


def test_interim_responses_before_the_answer_are_passed_over(tmp_path: Path) -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </s>; rel=preload\r\n\r\n"
    final = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>"
    warc = Warc(gzip=False).raw(PAGE, b"HTTP/1.1 100 Continue\r\n\r\n" + early + final)
    warc.raw(f"{PAGE}alone", early)
    archive = imported(tmp_path, warc)
    (page,) = archive.responses()
    assert (page.status, page.headers, page.body) == (200, (HTML,), b"<p>")
    assert tells(archive.notes, "1xx", "left out", f": 2 ({PAGE})")


@pytest.mark.parametrize(
    "date", ["0000-01-01T00:00:00Z", "99999-01-01T00:00:00Z", "-1", "0001-01-01", "9999-12-31"]
)
def test_impossible_dates_are_not_known(tmp_path: Path, date: str) -> None:
    warc = Warc(gzip=False).raw(f"{PAGE}s", b"HTTP/1.1 200 OK\r\n\r\n", WARC_Date=date)
    archive = imported(tmp_path, warc.response(PAGE, b"<p>", HTML))
    assert archive.captured_utc == "2024-05-06T07:08:09.000000Z"
    assert tells(archive.notes, "dates", "not known", f": 1 ({date} {PAGE}s)")


def test_the_date_of_our_own_undated_responses_is_none(tmp_path: Path) -> None:
    archive = imported(tmp_path, Warc().response(PAGE, b"<p>", HTML, WARC_Date="1970-01-01T00:00:00.000000Z"))
    assert archive.captured_utc is None
    assert not any("dates" in note for note in archive.notes)


@pytest.mark.parametrize("name", ["UTF-8", "none", "binary", "identity", "gzip, utf-8", "x-nothing"])
def test_a_coding_that_no_browser_knows_leaves_the_body_plain(tmp_path: Path, name: str) -> None:
    warc = Warc().response(PAGE, TEXT, HTML, ("Content-Encoding", name))
    (page,) = imported(tmp_path, warc).responses()
    assert (page.header("Content-Encoding"), decode(page.body, "gzip")) == ("gzip", TEXT)
    warc.request(PAGE, "GET", ("Accept-Encoding", "gzip, br"))
    (tmp_path / "offered").mkdir()
    assert next(imported(tmp_path / "offered", warc).responses()).body == TEXT


def test_an_arc_file_is_named(tmp_path: Path) -> None:
    arc = b"filedesc://a.arc 0.0.0.0 20080430204825 text/plain 76\n1 0 alexa\n"
    refused(tmp_path, arc, "it is an ARC file, the format before WARC; make a WARC of it .*warcio recompress")
    refused(tmp_path, gzip.compress(arc), "it is an ARC file")


def test_an_answer_to_another_method_does_not_hide_that_to_get(tmp_path: Path) -> None:
    warc = Warc()
    for method, url, ident in (
        ("GET", PAGE, "1"),
        ("POST", PAGE, "2"),
        ("POST", f"{PAGE}api", "3"),
        ("OPTIONS", f"{PAGE}api", "4"),
        ("HEAD", f"{PAGE}x", "5"),
    ):
        warc.response(url, method.encode(), HTML, WARC_Record_ID=f"<urn:{ident}>")
        if ident != "2":
            warc.request(url, method, WARC_Concurrent_To=f"<urn:{ident}>")
    warc.request(PAGE, "POST", WARC_Record_ID="<urn:9>", WARC_Concurrent_To="<urn:2>")
    archive = imported(tmp_path, warc)
    assert [(r.url, r.body) for r in archive.responses()] == [(PAGE, b"GET"), (f"{PAGE}api", b"POST")]
    assert tells(archive.notes, "POST kept", f": 1 ({PAGE}api)")
    assert tells(archive.notes, "OPTIONS left out", f": 1 ({PAGE}api)")


@pytest.mark.parametrize(
    ("load", "told"),
    [
        ({"took_ms": 150.5, "requests": [], "handshakes": [[0, 30.5]]}, True),
        ({"took_ms": 0, "requests": [], "handshakes": []}, False),
        ({"took_ms": 150.5, "requests": [], "handshakes": [[-1e300, 1e300]]}, False),
        ({"took_ms": 150.5, "requests": [{"host": "site.example"}], "handshakes": []}, False),
        (150.5, False),
    ],
)
def test_a_load_with_times_that_no_clock_shows_is_not_taken(
    tmp_path: Path, load: object, *, told: bool
) -> None:
    said = {"start_url": PAGE, "captured_with": "chromium", "user_agent": "", "notes": [], "load": load}
    warc = Warc().record("warcinfo", "", f"coldload: {json.dumps(said)}\r\n".encode())
    archive = imported(tmp_path, warc.response(PAGE, b"<p>", HTML))
    assert archive.recorded_load() == (RecordedLoad(150.5, (), ((0, 30.5),)) if told else None)


def test_what_no_page_can_ask_for_is_left_out_and_counted(tmp_path: Path) -> None:
    warc = Warc().record("warcinfo", "", b"software: Recorder/2\r\n").response(PAGE, b"<p>", HTML)
    warc.response("dns:site.example", b"x").response(f"{PAGE}early", b"", status="103 Early Hints")
    warc.response(f"{PAGE}denied", b"", status="999 Denied").record("metadata", PAGE, b"x")
    warc.response(f"{PAGE}nothing", b"", status="204 No Content")
    warc.response("https://bad host/", b"x").record("resource", f"{PAGE}r.css", b"i{}")
    archive = imported(tmp_path, warc)
    assert [(e.url.removeprefix(PAGE), e.status) for e in archive.entries] == [
        ("", 200),
        ("nothing", 204),
        ("r.css", 200),
    ]
    assert archive.captured_with == "warc by Recorder/2"
    assert tells(archive.notes, "left out", "http or https: 1 (dns:site.example)")
    assert tells(archive.notes, "status", ": 2 (103 https://site.example/early 999 https")
    assert tells(archive.notes, "metadata records", ": 1")
    assert tells(archive.notes, "cannot be asked for", ": 1 (https://bad%20host/)")
    assert tells(archive.notes, "resource records", "status 200: 1")


def test_odd_urls(tmp_path: Path) -> None:
    page = Warc(gzip=False).response(PAGE, b"<p>", HTML)
    page.raw("<https://SITE.example/wget>", b"HTTP/1.1 200 OK\r\n\r\nw")
    page.raw("https://be\x07ll.example/", b"HTTP/1.1 200 OK\r\n\r\nx")
    page.response("https://bücher.example/ü?q=ß", b"u").response(f"{PAGE}?{'q' * 4000}", b"long")
    page.response("https://me:secret@site.example/auth", b"a")
    archive = imported(tmp_path, page)
    assert archive.hosts == ("site.example", "xn--bcher-kva.example")
    assert [e.url for e in archive.entries] == [
        PAGE,
        f"{PAGE}wget",
        "https://xn--bcher-kva.example/%C3%BC?q=%C3%9F",
        f"{PAGE}?{'q' * 4000}",
        f"{PAGE}auth",
    ]
    assert tells(archive.notes, "cannot be asked for", ": 1 (https://be\ufffdll.example/)")


def test_a_body_over_the_limit_is_left_out_unread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recording, "BODY_LIMIT_BYTES", 100_000)
    warc = (
        Warc().response(PAGE, b"<p>", HTML).response(f"{PAGE}film", bytes(100_001)).response(f"{PAGE}x", b"x")
    )
    archive = imported(tmp_path, warc)
    assert [e.url for e in archive.entries] == [PAGE, f"{PAGE}x"]
    assert any(note.endswith(f"1 ({PAGE}film)") and "over 0.1 MB" in note for note in archive.notes)
    monkeypatch.setattr(recording, "TOTAL_LIMIT_BYTES", 3)
    refused(tmp_path / "archives", warc, "more than 3e-09 GB of bodies")


def test_a_head_without_end_is_no_response(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\n" + b"ab:cd\r\n" * 200_000
    warc = Warc(gzip=False).response(PAGE, b"<p>", HTML).raw(f"{PAGE}long", head + b"\r\n<p>")
    archive = imported(tmp_path, warc)
    assert [e.url for e in archive.entries] == [PAGE]
    assert tells(archive.notes, "left out", "no HTTP response", f": 1 ({PAGE}long)")


def test_bad_recordings_are_refused_in_one_line(tmp_path: Path) -> None:
    refused(tmp_path, b"", "it is empty")
    refused(tmp_path, b"\x7fELF\0\0", "is no recording")
    refused(tmp_path, gzip.compress(b"text"), "gzip-compressed, but no WARC")
    refused(tmp_path, b"WARC/1.0\r\n\r\n", "damaged or cut short at record 1")
    refused(tmp_path, Warc().record("warcinfo", "", b"x"), "no response that can be archived")
    only = Warc().response("dns:x", b"y").request(PAGE)
    refused(tmp_path, only, r"no response that can be archived \(response records left out")
    refused(
        tmp_path, Warc().response(f"{PAGE}s.css", b"i{}", CSS), "holds no HTML document .* give --start-url"
    )


@pytest.mark.thorough
@pytest.mark.parametrize("compressed", [True, False])
def test_a_recording_cut_anywhere_is_refused(tmp_path: Path, *, compressed: bool) -> None:
    warc = Warc(gzip=compressed).response(PAGE, b"<p>" * 40, HTML).request(PAGE).data
    second = len(Warc(gzip=compressed).response(PAGE, b"<p>" * 40, HTML).data)
    for end in range(6, len(warc) - 4, 11):
        if abs(end - second) > 4:  # between two records nothing tells that more should follow
            refused(tmp_path, warc[:end], r"cut short|too early|damaged|no WARC|no recording")


def test_a_damaged_recording_is_refused(tmp_path: Path) -> None:
    good = Warc(gzip=False).response(PAGE, b"<p>" * 40, HTML).data
    refused(
        tmp_path, good.replace(b"Content-Length: ", b"Content-Length: 1"), "record 1: the file ends within it"
    )
    refused(
        tmp_path,
        good.replace(b"Content-Length: 1", b"Content-Length: "),
        "record 1: it is longer than it says",
    )
    packed = bytearray(gzip.compress(good))
    packed[len(packed) // 2] ^= 255
    refused(tmp_path, bytes(packed), "its gzip compression is damaged|cut short")


@pytest.mark.parametrize(
    ("recorded", "asked_for"),
    [(b"/caf\xe9", "/caf%E9"), (b"/caf\xc3\xa9", "/caf%C3%A9"), (b"/\xed\xb3\xa9", "/%ED%B3%A9")],
)
def test_a_redirect_leads_where_its_bytes_led_the_browser(
    tmp_path: Path, recorded: bytes, asked_for: str
) -> None:
    warc = Warc(gzip=False)
    moved = b"HTTP/1.1 302 Found\r\nlocation : " + recorded + b"\r\nContent-Length: 0\r\n\r\n"
    warc.raw(PAGE, moved, WARC_Date="2024-01-01T00:00:00Z")
    page = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<p>hello"
    warc.raw(PAGE.rstrip("/") + asked_for, page, WARC_Date="2024-01-01T00:00:01Z")
    archive = imported(tmp_path, warc)
    assert archive.start_url == PAGE
    assert [each.location for each in archive.responses()] == [asked_for, None]


def test_headers_that_are_changed_or_left_out_are_counted(tmp_path: Path) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-T\xe9: 1\r\nX-B: \xe9\r\nX-B:  plain \r\nX y: 2\r\n\r\n"
    archive = imported(tmp_path, Warc(gzip=False).raw(PAGE, head + b"<p>hello"))
    assert next(archive.responses()).headers == (HTML, ("X-B", "%C3%A9"), ("X-B", "plain"))
    assert tells(archive.notes, "headers left out", "names", ": 2")
    assert tells(archive.notes, "values of headers", "ASCII", "percent-encoded: 1 (X-B)")

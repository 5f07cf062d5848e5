"""Archives: what is written is read back, all or nothing, and damage is named."""

from __future__ import annotations

import gzip
import json
import math
import os
import tracemalloc
import zlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped, unused-ignore]

from harness.errors import ArchiveError, EnvironmentLacks
from sites.archive import (
    Archive,
    archives_root,
    list_archives,
    open_archive,
    rebuild_index,
    write_archive,
)
from sites.archiveindex import round_trips
from sites.response import Response
from sites.warc import About

# <html>hello</html>, as bytes: what gzip.compress writes in its header differs between versions of Python.
HELLO = bytes.fromhex("1f8b0800000000000203b3c928c9cdb1cb48cdc9c9b7d107b301316bb89812000000")
DATE = datetime(2024, 5, 6, 7, 8, 9, 123456, tzinfo=UTC)
PAGE = Response(
    url="https://Site.Example",
    status=200,
    headers=(
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Encoding", "gzip"),
        ("Vary", "A"),
        ("Vary", "B"),
    ),
    body=HELLO,
    date=DATE,
    reason="OK",
)
# As computed before addresses and think times were kept: archives without them keep their identity.
DIGEST_WITHOUT_SERVERS = "ccb68417beb591086242984498ad05e56bfb9d069f8c9f50937a943bbb444c3e"
PICTURE = Response(
    url="http://cdn.example/p.png?v=1", status=200, headers=(("Content-Type", "image/png"),), body=b"\x89P"
)


def write(root: Path, responses: list[Response] | Iterator[Response], name: str = "site") -> Archive:
    return write_archive(
        root,
        name,
        About("https://site.example/", "test", "desktop", ("a note",)),
        responses,
    )


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    made = write(tmp_path, [PAGE, PICTURE])
    assert (made.name, made.start_url, made.captured_with) == ("site", "https://site.example/", "test")
    assert (made.user_agent, made.notes) == ("desktop", ("a note",))
    assert made.captured_utc == "2024-05-06T07:08:09.123456Z"
    assert made.hosts == ("site.example", "cdn.example")
    assert [entry.mime for entry in made.entries] == ["text/html", "image/png"]
    assert made.read(made.entries[1]) == PICTURE
    page = next(made.responses())
    assert (page.url, page.date, page.reason, page.body) == (PAGE.url, DATE, "OK", PAGE.body)
    assert page.headers == PAGE.headers
    assert page.header("content-ENCODING") == "gzip"


def test_address_and_times_of_the_server_are_kept_where_known(tmp_path: Path) -> None:
    known = replace(PAGE, ip="2001:DB8:0::1", wait_ms=12.5)
    made = write(tmp_path, [known, PICTURE])
    assert [(entry.ip, entry.wait_ms) for entry in made.entries] == [("2001:db8::1", 12.5), (None, None)]
    assert next(made.responses()) == replace(known, ip="2001:db8::1")
    assert rebuild_index(made.folder).digest == made.digest
    with (made.folder / "archive.warc.gz").open("rb") as file:
        heads = [record.rec_headers for record in ArchiveIterator(file)]
    assert [head["WARC-IP-Address"] for head in heads] == [None, "2001:db8::1", None]
    assert heads[1]["Coldload-Wait-Ms"] == "12.5"
    far = write(
        tmp_path, [replace(known, connect_ms=31), PICTURE], "far"
    )  # whole ms, as browsers' logs count
    assert [entry.connect_ms for entry in far.entries] == [31.0, None]
    assert next(far.responses()).connect_ms == 31.0
    assert rebuild_index(far.folder).digest == far.digest != made.digest
    unknown = write(tmp_path, [PAGE, PICTURE], "unknown")
    assert unknown.digest == DIGEST_WITHOUT_SERVERS != made.digest


def test_the_warc_is_one_that_others_read(tmp_path: Path) -> None:
    folder = write(tmp_path, [PAGE, PICTURE]).folder
    with (folder / "archive.warc.gz").open("rb") as file:
        records = [
            (record.rec_type, record.rec_headers["WARC-Target-URI"]) for record in ArchiveIterator(file)
        ]
    assert records == [("warcinfo", None), ("response", PAGE.url), ("response", PICTURE.url)]
    with (folder / "archive.warc.gz").open("rb") as file:
        checked = ArchiveIterator(file, check_digests="raise")
        assert [record.content_stream().read() for record in checked][1] == b"<html>hello</html>"


def test_the_same_input_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = write(tmp_path / "1", [PAGE, PICTURE]), write(tmp_path / "2", [PAGE, PICTURE])
    for file in ("archive.warc.gz", "index.jsonl", "archive.json"):
        assert (first.folder / file).read_bytes() == (second.folder / file).read_bytes()
    other = write(
        tmp_path / "3", [PAGE, Response(PICTURE.url, 200, (*PICTURE.headers, ("X", "y")), PICTURE.body)]
    )
    assert first.digest == second.digest != other.digest


def test_cookies_and_transfer_coding_are_never_stored(tmp_path: Path) -> None:
    headers = (
        ("Set-Cookie", "secret=1"),
        ("set-cookie", "secret=2"),
        ("Transfer-Encoding", "chunked"),
        ("A", "b"),
    )
    made = write(tmp_path, [Response("https://site.example/", 200, headers, b"x")])
    assert next(made.responses()).headers == (("A", "b"),)
    assert b"secret" not in gzip.decompress((made.folder / "archive.warc.gz").read_bytes())


def test_headers_that_would_break_the_file_are_made_harmless(tmp_path: Path) -> None:
    headers = (
        *(("A", "b\r\nSet-Cookie: c"), ("Bad name:", "x"), ("E", "é€"), ("Content-Length", "99")),
        *(("Byte", "caf\udce9"), ("Lone", "\ud800")),
    )
    made = write(tmp_path, [Response("https://site.example/", 200, headers, b"four")])
    assert next(made.responses()).headers == (
        ("A", "b Set-Cookie: c"),
        ("E", "%C3%A9%E2%82%AC"),
        ("Content-Length", "4"),
        ("Byte", "caf%E9"),
        ("Lone", "%ED%A0%80"),
    )


def test_an_address_that_would_break_the_file_is_stored_without_its_zone(tmp_path: Path) -> None:
    zone = "x\r\nX-Forged: 1\r\n\r\nWARC/1.1"
    made = write(tmp_path, [Response("https://site.example/", 200, (), b"", ip=f"fe80::0001%{zone}")])
    assert [response.ip for response in made.responses()] == ["fe80::1"]
    assert b"Forged" not in gzip.decompress((made.folder / "archive.warc.gz").read_bytes())


@pytest.mark.thorough
@given(
    st.lists(
        st.tuples(
            st.integers(200, 599),
            st.lists(st.tuples(st.sampled_from(["X-A", "Etag"]), st.text(max_size=20)), max_size=3),
            st.binary(max_size=300),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_any_body_survives(
    tmp_path_factory: pytest.TempPathFactory, parts: list[tuple[int, list[tuple[str, str]], bytes]]
) -> None:
    responses = [
        Response(f"https://site.example/{number or ''}", status, tuple(headers), body)
        for number, (status, headers, body) in enumerate(parts)
    ]
    made = write(tmp_path_factory.mktemp("any"), responses)
    assert [(each.status, each.body) for each in made.responses()] == [
        (each.status, each.body) for each in responses
    ]
    assert rebuild_index(made.folder).entries == made.entries


def test_the_start_url_may_redirect(tmp_path: Path) -> None:
    hop = Response("https://site.example/", 301, (("Location", "/home"),), b"")
    home = Response("https://site.example/home", 200, (), b"home")
    assert len(write(tmp_path, [hop, home]).entries) == 2
    with pytest.raises(
        ArchiveError, match=r"https://site\.example/home, to which https://site\.example/ redirects"
    ):
        write(tmp_path, [hop], "half")
    loop = Response("https://site.example/", 302, (("Location", "/"),), b"")
    with pytest.raises(ArchiveError, match="redirects more than"):
        write(tmp_path, [loop], "loop")


def test_empty_and_wrong_recordings_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match=r"nothing .*https://site.example/"):
        write(tmp_path, [])
    with pytest.raises(ArchiveError, match=r"no response .*https://site.example/"):
        write(tmp_path, [PICTURE])
    assert list(tmp_path.iterdir()) == []


def test_a_failed_replacement_keeps_the_archive_that_was_there(tmp_path: Path) -> None:
    before = write(tmp_path, [PAGE])

    def failing() -> Iterator[Response]:
        yield PICTURE
        raise ArchiveError("the recording ends here")

    with pytest.raises(ArchiveError, match="ends here"):
        write(tmp_path, failing())
    assert open_archive(tmp_path, "site").digest == before.digest
    assert [path.name for path in tmp_path.iterdir()] == ["site"]
    assert write(tmp_path, [PAGE, PICTURE]).digest != before.digest
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentLacks, match=r"cannot make the folder .*/file \(File exists\)"):
        write(tmp_path / "file", [PAGE])


@pytest.mark.parametrize("name", ["", "../up", "a/b", ".hidden", "x" * 101])
def test_names_that_would_leave_the_folder_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArchiveError, match="cannot be called"):
        write(tmp_path, [PAGE], name)


def test_a_missing_archive_tells_what_there_is(tmp_path: Path) -> None:
    write(tmp_path, [PAGE], "one")
    with pytest.raises(
        ArchiveError, match=r"'two' is not archived in .* \(there: one\).*coldload archive URL --name two"
    ):
        open_archive(tmp_path, "two")
    with pytest.raises(ArchiveError, match=r"'agancy' is not archived in .* \(did you mean agency\?\)"):
        open_archive(tmp_path, "agancy")
    with pytest.raises(ArchiveError, match=r"'agency', which ships, .*coldload archive --shipped"):
        open_archive(tmp_path, "agency")


def test_archives_are_listed_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("b", "a"):
        write(tmp_path, [PAGE], name)
    assert [archive.name for archive in list_archives(tmp_path)] == ["a", "b"]
    assert list_archives(tmp_path / "none") == []
    monkeypatch.setenv("COLDLOAD_ARCHIVES", str(tmp_path))
    assert archives_root() == tmp_path
    monkeypatch.delenv("COLDLOAD_ARCHIVES")
    assert archives_root() == Path("archives")


def _damage_line(folder: Path) -> None:
    (folder / "index.jsonl").write_text("{not json\n")


def _damage_types(folder: Path) -> None:
    entry = json.loads((folder / "index.jsonl").read_text().splitlines()[0])
    (folder / "index.jsonl").write_text(json.dumps({**entry, "offset": "far"}) + "\n")


def _drop_line(folder: Path) -> None:
    lines = (folder / "index.jsonl").read_text().splitlines()
    (folder / "index.jsonl").write_text(lines[0] + "\n")


def _remove_index(folder: Path) -> None:
    (folder / "index.jsonl").unlink()


def _damage_metadata(folder: Path) -> None:
    (folder / "archive.json").write_text('{"schema": 1}')


def _damage_metadata_types(folder: Path) -> None:
    metadata = json.loads((folder / "archive.json").read_text())
    (folder / "archive.json").write_text(json.dumps({**metadata, "notes": ["a note", 5]}))


def _negative(folder: Path) -> None:
    entry = json.loads((folder / "index.jsonl").read_text().splitlines()[0])
    (folder / "index.jsonl").write_text(json.dumps({**entry, "length": -1}) + "\n")


def _newer_schema(folder: Path) -> None:
    metadata = json.loads((folder / "archive.json").read_text())
    (folder / "archive.json").write_text(json.dumps({**metadata, "schema": 99}))


def _wrong_digest(folder: Path) -> None:
    metadata = json.loads((folder / "archive.json").read_text())
    (folder / "archive.json").write_text(json.dumps({**metadata, "digest": "0" * 64}))


@pytest.mark.parametrize(
    ("damage", "named"),
    [
        (_damage_line, r"index\.jsonl: line 1: "),
        (_damage_types, r"index\.jsonl: line 1: Expected `int`, got `str` - at `\$\.offset`"),
        (_negative, r"index\.jsonl: line 1: Expected `int` >= 0 - at `\$\.length`"),
        (_drop_line, r"index\.jsonl: its content is not what archive\.json says"),
        (_remove_index, r"index\.jsonl: the file is missing"),
        (_damage_metadata, r"archive\.json: Object missing required field `start_url`"),
        (_damage_metadata_types, r"archive\.json: Expected `str`, got `int` - at `\$\.notes\[1\]`"),
        (_newer_schema, r"archive\.json: schema 99"),
        (_wrong_digest, r"\(digest\)"),
    ],
)
def test_a_damaged_index_is_named_and_can_be_rebuilt(tmp_path: Path, damage: object, named: str) -> None:
    before = write(tmp_path, [PAGE, PICTURE])
    assert callable(damage)
    damage(before.folder)
    with pytest.raises(ArchiveError, match=named) as caught:
        open_archive(tmp_path, "site")
    assert "coldload archive URL --name site" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert rebuild_index(before.folder).digest == before.digest
    assert open_archive(tmp_path, "site").entries == before.entries
    assert open_archive(tmp_path, "site").notes == before.notes


def test_a_truncated_recording_is_named(tmp_path: Path) -> None:
    made = write(tmp_path, [PAGE, PICTURE])
    warc = made.folder / "archive.warc.gz"
    warc.write_bytes(warc.read_bytes()[:-20])
    with pytest.raises(ArchiveError, match=r"archive\.warc\.gz: .*ends before .* line 2\b"):
        open_archive(tmp_path, "site")
    with pytest.raises(ArchiveError, match=r"archive\.warc\.gz"):
        rebuild_index(made.folder)
    warc.unlink()
    with pytest.raises(ArchiveError, match=r"archive\.warc\.gz: the file is missing"):
        open_archive(tmp_path, "site")


def test_a_recording_that_is_no_file_is_named(tmp_path: Path) -> None:
    made = write(tmp_path, [PAGE])
    warc = made.folder / "archive.warc.gz"
    warc.unlink()
    os.mkfifo(warc)
    with pytest.raises(ArchiveError, match=r"archive\.warc\.gz: .*it is a pipe"):
        list(made.responses())


@pytest.mark.parametrize("part", ["WARC header", "warcinfo", "head", "body"])
def test_a_record_that_decompresses_to_more_than_any_of_ours_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    """Some 100 kB that would be 100 MB; of it no more is held than comes of what is read at a time."""
    limit = 1_000_000
    made = write(tmp_path, [PAGE, replace(PICTURE, body=bytes(limit // 2))])
    kind = "warcinfo" if part == "warcinfo" else "response"
    url = "" if part == "warcinfo" else f"WARC-Target-URI: {PAGE.url}\r\n"
    header = f"WARC/1.1\r\nWARC-Type: {kind}\r\n{url}Content-Length: {10**8}\r\n"
    start = {"WARC header": "WARC/1.1\r\n", "head": f"{header}\r\n", "warcinfo": f"{header}\r\n"}
    begun = start.get(part, f"{header}\r\nHTTP/1.1 200 OK\r\n\r\n")
    squeeze = zlib.compressobj(9, zlib.DEFLATED, 31)
    pieces = [squeeze.compress(begun.encode()), *(squeeze.compress(bytes(10**6)) for _ in range(100))]
    bomb = b"".join([*pieces, squeeze.flush()])
    monkeypatch.setattr("sites.warc.RECORD_LIMIT_BYTES", limit)
    path = made.folder / "archive.warc.gz"
    assert rebuild_index(made.folder).digest == made.digest
    path.write_bytes(bomb if part == "warcinfo" else path.read_bytes() + bomb)
    tracemalloc.start()
    try:
        with pytest.raises(ArchiveError, match=r"archive\.warc\.gz: a record .* has more than") as caught:
            rebuild_index(made.folder)
        assert tracemalloc.get_traced_memory()[1] < 60 * limit
    finally:
        tracemalloc.stop()
    assert "\n" not in str(caught.value)


def test_a_record_without_a_length_is_refused(tmp_path: Path) -> None:
    made = write(tmp_path, [PAGE])
    path = made.folder / "archive.warc.gz"
    record = f"WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: {PAGE.url}\r\n\r\nHTTP/1.1 200 OK\r\n\r\n"
    path.write_bytes(path.read_bytes() + gzip.compress(record.encode()))
    with pytest.raises(ArchiveError, match=r"archive\.warc\.gz: a record does not say its length"):
        rebuild_index(made.folder)


def test_a_recording_changed_in_place_is_noticed_when_read(tmp_path: Path) -> None:
    made = write(tmp_path, [PAGE, PICTURE])
    other = write(tmp_path, [PAGE, Response(PICTURE.url, 200, PICTURE.headers, b"\x89Q")], "other")
    (made.folder / "archive.warc.gz").write_bytes((other.folder / "archive.warc.gz").read_bytes())
    with pytest.raises(ArchiveError, match=r"something else than http://cdn\.example/p\.png\?v=1"):
        list(made.responses())


def test_impossible_responses_are_refused() -> None:
    with pytest.raises(ArchiveError, match="status 0"):
        Response("https://site.example/", 0, (), b"")
    with pytest.raises(ArchiveError, match="no absolute URL"):
        Response("site.example", 200, (), b"")
    with pytest.raises(ArchiveError, match=r"'cdn'.* is no IP address"):
        Response("https://site.example/", 200, (), b"", ip="cdn")
    for wait_ms in (-1.0, math.nan, math.inf):
        with pytest.raises(ArchiveError, match="cannot have taken"):
            Response("https://site.example/", 200, (), b"", wait_ms=wait_ms)
        with pytest.raises(ArchiveError, match="cannot have taken"):
            Response("https://site.example/", 200, (), b"", connect_ms=wait_ms)


def test_a_round_trip_is_the_shortest_connect_time_to_the_address(tmp_path: Path) -> None:
    def recorded(url: str, ip: str | None, connect_ms: float | None = None) -> Response:
        return Response(url, 200, (), b"x", ip=ip, connect_ms=connect_ms)

    archive = write_archive(
        tmp_path,
        "site",
        About("https://site.example/", "test", "test", ()),
        [
            recorded("https://site.example/", "192.0.2.1", 31.5),
            recorded("https://site.example/1", "192.0.2.1", 30.25),
            recorded("https://img.site.example/", "192.0.2.1"),
            recorded("https://alone.example/", None, 12.0),
            recorded("https://unknown.example/", "192.0.2.3"),
        ],
    )
    assert round_trips(archive.entries) == {
        "site.example": 30.25,
        "img.site.example": 30.25,
        "alone.example": 12.0,
    }


def test_hosts_share_an_address_as_recorded(tmp_path: Path) -> None:
    def recorded(url: str, ip: str | None) -> Response:
        return Response(url, 200, (), b"x", ip=ip)

    archive = write_archive(
        tmp_path,
        "site",
        About("https://site.example/", "test", "test", ()),
        [
            recorded("https://site.example/", "192.0.2.1"),
            recorded("https://a.cdn.example/", "192.0.2.2"),
            recorded("https://unknown.example/", None),
            recorded("https://img.site.example/", "192.0.2.1"),
            recorded("https://a.cdn.example/1", "192.0.2.9"),
            recorded("https://a.cdn.example/2", "192.0.2.9"),
            recorded("https://b.cdn.example/", "192.0.2.9"),
            recorded("https://also-unknown.example/", None),
        ],
    )
    assert archive.address_groups == (
        ("site.example", "img.site.example"),
        ("a.cdn.example", "b.cdn.example"),
        ("unknown.example",),
        ("also-unknown.example",),
    )

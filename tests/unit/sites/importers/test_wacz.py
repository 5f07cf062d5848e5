"""WACZ files: read in place, never unpacked; what was written is read by others, and comes back as it went in."""

from __future__ import annotations

import hashlib
import json
import random
import zipfile
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator  # type: ignore[import-untyped, unused-ignore]

from harness.errors import ArchiveError, StorageFailed
from sites.archive import Archive, write_archive
from sites.importers import import_recording
from sites.importers.wacz import write_wacz
from sites.response import RecordedLoad, RecordedRequest, Response
from sites.warc import About
from tests.unit.sites.importers.recordings import HTML, PAGE, Warc, saved, wacz

FIRST = Warc().response(f"{PAGE}frame", b"<p>", HTML, WARC_Date="2024-01-01T00:00:02Z")
SECOND = Warc().response(PAGE, b"<p>", HTML, WARC_Date="2024-01-01T00:00:01Z", WARC_IP_Address="192.0.2.1")
FILES = {"archive/a.warc.gz": FIRST.data, "archive/b.warc.gz": SECOND.data}


def imported(tmp_path: Path, data: bytes) -> Archive:
    return import_recording(saved(tmp_path, data), tmp_path / "archives", "site")


def test_several_warcs_become_one_archive_in_order_of_time(tmp_path: Path) -> None:
    about = json.dumps({"software": "Recorder 3", "mainPageUrl": f"{PAGE}#top"}).encode()
    archive = imported(tmp_path, wacz({"datapackage.json": about, **FILES}))
    assert [e.url for e in archive.entries] == [PAGE, f"{PAGE}frame"]
    assert (archive.start_url, archive.captured_with) == (PAGE, "wacz by Recorder 3")


def test_the_page_list_names_the_page(tmp_path: Path) -> None:
    pages = b'{"format": "json-pages-1.0"}\n{"url": "https://site.example/none"}\n{"url": "%s"}\nbroken' % (
        f"{PAGE}frame".encode()
    )
    assert imported(tmp_path, wacz({"pages/pages.jsonl": pages, **FILES})).start_url == f"{PAGE}frame"


def test_pages_are_taken_in_time(tmp_path: Path) -> None:
    later = {"url": PAGE, "ts": "2024-01-01T00:00:09Z"}
    pages = "\n".join(map(json.dumps, (later, {"url": f"{PAGE}frame", "ts": "2024-01-01T00:00:01Z"})))
    assert (
        imported(tmp_path, wacz({"pages/pages.jsonl": pages.encode(), **FILES})).start_url == f"{PAGE}frame"
    )
    (tmp_path / "seed").mkdir()
    pages = pages.replace("09Z", '09Z", "seed": "yes')
    assert imported(tmp_path / "seed", wacz({"pages/pages.jsonl": pages.encode(), **FILES})).start_url == PAGE


def test_a_revisit_finds_its_body_in_another_file(tmp_path: Path) -> None:
    revisit = Warc().record("revisit", f"{PAGE}again", WARC_Refers_To_Target_URI=PAGE)
    archive = imported(tmp_path, wacz({"archive/0.warc.gz": revisit.data, **FILES}))
    assert {r.url: r.body for r in archive.responses()}[f"{PAGE}again"] == b"<p>"


@pytest.mark.parametrize(
    "name", ["../../evil", "archive/../../evil", "/etc/evil", "a\\..\\..\\evil", "n" * 4000]
)
def test_names_that_lead_out_of_the_file_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ArchiveError, match=r"a file called .* no recorder") as caught:
        imported(tmp_path, wacz({**FILES, name: b"evil"}))
    assert len(str(caught.value)) < 500
    assert [path.name for path in tmp_path.rglob("*")] == ["recording"]


def test_bad_files_are_refused_in_one_line(tmp_path: Path) -> None:
    good = wacz(FILES)
    damaged = bytearray(good)
    damaged[200] ^= 255
    name = "archive/a.warc.gz"
    lzma = bytearray(wacz({name: FIRST.data}, zipfile.ZIP_LZMA))
    properties = 30 + len(name) + 4  # behind the local header and the version of LZMA
    lzma[properties : properties + 5] = b"\xff" * 5
    for data, why in (
        (wacz({"a.txt": b"x"}), "a zip but no WACZ"),
        (good[:-30], "damaged or cut short"),
        (good[:300], "damaged or cut short"),
        (bytes(damaged), "damaged"),
        (bytes(lzma), "damaged or cut short"),
        (wacz({"archive/a.warc.gz": b"x"}), r"archive/a\.warc\.gz.* damaged"),
        (wacz({"archive/a.warc.gz": FIRST.data[:-40]}), "too early|cut short"),
    ):
        with pytest.raises(ArchiveError, match=why) as caught:
            imported(tmp_path, data)
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.rglob("*")] == ["recording"]


WRITTEN = "https://www.site.example/A?b=C"
ABOUT = About(WRITTEN, "chromium", "Browser/1", ("Warning: a note", "another"))
WHEN = datetime(2026, 11, 25, 12, 30, 1, 500000, UTC)
RESPONSES = (
    Response(
        WRITTEN,
        200,
        (("Content-Type", "text/html"),),
        b"<p>plain" * 300,
        WHEN,
        "OK",
        "192.0.2.7",
        12.5,
        31.25,
    ),
    Response(
        "https://cdn.example:8443/s.css", 200, (("Content-Type", "text/css"),), b"p{}", WHEN, ip="2001:db8::1"
    ),
    Response("http://127.0.0.1:8000/x", 404, (("Set-Cookie", "a=of-ours"),), b""),
)


def test_it_is_what_the_specification_says(tmp_path: Path) -> None:
    path = tmp_path / "site.wacz"
    entries = write_wacz(path, ABOUT, RESPONSES)
    with zipfile.ZipFile(path) as packed:
        assert {each.compress_type for each in packed.infolist()} == {zipfile.ZIP_STORED}
        files = {name: packed.read(name) for name in packed.namelist()}
    description = json.loads(files["datapackage.json"])
    assert {each["path"] for each in description["resources"]} == files.keys() - {
        "datapackage.json",
        "datapackage-digest.json",
    }
    for each in description["resources"]:
        held = files[each["path"]]
        assert (each["bytes"], each["hash"]) == (len(held), f"sha256:{hashlib.sha256(held).hexdigest()}")
    digest = json.loads(files["datapackage-digest.json"])
    assert digest["hash"] == f"sha256:{hashlib.sha256(files['datapackage.json']).hexdigest()}"
    assert (
        description["mainPageUrl"] == json.loads(files["pages/pages.jsonl"].splitlines()[1])["url"] == WRITTEN
    )
    lines = files["indexes/index.cdx"].decode().splitlines()
    assert lines == sorted(lines)
    assert [line.partition(" {")[0] for line in lines] == [
        "127.0.0.1:8000)/x 19700101000000",
        "example,cdn:8443)/s.css 20261125123001",
        "example,site,www)/a?b=c 20261125123001",
    ]
    told = json.loads("{" + lines[2].partition(" {")[2])
    offset = int(told["offset"])
    member = files["archive/data.warc.gz"][offset : offset + int(told["length"])]
    (record,) = ArchiveIterator(BytesIO(member))
    assert record.rec_headers["WARC-Target-URI"] == WRITTEN
    assert [entry.connect_ms for entry in entries] == [31.25, None, None]
    assert b"of-ours" not in path.read_bytes() + files["archive/data.warc.gz"]


def test_it_comes_back_as_it_went_in(tmp_path: Path) -> None:
    """Text that came uncompressed stays so; times, addresses, user agent and notes are kept."""
    path = tmp_path / "site.wacz"
    load = RecordedLoad(150, (RecordedRequest("www.site.example", 0, 31.25, 75, 80),), ((0, 31.25),))
    write_wacz(path, replace(ABOUT, load=load), RESPONSES)
    archive = import_recording(path, tmp_path / "archives", "site")
    assert archive.recorded_load() == load
    assert (archive.start_url, archive.user_agent) == (WRITTEN, "Browser/1")
    assert set(ABOUT.notes) <= set(archive.notes)
    expected = write_archive(tmp_path / "archives", "direct", ABOUT, RESPONSES)
    assert archive.digest == expected.digest
    assert list(archive.responses()) == list(expected.responses())


def test_the_same_recording_gives_the_same_file(tmp_path: Path) -> None:
    one, other = tmp_path / "a.wacz", tmp_path / "b.wacz"
    write_wacz(one, ABOUT, RESPONSES)
    write_wacz(other, ABOUT, RESPONSES)
    assert one.read_bytes() == other.read_bytes()


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "site.wacz"
    path.write_bytes(b"old")

    def failing() -> list[Response]:
        raise OSError(28, "No space left on device")

    with pytest.raises(StorageFailed, match="No space left"):
        write_wacz(path, ABOUT, (each for _ in range(1) for each in failing()))
    assert (path.read_bytes(), [each.name for each in tmp_path.iterdir()]) == (b"old", ["site.wacz"])


def test_a_hostile_description_of_ours_is_read_with_bounds(tmp_path: Path) -> None:
    noise = random.Random(1).randbytes(50).hex()  # noqa: S311
    about = replace(ABOUT, notes=(*(f"{noise}{number}" for number in range(500)), "x" * 100_000, "\x1b[2J"))
    path = tmp_path / "site.wacz"
    write_wacz(path, about, RESPONSES)
    archive = import_recording(path, tmp_path / "archives", "site")
    assert len(archive.notes) < 120
    assert all(len(note) < 2100 and note.isprintable() for note in archive.notes)

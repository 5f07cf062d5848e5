"""WACZ files: read in place, never unpacked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from sites.archive import Archive
from sites.importers import import_recording
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
    with pytest.raises(ArchiveError, match=r"it holds a file called .* no recorder writes that") as caught:
        imported(tmp_path, wacz({**FILES, name: b"evil"}))
    assert len(str(caught.value)) < 500
    assert [path.name for path in tmp_path.rglob("*")] == ["recording"]


def test_bad_files_are_refused_in_one_line(tmp_path: Path) -> None:
    good = wacz(FILES)
    damaged = bytearray(good)
    damaged[200] ^= 255
    for data, why in (
        (wacz({"a.txt": b"x"}), "a zip but no WACZ"),
        (good[:-30], "damaged or cut short"),
        (good[:300], "damaged or cut short"),
        (bytes(damaged), "damaged"),
        (wacz({"archive/a.warc.gz": b"x"}), r"archive/a\.warc\.gz.* damaged"),
        (wacz({"archive/a.warc.gz": FIRST.data[:-40]}), "too early|cut short"),
    ):
        with pytest.raises(ArchiveError, match=why) as caught:
            imported(tmp_path, data)
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.rglob("*")] == ["recording"]

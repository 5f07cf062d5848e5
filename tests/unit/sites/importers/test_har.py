"""HAR files: bodies come back as they travelled, the recorder's secrets do not."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.errors import ArchiveError
from sites.archive import Archive
from sites.importers import har as har_module
from sites.importers import import_recording
from tests.unit.sites.importers.recordings import PAGE, entry, har, saved

STYLE = "i { color: red } " * 50


def imported(tmp_path: Path, data: bytes) -> Archive:
    return import_recording(saved(tmp_path, data), tmp_path / "archives", "site")


def test_entries_become_responses_with_time_address_and_wait(tmp_path: Path) -> None:
    archive = imported(tmp_path, har(entry(), entry(f"{PAGE}p.png", b"\x89P", "image/png")))
    page, picture = archive.responses()
    assert (page.url, page.status, page.reason, page.body) == (PAGE, 200, "OK", b"<p>hello")
    assert page.headers == (("content-type", "text/html"),)
    assert page.date == datetime(2024, 5, 6, 5, 8, 9, 500000, UTC)
    assert (page.ip, page.wait_ms, picture.body) == ("192.0.2.7", 12.5, b"\x89P")
    assert (archive.captured_with, archive.user_agent) == ("har by Tool 2", "Browser/1")
    assert b"secret" not in gzip.decompress((archive.folder / "archive.warc.gz").read_bytes())


def test_what_was_not_observed_stays_unknown(tmp_path: Path) -> None:
    unknown = entry(serverIPAddress="", timings={"wait": -1}, startedDateTime="yesterday")
    (page,) = imported(tmp_path, har(unknown)).responses()
    assert (page.ip, page.wait_ms, page.date) == (None, None, None)


def test_bodies_are_encoded_again_as_their_headers_say(tmp_path: Path) -> None:
    headers = [{"name": "Content-Type", "value": "text/css"}, {"name": "Content-Encoding", "value": "br"}]
    archive = imported(tmp_path, har(entry(), entry(f"{PAGE}s.css", STYLE, "text/css", headers=headers)))
    style = list(archive.responses())[1]
    assert brotli.decompress(style.body) == STYLE.encode()
    assert "bodies decoded by the recorder encoded with br again: 1" in archive.notes


def test_text_is_compressed_when_the_log_tells_of_no_coding(tmp_path: Path) -> None:
    archive = imported(tmp_path, har(entry(), entry(f"{PAGE}s.css", STYLE, "text/css")))
    style = list(archive.responses())[1]
    assert gzip.decompress(style.body) == STYLE.encode()
    assert "bodies of text gzip-encoded (level 6), since the recording has none encoded: 1" in archive.notes


def test_redirects_and_pages(tmp_path: Path) -> None:
    moved = entry(
        "http://site.example/", None, "x-unknown", status=301, redirectURL=PAGE, pageref="p1", headers=[]
    )
    frame = entry(f"{PAGE}frame", "<p>")
    pages = [{"id": "p1", "title": "A title"}]
    archive = imported(tmp_path, har(frame, moved, entry(), pages=pages))
    assert archive.start_url == "http://site.example/"
    assert archive.read(archive.entries[1]).headers == (("Location", PAGE),)


def test_entries_without_bodies_are_left_out_and_counted(tmp_path: Path) -> None:
    beacon = entry(f"{PAGE}b", None, "x-unknown", status=204)
    blocked, inline = entry(f"{PAGE}blocked", None, status=0), entry("data:image/gif;base64,xx", "")
    archive = imported(
        tmp_path, har(entry(), entry(f"{PAGE}gone.js", None, "text/javascript"), beacon, blocked, inline)
    )
    assert [e.url.removeprefix(PAGE) for e in archive.entries] == ["", "b"]
    assert (
        f"responses left out because their bodies are not in the recording: 1 ({PAGE}gone.js)"
        in archive.notes
    )
    assert f"responses left out because their status is not 200 to 599: 1 (0 {PAGE}blocked)" in archive.notes
    assert any("not of http or https: 1 (data:" in note for note in archive.notes)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            har(entry(text=None), entry(f"{PAGE}x", None)),
            r"none of its 2 entries holds a body; export the HAR with",
        ),
        (har(), "no response that can be archived"),
        (har(entry())[:-20], "cut short, no JSON"),
        (b'{"log": {"entries": {}}}', "no HAR: log.entries"),
        (b"{}", "no HAR"),
        (b"[" * 100_000, "no recording"),
        (b'{"log":' * 100_000, "cut short"),
        (b'{"log": {"entries": [null, 7, {"request": []}]}}', "none of its 3 entries"),
    ],
)
def test_bad_hars_are_refused_in_one_line(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(ArchiveError, match=why) as caught:
        imported(tmp_path, data)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "archives").exists()


ODD_VALUES: tuple[Any, ...] = (
    None,
    -1,
    10**400,
    1.5,
    True,
    "",
    "\ud800",
    "\n",
    "x" * 5000,
    [],
    [None],
    {},
    float("nan"),
)


@pytest.mark.thorough
def test_odd_values_raise_nothing_else(tmp_path: Path) -> None:
    """Seeded, so that a failure comes back."""
    chance = random.Random(1)  # noqa: S311
    for _ in range(80):
        log = json.loads(har(entry(pageref="1"), entry(f"{PAGE}x"), pages=[{"id": "1", "title": PAGE}]))
        holder: Any = log["log"]
        while True:
            key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
            if not holder[key] or not isinstance(holder[key], dict | list) or chance.random() < 0.1:
                break
            holder = holder[key]
        holder[key] = chance.choice(ODD_VALUES)
        path = saved(tmp_path, json.dumps(log).encode())
        with contextlib.suppress(ArchiveError):
            import_recording(path, tmp_path / "archives", "site", replace=True)


def test_a_har_too_large_to_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(har_module, "FILE_LIMIT_BYTES", 100)
    with pytest.raises(ArchiveError, match="at most 1e-07 GB can be read"):
        imported(tmp_path, har(entry()))

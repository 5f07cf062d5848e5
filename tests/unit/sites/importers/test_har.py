"""HAR files: bodies come back as they travelled, the recorder's secrets do not."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import random
import time
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest

from harness.errors import ArchiveError
from sites import importers
from sites.archive import Archive
from sites.coding import encode
from sites.importers import har as har_module
from sites.importers import import_recording
from sites.importers.recording import NEED_BODY
from sites.response import RecordedLoad, RecordedRequest
from tests.facts import tells
from tests.unit.sites.importers.recordings import PAGE, entry, har, saved, wacz
from tests.unit.sites.prose import prose

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


def test_the_zone_of_an_address_writes_no_lines_of_its_own(tmp_path: Path) -> None:
    hostile = entry(serverIPAddress="[fe80::1%x\r\nX-Forged: 1\r\n\r\nWARC/1.1]")
    archive = imported(tmp_path, har(hostile))
    assert [each.ip for each in archive.entries] == ["fe80::1"]
    assert b"Forged" not in gzip.decompress((archive.folder / "archive.warc.gz").read_bytes())


@pytest.mark.parametrize(
    ("url", "maker", "timings", "connect_ms"),
    [
        (PAGE, "Tool", {"connect": 62.5, "ssl": 31.25}, 31.25),
        (PAGE, "Firefox", {"connect": 31.25, "ssl": 40}, 31.25),
        ("http://site.example/", "Tool", {"connect": 10.125, "ssl": 11.125}, 10.125),  # as Playwright has it
        (PAGE, "Tool", {"connect": 40, "ssl": 40}, None),  # QUIC
        (PAGE, "Tool", {"connect": -1, "ssl": -1}, None),
        (PAGE, "Tool", {"connect": "soon", "ssl": None}, None),
    ],
)
def test_the_round_trip_of_a_connection_is_told_from_its_tls(
    tmp_path: Path, url: str, maker: str, timings: dict[str, object], connect_ms: float | None
) -> None:
    told = json.loads(har(entry(url, timings=timings)))
    told["log"]["creator"]["name"] = maker
    (page,) = imported(tmp_path, json.dumps(told).encode()).responses()
    assert page.connect_ms == connect_ms


@pytest.mark.parametrize(("maker", "late"), [("Tool", 0.0), ("Firefox", 15.0)])
def test_the_load_of_the_page_is_told_in_the_times_of_its_requests(
    tmp_path: Path, maker: str, late: float
) -> None:
    """Firefox counts TLS beside `connect`. What outlasts the load event, and what a cache gave, is not waited for."""
    phases = {"blocked": 2, "dns": -1, "connect": 30, "ssl": 15, "send": 1, "wait": 40.5, "receive": 6}
    told: dict[str, Any] = {"pageref": "p", "timings": phases}
    late_one: dict[str, Any] = {**told, "timings": {**phases, "wait": 500}}
    cached = entry(f"{PAGE}b", **told) | {"_fromCache": "disk"}
    quick: dict[str, Any] = {**told, "timings": {"blocked": 3, "wait": 20}}
    picture = entry(f"{PAGE}p.png", b"x", "image/png", **quick)
    picture["startedDateTime"] = "2024-05-06T07:08:09.625+02:00"
    data = entry("data:image/gif;base64,xx", "", "image/gif", **told)
    pages = [
        {"id": "p", "startedDateTime": "2024-05-06T05:08:09.490Z", "pageTimings": {"onLoad": 300}},
        {"id": "q", "startedDateTime": "soon", "pageTimings": {"onLoad": 300}},
        {"id": "r", "startedDateTime": "2024-05-06T05:08:09.490Z", "pageTimings": {"onLoad": None}},
    ]
    log = json.loads(
        har(data, picture, entry(**told), cached, entry(f"{PAGE}a", "x", **late_one), pages=pages)
    )
    log["log"]["creator"]["name"] = maker
    archive = imported(tmp_path, json.dumps(log).encode())
    assert archive.recorded_load() == RecordedLoad(
        300.0,
        (
            RecordedRequest("site.example", 10.0, 42 + late, 83.5 + late, 89.5 + late),
            RecordedRequest("site.example", 135.0, 138.0, 158.0, 158.0),
        ),
        ((12.0, 42 + late), (138.0, 138.0)),
    )


@pytest.mark.parametrize(
    ("timings", "page"),
    [
        ({"wait": 12.5}, {"onLoad": 300}),  # as Playwright has it: the time in queues is left out
        ({"blocked": 1, "wait": 12.5}, {"onLoad": -1}),
        ({"blocked": 1, "wait": 12.5}, {"onLoad": 1e300}),
        ({"blocked": 1, "wait": 12.5}, {}),
        ({"blocked": 1, "wait": 1e308, "receive": 1e308}, {"onLoad": 300}),
    ],
)
def test_a_load_whose_times_are_not_told_is_not_known(
    tmp_path: Path, timings: dict[str, float], page: dict[str, float]
) -> None:
    pages = [{"id": "p", "startedDateTime": "2024-05-06T05:08:09.490Z", "pageTimings": page}]
    archive = imported(tmp_path, har(entry(pageref="p", timings=timings), pages=pages))
    assert archive.recorded_load() is None


def test_a_request_at_a_time_that_no_clock_shows_is_none_of_the_load(tmp_path: Path) -> None:
    pages = [{"id": "p", "startedDateTime": "9999-01-01T00:00:00Z", "pageTimings": {"onLoad": 100}}]
    early = entry(pageref="p", timings={"blocked": 0}, startedDateTime="0001-01-01T00:00:00Z")
    assert imported(tmp_path, har(early, pages=pages)).recorded_load() is None


def test_bodies_are_encoded_again_as_their_headers_say(tmp_path: Path) -> None:
    headers = [{"name": "Content-Type", "value": "text/css"}, {"name": "Content-Encoding", "value": "br"}]
    archive = imported(tmp_path, har(entry(), entry(f"{PAGE}s.css", STYLE, "text/css", headers=headers)))
    style = list(archive.responses())[1]
    assert brotli.decompress(style.body) == STYLE.encode()
    assert tells(archive.notes, "decoded", "with br again: 1")


def test_bodies_are_encoded_again_at_the_level_at_which_they_travelled(tmp_path: Path) -> None:
    headers = [{"name": "Content-Type", "value": "text/css"}, {"name": "Content-Encoding", "value": "gzip"}]
    told = [
        len(encode(prose(), "gzip", 1)),
        -1,
        len(prose()),
    ]  # the last is how long the body is without coding
    sheets = [
        entry(f"{PAGE}{number}.css", prose().decode(), "text/css", headers=headers, bodySize=size)
        for number, size in enumerate(told)
    ]
    _, *styles = imported(tmp_path, har(entry(), *sheets)).responses()
    assert [style.body for style in styles] == [encode(prose(), "gzip", level) for level in (1, 6, 6)]


def test_text_is_compressed_when_the_log_tells_of_no_coding(tmp_path: Path) -> None:
    archive = imported(tmp_path, har(entry(), entry(f"{PAGE}s.css", STYLE, "text/css")))
    style = list(archive.responses())[1]
    assert gzip.decompress(style.body) == STYLE.encode()
    assert tells(archive.notes, "gzip-encoded (level 6)", ": 1")


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
    assert tells(archive.notes, "left out", "bodies", f": 1 ({PAGE}gone.js)")
    assert tells(archive.notes, "left out", "status", f": 1 (0 {PAGE}blocked)")
    assert tells(archive.notes, "http or https: 1 (data:")


@pytest.mark.parametrize("text", [None, ""])
def test_an_answer_that_was_broken_off_is_no_empty_one(tmp_path: Path, text: str | None) -> None:
    """As Chrome writes it: size 0, and no text."""

    def empty(name: str, length: str | None, error: str | None = None, status: int = 200) -> dict[str, Any]:
        told = [] if length is None else [{"name": "Content-Length", "value": length}]
        content = {"size": 0, "mimeType": "text/css"} | ({} if text is None else {"text": text})
        made = entry(f"{PAGE}{name}", "", "text/css", headers=told, content=content, status=status)
        made["response"]["_error"] = error
        return made

    aborted = "net::ERR_ABORTED"
    lost = [empty("a", "50000", aborted), empty("b", "50000"), empty("c", None, aborted)]
    whole = [empty("d", "0", aborted), empty("e", None), empty("f", None, aborted, 500)]
    archive = imported(tmp_path, har(entry(), *lost, *whole))
    assert [e.url.removeprefix(PAGE) for e in archive.entries] == ["", "d", "e", "f"]
    assert f"{NEED_BODY}: 3 ({PAGE}a {PAGE}b {PAGE}c)" in archive.notes


def test_an_entry_whose_body_was_not_kept_never_hides_one(tmp_path: Path) -> None:
    style, headers = f"{PAGE}s.css", [{"name": "Content-Length", "value": "5"}]
    lost = entry(style, "", "text/css", content={"size": 5, "mimeType": "text/css", "text": ""})
    told = entry(f"{PAGE}t.css", "", "text/css", headers=headers)
    empty = entry(f"{PAGE}e.css", "", "text/css")
    whole = entry(style, STYLE, "text/css")
    for number, entries in enumerate(((lost, whole), (whole, lost))):
        (tmp_path / str(number)).mkdir()
        archive = imported(tmp_path / str(number), har(entry(), *entries, told, empty))
        responses = {response.url: response.body for response in archive.responses()}
        assert gzip.decompress(responses[style]) == STYLE.encode()
        assert responses[f"{PAGE}e.css"] == b""
        assert any(note.endswith(f"in the recording: 2 ({style} {PAGE}t.css)") for note in archive.notes)


@pytest.mark.parametrize("status", [0, 304])
def test_what_the_browsers_cache_gave_is_taken_with_status_200(tmp_path: Path, status: int) -> None:
    cached = entry(f"{PAGE}s.css", STYLE, "text/css", status=status, headers=[])
    failed = entry(f"{PAGE}f.css", STYLE, "text/css", status=0)
    failed["response"]["_error"] = "net::ERR_ABORTED"
    mine = [{"name": "X", "value": "server"}, {"name": "Content-Type", "value": "text/css"}]
    archive = imported(tmp_path, har(entry(), cached, failed))
    assert [(e.url, e.status, e.mime, e.ip) for e in archive.entries[1:]] == [
        (f"{PAGE}s.css", 200, "text/css", None)
    ]
    assert tells(archive.notes, f"status {status}", "as answered with 200", f": 1 ({PAGE}s.css)")
    (tmp_path / "both").mkdir()
    served = entry(f"{PAGE}s.css", "i{}", "text/css", headers=mine)
    assert (
        list(imported(tmp_path / "both", har(entry(), cached, served)).responses())[1].header("X") == "server"
    )


def test_a_har_of_a_warm_browser_is_refused_with_what_to_do(tmp_path: Path) -> None:
    warm = entry(text="", status=304), entry(f"{PAGE}s.css", None, "text/css", status=304)
    with pytest.raises(ArchiveError, match=r"answers 304 .*: 2 .* cache: record it again") as caught:
        imported(tmp_path, har(*warm, pages=[{"id": "1", "title": PAGE}]))
    assert "\n" not in str(caught.value)


def test_values_with_line_breaks_are_several_headers(tmp_path: Path) -> None:
    headers = [
        {"name": "Link", "value": "</a>; rel=preload\n</b>; rel=preload"},
        {"name": "Vary", "value": "Accept\r\nOrigin"},
        {"name": "X-Folded", "value": "one\r\n two"},
        {"name": "Set-Cookie", "value": "secret=1\nsecret=2"},
    ]
    (page,) = imported(tmp_path, har(entry(headers=headers))).responses()
    assert page.headers[:5] == (
        ("Link", "</a>; rel=preload"),
        ("Link", "</b>; rel=preload"),
        ("Vary", "Accept"),
        ("Vary", "Origin"),
        ("X-Folded", "one two"),
    )
    assert "secret" not in str(page.headers)


def test_a_value_of_spaces_takes_no_square_of_the_time(tmp_path: Path) -> None:
    headers = [{"name": "X", "value": " " * 300_000}, {"name": "Content-Type", "value": "text/html"}]
    started = time.process_time()
    (page,) = imported(tmp_path, har(entry(headers=headers))).responses()
    assert page.header("X") == ""
    assert time.process_time() - started < 5


def test_bodies_that_contradict_their_headers(tmp_path: Path) -> None:
    coded = [{"name": "Content-Encoding", "value": "gzip"}, {"name": "Content-Type", "value": "text/css"}]
    packed = gzip.compress(STYLE.encode(), mtime=0)
    entries = (
        entry(headers=[{"name": "Content-Encoding", "value": "UTF-8"}]),
        entry(f"{PAGE}coded", packed, "text/css", headers=coded),  # a proxy's, not decoded
        entry(f"{PAGE}long", "i{}", "text/css", headers=[{"name": "Content-Length", "value": "0"}]),
        entry(f"{PAGE}none", "<p>", status=204),
    )
    page, style, other, none = imported(tmp_path, har(*entries)).responses()
    assert (page.body, style.body, other.header("Content-Length")) == (b"<p>hello", packed, "3")
    assert (none.status, none.body) == (204, b"")


def attached(url: str, file: str, mime: str = "text/css") -> dict[str, Any]:
    """An entry as Playwright writes it when bodies go into files of their own."""
    return entry(url, content={"size": -1, "mimeType": mime, "_file": file}, mime=mime)


@pytest.mark.parametrize("packed", [True, False])
def test_bodies_in_files_of_their_own(tmp_path: Path, *, packed: bool) -> None:
    data = har(
        attached(PAGE, "page.html", "text/html"),
        attached(f"{PAGE}s", "res/s.css"),
        attached(f"{PAGE}x", "x.css"),
        attached(f"{PAGE}f", "f.html", "text/html; charset=koi8-r"),
    )
    files = {"page.html": b"<p>\xe9", "res/s.css": STYLE.encode(), "f.html": "ж".encode()}
    if packed:
        path = saved(tmp_path, wacz({"har.har": data, **files}))
    else:
        path = saved(tmp_path, data, "page.har")
        (tmp_path / "res").mkdir()
        for name, body in files.items():
            (tmp_path / name).write_bytes(body)
    archive = import_recording(path, tmp_path / "archives", "site")
    page, style, frame = archive.responses()
    assert (frame.body, frame.header("Content-Type")) == ("ж".encode("koi8-r"), "text/html; charset=koi8-r")
    assert (page.body, gzip.decompress(style.body)) == (b"<p>\xe9", STYLE.encode())
    assert archive.captured_with == "har by Tool 2"
    assert any("not beside the HAR" in note and note.endswith("1 (x.css)") for note in archive.notes)


def test_a_har_reads_no_file_but_those_of_its_folder(tmp_path: Path) -> None:
    folder, secret = tmp_path / "har", tmp_path / "secret"
    (folder / "sub").mkdir(parents=True)
    secret.write_text("secret")
    (folder / ".hidden").write_text("secret")
    (folder / "link").symlink_to(secret)
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    os.mkfifo(folder / "pipe")
    names = (
        *(
            "../secret",
            str(secret),
            "sub/../../secret",
            "link",
            "up/secret",
            "loop",
            "pipe",
            ".hidden",
            "sub",
        ),
        *(
            "",
            ".",
            "..",
            "/",
            "..\\secret",
            "a\0b",
            "n" * 5000,
            "/proc/self/environ",
            "./../secret",
            "\ud800",
        ),
    )
    data = har(entry(), *(attached(f"{PAGE}{number}", name) for number, name in enumerate(names)))
    archive = import_recording(saved(folder, data, "page.har"), tmp_path / "archives", "site")
    assert [e.url for e in archive.entries] == [PAGE]
    assert tells(archive.notes, "not beside the HAR", f": {len(names)} (")
    zipped = saved(tmp_path, wacz({"a/har.har": data, "secret": b"secret"}))
    assert [e.url for e in import_recording(zipped, tmp_path / "archives", "zip").entries] == [PAGE]


def test_bad_zips_of_hars_are_refused_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importers, "ALWAYS_FINE_BYTES", 100_000)
    good = wacz({"har.har": har(attached(PAGE, "a.html", "text/html")), "a.html": b"<p>" * 50})
    damaged = bytearray(good)
    damaged[good.index(b"<p><p>")] ^= 1
    for data, why in (
        (wacz({"a.har": b"{}", "b.har": b"{}"}), "a zip of 2 HARs; unpack it and give one"),
        (wacz({"../a.har": har(entry())}), "leads out of it"),
        (bytes(damaged), r"damaged or cut short \(Bad CRC"),
        (wacz({"a.har": b"{"}), "no JSON"),
        (
            wacz({"a.har": har(entry(text="<p>" * 1_000_000))}, zipfile.ZIP_DEFLATED),
            r"bytes and its HAR would unpack to 3,\d{3},\d{3}",
        ),
    ):
        with pytest.raises(ArchiveError, match=why) as caught:
            imported(tmp_path, data)
        assert "\n" not in str(caught.value)
        assert [path.name for path in tmp_path.rglob("*")] == ["recording"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (
            har(entry(text=None), entry(f"{PAGE}x", None)),
            r"none of its 2 entries .*; export the HAR with",
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

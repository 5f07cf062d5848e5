"""Which files two archives do not share: by address, by host of the page, by name without a fingerprint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.errors import ArchiveError
from sites.archive import Archive, write_archive
from sites.filesapart import FileApart, files_apart, refuse_unlike
from sites.response import Response
from sites.warc import About


def archived(root: Path, name: str, bodies: Mapping[str, bytes]) -> Archive:
    """An archive of these bodies by their URLs; the first is the start."""
    answers = [Response(url, 200, (("Content-Type", "text/plain"),), body) for url, body in bodies.items()]
    return write_archive(root, name, About(next(iter(bodies)), "test", "", ()), answers)


def test_files_that_changed_came_or_went(tmp_path: Path) -> None:
    at = "https://a.example/"
    same = {at: b"home", f"{at}same.css": b"same"}
    one = archived(tmp_path, "one", {**same, f"{at}x.js": b"12345", f"{at}gone.js": b"1"})
    other = archived(tmp_path, "other", {**same, f"{at}x.js": b"123456789", f"{at}new.js": b"12"})
    found = files_apart(one, other)
    assert found.same == 2
    assert found.files == (
        FileApart(f"{at}x.js", 5, 9),
        FileApart(f"{at}new.js", None, 2),
        FileApart(f"{at}gone.js", 1, None),
    )
    assert files_apart(one, one) == type(found)(4, ())


def test_the_page_may_be_on_another_host_by_another_scheme_and_start_elsewhere(tmp_path: Path) -> None:
    a, b, cdn = "http://a.example/", "https://staging.example/", "http://cdn.example/lib.js"
    one = archived(tmp_path, "one", {f"{a}v1/": b"home", f"{a}app.js?x=1": b"app", cdn: b"lib"})
    other = archived(tmp_path, "other", {f"{b}v2/": b"HOME", f"{b}app.js?x=1": b"app", cdn: b"lib"})
    refuse_unlike(one, other)
    found = files_apart(one, other)
    assert found.same == 2
    assert [each.url for each in found.files] == [f"{b}v2/"]


def test_a_name_with_a_fingerprint_is_one_file(tmp_path: Path) -> None:
    at = "https://a.example/"
    one = archived(tmp_path, "one", {at: b"home", f"{at}app.3f2a91bc.js": b"12345", f"{at}decade.js": b"d"})
    other = archived(tmp_path, "other", {at: b"home", f"{at}app.99aa00cd.js": b"123", f"{at}facade.js": b"f"})
    found = files_apart(one, other)
    assert FileApart(f"{at}app.99aa00cd.js", 5, 3) in found.files
    assert len(found.files) == 3  # words of hexadecimal letters are no fingerprints


def answered(root: Path, name: str, status: int, *headers: tuple[str, str]) -> Archive:
    """An archive of a document, and of a file with this status and these headers."""
    document, file = "https://a.example/", "https://a.example/x"
    answers = [
        Response(document, 200, (("Content-Type", "text/html"),), b"home"),
        Response(file, status, headers, b"body"),
    ]
    return write_archive(root, name, About(document, "test", "", ()), answers)


KEPT = (("Cache-Control", "max-age=60"), ("Link", "</a.css>; rel=preload"), ("ETag", '"1"'))
LIFETIME = ("Date", "Mon, 30 Nov 2026 10:00:00 GMT"), ("Expires", "Mon, 30 Nov 2026 11:00:00 GMT")


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ((200, *KEPT), (404, *KEPT), False),
        ((200, *KEPT), (200, *KEPT[:2]), False),
        ((200, *KEPT), (200, *KEPT[:1], KEPT[2]), False),
        ((200, *KEPT), (200, ("Cache-Control", "no-store"), *KEPT[1:]), False),
        ((200, ("Content-Encoding", "gzip")), (200,), False),
        ((200, ("Link", "</a>"), ("Link", "</b>")), (200, ("Link", "</b>"), ("Link", "</a>")), False),
        ((200, ("Content-Security-Policy", "upgrade-insecure-requests")), (200,), False),
        ((200, ("Content-Security-Policy", "script-src 'self'"), ("Server", "x")), (200,), True),
        ((200, *KEPT), (200, ("etag", '"2"'), ("link", KEPT[1][1]), ("cache-control", "max-age=60")), True),
        ((200, *KEPT), (200, *KEPT, ("Age", "7"), ("CF-Ray", "1"), ("Date", "today")), True),
        (
            (200, *LIFETIME),
            (200, *((name, text.replace("30 Nov", "29 Nov")) for name, text in LIFETIME)),
            True,
        ),
        ((200, *LIFETIME), (200, LIFETIME[0], ("Expires", "Mon, 30 Nov 2026 12:00:00 GMT")), False),
    ],
)
def test_status_and_headers_that_a_replay_keeps_count(
    one: tuple[int, *tuple[tuple[str, str], ...]],
    other: tuple[int, *tuple[tuple[str, str], ...]],
    is_same: bool,
    tmp_path: Path,
) -> None:
    found = files_apart(answered(tmp_path, "one", *one), answered(tmp_path, "other", *other))
    assert found.same == 1 + is_same
    assert found.files == (() if is_same else (FileApart("https://a.example/x", 4, 4, same_body=True),))


@pytest.mark.parametrize(
    ("path", "body", "refused"),
    [
        ("favicon.ico", b"1", True),
        ("shop.css", b"1", False),
        ("other.css", b"library" * 20, False),
        ("b.css", b"l", True),
    ],
)
def test_pages_of_different_sites_are_refused_by_one_line(
    path: str, body: bytes, refused: bool, tmp_path: Path
) -> None:
    a, b = "https://a.example/", "https://b.example/"
    one = archived(
        tmp_path,
        "one",
        {a: b"A", f"{a}favicon.ico": b"0", f"{a}shop.css": b"l", f"{a}lib.js": b"library" * 20},
    )
    other = archived(tmp_path, "other", {b: b"B", f"{b}{path}": body})
    if not refused:
        refuse_unlike(one, other)
        return
    with pytest.raises(ArchiveError, match=r"one \(https://a\.example/\) and other .* in common") as error:
        refuse_unlike(one, other)
    assert "\n" not in str(error.value)

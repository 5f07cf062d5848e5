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

"""A folder of files as what a server answers with."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

import sites.importers
from harness.errors import ArchiveError
from sites.importers import address_of, holds_page, responses_of_folder

ORIGIN = "https://site.example/"


def site(folder: Path, **files: bytes) -> Path:
    for name, body in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(body)
    return folder


def test_files_are_at_their_places_and_indexes_at_their_folders_too(tmp_path: Path) -> None:
    style = b"p { color: red }" * 100
    folder = site(
        tmp_path, index_html=b"<p>", index_htm=b"old", de__index_htm=b"<p>de", css__s_css=style, f_woff2=b"w"
    )
    (folder / "a b?#\u00e9.png").write_bytes(b"png")
    found = {each.url.removeprefix(ORIGIN): each for each in responses_of_folder(folder, ORIGIN)}
    assert found.keys() == {
        *(
            "",
            "index.html",
            "index.htm",
            "de/",
            "de/index.htm",
            "css/s.css",
            "f.woff2",
            "a%20b%3F%23%C3%A9.png",
        )
    }
    assert (found[""].body, found["de/"].body) == (b"<p>", b"<p>de")
    assert [found[name].mime for name in ("", "css/s.css", "f.woff2")] == [
        "text/html",
        "text/css",
        "font/woff2",
    ]
    assert gzip.decompress(found["css/s.css"].body) == style
    assert found["css/s.css"].header("Content-Encoding") == "gzip"
    assert found["a%20b%3F%23%C3%A9.png"].header("Content-Encoding") is None


def test_nothing_hidden_and_nothing_from_elsewhere_is_served(tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes(b"of somebody else")
    folder = site(tmp_path / "site", index_html=b"<p>", sub__x_css=b"")
    for hidden in (".env", ".git/config"):
        (folder / hidden).parent.mkdir(exist_ok=True)
        (folder / hidden).write_bytes(b"hidden")
    (folder / "key").symlink_to(tmp_path / "key")
    (folder / "all").symlink_to(tmp_path)
    (folder / "loop").symlink_to(folder)
    found = [each.url.removeprefix(ORIGIN) for each in responses_of_folder(folder, ORIGIN)]
    assert sorted(found) == ["", "index.html", "sub/x.css"]


def test_a_folder_of_more_than_a_page_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sites.importers, "RESPONSE_LIMIT", 1)
    with pytest.raises(ArchiveError, match="holds more than 1 files"):
        list(responses_of_folder(site(tmp_path, index_html=b"<p>", x_css=b""), ORIGIN))


def test_what_is_a_site_and_where_it_is_served(tmp_path: Path) -> None:
    assert not holds_page(tmp_path)
    assert holds_page(site(tmp_path, index_htm=b""))
    assert (address_of("My-site"), address_of("www.site.de")) == (
        "https://my-site.example/",
        "https://www.site.de/",
    )
    with pytest.raises(ArchiveError, match="give --start-url"):
        address_of("a..b")
    assert address_of("a..b", "HTTPS://Site.example:8123/a b") == "https://site.example:8123/a%20b"


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8123",
        "LOCALHOST.",
        "app.localhost",
        "127.0.0.1:8000",
        "127.1",
        "[::1]",
        "192.0.2.7",
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_host_that_nobody_looks_up_serves_no_folder(scheme: str, host: str) -> None:
    with pytest.raises(ArchiveError, match="leads to the machine that loads the page") as caught:
        address_of("site", f"{scheme}://{host}/")
    assert "\n" not in str(caught.value)


def test_a_name_that_is_an_address_serves_no_folder() -> None:
    with pytest.raises(ArchiveError, match=r"127\.0\.0\.1 is none"):
        address_of("127.0.0.1")

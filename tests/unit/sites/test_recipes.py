"""The pages that ship: their composition, that they need nothing else, and where their packages come from."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import shutil
import tarfile
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from harness.errors import ArchiveError, EnvironmentLacks
from sites.recipes import RECIPES, Recipe, package_cache, study2012
from sites.recipes.pictures import COMMENT, Picture, Pixels, drawing, landscape
from sites.recipes.recipe import Package, fetch, read_files
from sites.recipes.templates import AGENCY_TEMPLATE
from sites.requisites import missing
from sites.response import Response
from sites.shipped import SHIPPED

pytestmark = pytest.mark.thorough

NOWHERE = Path("no-such-folder")
PADDING_SHARE = 0.01


@pytest.fixture(scope="module")
def dummy_page() -> list[Response]:
    return list(RECIPES["dummy-2012"].responses(NOWHERE))


@pytest.fixture(scope="module")
def agency_page() -> list[Response]:
    need(AGENCY_TEMPLATE.packages)
    return list(RECIPES["agency"].responses(package_cache()))


def need(packages: Sequence[Package]) -> None:
    """Have the packages as set-up has them; without them and a registry there is no page to test."""
    try:
        fetch(packages, package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"the page needs the network once: {error}")


# Pages of today take seconds, and `recipes/test_composition.py` makes them so; the dummy pages are made from `NOWHERE`.
SMALL = {
    name: recipe
    for name, recipe in RECIPES.items()
    if SHIPPED[name] != "today" and not name.startswith("dummy")
}


@pytest.mark.parametrize("recipe", SMALL.values(), ids=SMALL)
def test_a_page_is_made_of_the_packages_that_it_names_and_no_others(recipe: Recipe, tmp_path: Path) -> None:
    need(recipe.packages)
    for package in recipe.packages:
        (tmp_path / package.file_name).symlink_to(package_cache() / package.file_name)
    assert list(recipe.responses(tmp_path))


def decoded(responses: list[Response]) -> dict[str, Response]:
    return {
        r.url: Response(
            r.url, r.status, r.headers, gzip.decompress(r.body) if r.header("Content-Encoding") else r.body
        )
        for r in responses
    }


def test_recipes_are_found_by_name() -> None:
    assert list(RECIPES) == [
        *("dummy-2012", "agency", "mobile-news-2012", "icons-2013"),
        *("noise-200", "noise-1k", "noise-10k", "noise-100k"),
        *("text-10k", "text-25k", "text-50k", "text-75k", "text-100k"),
        *("objects-5", "objects-20", "objects-100"),
        *("framework7", "clean-blog", "article", "resume", "freelancer"),
        *("landing", "creative", "paper-kit", "dashboard", "datatable", "gazetteer"),
        *("dummy-nocache", "mobile-news-one-host"),
        *("news-front", "news-front-phone", "print-shop", "print-shop-phone"),
        *("magazine", "magazine-phone", "field-guide", "field-guide-phone"),
    ]
    assert all(recipe.name == name for name, recipe in RECIPES.items())
    assert all(recipe.licence and recipe.summary for recipe in RECIPES.values())


# --- dummy-2012 ---


def test_the_page_that_nobody_may_keep_differs_in_that_alone(dummy_page: list[Response]) -> None:
    asked = list(RECIPES["dummy-nocache"].responses(NOWHERE))
    assert [(each.url, each.body) for each in asked] == [(each.url, each.body) for each in dummy_page]
    assert {each.header("Cache-Control") for each in asked} == {"no-cache"}
    assert all(each.header("ETag") for each in asked)


def test_the_dummy_page_has_the_composition_of_the_study(dummy_page: list[Response]) -> None:
    sizes = {
        mime: [len(r.body) for r in dummy_page if r.mime == mime] for mime in {r.mime for r in dummy_page}
    }
    images = sizes["image/jpeg"] + sizes["image/png"]
    assert sizes["text/html"] == [14_000]
    assert (len(images), sum(images)) == (20, 1_100_000)
    assert (len(sizes["text/css"]), sum(sizes["text/css"])) == (3, 1_300)
    assert len(dummy_page) == 24
    assert (min(images), max(images)) == (8_412, 183_892)
    assert len(sizes["image/png"]) == 6


def test_all_is_one_host_plain_http_and_not_compressed(dummy_page: list[Response]) -> None:
    assert {urlsplit(r.url)[:2] for r in dummy_page} == {("http", "dummy.example")}
    assert all(r.header("Content-Encoding") is None and r.status == 200 for r in dummy_page)
    assert all(r.header("Content-Length") == str(len(r.body)) for r in dummy_page)


def test_pictures_are_real_and_as_large_as_the_page_says(dummy_page: list[Response]) -> None:
    pictures = {r.url: r for r in dummy_page if r.mime.startswith("image/")}
    shown = Pictures()
    shown.feed(dummy_page[0].body.decode())
    assert shown.sizes.keys() == pictures.keys()
    for url, response in pictures.items():
        with Image.open(io.BytesIO(response.body)) as picture:
            picture.load()
            assert (url, picture.size) == (url, shown.sizes[url])
            assert picture.get_format_mimetype() == response.mime


def test_comments_are_less_than_a_hundredth_of_a_picture(dummy_page: list[Response]) -> None:
    for response in dummy_page:
        padding = (response.body.count(COMMENT) + 1) * len(COMMENT)
        assert padding < max(PADDING_SHARE * len(response.body), 2 * len(COMMENT))


def test_the_dummy_page_needs_exactly_what_it_has(dummy_page: list[Response]) -> None:
    known = {response.url: response for response in dummy_page}
    assert missing(known, study2012.DUMMY_URL) == []
    without_pictures = {url: r for url, r in known.items() if not r.mime.startswith("image/")}
    assert len(missing(without_pictures, study2012.DUMMY_URL)) == 20


def test_the_same_bytes_every_time(dummy_page: list[Response]) -> None:
    again = {
        picture.name: picture.encoded()
        for picture in (study2012.DUMMY_PICTURES[0], study2012.DUMMY_PICTURES[16])
    }
    first = {response.url.rpartition("/")[2]: response.body for response in dummy_page}
    assert {name: first[name] for name in again} == again


@pytest.mark.parametrize(
    ("draw", "digest"),
    [
        (landscape, "d61cbb4732f39d0eba38b0bde0eec33430961c6cfa80d451b1da24a3f9e2ca40"),
        (drawing, "fff1f30cfa195fe2fcd5a30dbdfeec42731a107a5e3ab36ca11f33da9b1f44be"),
    ],
)
def test_the_same_pixels_on_every_machine(draw: Callable[[int, int, int], Pixels], digest: str) -> None:
    """How they are compressed is Pillow's business; a new release may change bytes, not sizes."""
    assert hashlib.sha256(draw(60, 40, 7).astype("<i4").tobytes()).hexdigest() == digest


def test_a_size_that_cannot_be_had_is_refused() -> None:
    with pytest.raises(ValueError, match=r"x\.jpg .*\b100 bytes: \d+ without .*, \d+ with"):
        Picture("x.jpg", 60, 40, 100, 1).encoded()


class Pictures(HTMLParser):
    """Width and height of every img element, by URL."""

    def __init__(self) -> None:
        super().__init__()
        self.sizes: dict[str, tuple[int, int]] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "img":
            size = (int(attributes["width"] or 0), int(attributes["height"] or 0))
            self.sizes[f"{study2012.DUMMY_URL}{attributes['src']}"] = size


# --- agency ---


def test_the_agency_page_comes_from_five_hosts(agency_page: list[Response]) -> None:
    assert len(agency_page) == 35
    assert {urlsplit(response.url).hostname for response in agency_page} == {
        *("agency.example", "cdn.jsdelivr.net", "use.fontawesome.com"),
        *("fonts.googleapis.com", "fonts.gstatic.com"),
    }
    assert {urlsplit(response.url).scheme for response in agency_page} == {"https"}


def test_one_object_alone_is_missing(agency_page: list[Response]) -> None:
    assert missing(decoded(agency_page), AGENCY_TEMPLATE.start_url) == [
        "https://cdn.startbootstrap.com/sb-forms-latest.js"
    ]


def test_text_is_compressed_and_fonts_may_be_used_by_other_hosts(agency_page: list[Response]) -> None:
    for response in agency_page:
        text = response.mime.startswith("text/") or "javascript" in response.mime or "svg" in response.mime
        assert (response.url, response.header("Content-Encoding")) == (response.url, "gzip" if text else None)
        assert response.header("Access-Control-Allow-Origin") == "*"
        assert response.header("Content-Length") == str(len(response.body))


def test_style_sheets_of_google_fonts_name_the_archived_fonts(agency_page: list[Response]) -> None:
    fonts = {response.url for response in agency_page if response.mime == "font/woff2"}
    css = b"".join(r.body for url, r in decoded(agency_page).items() if "googleapis" in url).decode()
    assert len(fonts) == 6
    assert all(f"src: url({font}) format('woff2');" in css for font in fonts)
    assert css.count("unicode-range: U+0000-00FF, ") == 6


# --- packages ---


def a_tarball(folder: Path) -> tuple[Package, bytes]:
    """A package with odd members, as npm would send it, and its checksum."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as tarball:
        for name, body in (("package/a.txt", b"a"), ("package/b/b.txt", b"b"), ("../../evil", b"evil")):
            member = tarfile.TarInfo(name)
            member.size = len(body)
            tarball.addfile(member, io.BytesIO(body))
        link = tarfile.TarInfo("package/a-link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/hostname"
        tarball.addfile(link)
    package = Package(
        "@scope/it", "1.0.0", base64.b64encode(hashlib.sha512(data.getvalue()).digest()).decode()
    )
    (folder / package.file_name).write_bytes(data.getvalue())
    return package, data.getvalue()


def npm_that(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a program called npm first in PATH."""
    program = folder / "npm"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=":")


def test_only_regular_files_are_read_and_nothing_is_written(tmp_path: Path) -> None:
    package, _ = a_tarball(tmp_path)
    assert read_files(package, tmp_path, "") == {"a.txt": b"a", "b/b.txt": b"b", "../../evil": b"evil"}
    assert read_files(package, tmp_path, "b/") == {"b/b.txt": b"b"}
    assert [path.name for path in tmp_path.iterdir()] == [package.file_name]


def test_what_is_cached_is_not_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, _ = a_tarball(tmp_path)
    npm_that(tmp_path, "exit 1", monkeypatch)
    fetch([package], tmp_path)


def test_a_damaged_cache_is_fetched_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package, data = a_tarball(tmp_path)
    shutil.copy(tmp_path / package.file_name, tmp_path / "sent")
    npm_that(tmp_path, f'cp "{tmp_path}/sent" "./{package.file_name}"', monkeypatch)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / package.file_name).write_bytes(data[:-1])
    fetch([package], cache)
    assert (cache / package.file_name).read_bytes() == data
    assert [path.name for path in cache.iterdir()] == [package.file_name]


def test_another_content_than_the_pinned_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = Package("it", "1.0.0", "pinned")
    npm_that(tmp_path, "echo other > it-1.0.0.tgz", monkeypatch)
    with pytest.raises(ArchiveError, match=r"another it@1\.0\.0 than the pinned one"):
        fetch([package], tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("""echo '{"error": {"summary": "no such host"}}'; exit 1""", "no such host"),
        ("echo what >&2; exit 1", "it gives no reason"),
    ],
)
def test_without_a_network_it_says_what_is_lacking(
    script: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm_that(tmp_path, script, monkeypatch)
    with pytest.raises(EnvironmentLacks, match=rf"cannot fetch it@1\.0\.0 \({reason}\); .*network"):
        fetch([Package("it", "1.0.0", "pinned")], tmp_path / "cache")


def test_the_cache_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path))
    assert package_cache() == tmp_path / "packages"
    monkeypatch.delenv("COLDLOAD_CACHE")
    assert package_cache() == Path.home() / ".cache" / "coldload" / "packages"

"""Pages of packages: what is served from where, as what; the licence texts beside their archives."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from sites.recipes.recipe import LICENCES_FILE, Recipe, keep_licences, licence_texts
from sites.recipes.template import STATIC, FontSheet, Template, faces
from sites.requisites import missing
from tests.unit.sites.recipes.tarballs import packed

INDEX = b"""<!DOCTYPE html><link rel="stylesheet" href="css/own.css">
<link rel="stylesheet" href="https://fonts.googleapis.com/css?family=Some+Sans:400,700">
<script src="https://cdn.jsdelivr.net/npm/other@1.0.0/dist/other.js"></script>
<img src="img/One.JPG"><p>Words that are many, many, many, many, many enough to be worth compressing.</p>"""


@pytest.fixture
def template(tmp_path: Path) -> Template:
    own = packed(
        tmp_path,
        "page",
        {
            "LICENSE": b"own terms\n",
            "docs/LICENSE": b"not at the top",
            "dist/index.html": INDEX,
            "dist/css/own.css": b"p { color: red }",
            "dist/img/One.JPG": b"jpeg",
            "dist/notes.md": b"not served",
            "src/index.html": b"not of the folder",
        },
    )
    other = packed(tmp_path, "other", {"dist/other.js": b"let x = 1", "LICENSE.txt": b"other terms"})
    fonts = packed(
        tmp_path,
        "@fontsource/some-sans",
        {
            "unicode.json": json.dumps({"latin": "U+0000-00FF,U+0131"}).encode(),
            "files/some-sans-latin-400-normal.woff2": b"regular",
            "files/some-sans-latin-700-normal.woff2": b"bold",
        },
    )
    return Template(
        host="page.example",
        package=own,
        made=datetime(2020, 1, 1, tzinfo=UTC),
        folder="dist/",
        elsewhere=(("cdn.jsdelivr.net/npm/other@1.0.0/dist/other.js", other, "dist/other.js"),),
        fonts=(FontSheet("css?family=Some+Sans:400,700", faces(fonts, "Some Sans", (400, 700))),),
    )


def test_the_page_comes_first_and_every_file_from_its_host(template: Template, tmp_path: Path) -> None:
    found = list(template.responses(tmp_path))
    assert [response.url.removeprefix("https://") for response in found] == [
        "page.example/",
        "page.example/css/own.css",
        "page.example/img/One.JPG",
        "cdn.jsdelivr.net/npm/other@1.0.0/dist/other.js",
        "fonts.googleapis.com/css?family=Some+Sans:400,700",
        "fonts.gstatic.com/s/somesans/some-sans-latin-400-normal.woff2",
        "fonts.gstatic.com/s/somesans/some-sans-latin-700-normal.woff2",
    ]
    assert [response.mime for response in found] == [
        *("text/html", "text/css", "image/jpeg", "application/javascript", "text/css"),
        *("font/woff2", "font/woff2"),
    ]
    assert (
        missing({each.url: replace(each, body=decoded(each.body)) for each in found}, template.start_url)
        == []
    )


def decoded(body: bytes) -> bytes:
    return gzip.decompress(body) if body.startswith(b"\x1f\x8b") else body


def test_headers_are_those_of_the_host(template: Template, tmp_path: Path) -> None:
    page, *_, sheet, font, _ = template.responses(tmp_path)
    assert set(STATIC) <= set(page.headers)
    assert page.header("Content-Encoding") == "gzip"
    assert sheet.header("Cache-Control") == "private, max-age=86400"
    assert font.header("Content-Encoding") is None
    assert page.header("Last-Modified") == "Wed, 01 Jan 2020 00:00:00 GMT"


def test_a_rule_names_the_font_and_its_range(template: Template, tmp_path: Path) -> None:
    (sheet,) = (each for each in template.responses(tmp_path) if "googleapis" in each.url)
    css = decoded(sheet.body).decode()
    assert css.count("@font-face") == 2
    assert (
        "font-weight: 700;\n  src: url(https://fonts.gstatic.com/s/somesans/some-sans-latin-700-normal.woff2)"
        in css
    )
    assert "unicode-range: U+0000-00FF, U+0131;" in css


def test_another_page_of_a_package_keeps_its_path(template: Template) -> None:
    assert replace(template, page="about/index.html").start_url == "https://page.example/about/index.html"


def recipe(template: Template) -> Recipe:
    return Recipe(
        name="page",
        start_url=template.start_url,
        summary="A page.",
        licence="of its own",
        made=template.responses,
        packages=template.packages,
    )


def test_licence_texts_lie_beside_the_archive(template: Template, tmp_path: Path) -> None:
    made = recipe(template)
    assert licence_texts(made, tmp_path) == {
        "page@1.0.0: LICENSE": "own terms\n",
        "other@1.0.0: LICENSE.txt": "other terms",
    }
    archive = made.archive(tmp_path / "archives", tmp_path)
    keep_licences(made, archive.folder, tmp_path)
    text = (archive.folder / LICENCES_FILE).read_text()
    assert text.startswith(
        "page: A page.\nof its own\nMade of: page@1.0.0, other@1.0.0, @fontsource/some-sans@1.0.0\n"
    )
    assert "own terms" in text
    assert "other terms" in text


def test_licence_texts_that_are_there_stay_and_own_pages_have_none(
    template: Template, tmp_path: Path
) -> None:
    (tmp_path / LICENCES_FILE).write_text("mine")
    keep_licences(recipe(template), tmp_path, tmp_path)
    assert (tmp_path / LICENCES_FILE).read_text() == "mine"
    keep_licences(replace(recipe(template), packages=()), tmp_path / "nowhere", tmp_path)
    assert not (tmp_path / "nowhere").exists()

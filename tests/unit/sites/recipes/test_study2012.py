"""`mobile-news-2012`: the composition of the study, pictures of an exact size, what the filters of 2012 leave of it."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from harness.model.variant import parse_variant
from sites.optimise.derive import optimise
from sites.optimise.page import Page
from sites.recipes import RECIPES
from sites.recipes.study2012 import NEWS_PICTURES, NEWS_URL, STYLE_SHEET_URL, Thumbnail, packet
from sites.requisites import missing
from sites.response import Response

NOWHERE = Path("no-such-folder")


@pytest.fixture(scope="module")
def page() -> list[Response]:
    return list(RECIPES["mobile-news-2012"].responses(NOWHERE))


def test_it_has_the_composition_of_the_study(page: list[Response]) -> None:
    kinds = [response.mime.partition("/")[0] for response in page]
    assert len(page) == 11
    assert (kinds.count("image"), [response.mime for response in page[:2]]) == (9, ["text/html", "text/css"])
    assert sum(len(response.body) for response in page) == 38_500
    assert {urlsplit(each.url).hostname for each in page} == {"m.wire.example", "cdn.wire.example"}
    assert [each.url for each in page if "cdn" in each.url] == [STYLE_SHEET_URL]
    assert all(each.header("Content-Encoding") is None and each.url.startswith("http://") for each in page)


def test_the_page_of_one_host_differs_by_the_address_of_its_style_sheet_alone(page: list[Response]) -> None:
    moved = list(RECIPES["mobile-news-one-host"].responses(NOWHERE))
    assert [each.url for each in moved if "touch" in each.url] == ["http://m.wire.example/touch/touch.css"]
    assert [each.body for each in moved[1:]] == [each.body for each in page[1:]]
    known = {each.url: each for each in moved}
    assert (len(known), missing(known, NEWS_URL)) == (11, [])


def test_it_needs_exactly_what_it_has(page: list[Response]) -> None:
    known = {response.url: response for response in page}
    assert missing(known, NEWS_URL) == []
    assert len(missing({NEWS_URL: page[0]}, NEWS_URL)) == 10


def test_pictures_are_real_and_of_their_size(page: list[Response]) -> None:
    for response, picture in zip(page[2:], NEWS_PICTURES, strict=True):
        with Image.open(io.BytesIO(response.body)) as image:
            image.load()
            assert (image.size, len(response.body)) == ((picture.width, picture.height), picture.size_bytes)
            assert image.get_format_mimetype() == response.mime


def test_the_same_bytes_every_time(page: list[Response]) -> None:
    assert [each.body for each in RECIPES["mobile-news-2012"].responses(NOWHERE)] == [
        each.body for each in page
    ]


def test_a_size_that_cannot_be_had_is_refused() -> None:
    assert len(packet(400)) == 400
    with pytest.raises(ValueError, match="an XMP packet takes"):
        Thumbnail("x.jpg", 108, 108, 2_000, 7).encoded()


def test_the_filters_of_2012_leave_one_request_of_12_kilobytes(tmp_path: Path) -> None:
    """The study's trace holds 13.5 kB over one connection, with the headers of its packets."""
    plain = Page.of(RECIPES["mobile-news-2012"].archive(tmp_path, NOWHERE))
    _, report = optimise(plain, parse_variant("core-2012").filters)
    assert (report.before.size.requests, report.before.size.bytes) == (11, 38_500)
    assert report.after.size.requests == 1
    assert 11_500 < report.after.size.bytes < 12_500

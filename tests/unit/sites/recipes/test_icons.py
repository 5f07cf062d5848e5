"""`icons-2013`: the composition of the study, and 50 pictures that are real and different."""

from __future__ import annotations

import io
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from sites.recipes import RECIPES, icons
from sites.requisites import missing
from sites.response import Response


@pytest.fixture(scope="module")
def page() -> list[Response]:
    return list(RECIPES["icons-2013"].responses(Path("no-such-folder")))


def test_it_has_the_composition_of_the_study(page: list[Response]) -> None:
    assert (page[0].mime, len(page[0].body)) == ("text/html", 9_500)
    assert [response.mime for response in page[1:]] == 50 * ["image/png"]
    assert {urlsplit(response.url)[:2] for response in page} == {("http", "icons.example")}


def test_the_icons_are_different_and_of_the_size_of_real_ones(page: list[Response]) -> None:
    assert len({response.body for response in page[1:]}) == 50
    assert all(900 < len(response.body) < 2000 for response in page[1:])
    for response in page[1:]:
        with Image.open(io.BytesIO(response.body)) as picture:
            picture.load()
            assert (picture.size, picture.mode, picture.format) == ((32, 32), "RGBA", "PNG")
            assert picture.getchannel("A").getextrema() == (0, 255)  # the corners are transparent


def test_a_sign_is_white_on_its_colour(page: list[Response]) -> None:
    body = next(response.body for response in page if response.url.endswith("/sail-red.png"))
    with Image.open(io.BytesIO(body)) as picture:
        assert picture.getpixel((12, 18)) == (250, 250, 250, 255)
        red, green, blue, opaque = picture.getpixel((24, 3))  # type: ignore[misc]  # a tuple, for RGBA
    assert red > 2 * green
    assert red > 2 * blue
    assert opaque == 255


def test_the_page_needs_exactly_what_it_has(page: list[Response]) -> None:
    known = {response.url: response for response in page}
    assert missing(known, icons.START_URL) == []
    assert missing({icons.START_URL: page[0]}, icons.START_URL) == [response.url for response in page[1:]]


def test_the_same_bytes_every_time(page: list[Response]) -> None:
    assert [icons.icon(name) for name in icons.NAMES] == [response.body for response in page[1:]]

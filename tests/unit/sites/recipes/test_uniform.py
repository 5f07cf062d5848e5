"""Pages of one kind of content: the sizes and compositions of the studies, and bytes that stay the same."""

from __future__ import annotations

import hashlib
import io
import zlib
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from harness.errors import EnvironmentLacks
from sites.recipes import RECIPES, package_cache, uniform
from sites.recipes.recipe import Recipe, fetch
from sites.requisites import missing
from sites.response import Response

NOWHERE = Path("no-such-folder")
TEXTS = [f"text-{size}k" for size in uniform.SIZES_KB]
SPEECH = "Is this <text>? It is text & no more. " * 100


@pytest.fixture(scope="module")
def packages() -> Path:
    try:
        fetch([uniform.SPEECHES], package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"the texts need the network once: {error}")
    return package_cache()


@pytest.fixture(scope="module")
def texts(packages: Path) -> dict[str, Response]:
    """The only response of each page."""
    return {name: response for name in TEXTS for response in RECIPES[name].responses(packages)}


@pytest.mark.thorough
def test_a_text_is_one_document_of_exactly_its_size(texts: dict[str, Response]) -> None:
    assert [len(page.body) for page in texts.values()] == [10_000, 25_000, 50_000, 75_000, 100_000]
    assert {page.mime for page in texts.values()} == {"text/html"}
    assert all(missing({page.url: page}, uniform.TEXT_URL) == [] for page in texts.values())


@pytest.mark.thorough
def test_all_texts_begin_alike(texts: dict[str, Response]) -> None:
    longest = texts[TEXTS[-1]].body
    for page in texts.values():
        assert longest.startswith(page.body.removesuffix(uniform.TEXT_TAIL.encode()))


@pytest.mark.thorough
def test_gzip_saves_what_it_saves_on_english_prose(texts: dict[str, Response]) -> None:
    saved = [1 - len(zlib.compress(page.body, 6)) / len(page.body) for page in texts.values()]
    assert saved == sorted(saved)
    assert all(0.55 < share < 0.75 for share in saved)


def test_a_text_has_paragraphs_and_text_that_is_no_markup() -> None:
    page = uniform.text_page(SPEECH, 2000).decode()
    seen = Seen()
    seen.feed(page)
    assert len(page) == 2000
    assert seen.paragraphs == page.count("</p>") > 1
    assert "Is this <text>? It is text & no more. Is" in seen.text
    assert page.endswith("</p>\n</body>\n</html>\n")


class Seen(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.paragraphs, self.text = 0, ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.paragraphs += tag == "p"

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(("name", "size"), uniform.NOISE_SIZES.items())
def test_noise_is_one_picture_of_exactly_that_size(name: str, size: int) -> None:
    (response,) = RECIPES[f"noise-{name}"].responses(NOWHERE)
    assert len(response.body) == size
    assert response.header("Content-Length") == str(size)
    with Image.open(io.BytesIO(response.body)) as picture:
        picture.load()
        assert (picture.format, picture.mode, response.mime) == ("PNG", "L", "image/png")
        assert picture.height <= picture.width + 1 <= picture.height + 2


@pytest.mark.parametrize("size", uniform.NOISE_SIZES.values())
def test_nothing_compresses_noise(size: int) -> None:
    body = uniform.noise(size)
    assert len(zlib.compress(body, 9)) > 0.98 * len(body)


def test_noise_is_the_same_on_every_machine() -> None:
    assert (
        hashlib.sha256(uniform.noise(1000)).hexdigest()
        == "417e30f985df998467f2efc83bde9e651685e10f855de90b234c903828cc9808"
    )


@pytest.mark.parametrize(("recipe", "count"), list(zip(uniform.OBJECTS, uniform.COUNTS, strict=True)))
def test_a_page_of_objects_is_a_document_and_so_many_pictures_of_one_size(recipe: Recipe, count: int) -> None:
    document, *pictures = recipe.responses(NOWHERE)
    assert len(document.body) == uniform.PAGE_BYTES
    assert document.body.count(b"<img ") == len(pictures) == count
    assert {len(each.body) for each in pictures} == {uniform.PICTURES_BYTES // count}
    assert all(each.url.removeprefix(recipe.start_url).encode() in document.body for each in pictures)
    assert Image.open(io.BytesIO(pictures[0].body)).format == "PNG"


@pytest.fixture(scope="module")
def icons() -> list[Response]:
    return list(RECIPES["icons-2013"].responses(NOWHERE))


def test_the_page_of_icons_has_the_composition_of_the_study(icons: list[Response]) -> None:
    assert (icons[0].mime, len(icons[0].body)) == ("text/html", 9_500)
    assert [response.mime for response in icons[1:]] == 50 * ["image/png"]
    assert {urlsplit(response.url)[:2] for response in icons} == {("http", "icons.example")}


def test_the_icons_are_different_and_of_the_size_of_real_ones(icons: list[Response]) -> None:
    assert len({response.body for response in icons[1:]}) == 50
    assert all(900 < len(response.body) < 2000 for response in icons[1:])
    for response in icons[1:]:
        with Image.open(io.BytesIO(response.body)) as picture:
            picture.load()
            assert (picture.size, picture.mode, picture.format) == ((32, 32), "RGBA", "PNG")
            assert picture.getchannel("A").getextrema() == (0, 255)  # the corners are transparent


def test_a_sign_is_white_on_its_colour(icons: list[Response]) -> None:
    body = next(response.body for response in icons if response.url.endswith("/sail-red.png"))
    with Image.open(io.BytesIO(body)) as picture:
        assert picture.getpixel((12, 18)) == (250, 250, 250, 255)
        red, green, blue, opaque = picture.getpixel((24, 3))  # type: ignore[misc]  # a tuple, for RGBA
    assert red > 2 * green
    assert red > 2 * blue
    assert opaque == 255


def test_the_page_of_icons_needs_exactly_what_it_has(icons: list[Response]) -> None:
    known = {response.url: response for response in icons}
    assert missing(known, uniform.ICONS_URL) == []
    assert missing({uniform.ICONS_URL: icons[0]}, uniform.ICONS_URL) == [
        response.url for response in icons[1:]
    ]


def test_icons_are_the_same_every_time(icons: list[Response]) -> None:
    assert [uniform.icon(name) for name in uniform.NAMES] == [response.body for response in icons[1:]]

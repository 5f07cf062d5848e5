"""Pages of today: what their files name is there, they are the same every time, and each device gets its own.

Their photographs are cut to the size asked for, another one for each number.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from PIL import Image

from harness.errors import EnvironmentLacks
from harness.model.engine import DESKTOP, MOBILE
from sites.htcache import url_key
from sites.recipes import RECIPES, package_cache
from sites.recipes.composition import (
    PHOTOGRAPH_PACKAGES,
    PHOTOGRAPHS,
    PIXEL,
    Cut,
    PageHosts,
    Photographs,
    photographs_of,
    rendered,
)
from sites.recipes.recipe import PINNED, fetch, licence_texts
from sites.requisites import missing
from sites.response import Response
from sites.shipped import SHIPPED

NAMES = [name for name in SHIPPED if f"{name}-phone" in SHIPPED]
# An address with a host and an ending, as scripts and answers write it.
ADDRESS = re.compile(r"https://(?:[\w.-]+\.example|cdn\.jsdelivr\.net)/[\w./@-]*\.\w+")
FILMS = (".m3u8", "/hls.js")  # nobody starts them


def test_documents_differ_by_device() -> None:
    document = b'<p>{% if device == "mobile" %}small{% else %}large{% endif %}</p>'
    assert rendered(document, DESKTOP) == b"<p>large</p>"
    assert rendered(document, MOBILE) == b"<p>small</p>"


def test_photographs_are_those_that_files_name_on_any_host() -> None:
    texts = {
        "www.a.example/index.html": b"url(https://img.a.example/photo/3/40x30.webp), url(/photo/4/50x20.jpg)",
        "www.a.example/y.html": b"<img src=/up/photo/5/8x6.jpg>",
        "www.a.example/x.json": b'{"image": "https://img.a.example/photo/3/40x30.webp"}',
        "www.a.example/x.svg": b"<image href='/photo/9/1x1.jpg'/>",
    }
    assert photographs_of(texts) == {
        "img.a.example/photo/3/40x30.webp": Cut(3, 40, 30, "webp"),
        "www.a.example/photo/4/50x20.jpg": Cut(4, 50, 20, "jpg"),
        "www.a.example/up/photo/5/8x6.jpg": Cut(5, 8, 6, "jpg"),
    }


def test_a_part_of_some_hosts_has_what_these_have() -> None:
    library = (PINNED["lodash"], "lodash.min.js")
    part = PageHosts(
        folder="third-parties",
        libraries={"a.example/x.js": [library], "b.example/y.js": [library]},
        pixels=("a.example/1.gif", "b.example/2.gif"),
        silent=("b.example/beacon",),
        moved={"a.example/to": "b.example/from"},
    )
    assert part.of("a.example") == replace(
        part,
        hosts=("a.example",),
        libraries={"a.example/x.js": [library]},
        pixels=("a.example/1.gif",),
        silent=(),
    )


def page(name: str, folder: Path) -> dict[str, Response]:
    """What a page is made of, decoded, by URL: of the packages that it names and no others.

    Without them and a registry there is no page to test.
    """
    recipe = RECIPES[name]
    try:
        fetch(recipe.packages, package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"the page needs the network once: {error}")
    for package in recipe.packages:
        (folder / package.file_name).symlink_to(package_cache() / package.file_name)
    found = list(recipe.responses(folder))
    assert len({each.url for each in found}) == len(found)
    assert found[0].url == recipe.start_url
    return {
        each.url: replace(
            each, body=gzip.decompress(each.body) if each.header("Content-Encoding") else each.body
        )
        for each in found
    }


Pages = Mapping[str, dict[str, Response]]


@pytest.fixture(scope="module", params=NAMES)
def pages(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """A page and that for a phone, by name."""
    names = (request.param, f"{request.param}-phone")
    return {name: page(name, tmp_path_factory.mktemp("packages")) for name in names}


@pytest.mark.thorough
def test_all_that_a_page_and_its_scripts_name_is_there(pages: Pages) -> None:
    for name, made in pages.items():
        by_key = {url_key(url): each for url, each in made.items()}
        assert (name, missing(by_key, RECIPES[name].start_url)) == (name, [])
        own = (each.body.decode() for url, each in made.items() if ".example/" in url and is_text(each))
        named = {url for text in own for url in ADDRESS.findall(text) if not url.endswith(FILMS)}
        assert len(named) > 20, name
        assert named - made.keys() == set(), name


def is_text(response: Response) -> bool:
    return response.mime.startswith("text/") or "script" in response.mime or "json" in response.mime


@pytest.mark.thorough
def test_a_page_is_the_same_every_time_and_another_one_for_a_phone(pages: Pages, tmp_path: Path) -> None:
    (name, made), (_, phone) = pages.items()
    assert page(name, tmp_path) == made
    assert phone.keys() != made.keys()
    assert {urlsplit(url).hostname for url in phone} <= {urlsplit(url).hostname for url in made}


@pytest.mark.thorough
def test_what_counts_is_never_kept(pages: Pages) -> None:
    made, _ = pages.values()
    counting = [each for each in made.values() if each.body == PIXEL or each.status != 200]
    assert {each.status for each in counting} == {200, 204, 302}
    assert {each.header("Cache-Control") for each in counting} == {"no-store"}


@pytest.mark.thorough
def test_each_package_has_the_text_of_its_licence(pages: Pages) -> None:
    recipe = RECIPES[next(iter(pages))]
    texts = licence_texts(recipe, package_cache())
    assert {title.partition(":")[0] for title in texts} == set(map(str, recipe.packages))


@pytest.fixture(scope="module")
def photographs() -> Photographs:
    try:
        fetch(PHOTOGRAPH_PACKAGES, package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"photographs need the network once: {error}")
    return Photographs(package_cache())


@pytest.mark.thorough
@pytest.mark.parametrize(("kind", "form"), [("jpg", "JPEG"), ("webp", "WEBP")])
def test_a_photograph_has_the_size_asked_for(photographs: Photographs, kind: str, form: str) -> None:
    with Image.open(io.BytesIO(photographs.encoded(Cut(3, 120, 90, kind)))) as picture:
        assert (picture.format, picture.size, picture.mode) == (form, (120, 90), "RGB")


@pytest.mark.thorough
def test_numbers_are_different_pictures_and_each_is_the_same_every_time(photographs: Photographs) -> None:
    cuts = [Cut(number, 48, 32, "jpg") for number in range(3 * len(PHOTOGRAPHS))]
    made = [photographs.encoded(cut) for cut in cuts]
    assert len(set(made)) == len(cuts)
    assert photographs.encoded(cuts[20]) == made[20]

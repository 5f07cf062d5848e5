"""Pages of noise: exact sizes, pictures that a browser can load, few or many, and nothing to compress."""

from __future__ import annotations

import hashlib
import io
import zlib
from pathlib import Path

import pytest
from PIL import Image

from sites.recipes import RECIPES, noise
from sites.recipes.noise import COUNTS, OBJECTS, PAGE_BYTES, PICTURES_BYTES
from sites.recipes.recipe import Recipe


@pytest.mark.parametrize(("name", "size"), noise.SIZES.items())
def test_a_page_is_one_picture_of_exactly_that_size(name: str, size: int) -> None:
    (response,) = RECIPES[f"noise-{name}"].responses(Path("no-such-folder"))
    assert len(response.body) == size
    assert response.header("Content-Length") == str(size)
    with Image.open(io.BytesIO(response.body)) as picture:
        picture.load()
        assert (picture.format, picture.mode, response.mime) == ("PNG", "L", "image/png")
        assert picture.height <= picture.width + 1 <= picture.height + 2


@pytest.mark.parametrize("size", noise.SIZES.values())
def test_nothing_compresses_it(size: int) -> None:
    body = noise.noise(size)
    assert len(zlib.compress(body, 9)) > 0.98 * len(body)


def test_the_same_bytes_on_every_machine() -> None:
    assert (
        hashlib.sha256(noise.noise(1000)).hexdigest()
        == "417e30f985df998467f2efc83bde9e651685e10f855de90b234c903828cc9808"
    )


NOWHERE = Path("no-such-folder")


@pytest.mark.parametrize(("recipe", "count"), list(zip(OBJECTS, COUNTS, strict=True)))
def test_a_page_is_a_document_and_so_many_pictures_of_one_size(recipe: Recipe, count: int) -> None:
    document, *pictures = recipe.responses(NOWHERE)
    assert len(document.body) == PAGE_BYTES
    assert document.body.count(b"<img ") == len(pictures) == count
    assert {len(each.body) for each in pictures} == {PICTURES_BYTES // count}
    assert all(each.url.removeprefix(recipe.start_url).encode() in document.body for each in pictures)
    assert Image.open(io.BytesIO(pictures[0].body)).format == "PNG"

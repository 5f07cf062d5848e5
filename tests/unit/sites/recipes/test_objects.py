"""Pages of few and many objects are of the same bytes."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image

from sites.recipes.objects import COUNTS, OBJECTS, PAGE_BYTES, PICTURES_BYTES
from sites.recipes.recipe import Recipe

NOWHERE = Path("no-such-folder")


@pytest.mark.parametrize(("recipe", "count"), list(zip(OBJECTS, COUNTS, strict=True)))
def test_a_page_is_a_document_and_so_many_pictures_of_one_size(recipe: Recipe, count: int) -> None:
    document, *pictures = recipe.responses(NOWHERE)
    assert len(document.body) == PAGE_BYTES
    assert document.body.count(b"<img ") == len(pictures) == count
    assert {len(each.body) for each in pictures} == {PICTURES_BYTES // count}
    assert all(each.url.removeprefix(recipe.start_url).encode() in document.body for each in pictures)
    assert Image.open(io.BytesIO(pictures[0].body)).format == "PNG"

"""Photographs of packages: cut to the size asked for, another one for each number, the same every time."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from harness.errors import EnvironmentLacks
from sites.recipes import package_cache
from sites.recipes.photographs import PACKAGES, PHOTOGRAPHS, Cut, Photographs
from sites.recipes.recipe import fetch

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def photographs() -> Photographs:
    try:
        fetch(PACKAGES, package_cache())
    except EnvironmentLacks as error:
        pytest.skip(f"photographs need the network once: {error}")
    return Photographs(package_cache())


@pytest.mark.parametrize(("kind", "form"), [("jpg", "JPEG"), ("webp", "WEBP")])
def test_a_photograph_has_the_size_asked_for(photographs: Photographs, kind: str, form: str) -> None:
    with Image.open(io.BytesIO(photographs.encoded(Cut(3, 120, 90, kind)))) as picture:
        assert (picture.format, picture.size, picture.mode) == (form, (120, 90), "RGB")


def test_numbers_are_different_pictures_and_each_is_the_same_every_time(photographs: Photographs) -> None:
    cuts = [Cut(number, 48, 32, "jpg") for number in range(3 * len(PHOTOGRAPHS))]
    made = [photographs.encoded(cut) for cut in cuts]
    assert len(set(made)) == len(cuts)
    assert photographs.encoded(cuts[20]) == made[20]

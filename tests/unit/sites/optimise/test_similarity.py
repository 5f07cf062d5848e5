"""Structural similarity: known values, and what it must tell apart."""

from __future__ import annotations

from io import BytesIO

import pytest
from PIL import Image, ImageFilter

from sites.optimise.similarity import structural_similarity


def png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def flat(level: int) -> bytes:
    return png(Image.new("L", (40, 30), level))


def test_flat_pictures_differ_by_luminance_alone() -> None:
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 150 + c1) / (100**2 + 150**2 + c1)
    assert structural_similarity(flat(100), flat(150)) == pytest.approx(expected)
    assert structural_similarity(flat(100), flat(100)) == 1


def test_more_loss_is_less_alike() -> None:
    picture = Image.effect_noise((200, 150), 60)
    blurred = [png(picture.filter(ImageFilter.GaussianBlur(radius))) for radius in (0, 0.5, 1, 2)]
    values = [structural_similarity(png(picture), each) for each in blurred]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(1)
    assert values[-1] < 0.5


def test_a_missing_part_shows() -> None:
    page = Image.new("L", (400, 300), 255)
    text = Image.effect_noise((200, 100), 90)
    whole = page.copy()
    whole.paste(text, (50, 50))
    assert structural_similarity(png(whole), png(page)) < 0.9


def test_another_size_is_no_match() -> None:
    assert structural_similarity(flat(1), png(Image.new("L", (40, 31), 1))) == 0

"""Structural similarity: known values, and what it must tell apart."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image, ImageFilter

from harness.verify.similarity import similarity, structure


def png(image: Image.Image) -> bytes:
    file = BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def flat(level: int) -> bytes:
    return png(Image.new("L", (40, 30), level))


def test_flat_pictures_differ_by_luminance_alone() -> None:
    c1 = (0.01 * 255) ** 2
    expected = (2 * 100 * 150 + c1) / (100**2 + 150**2 + c1)
    alike, varied = structure(np.full((30, 40), 100.0), np.full((30, 40), 150.0))
    assert alike == pytest.approx(np.full((30, 40), expected))
    assert not varied.any()
    assert similarity(flat(100), flat(100)) == 1
    assert (
        similarity(flat(100), flat(150)) == 0
    )  # the whole ground is another, which is more than a twentieth


def test_more_loss_is_less_alike() -> None:
    picture = Image.effect_noise((200, 150), 60)
    blurred = [png(picture.filter(ImageFilter.GaussianBlur(radius))) for radius in (0, 0.5, 1, 2)]
    values = [similarity(png(picture), each) for each in blurred]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(1)
    assert values[-1] < 0.5


def test_a_missing_part_shows() -> None:
    page = Image.new("L", (400, 300), 255)
    text = Image.effect_noise((200, 100), 90)
    whole = page.copy()
    whole.paste(text, (50, 50))
    assert similarity(png(whole), png(page)) < 0.1


def test_a_line_that_moved_on_blank_paper_shows() -> None:
    line = Image.effect_noise((120, 12), 90)
    one, other = (Image.new("L", (400, 300), 255) for _ in range(2))
    one.paste(line, (20, 20))
    other.paste(line, (20, 60))
    assert similarity(png(one), png(other)) < 0.2


def test_another_size_is_no_match() -> None:
    assert similarity(flat(1), png(Image.new("L", (40, 31), 1))) == 0

"""Films in the page of a report: small pictures made anew, as many as there is room for."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from analysis.evaluation.medianloads import MedianFilm, MedianFilms, MedianLoads
from analysis.runs.filmfile import KeptFilm, read_film
from analysis.waterfalls.filmview import MOST_BYTES, MOST_PICTURES, PICTURE_PIXELS, film_data
from analysis.waterfalls.waterfallview import view
from tests.unit.analysis.synthetic_film import keep_film

pytestmark = pytest.mark.thorough


def noisy(folder: Path, frames: int) -> KeptFilm:
    """A film whose pictures can hardly be compressed."""
    index = keep_film(folder, [10.0 * number for number in range(1, frames)])
    source = np.random.default_rng(1)
    for path in index.parent.glob("*.jpg"):
        noise = source.integers(0, 256, (164, 320, 3), dtype=np.uint8)
        Image.fromarray(noise).save(path, "JPEG", quality=95)
    return read_film(index)


def size_of(data: object) -> int:
    return len(json.dumps(data))


def test_pictures_are_small_and_in_the_order_of_time(tmp_path: Path) -> None:
    data = film_data(read_film(keep_film(tmp_path, [100.0, 250.0])), 1)
    assert data["size"] == (PICTURE_PIXELS, 102)
    assert [frame[:2] for frame in data["frames"]] == [[0, 0], [100, 0.5], [250, 1]]
    shown = Image.open(io.BytesIO(base64.b64decode(data["frames"][0][2])))
    assert (shown.format, shown.size) == ("WEBP", (PICTURE_PIXELS, 102))
    assert size_of(data) < 3000


def test_many_pictures_and_many_films_share_the_room(tmp_path: Path) -> None:
    film = noisy(tmp_path, 100)
    alone, shared = film_data(film, 1), film_data(film, 60)
    assert len(alone["frames"]) == MOST_PICTURES
    assert 2 <= len(shared["frames"]) < 10
    for data in (alone, shared):
        assert (data["frames"][0][0], data["frames"][-1][0]) == (0, 990)
    assert 60 * size_of(shared) < 1.2 * MOST_BYTES


def test_a_load_that_was_filmed_alone_has_a_film_and_no_rows(tmp_path: Path) -> None:
    film = MedianFilm("x", "run", "00001", 500.0, 500.0, 5, read_film(keep_film(tmp_path, [100.0])))
    found = view(MedianLoads((), 0, ()), MedianFilms((film,), 1, ()))
    assert found is not None
    assert found.filmed
    (load,) = json.loads(found.data)["loads"]
    assert (load["requests"], len(load["film"]["frames"])) == ([], 2)
    assert view(MedianLoads((), 0, ())) is None

"""Films: from the pictures of a trace to frames on the time axis of the load."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from harness.engines.browser import Pictures
from harness.errors import Outcome
from harness.model.kind import FILM
from harness.probes.film import INDEX, Film, film_of

START_MS = 70_000.0  # navigation start on the clock of the trace
END_MS = 75_000.0


def jpeg(boxes: int, size: tuple[int, int] = (200, 100), paper: str = "#ffffff") -> bytes:
    made, file = Image.new("RGB", size, paper), io.BytesIO()
    for number in range(boxes):
        left = 20 * number
        ImageDraw.Draw(made).rectangle((left, 20, left + 15, 35), fill="#204080")
    made.save(file, "JPEG", quality=80)
    return file.getvalue()


def taken(at_ms: float, picture: bytes) -> tuple[float, bytes]:
    """A picture of the trace, at ms since navigation start."""
    return START_MS + at_ms, picture


def filmed(pictures: Sequence[tuple[float, bytes]], *, cut: bool = False) -> Film:
    found = film_of(Pictures(tuple(pictures), cut), START_MS, END_MS)
    assert found is not None
    return found


def test_the_film_begins_with_what_was_shown_when_the_navigation_began() -> None:
    old = [taken(-900, jpeg(9)), taken(-20, jpeg(0))]
    boxes = [taken(100 * number, jpeg(number)) for number in range(1, 11)]
    film = filmed([*reversed(boxes), *old])
    assert [each.at_ms for each in film.frames] == [0, *(100 * number for number in range(1, 11))]
    assert [each.progress for each in film.frames] == pytest.approx(
        [number / 10 for number in range(11)], abs=0.02
    )
    assert film.speed_index_ms == pytest.approx(550, rel=0.02)
    assert (film.first_change_ms, film.mostly_complete_ms, film.last_change_ms) == (100, 900, 1000)
    assert (film.width, film.height, film.until_ms, film.cut) == (200, 100, 5000, False)


def test_pictures_that_show_the_same_are_one_frame() -> None:
    film = filmed(
        [taken(-1, jpeg(0)), taken(50, jpeg(3)), taken(90, jpeg(3, paper="#fcfcfc")), taken(120, jpeg(4))]
    )
    assert [each.at_ms for each in film.frames] == [0, 50, 120]


def test_a_tab_that_never_changed_has_a_picture_and_no_times() -> None:
    film = filmed([taken(-1, jpeg(2)), taken(400, jpeg(2))])
    assert len(film.frames) == 1
    assert (film.speed_index_ms, film.first_change_ms, film.last_change_ms, film.mostly_complete_ms) == (
        None,
        None,
        None,
        None,
    )


def test_a_tab_that_had_drawn_nothing_yet_was_white() -> None:
    film = filmed([taken(50, jpeg(0)), taken(100, jpeg(3))])
    assert [(each.at_ms, each.progress) for each in film.frames] == [(0, 0), (100, 1)]
    assert film_of(Pictures(), START_MS, END_MS) is None


def test_pictures_of_another_size_are_brought_to_that_of_the_last() -> None:
    film = filmed([taken(-1, jpeg(0, (100, 100))), taken(50, jpeg(5)), taken(100, jpeg(10))])
    assert (film.width, film.height) == (200, 100)
    assert [each.progress for each in film.frames] == pytest.approx([0, 0.5, 1], abs=0.02)


def test_a_film_that_was_cut_tells_nothing_but_its_frames() -> None:
    film = filmed([taken(number, jpeg(number % 2)) for number in range(9)], cut=True)
    assert film.cut
    assert len(film.frames) == 9
    assert film.speed_index_ms is film.last_change_ms is None


def test_a_film_is_stored_as_pictures_and_an_index(tmp_path: Path) -> None:
    film = filmed([taken(-1, jpeg(0)), taken(50.04, jpeg(3))])
    film.store(tmp_path / FILM, Outcome.OK)
    index = json.loads((tmp_path / FILM / INDEX).read_text())
    assert index == {
        "schema": 1,
        "width": 200,
        "height": 100,
        "until_ms": 5000.0,
        "cut": False,
        "frames": [
            {"file": "0001.jpg", "at_ms": 0.0, "progress": 0.0},
            {"file": "0002.jpg", "at_ms": 50.0, "progress": 1.0},
        ],
    }
    assert [(tmp_path / FILM / each["file"]).read_bytes() for each in index["frames"]] == [jpeg(0), jpeg(3)]


def test_the_film_of_a_load_that_failed_says_so_and_tells_nothing_but_its_frames(tmp_path: Path) -> None:
    film = film_of(Pictures((taken(-1, jpeg(0)), taken(50, jpeg(3)))), START_MS, END_MS, failed=True)
    assert film is not None
    assert (len(film.frames), film.speed_index_ms, film.mostly_complete_ms) == (2, None, None)
    film.store(tmp_path / FILM, Outcome.PAGE_TIMEOUT)
    assert json.loads((tmp_path / FILM / INDEX).read_text())["outcome"] == "page-timeout"

"""The film of a trial is read as what anybody may have written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from analysis.runs.filmfile import LARGEST_BYTES, MOST_FRAMES, picture, read_film
from tests.unit.analysis.synthetic_film import SIZE, keep_film


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return keep_film(tmp_path, [100.0, 250.0, 400.0])


def changed(index: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    data = json.loads(index.read_text())
    change(data)
    index.write_text(json.dumps(data))
    return index


def test_a_film_shows_what_was_shown_at_a_time(index: Path) -> None:
    film = read_film(index)
    assert [film.at(ms).at_ms for ms in (-50, 0, 99.9, 100, 399, 9000)] == [0, 0, 0, 100, 250, 400]
    assert (film.size, film.until_ms, film.last_change_ms) == (SIZE, 5000, 400)
    assert [each.progress for each in film.frames] == pytest.approx([0, 1 / 3, 2 / 3, 1])


@pytest.mark.parametrize(
    ("told", "outcome"), [("page-timeout", "page-timeout"), ("<b>", ""), (7, ""), ({}, ""), (None, "")]
)
def test_how_a_load_ended_that_failed_is_one_of_our_words(index: Path, told: object, outcome: str) -> None:
    assert read_film(changed(index, lambda data: data.update(outcome=told))).outcome == outcome


def test_a_picture_is_made_anew_in_the_size_that_is_asked_for(index: Path) -> None:
    made = picture(read_film(index).frames[-1], (80, 41))
    assert (made.size, made.mode) == ((80, 41), "RGB")
    assert made.getpixel((40, 38)) == pytest.approx((255, 255, 255), abs=3)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: data.pop("frames"), "no list of frames"),
        (lambda data: data.update(frames=[]), "no list of frames"),
        (lambda data: data.update(frames=data["frames"] * MOST_FRAMES), "at most 10,000 are shown"),
        (lambda data: data["frames"].reverse(), "not in the order of time"),
        (lambda data: data["frames"][0].update(file="../../../etc/passwd"), "a frame's file is '../"),
        (lambda data: data["frames"][0].update(file=7), "a frame is {"),
        (lambda data: data["frames"][1].update(at_ms=-1), "at_ms is -1; it must be 0 to"),
        (lambda data: data["frames"][1].update(at_ms=True), "at_ms is True"),
        (lambda data: data["frames"][1].update(progress=1.5), "progress is 1.5; it must be 0 to 1"),
        (lambda data: data.update(width=10**6), "width is 1e+06; it must be 1 to 2000"),
        (lambda data: data.pop("until_ms"), "until_ms is None"),
    ],
)
def test_an_index_that_cannot_be_is_refused_in_one_line(
    index: Path, change: Callable[[dict[str, Any]], object], said: str
) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - its text is looked at
        read_film(changed(index, change))
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes()[:200]),
        lambda path: path.write_bytes(b"<svg onload=alert(1)>"),
        lambda path: path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100)),
        lambda path: path.write_bytes(path.read_bytes() + bytes(LARGEST_BYTES)),
    ],
)
def test_a_picture_that_is_gone_or_damaged_is_refused_in_one_line(
    index: Path, damage: Callable[[Path], object]
) -> None:
    frame = read_film(index).frames[1]
    damage(frame.path)
    with pytest.raises(ValueError, match=r"^0002\.jpg ") as caught:
        picture(frame, (10, 10))
    assert "\n" not in str(caught.value)

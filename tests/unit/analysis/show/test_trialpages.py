"""A film as a row of pictures: every picture, or some of many evenly, and those that are gone without a name."""

from __future__ import annotations

from pathlib import Path

from analysis.runs.filmfile import FilmFrame, KeptFilm
from analysis.show.trialpages import MOST_FRAMES, shown_frames


def film(count: int) -> KeptFilm:
    frames = tuple(
        FilmFrame(Path(f"/x/filmstrip/{number:04d}.jpg"), 10.0 * number, number / count)
        for number in range(count)
    )
    return KeptFilm(frames, 10.0 * count, (320, 164))


def test_each_picture_has_its_time_and_progress() -> None:
    made = shown_frames(film(4), {"0002.jpg"})
    assert [each.name for each in made] == [
        "filmstrip/0000.jpg",
        "filmstrip/0001.jpg",
        None,
        "filmstrip/0003.jpg",
    ]
    assert [each.text for each in made] == ["0 ms, 0 %", "10 ms, 25 %", "20 ms, 50 %", "30 ms, 75 %"]


def test_of_many_some_are_shown_the_first_and_the_last_among_them() -> None:
    names = [each.name for each in shown_frames(film(1000))]
    assert len(names) == len(set(names)) == MOST_FRAMES
    assert (names[0], names[-1]) == ("filmstrip/0000.jpg", "filmstrip/0999.jpg")

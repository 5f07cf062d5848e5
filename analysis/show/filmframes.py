"""The film of an attempt as a row of pictures. Pure."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from analysis.labels import words
from analysis.runs.filmfile import FILE, KeptFilm

MOST_FRAMES = 60


@dataclass(frozen=True)
class ShownFrame:
    """A picture by its name in the folder of the attempt, None of one that is gone; and what is written below it."""

    name: str | None
    text: str


def shown_frames(film: KeptFilm, gone: Container[str] = ()) -> tuple[ShownFrame, ...]:
    """The pictures of a film, or so many of them evenly, the first and the last among them."""
    count = len(film.frames)
    numbers: Sequence[int] = range(count)
    if count > MOST_FRAMES:
        numbers = sorted({round(place * (count - 1) / (MOST_FRAMES - 1)) for place in range(MOST_FRAMES)})
    folder = FILE.rpartition("/")[0]
    return tuple(
        ShownFrame(
            None if each.path.name in gone else f"{folder}/{each.path.name}",
            f"{words.duration(each.at_ms)}, {100 * each.progress:.0f} %",
        )
        for each in (film.frames[number] for number in numbers)
    )

"""The films of a report's interactive waterfalls: pictures made anew, small, as many as there is room for."""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Sequence
from typing import Any, TypeVar

from analysis.runs.filmfile import FilmFrame, KeptFilm, picture

MOST_BYTES = 2_500_000  # of all films together
MOST_PICTURES = 40  # of a film
PICTURE_PIXELS = 200
QUALITY = 55
Each = TypeVar("Each")


def film_data(film: KeptFilm, films: int) -> dict[str, Any]:
    """Its size and, in the order of time, when each picture came, the progress with it, and the picture as WebP.

    `films` share the room.
    """
    size = PICTURE_PIXELS, max(1, round(PICTURE_PIXELS * film.size[1] / film.size[0]))
    some = _evenly(film.frames, MOST_PICTURES)
    made = [_webp(each, size) for each in some]
    fit = max(2, math.floor(MOST_BYTES / films / (sum(map(len, made)) / len(made))))
    kept = _evenly(list(zip(some, made, strict=True)), fit)
    return {
        "size": size,
        "frames": [[each.at_ms, round(each.progress, 3), text] for each, text in kept],
    }


def _evenly(items: Sequence[Each], most: int) -> list[Each]:
    """At most so many, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    return [items[round(number * (len(items) - 1) / (most - 1))] for number in range(most)]


def _webp(frame: FilmFrame, size: tuple[int, int]) -> str:
    file = io.BytesIO()
    picture(frame, size).save(file, "WEBP", quality=QUALITY)
    return base64.b64encode(file.getvalue()).decode("ascii")

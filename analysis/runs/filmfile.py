"""The film of a trial, as a figure needs it. It is of unknown origin: its pictures are decoded and made anew.

No metric comes from here. A film that is not as it should be is refused in one line.
"""

from __future__ import annotations

import base64
import io
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from PIL import Image

from harness.errors import Outcome
from harness.input import jsontext
from harness.input.shown import shown

FILE = "filmstrip/film.json"
NAME = re.compile(r"\d{4,6}\.jpg")
MOST_FRAMES = 10_000
LARGEST_SIDE = 2000  # pixels
LARGEST_BYTES = 2_000_000  # of a picture
LATEST_MS = 1e8


@dataclass(frozen=True)
class FilmFrame:
    """A picture, from when it was shown, and the visual progress with it, 0 to 1."""

    path: Path
    at_ms: float
    progress: float


@dataclass(frozen=True)
class KeptFilm:
    """At least one frame, in the order of time, from navigation start to `until_ms`.

    `outcome` is how a load ended that failed, as its index says; empty of others.
    """

    frames: tuple[FilmFrame, ...]
    until_ms: float
    size: tuple[int, int]
    outcome: str = ""

    def at(self, ms: float) -> FilmFrame:
        """What was shown then; the first picture, too, before the navigation began."""
        return next((frame for frame in reversed(self.frames) if frame.at_ms <= ms), self.frames[0])

    def scaled(self, width: int) -> tuple[int, int]:
        """The size of its pictures at a width in pixels."""
        return width, max(1, round(width * self.size[1] / self.size[0]))

    @property
    def last_change_ms(self) -> float:
        return self.frames[-1].at_ms


def read_film(index: Path) -> KeptFilm:
    """The film of an index file; ValueError, in one line, when it is none that can be shown, OSError without one."""
    data = jsontext.read(index)
    entries = data.get("frames")
    if not isinstance(entries, list) or not entries:
        raise ValueError("no film: it has no list of frames")
    if len(entries) > MOST_FRAMES:
        raise ValueError(f"it has {len(entries):,} frames; at most {MOST_FRAMES:,} are shown")
    frames = tuple(_frame(entry, index.parent) for entry in entries)
    if any(one.at_ms > other.at_ms for one, other in pairwise(frames)):
        raise ValueError("its frames are not in the order of time")
    width, height = (int(_number(data, side, 1, LARGEST_SIDE)) for side in ("width", "height"))
    until = max(_number(data, "until_ms", 0, LATEST_MS), frames[-1].at_ms)
    outcome = next((ending.value for ending in Outcome if ending == data.get("outcome")), "")
    return KeptFilm(frames, until, (width, height), outcome)


def picture(frame: FilmFrame, size: tuple[int, int]) -> Image.Image:
    """A frame of that size; ValueError, in one line, when its file is gone or damaged."""
    try:
        if frame.path.stat().st_size > LARGEST_BYTES:
            raise ValueError(f"{frame.path.name} is larger than {LARGEST_BYTES / 1e6:g} MB")
        with Image.open(frame.path, formats=("JPEG",)) as opened:
            if max(opened.size) > LARGEST_SIDE:
                raise ValueError(f"{frame.path.name} is larger than {LARGEST_SIDE} pixels")
            opened.draft("RGB", size)  # decodes no more than is needed
            return opened.convert("RGB").resize(size, Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:  # of files that are damaged
        raise ValueError(f"{frame.path.name} cannot be read ({shown(str(error))})") from error


def webp(made: Image.Image) -> str:
    """A small picture for a page, in base64."""
    file = io.BytesIO()
    made.save(file, "WEBP", quality=55)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _frame(entry: Any, folder: Path) -> FilmFrame:
    if not isinstance(entry, dict) or not isinstance(entry.get("file"), str):
        raise ValueError(f"a frame is {shown(entry)}")  # noqa: TRY004 - of the file, as all others
    if not NAME.fullmatch(entry["file"]):
        raise ValueError(f"a frame's file is {shown(entry['file'])}")
    return FilmFrame(
        folder / entry["file"], _number(entry, "at_ms", 0, LATEST_MS), _number(entry, "progress", 0, 1)
    )


def _number(holder: Mapping[str, Any], key: str, least: float, most: float) -> float:
    value = holder.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{key} is {shown(value)}")
    if not least <= value <= most:
        raise ValueError(f"{key} is {value:g}; it must be {least:g} to {most:g}")
    return float(value)

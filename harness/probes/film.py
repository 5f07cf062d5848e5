"""Probe of the film of a load: the pictures that its tab showed, in its trace, and what they tell.

The browser takes the pictures itself, outside of the page, and stamps them by the clock of navigation start.

Visual progress is by the histogram method of the original Speed Index (P. Meenan, WebPageTest 2012), as in his
visualmetrics (github.com/WPO-Foundation/visualmetrics): how much of what distinguishes the last picture's colours from
the first one's has come. Where a pixel is does not count. Unlike there, progress is not rounded down to whole per
cents.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

from harness.engines.browser import BrowserTrace, Pictures, TracePart
from harness.errors import Outcome
from harness.model.engine import Capability
from harness.model.kind import FILM  # the folder, too
from harness.model.metric import Column, MetricTable, Source, Unit, metric
from harness.probes.evidence import Evidence
from harness.probes.probe import Probe
from harness.probes.timeline import times

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL import Image

    FramePixels = NDArray[np.uint8]  # height x width x (red, green, blue)
    Histogram = NDArray[np.int64]  # (red, green, blue) x 256

INDEX = "film.json"
SCHEMA = 1
MOSTLY = 0.85
LEVELS = 256
WHITE = 250  # a pixel that has this in all three colours is white, and not counted
SLOP = 5  # levels by which a colour may be off
FUZZ = 0.1 * LEVELS  # a picture is another one when a pixel is off by more


class FramePicture(TypedDict):
    """A picture of a film, as film.json has it."""

    file: str
    """name of the picture"""
    at_ms: float
    """when it came, since navigation start; it stays until the next one"""
    progress: float
    """visual progress from 0 to 1, which may fall again"""


class FilmIndex(TypedDict):
    """film.json."""

    schema: int
    """version of the format"""
    width: int
    """of every picture, in pixels"""
    height: int
    """of every picture, in pixels"""
    until_ms: float
    """how long the film is: the last picture stayed until then"""
    cut: bool
    """as `film_cut`"""
    frames: list[FramePicture]
    """pictures in the order of time; the first is what the tab showed at navigation start"""
    outcome: NotRequired[str]
    """how the load failed; absent for others"""


@dataclass(frozen=True)
class Frame:
    """A picture as JPEG, when it came, in ms since navigation start, and the visual progress with it."""

    at_ms: float
    jpeg: bytes
    progress: float


@dataclass(frozen=True)
class Film:
    """At least one frame, the first at 0; each stays until the next one comes, the last until `until_ms`.

    `cut`: the browser took no more pictures before the end. `failed`: the load did, and was filmed until then. Of both
    nothing is told but the frames.
    """

    width: int
    height: int
    until_ms: float
    cut: bool
    frames: tuple[Frame, ...]
    failed: bool = False

    @property
    def tells(self) -> bool:
        """Whether anything changed, and the film shows how it ended."""
        return len(self.frames) > 1 and not self.cut and not self.failed

    @property
    def speed_index_ms(self) -> float | None:
        times, progress = zip(*((frame.at_ms, frame.progress) for frame in self.frames), strict=True)
        return round(speed_index_ms(times, progress), 1) if self.tells else None

    @property
    def first_change_ms(self) -> float | None:
        return self.frames[1].at_ms if self.tells else None

    @property
    def last_change_ms(self) -> float | None:
        return self.frames[-1].at_ms if self.tells else None

    @property
    def mostly_complete_ms(self) -> float | None:
        """When the progress first was 85 %."""
        return next(frame.at_ms for frame in self.frames if frame.progress >= MOSTLY) if self.tells else None

    def store(self, folder: Path, outcome: Outcome) -> None:
        """Write the pictures and their index, which says how the load ended when it failed."""
        folder.mkdir(parents=True, exist_ok=True)
        names = [f"{number:04d}.jpg" for number in range(1, len(self.frames) + 1)]
        for name, frame in zip(names, self.frames, strict=True):
            (folder / name).write_bytes(frame.jpeg)
        index: FilmIndex = {
            "schema": SCHEMA,
            "width": self.width,
            "height": self.height,
            "until_ms": self.until_ms,
            "cut": self.cut,
            "frames": [
                {"file": name, "at_ms": frame.at_ms, "progress": round(frame.progress, 4)}
                for name, frame in zip(names, self.frames, strict=True)
            ],
        }
        if outcome is not Outcome.OK:
            index["outcome"] = outcome.value
        (folder / INDEX).write_text(json.dumps(index), encoding="utf-8")


@dataclass(frozen=True)
class Filmed:
    """A load that was filmed; no film without pictures."""

    film: Film | None = None


@dataclass(frozen=True)
class FilmMetrics:
    """What the page showed when; times are ms since navigation start."""

    filmed: bool | None = metric(
        "Filmed", Unit.FLAG, Source.FILM, "true when the page was filmed while it loaded, else null"
    )
    speed_index_ms: float | None = metric(
        "Speed index",
        Unit.MS,
        Source.FILM,
        "Speed Index: the time until `last_visual_change_ms`, each part of it times what was not yet seen",
        Column(MetricTable.OTHER_TIMES, 6),
    )
    first_visual_change_ms: float | None = metric(
        "First change",
        Unit.MS,
        Source.FILM,
        "when the first picture came that differs from that at navigation start",
    )
    last_visual_change_ms: float | None = metric(
        "Last change", Unit.MS, Source.FILM, "when the last picture came that differs from the one before"
    )
    visually_complete_85_ms: float | None = metric(
        "85 % complete", Unit.MS, Source.FILM, "when visual progress first was 85 % or more"
    )
    film_frames: int | None = metric(
        "Frames", Unit.COUNT, Source.FILM, "pictures of the film that differ from the one before"
    )
    film_cut: bool | None = metric(
        "Film cut",
        Unit.FLAG,
        Source.FILM,
        "whether the film ends before the page came to rest, for want of room",
    )


class FilmProbe(Probe):
    """The pictures are read when the browser has gone: that costs no trial its time."""

    metrics = FilmMetrics
    needs = frozenset({Capability.TRACE})
    asked_by = FILM
    of_trace = TracePart.PICTURES
    film: Film | None = None

    def traced(self, trace: BrowserTrace, ended_ms: float) -> None:
        load = self.load
        began = (load.timeline or {}).get("navigation_start_ms")
        began = load.asked_ms if began is None else began  # when asked: some ms before navigation start
        if began is not None:
            self.film = film_of(trace.pictures(), began, ended_ms, failed=load.failed)

    def seen(self) -> Filmed:
        return Filmed(self.film)

    def store(self, evidence: Evidence, metrics: Mapping[str, Any], outcome: Outcome) -> None:
        del evidence, metrics
        if self.film is not None:
            self.film.store(self.load.files / FILM, outcome)

    @staticmethod
    def reduce(evidence: Evidence) -> Mapping[str, Any]:
        """Of a page that is the one asked for."""
        seen = evidence.get(Filmed)
        film = seen.film if seen else None
        if film is None or not times(evidence):
            return {"filmed": True if seen else None}
        return {
            "filmed": True,
            "speed_index_ms": film.speed_index_ms,
            "first_visual_change_ms": film.first_change_ms,
            "last_visual_change_ms": film.last_change_ms,
            "visually_complete_85_ms": film.mostly_complete_ms,
            "film_frames": len(film.frames),
            "film_cut": film.cut,
        }


def film_of(
    pictures: Pictures, navigation_start_ms: float, end_ms: float, *, failed: bool = False
) -> Film | None:
    """The film from navigation start to its end, both on the clock of the trace; None without pictures."""
    taken = sorted(pictures.taken, key=lambda each: each[0])
    seen = seen_since([picture for picture in taken if picture[0] <= end_ms], navigation_start_ms)
    if seen is None:
        return None
    size, shown = seen
    frames = tuple(Frame(*picture) for picture in shown)
    return Film(*size, round(end_ms - navigation_start_ms, 1), pictures.cut, frames, failed)


def speed_index_ms(times_ms: Sequence[float], progress: Sequence[float]) -> float:
    """The time from the first picture to the last, each part of it times what was not seen then."""
    spans = zip(times_ms, times_ms[1:], progress, strict=False)
    return sum((end - begin) * (1.0 - seen) for begin, end, seen in spans)


def histogram(pixels: FramePixels) -> Histogram:
    """How many pixels that are not white have each level."""
    import numpy as np

    seen = pixels[(pixels < WHITE).any(axis=2)]
    return np.stack([np.bincount(seen[:, channel], minlength=LEVELS) for channel in range(3)])


def differ(one: FramePixels, other: FramePixels) -> bool:
    """Whether two pictures of one size show something else, beyond what a lossy format does to them."""
    import numpy as np

    return bool((np.abs(one.astype(np.int16) - other) > FUZZ).any())


def visual_progress(histograms: Sequence[Histogram]) -> list[float]:
    """The progress from the first to the last picture, 0 to 1, of pictures of one size."""
    import numpy as np

    counted = np.stack(histograms)
    came = np.abs(counted - counted[0])
    wanted = np.abs(np.broadcast_to(counted[-1] - counted[0], counted.shape))
    whole = int(wanted[0].sum())
    if not whole:
        return [1.0] * len(counted)
    left = wanted.copy()
    for level in range(LEVELS):
        for near in range(max(0, level - SLOP), min(LEVELS, level + SLOP + 1)):
            match = np.minimum(left[:, :, level], came[:, :, near])
            left[:, :, level] -= match
            came[:, :, near] -= match
    return [1.0 - float(missing) / whole for missing in left.sum(axis=(1, 2))]


def seen_since(
    taken: Sequence[tuple[float, bytes]], begin_ms: float
) -> tuple[tuple[int, int], list[tuple[float, bytes, float]]] | None:
    """Width and height of pictures, and those that differ from the one before, in ms from then on, with the progress.

    `taken` are pictures as JPEG with their times, in their order; None without any.
    """
    shown = _shown_since(taken, begin_ms)
    if not shown:
        return None
    size = _opened(shown[-1][1]).size
    kept = list(_changes(shown, size))
    progress = visual_progress([histogram(pixels) for _, _, pixels in kept])
    return size, [(at_ms, jpeg, seen) for (at_ms, jpeg, _), seen in zip(kept, progress, strict=True)]


def _shown_since(taken: Sequence[tuple[float, bytes]], begin_ms: float) -> list[tuple[float, bytes]]:
    """What was shown from then on: the last picture before, at 0, and those that followed.

    Without one before nothing had been drawn yet, and the tab was white.
    """
    before = [picture for picture in taken if picture[0] <= begin_ms][-1:]
    after = [picture for picture in taken if picture[0] > begin_ms]
    if after and not before:
        before = [(begin_ms, _white(after[0][1]))]
    return [(max(0.0, round(at - begin_ms, 1)), jpeg) for at, jpeg in (*before, *after)]


def _white(like: bytes) -> bytes:
    """A white picture of the size of another one."""
    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", _opened(like).size, "white").save(file, "JPEG")
    return file.getvalue()


def _changes(
    shown: Iterable[tuple[float, bytes]], size: tuple[int, int]
) -> Iterator[tuple[float, bytes, FramePixels]]:
    """The pictures that differ from the one before, all brought to one size."""
    import numpy as np

    last: FramePixels | None = None
    for at_ms, jpeg in shown:
        picture = _opened(jpeg)
        pixels = np.asarray(picture if picture.size == size else picture.resize(size))
        if last is None or differ(last, pixels):
            last = pixels
            yield at_ms, jpeg, pixels


def _opened(jpeg: bytes) -> Image.Image:
    from PIL import Image

    return Image.open(io.BytesIO(jpeg)).convert("RGB")

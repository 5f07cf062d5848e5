"""How much of a page is seen at each of its pictures. Pure.

The histogram method of the original Speed Index (P. Meenan, WebPageTest 2012), as in his visualmetrics
(github.com/WPO-Foundation/visualmetrics): how much of what distinguishes the last picture's colours from the first
one's has come. Where a pixel is does not count. Unlike there, progress is not rounded down to whole per cents.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL import Image

FramePixels = NDArray[np.uint8]  # height x width x (red, green, blue)
Histogram = NDArray[np.int64]  # (red, green, blue) x 256

LEVELS = 256
WHITE = 250  # a pixel that has this in all three is white, and not counted
SLOP = 5  # levels by which a colour may be off
FUZZ = 0.1 * LEVELS  # a picture is another one when a pixel is off by more


def histogram(pixels: FramePixels) -> Histogram:
    """How many pixels that are not white have each level."""
    seen = pixels[(pixels < WHITE).any(axis=2)]
    return np.stack([np.bincount(seen[:, channel], minlength=LEVELS) for channel in range(3)])


def differ(one: FramePixels, other: FramePixels) -> bool:
    """Whether two pictures of one size show something else, beyond what a lossy format does to them."""
    return bool((np.abs(one.astype(np.int16) - other) > FUZZ).any())


def visual_progress(histograms: Sequence[Histogram]) -> list[float]:
    """The progress from the first to the last picture, 0 to 1, of pictures of one size."""
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
    before = [each for each in taken if each[0] <= begin_ms][-1:]
    after = [each for each in taken if each[0] > begin_ms]
    if after and not before:
        before = [(begin_ms, _white(after[0][1]))]
    return [(max(0.0, round(at - begin_ms, 1)), jpeg) for at, jpeg in (*before, *after)]


def _white(like: bytes) -> bytes:
    """A white picture of the size of another one."""
    file = io.BytesIO()
    Image.new("RGB", _opened(like).size, "white").save(file, "JPEG")
    return file.getvalue()


def _changes(
    shown: Iterable[tuple[float, bytes]], size: tuple[int, int]
) -> Iterator[tuple[float, bytes, FramePixels]]:
    """The pictures that differ from the one before, all brought to one size."""
    last: FramePixels | None = None
    for at_ms, jpeg in shown:
        picture = _opened(jpeg)
        pixels = np.asarray(picture if picture.size == size else picture.resize(size))
        if last is None or differ(last, pixels):
            last = pixels
            yield at_ms, jpeg, pixels


def _opened(jpeg: bytes) -> Image.Image:
    return Image.open(io.BytesIO(jpeg)).convert("RGB")

"""How much of a page is seen at each of its pictures, and the Speed Index that follows. Pure.

The histogram method of the original Speed Index (P. Meenan, WebPageTest 2012), as in his visualmetrics
(github.com/WPO-Foundation/visualmetrics): how much of what distinguishes the last picture's colours from the first
one's has come. Where a pixel is does not count. Unlike there, progress is not rounded down to whole per cents.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]  # height x width x (red, green, blue)
Histogram = NDArray[np.int64]  # (red, green, blue) x 256

LEVELS = 256
WHITE = 250  # a pixel that has this in all three is white, and not counted
SLOP = 5  # levels by which a colour may be off
FUZZ = 0.1 * LEVELS  # a picture is another one when a pixel is off by more


def histogram(pixels: Pixels) -> Histogram:
    """How many pixels that are not white have each level."""
    seen = pixels[(pixels < WHITE).any(axis=2)]
    return np.stack([np.bincount(seen[:, channel], minlength=LEVELS) for channel in range(3)])


def differ(one: Pixels, other: Pixels) -> bool:
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


def speed_index_ms(times_ms: Sequence[float], progress: Sequence[float]) -> float:
    """The time from the first picture to the last, each part of it times what was not seen then."""
    spans = zip(times_ms, times_ms[1:], progress, strict=False)
    return sum((end - begin) * (1.0 - seen) for begin, end, seen in spans)

"""How alike two screenshots are. Pure."""

from __future__ import annotations

from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter  # type: ignore[import-untyped, unused-ignore]  # has no types

Pixels = NDArray[np.float64]
SIGMA, RADIUS = 1.5, 5
LEVELS = 255
SCALE = 256  # pixels of the shorter side
_C1, _C2 = (0.01 * LEVELS) ** 2, (0.03 * LEVELS) ** 2


def structural_similarity(one: bytes, other: bytes) -> float:
    """Mean structural similarity of two image files in grey, 1 for equal ones; 0 when their sizes differ.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity",
    IEEE Trans. Image Processing 13 (2004), with its Gaussian window of 11 x 11 and constants, at the scale its authors
    recommend: reduced by the whole number that brings the shorter side nearest to 256 pixels, so that what an eye at
    a normal distance does not see (the grain of a photograph) does not count.
    """
    first, second = _grey(one), _grey(other)
    if first.shape != second.shape:
        return 0.0
    mean_1, mean_2 = _blurred(first), _blurred(second)
    variance_1 = _blurred(first * first) - mean_1 * mean_1
    variance_2 = _blurred(second * second) - mean_2 * mean_2
    covariance = _blurred(first * second) - mean_1 * mean_2
    luminance = (2 * mean_1 * mean_2 + _C1) / (mean_1**2 + mean_2**2 + _C1)
    structure = (2 * covariance + _C2) / (variance_1 + variance_2 + _C2)
    return float(np.mean(luminance * structure))


def _blurred(pixels: Pixels) -> Pixels:
    blurred: Pixels = gaussian_filter(pixels, SIGMA, radius=RADIUS)
    return blurred


def _grey(data: bytes) -> Pixels:
    image = Image.open(BytesIO(data)).convert("L")
    return np.asarray(image.reduce(max(1, round(min(image.size) / SCALE))), dtype=np.float64)

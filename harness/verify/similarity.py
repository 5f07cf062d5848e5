"""How alike two screenshots are. Pure."""

from __future__ import annotations

from functools import lru_cache
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from scipy.ndimage import gaussian_filter

Pixels = NDArray[np.float64]
SIGMA, RADIUS = 1.5, 5
LEVELS = 255
SCALE = 256  # pixels of the shorter side
LEAST_CONTENT = 0.05
_C1, _C2 = (0.01 * LEVELS) ** 2, (0.03 * LEVELS) ** 2


def similarity(one: bytes, other: bytes) -> float:
    """How alike two image files are in grey, 1 for equal ones; 0 when their sizes differ.

    What is lost in structural similarity, summed over the picture and divided by the part of it that shows anything
    in either: blank paper around a text that has moved must not make up for it. That part counts as a twentieth of
    the picture at least.
    """
    if one == other:
        return 1.0
    first, second = _grey(one), _grey(other)
    if first.shape != second.shape:
        return 0.0
    alike, varied = structure(first.astype(np.float64), second.astype(np.float64))
    content = max(float(np.mean(varied)), LEAST_CONTENT)
    return max(0.0, 1.0 - float(np.mean(1.0 - alike)) / content)


def structure(first: Pixels, second: Pixels) -> tuple[Pixels, NDArray[np.bool_]]:
    """Structural similarity at each pixel, and where there is anything to see in one of the pictures.

    Wang, Bovik, Sheikh and Simoncelli, "Image quality assessment: from error visibility to structural similarity",
    IEEE Trans. Image Processing 13 (2004), with its Gaussian window of 11 x 11 and constants.
    """
    mean_1, mean_2 = _blurred(first), _blurred(second)
    variance_1 = _blurred(first * first) - mean_1 * mean_1
    variance_2 = _blurred(second * second) - mean_2 * mean_2
    covariance = _blurred(first * second) - mean_1 * mean_2
    luminance = (2 * mean_1 * mean_2 + _C1) / (mean_1**2 + mean_2**2 + _C1)
    contrast = (2 * covariance + _C2) / (variance_1 + variance_2 + _C2)
    return luminance * contrast, variance_1 + variance_2 > _C2


def _blurred(pixels: Pixels) -> Pixels:
    blurred: Pixels = gaussian_filter(pixels, SIGMA, radius=RADIUS)
    return blurred


@lru_cache(maxsize=256)
def _grey(data: bytes) -> NDArray[np.uint8]:
    """At the scale the method's authors recommend: reduced by the whole number that brings the shorter side nearest
    to 256 pixels, so that what an eye at a normal distance does not see (the grain of a photograph) does not count.
    """
    image = Image.open(BytesIO(data)).convert("L")
    return np.asarray(image.reduce(max(1, round(min(image.size) / SCALE))))

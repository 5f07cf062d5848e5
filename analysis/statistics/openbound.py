"""What time-outs leave open: an estimate or a bound of which nobody knows how large it is.

A load that timed out took longer than any other of its condition, and no more is known. So a time may be infinite. A
ratio is infinite where its subject timed out, and 0 where its reference did. Neither is a size to tell: a text says "at
least" and the end that is known, and a figure draws a bar to the end of its axis (`analysis.charts.openbars`).
"""

from __future__ import annotations

import math


def is_open(ratio: float) -> bool:
    """Whether time-outs leave a ratio, or a bound of one, open; NaN is not known for other reasons."""
    return ratio == 0 or math.isinf(ratio)


def per_cent(ratio: float) -> float:
    """A ratio as a change in per cent, infinite where it is open."""
    return -math.inf if ratio == 0 else 100 * (ratio - 1)


def size(ratio: float) -> float:
    """How large a change is, in per cent without a sign."""
    return abs(per_cent(ratio))

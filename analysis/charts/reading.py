"""How a caption says what points and bars are."""

from __future__ import annotations

import pandas as pd

from analysis.statistics.contrast import LEAST_PAIRS
from analysis.statistics.estimate import LEAST_TRIALS, IntervalKind


def of_trials(cells: pd.DataFrame) -> str:
    """How many trials a point stands for and what its bar is."""
    known = cells[cells["n"] > 0]
    size = f"n = {_span(known)} per point"
    if (known["interval"] == IntervalKind.EXACT).all():
        return f"{size}; bars: 95 % intervals."
    if known["n"].max() < LEAST_TRIALS:
        return f"{size}, too few for an interval; bars: range of the trials."
    return f"{size}; bars: 95 % intervals, at hollow markers (fewer than five trials) the range."


def of_pairs(points: pd.DataFrame) -> str:
    """How many pairs a point stands for, and what its bar is."""
    few = "" if points["n"].min() >= LEAST_PAIRS else f", hollow without (fewer than {LEAST_PAIRS} pairs)"
    return f"n = {_span(points)} pairs of blocks; bars: 95 % intervals{few}."


def _span(points: pd.DataFrame) -> str:
    least, most = points["n"].min(), points["n"].max()
    return f"{least}" if least == most else f"{least} to {most}"

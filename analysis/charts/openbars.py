"""Bars with an end that time-outs leave open: they go on to the end of their axis, with an arrow there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.markers import CARETDOWN, CARETLEFT, CARETRIGHT, CARETUP
from numpy.typing import NDArray

from analysis.statistics.contrast import Sample

ARROWS = " An arrow: an end that time-outs leave open."
ROOM = 0.12  # of an axis, for a bar that is open beyond all that is drawn
ARROW_SIZE = 3.6


@dataclass(frozen=True)
class BarEnds:
    """Estimates with their intervals, in the unit of an axis that goes from `axis[0]` to `axis[1]`.

    An infinite end is open. NaN: nothing to draw.
    """

    centre: Sample
    low: Sample
    high: Sample
    axis: tuple[float, float]

    @classmethod
    def of(cls, cells: pd.DataFrame, unit: float, axis: tuple[float, float]) -> BarEnds:
        """Of rows with a median."""
        centre, low, high = (cells[name].to_numpy(dtype=float) / unit for name in ("median", "low", "high"))
        return cls(centre, low, high, axis)

    @classmethod
    def one(cls, centre: float, low: float, high: float, axis: tuple[float, float]) -> BarEnds:
        """Of a single estimate."""
        return cls(np.array([centre]), np.array([low]), np.array([high]), axis)

    @property
    def reach(self) -> Sample:
        """How far the bars go to both sides, for `Axes.errorbar`."""
        low = np.where(np.isinf(self.low), self.axis[0], self.low)
        high = np.where(np.isinf(self.high), self.axis[1], self.high)
        reach: Sample = np.nan_to_num([self.centre - low, high - self.centre])
        return reach

    @property
    def open_ends(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Which are open below, and which above."""
        drawn = np.isfinite(self.centre)
        return drawn & np.isinf(self.low), drawn & np.isinf(self.high)

    def arrows(
        self, axes: Axes, along: Sample, bars: ErrorbarContainer, colour: Any, *, vertical: bool
    ) -> None:
        """Arrows in place of the caps of open ends. `bars` have the reach of these; `along`: where they stand."""
        if not np.any(self.open_ends):
            return
        markers = (CARETDOWN, CARETUP) if vertical else (CARETLEFT, CARETRIGHT)
        for there, cap, edge, marker in zip(self.open_ends, bars.lines[1], self.axis, markers, strict=True):
            if not there.any():
                continue
            x, y = (np.asarray(coordinates, dtype=float) for coordinates in cap.get_data())
            cap.set_data(np.where(there, np.nan, x), np.where(there, np.nan, y))
            arrows(axes, along[there], edge, colour, marker, vertical=vertical)


def arrows(axes: Axes, along: Sample, edge: float, colour: Any, marker: int, *, vertical: bool) -> None:
    """Arrows with their tips at the end of an axis."""
    edges = np.full(along.size, edge)
    axes.plot(
        *((along, edges) if vertical else (edges, along)),
        color=colour,
        linestyle="none",
        marker=marker,
        markersize=ARROW_SIZE,
        markeredgewidth=0,
        clip_on=False,
    )


def of_ratios(found: pd.DataFrame, centre: str) -> pd.DataFrame:
    """Ratios as `BarEnds` wants them: no estimate where that is open, and an open end is infinite on either side."""
    ratio, low = found[centre].astype(float), found["low"].astype(float)
    return found.assign(
        **{centre: ratio.where(np.isfinite(ratio) & (ratio > 0)), "low": low.where(low != 0, -np.inf)}
    )


def reading(found: pd.DataFrame, centre: str = "median") -> str:
    """What arrows mean, where there are any."""
    drawn = found[np.isfinite(found[centre].astype(float))]
    return ARROWS if np.isinf(drawn[["low", "high"]].to_numpy(dtype=float)).any() else ""

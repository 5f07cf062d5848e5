"""How busy link and main thread were while a page loaded: rows of a waterfall, on its axis of times."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from analysis.charts import plots
from analysis.charts.plots import TimeUnit
from analysis.runs.harfile import Activity, ActivityRow

DOWN, UP, MAIN_THREAD = "#1977DD", "#E58226", "#C9A400"
COLOURS = {"link down": DOWN, "link up": UP}
ROW_HIGH = 1.25  # with the room between rows


def colour_of(row: ActivityRow) -> str:
    """By what was busy."""
    return COLOURS.get(row.name, MAIN_THREAD)


def busy_rows(axes: Axes, activity: Activity, unit: TimeUnit, shift_ms: float = 0.0) -> None:
    """A row each, as high as it was busy, on a line; `shift_ms` is what stands at 0 of the axis."""
    bottoms = [ROW_HIGH * number for number in range(len(activity.rows))][::-1]
    for bottom, row in zip(bottoms, activity.rows, strict=True):
        edges = (np.arange(len(row.percent) + 1) * activity.step_ms - shift_ms) / unit.ms
        heights = bottom + np.array(row.percent) / 100
        axes.stairs(heights, edges, baseline=bottom, fill=True, color=colour_of(row), linewidth=0, zorder=2)
        axes.axhline(bottom, color=plots.GUIDE, linewidth=0.4)
    axes.set_ylim(-0.1, ROW_HIGH * len(bottoms))
    axes.set_yticks([bottom + 0.5 for bottom in bottoms], [_label(row) for row in activity.rows], fontsize=5)
    axes.tick_params(axis="y", length=0, pad=1)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=plots.GUIDE, linewidth=0.4)


def _label(row: ActivityRow) -> str:
    return row.name if row.whole_mbps is None else f"{row.name}, of {row.whole_mbps:.3g} Mbit/s"

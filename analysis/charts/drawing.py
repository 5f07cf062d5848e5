"""A figure with its caption, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """`name` is the stem of its files. `of_data`: it shows single trials, and stands behind what was estimated."""

    name: str
    caption: str
    figure: Figure
    of_data: bool = False

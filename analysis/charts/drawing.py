"""A figure with its caption, as a report shows it."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.figure import Figure


@dataclass(frozen=True)
class Drawing:
    """`name` is the stem of its files. `of_data`: it shows single trials, and stands behind what was estimated.

    `asked`: the name of the study's own figure that it is, `title` that figure's; empty of all others.
    """

    name: str
    caption: str
    figure: Figure
    of_data: bool = False
    asked: str = ""
    title: str = ""

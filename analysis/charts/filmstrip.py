"""Filmstrips: what conditions had on the screen at the same times, one below the other, as in WebPageTest.

The load shown of a condition is the one nearest to its median. The pictures are those of pages: they are decoded and
made anew, small.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.charts import plots
from analysis.charts.plots import Drawing, TimeUnit
from analysis.evaluation.loads import MedianFilm, median_films
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.runs.filmfile import KeptFilm, picture
from harness.input.shown import clipped

MOST_FIGURES = 3
MOST_ROWS = 6  # of a figure
MOST_STEPS = 7  # from the navigation to the last change
STEPS_MS = (50, 100, 200, 250, 500, 1000, 2000, 2500, 5000, 10_000, 20_000, 25_000, 50_000)
PICTURE_INCHES = 0.66
PICTURE_PIXELS = 100
STRIP_PICTURES = 8  # of a strip that stands by a waterfall
LABEL_CHARACTERS = 22
CURVE_INCHES = 1.1
CURVES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito, one for each row
NUMBERS = "#444444"
CHANGED, SAME = (
    "#D89B00",
    plots.GUIDE,
)  # the border of a picture that differs from the one before, and of others


def filmstrips(results: Results) -> Iterator[Drawing]:
    """Of runs that kept films; nothing of others. A figure per place: its conditions differ in the protocol alone, or,
    where no place has two, in anything.
    """
    medians = median_films(results)
    groups = _groups(medians.loads)
    for number, films in enumerate(groups[:MOST_FIGURES]):
        told = (
            f" {len(groups) - MOST_FIGURES} more figures are not drawn." if len(groups) > MOST_FIGURES else ""
        )
        refused = f" Not drawn: {'; '.join(medians.refused[:3])}." if medians.refused else ""
        name = f"filmstrip_{words.slug(films[0].label)}"
        yield Drawing(
            name, f"{_caption(films)}{'' if number else told + refused}", chart(films), of_data=True
        )


def _groups(films: Sequence[MedianFilm]) -> list[list[MedianFilm]]:
    """The rows of each figure."""
    places: dict[int, list[MedianFilm]] = {}
    for film in films:
        places.setdefault(film.place, []).append(film)
    groups = list(places.values())
    if all(len(group) == 1 for group in groups):
        groups = [list(films)]
    return [group[at : at + MOST_ROWS] for group in groups for at in range(0, len(group), MOST_ROWS)]


def _caption(films: Sequence[MedianFilm]) -> str:
    shown = "; ".join(
        f"{film.label}: trial {film.trial} of {film.run}, {words.duration(film.plt_ms)}" for film in films
    )
    return (
        "Filmstrip: what the screen showed at the same times since the navigation began, and the visual progress below "
        "it. A border in colour: the picture has changed since the one before. Of each condition the load "
        f"nearest to its median ({shown}). Bottom: visual progress."
    )


def chart(films: Sequence[MedianFilm]) -> Figure:
    """A row of pictures per film, and the progress of all of them on the same axis."""
    last = max((film.load.last_change_ms for film in films), default=0.0)
    step = step_ms(last)
    times = [step * number for number in range(math.ceil(last / step) + 1)]
    high = max(film.load.size[1] / film.load.size[0] for film in films) * PICTURE_INCHES + 0.16
    figure = plots.new(plots.PAGE_INCHES, high * len(films) + CURVE_INCHES + 0.75)
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=(high * len(films), CURVE_INCHES))
    unit = plots.unit_of(last)
    below.set_xlim((times[0] - step / 2) / unit.ms, (times[-1] + step / 2) / unit.ms)
    axes.set_ylim(-0.5, len(films) - 0.5)
    heights = range(len(films))[::-1]
    for height, each in zip(heights, films, strict=True):
        _row(axes, height, each.load, times, unit)
    axes.set_yticks(heights, [textwrap.fill(film.label, LABEL_CHARACTERS) for film in films], fontsize=5.5)
    axes.tick_params(axis="both", length=0)
    axes.spines[["left", "bottom"]].set_visible(False)
    for each, colour in zip(films, CURVES, strict=False):
        _curve(below, each, colour, unit)
    below.set_ylim(0, 1.05)
    below.set_yticks([0, 0.5, 1], ["0 %", "50 %", "100 %"])
    below.grid(color=plots.GUIDE, linewidth=0.4)
    plots.ticks(below.xaxis)
    below.set_xlabel(f"Time since the navigation began ({unit.name})")
    if len(films) > 1:
        below.legend(loc="lower right", fontsize="small", handlelength=1.5)
    return figure


def step_ms(last_ms: float) -> float:
    """The time from one picture to the next, so that the last change is still shown."""
    return next((step for step in STEPS_MS if step * MOST_STEPS >= last_ms), math.ceil(last_ms / MOST_STEPS))


def place(
    axes: Axes,
    film: KeptFilm,
    at_ms: float,
    bounds: tuple[float, float, float, float],
    border: str = plots.GUIDE,
) -> None:
    """The picture of that time in the middle of a box of the axes' data, in its own proportions."""
    inset = axes.inset_axes(bounds, transform=axes.transData)
    inset.imshow(np.asarray(picture(film.at(at_ms), film.scaled(PICTURE_PIXELS))), interpolation="none")
    inset.set(xticks=[], yticks=[])
    inset.spines[:].set(visible=True, color=border, linewidth=0.8)


def strip(axes: Axes, film: KeptFilm, unit: TimeUnit, shift_ms: float = 0.0) -> None:
    """Pictures side by side along the axis of times, each in the middle of the time that it is of; `shift_ms` is what
    stands at 0 of the axis.
    """
    begin, end = axes.get_xlim()
    wide = (end - begin) / STRIP_PICTURES
    for number in range(STRIP_PICTURES):
        left = begin + number * wide
        place(axes, film, (left + wide / 2) * unit.ms + shift_ms, (left, 0, 0.97 * wide, 1))
    axes.set_ylim(0, 1)
    axes.set_yticks([])
    axes.spines["left"].set_visible(False)


def _row(axes: Axes, height: float, film: KeptFilm, times: Sequence[float], unit: TimeUnit) -> None:
    """At that height of the axes, where a row is 1 high."""
    before, step = None, times[1] if len(times) > 1 else 1.0
    for at in times:
        frame = film.at(at)
        border = SAME if frame is before or before is None else CHANGED
        place(
            axes, film, at, ((at - 0.47 * step) / unit.ms, height - 0.3, 0.94 * step / unit.ms, 0.75), border
        )
        axes.text(
            at / unit.ms,
            height - 0.45,
            f"{100 * frame.progress:.0f} %",
            ha="center",
            fontsize=5,
            color=NUMBERS,
        )
        before = frame


def _curve(axes: Axes, median: MedianFilm, colour: str, unit: TimeUnit) -> None:
    frames = median.load.frames
    times = np.array([*(frame.at_ms for frame in frames), median.load.until_ms]) / unit.ms
    progress = [*(frame.progress for frame in frames), frames[-1].progress]
    axes.step(times, progress, where="post", color=colour, linewidth=1.0, label=clipped(median.label, 40))

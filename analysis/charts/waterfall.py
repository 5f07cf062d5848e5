"""Waterfalls: the requests of a load one below the other, each divided into what it waited for.

A figure for the trial nearest to the median of each condition, and two loads on top of each other. The names are those
that pages give: they are drawn clipped, as plain text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from analysis.charts import plots
from analysis.charts.filmstrip import strip
from analysis.charts.plots import Drawing, TimeUnit
from analysis.evaluation.loads import MedianLoad, load_changes, median_films, median_loads
from analysis.evaluation.results import Results
from analysis.labels import words
from analysis.runs.filmfile import KeptFilm
from analysis.runs.harfile import PHASES, Activity, ActivityRow, HarLoad, HarRequest
from analysis.statistics.contrast import Sample
from harness.input.shown import clipped

MOST_FIGURES = 6  # of single loads; a figure takes about a second to store
MOST_COMPARISONS = 2
MOST_ROWS = 60  # of one load; the others are folded into a row
PAIRED_ROWS = 40  # of each of two
MOST_CONNECTIONS = 16
NAME_CHARACTERS = 34
ROW_INCHES = 0.115
FILM_ROWS = 4  # the height of a filmstrip, in rows
BUSY_ROWS = 2  # of a row of link or main thread
# The classic colours of waterfalls.
COLOURS = dict(zip(PHASES, ("#DADADA", "#1F7C83", "#E58226", "#C141CD", "#2DB333", "#1977DD"), strict=True))
MARK_COLOURS = {
    "first byte": "#7A7A7A",
    "first paint": "#28BC00",
    "largest paint": "#006B00",
    "DOM ready": "#D888DF",
    "load event": "#0000C0",
}
FAILED, FOLDED, BLOCKS = "#B3261E", "#F0C36D", "#D00000"
START = "start"
DOWN, UP, MAIN_THREAD = "#1977DD", "#E58226", "#C9A400"
BUSY_COLOURS = {"link down": DOWN, "link up": UP}
ROW_HIGH = 1.25  # with the room between rows


@dataclass(frozen=True)
class NamedLoad:
    """What a figure shows: a load, what it is called, and its film."""

    label: str
    load: HarLoad
    film: KeptFilm | None = None


@dataclass(frozen=True)
class Rows:
    """The rows of a load: its first requests, and how many later ones are folded into the last row."""

    shown: tuple[HarRequest, ...]
    folded: tuple[HarRequest, ...]

    @property
    def count(self) -> int:
        return len(self.shown) + bool(self.folded)


def waterfalls(results: Results) -> Iterator[Drawing]:
    """Of runs that kept HARs; nothing of others."""
    medians = median_loads(results)
    films = {(median.run, median.trial): median.load for median in median_films(results).loads}
    for number, each in enumerate(medians.loads[:MOST_FIGURES]):
        more = medians.conditions - MOST_FIGURES
        told = f" {more:,} more conditions kept HARs, which are not drawn." if more > 0 else ""
        refused = f" Not drawn: {'; '.join(medians.refused[:3])}." if medians.refused and not number else ""
        film = films.get((each.run, each.trial))
        shown = " Bottom: what the screen showed in the middle of each picture." if film else ""
        caption = f"{_caption(each)}{shown}{told if not number else ''}{refused}"
        figure = chart(NamedLoad(each.label, each.load, film))
        yield Drawing(f"waterfall_{words.slug(each.label)}", caption, figure, of_data=True)
    for first, second in _pairs(medians.loads)[:MOST_COMPARISONS]:
        caption = (
            f"Two loads from the same start, on one axis: {first.label} above, {second.label} below. "
            f"{load_changes(first.load, second.load).text}."
        )
        name = f"waterfalls_{words.slug(first.label)}_{words.slug(second.label)}"
        above, below = (
            NamedLoad(median.label, median.load, films.get((median.run, median.trial)))
            for median in (first, second)
        )
        yield Drawing(name, caption, comparison(above, below), of_data=True)


def _pairs(loads: Sequence[MedianLoad]) -> list[tuple[MedianLoad, MedianLoad]]:
    """The slowest and the fastest of each place; of all loads, where no place has two."""
    places: dict[int, list[MedianLoad]] = {}
    for load in loads:
        places.setdefault(load.place, []).append(load)
    groups = [group for group in places.values() if len(group) > 1] or [list(loads)]
    sorted_by_time = [sorted(group, key=lambda each: each.plt_ms) for group in groups if len(group) > 1]
    return [(group[-1], group[0]) for group in sorted_by_time]


def _caption(median: MedianLoad) -> str:
    load = median.load
    made = [
        f"Waterfall: {median.label}. Trial {median.trial} of {median.run}, {words.duration(median.plt_ms)}, is the "
        f"nearest to the median of {words.count(median.trials, 'trial')} ({words.duration(median.median_ms)}).",
        f"{words.count(len(load.requests), 'request')}, bodies of {words.kilobytes(load.body_bytes)} kB on the wire"
        + (f", {words.count(load.connections, 'connection')}." if load.connections is not None else "."),
    ]
    rows = rows_of(load)
    if rows.folded:
        made.append(
            f"The first {len(rows.shown)} requests have a row each; the other {len(rows.folded):,} share the last one."
        )
    if any(request.blocks is not None for request in load.requests):
        made.append("Red triangles: what the page could not be painted without.")
    if load.activity:
        made.append("Below the connections: for what share of each step link and main thread were busy.")
    else:
        made.append("When link and main thread were busy was not kept.")
    if not load.whole:
        made.append("The browser's log was cut off: what came later is not known.")
    if load.left_out:
        made.append(f"{words.count(load.left_out, 'entry', 'entries')} of the file could not be read.")
    return " ".join(made)


def rows_of(load: HarLoad, most: int = MOST_ROWS) -> Rows:
    """At most so many rows."""
    if len(load.requests) <= most:
        return Rows(load.requests, ())
    return Rows(load.requests[: most - 1], load.requests[most - 1 :])


@dataclass(frozen=True)
class DrawnLoad:
    """A load in a figure. `shift_ms` is what stands at 0 of the axis; `connections`: they have a panel, too."""

    load: HarLoad
    rows: Rows
    film: KeptFilm | None = None
    shift_ms: float = 0.0
    connections: Mapping[str, Sequence[HarRequest]] | None = None

    @property
    def heights(self) -> list[int]:
        """Of its panels, in rows: requests, connections, link and main thread, film."""
        activity = self.load.activity
        return [
            max(3, self.rows.count),
            *([] if self.connections is None else [max(2, len(self.connections))]),
            *([BUSY_ROWS * len(activity.rows)] if activity else []),
            *([FILM_ROWS] if self.film else []),
        ]


def chart(named: NamedLoad) -> Figure:
    """A load by itself, below it its connections, how busy link and main thread were and, last, what the screen showed
    meanwhile.
    """
    load = named.load
    figure, _ = _drawn([DrawnLoad(load, rows_of(load), named.film, connections=_connections(load))], START)
    plots.title(figure, clipped(named.label, 2 * plots.TITLE_CHARACTERS))
    return figure


def comparison(first: NamedLoad, second: NamedLoad, align: str = START) -> Figure:
    """Two loads on one axis of times, aligned at their start or at a mark that both have."""
    both = [
        DrawnLoad(side.load, rows_of(side.load, PAIRED_ROWS), side.film, side.load.marks_ms.get(align, 0.0))
        for side in (first, second)
    ]
    figure, grid = _drawn(both, align)
    for each, panels in zip((first, second), grid, strict=True):
        panels[0].set_title(clipped(each.label, 2 * plots.TITLE_CHARACTERS))
    return figure


def _drawn(loads: Sequence[DrawnLoad], align: str) -> tuple[Figure, list[list[Axes]]]:
    """A figure of loads below each other, and the panels of each."""
    heights = [height for drawn_load in loads for height in drawn_load.heights]
    figure = plots.new(plots.PAGE_INCHES, ROW_INCHES * sum(heights) + 1 + 0.25 * len(loads))
    panels = iter(figure.subplots(len(heights), 1, sharex=True, height_ratios=heights, squeeze=False)[:, 0])
    grid = [[next(panels) for _ in drawn_load.heights] for drawn_load in loads]
    unit = plots.unit_of(max(_end(drawn_load.load) for drawn_load in loads))
    for each, mine in zip(loads, grid, strict=True):
        _panels(mine, each, unit)
    _time_axis(grid[-1][-1], unit, [(drawn_load.load, drawn_load.shift_ms) for drawn_load in loads], align)
    for each, mine in zip(loads, grid, strict=True):
        if each.film:
            strip(mine[-1], each.film, unit, each.shift_ms)
    _legend(figure, [drawn_load.load for drawn_load in loads])
    return figure, grid


def _panels(panels: Sequence[Axes], shown: DrawnLoad, unit: TimeUnit) -> None:
    """All of them but the film, whose pictures depend on the axis of times."""
    first, *others = panels
    _requests(first, shown.rows, unit, shown.shift_ms)
    if shown.connections is not None:
        _of_connections(others.pop(0), shown.connections, unit, shown.shift_ms)
    if shown.load.activity:
        busy_rows(others.pop(0), shown.load.activity, unit, shown.shift_ms)
    for panel in panels:
        _marks(panel, shown.load, unit, shown.shift_ms)


def _requests(axes: Axes, rows: Rows, unit: TimeUnit, shift_ms: float) -> None:
    """Bars of a load; `shift_ms` is what stands at 0 of the axis."""
    _bars(axes, rows.shown, list(range(len(rows.shown))), unit, shift_ms)
    home = rows.shown[0].host if rows.shown else ""
    labels = [_label(number, each, home) for number, each in enumerate(rows.shown, start=1)]
    if rows.folded:
        begin, end = (
            min(request.start_ms for request in rows.folded),
            max(request.end_ms for request in rows.folded),
        )
        at = len(rows.shown)
        axes.barh(
            [at], [(end - begin) / unit.ms], left=[(begin - shift_ms) / unit.ms], height=0.6, color=FOLDED
        )
        labels.append(f"{len(rows.folded):,} more requests")
    axes.set_ylim(max(rows.count, 1) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=5)
    for text, each in zip(axes.get_yticklabels(), rows.shown, strict=False):
        text.set_color(FAILED if each.failed and not each.cached else "black")
    for at, each in enumerate(rows.shown):
        if each.blocks:
            left = (each.start_ms - shift_ms) / unit.ms
            axes.plot([left], [at], marker=">", color=BLOCKS, markersize=2.5, clip_on=False, zorder=4)
    _plain(axes)


def _bars(
    axes: Axes, requests: Sequence[HarRequest], levels: Sequence[int], unit: TimeUnit, shift_ms: float
) -> None:
    """The phases of requests at their levels; a wait is thinner than what is on the wire."""
    for phase, rows, starts, lengths in phase_bars(requests):
        axes.barh(
            np.asarray(levels)[rows],
            lengths / unit.ms,
            left=(starts - shift_ms) / unit.ms,
            height=0.35 if phase == "blocked" else 0.75,
            color=COLOURS[phase],
            linewidth=0,
            zorder=2,
        )


def phase_bars(requests: Sequence[HarRequest]) -> Iterator[tuple[str, NDArray[np.intp], Sample, Sample]]:
    """Of each phase which requests have it, when it began and how long it took, in ms: what every waterfall draws."""
    lengths = np.array([request.phases_ms for request in requests]).reshape(-1, len(PHASES))
    starts = np.array([request.start_ms for request in requests])
    ends = starts[:, None] + lengths.cumsum(axis=1)
    for number, phase in enumerate(PHASES):
        rows = np.flatnonzero(lengths[:, number] > 0)
        took = lengths[rows, number]
        yield phase, rows, ends[rows, number] - took, took


def _connections(load: HarLoad) -> Mapping[str, list[HarRequest]]:
    """The requests of each connection, the first ones that were used."""
    connections: dict[str, list[HarRequest]] = {}
    for request in load.requests:
        if request.connection and (request.connection in connections or len(connections) < MOST_CONNECTIONS):
            connections.setdefault(request.connection, []).append(request)
    return connections


def _of_connections(
    axes: Axes, connections: Mapping[str, Sequence[HarRequest]], unit: TimeUnit, shift_ms: float
) -> None:
    """A row per connection with all that travelled on it; a time in the queue is not on it."""
    for level, requests in enumerate(connections.values()):
        on_it = [
            replace(request, start_ms=request.start_ms + request.blocked_ms, blocked_ms=0.0)
            for request in requests[:MOST_ROWS]
        ]
        _bars(axes, on_it, [level] * len(on_it), unit, shift_ms)
    labels = [
        f"{clipped(ascii_text(requests[0].host), NAME_CHARACTERS - 8)} ({len(requests):,})"
        for requests in connections.values()
    ]
    axes.set_ylim(max(len(labels), 1) - 0.4, -0.6)
    axes.set_yticks(range(len(labels)), labels, fontsize=5)
    axes.set_ylabel("connections", fontsize="small")
    _plain(axes)


def _plain(axes: Axes) -> None:
    axes.tick_params(axis="y", length=0, pad=1)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=plots.GUIDE, linewidth=0.4)


def _marks(axes: Axes, load: HarLoad, unit: TimeUnit, shift_ms: float) -> None:
    for name, at in load.marks_ms.items():
        axes.axvline((at - shift_ms) / unit.ms, color=MARK_COLOURS[name], linewidth=0.8, zorder=3)


def _time_axis(axes: Axes, unit: TimeUnit, loads: Sequence[tuple[HarLoad, float]], align: str) -> None:
    ends = [_end(load) - shift for load, shift in loads]
    begins = [
        min((request.start_ms for request in load.requests), default=0.0) - shift for load, shift in loads
    ]
    least, most = min([0.0, *begins]), max([*ends, 1.0])
    axes.set_xlim(least / unit.ms, (most + 0.02 * (most - least)) / unit.ms)
    plots.ticks(axes.xaxis)
    since = "the navigation began" if align == START else f"the {align}"
    axes.set_xlabel(f"Time since {since} ({unit.name})")


def _end(load: HarLoad) -> float:
    return max([*(request.end_ms for request in load.requests), *load.marks_ms.values()], default=0.0)


def _legend(figure: Figure, loads: Sequence[HarLoad]) -> None:
    phases = [Patch(color=COLOURS[name], label=name) for name in PHASES]
    named = [name for name in MARK_COLOURS if any(name in load.marks_ms for load in loads)]
    marks = [Line2D([], [], color=MARK_COLOURS[name], linewidth=0.8, label=name) for name in named]
    figure.legend(
        handles=[*phases, *marks], loc="outside lower left", ncols=len(phases) + len(marks), handlelength=1.2
    )


def _label(number: int, request: HarRequest, home: str) -> str:
    """`12 app.js`, with the host where it is not the page's own."""
    try:
        target = urlsplit(request.url)
        path = target.path.rstrip("/").rpartition("/")[2] or target.path or "/"
        query = f"?{target.query}" if target.query else ""
    except ValueError:
        path, query = request.url, ""
    host = "" if request.host == home else f"{request.host} "
    return f"{clipped(ascii_text(f'{host}{path}{query}'), NAME_CHARACTERS)}  {number}"


def ascii_text(text: str) -> str:
    """Without anything that a viewer acts on or a font lacks; addresses are in ASCII anyway."""
    shown = text[:500].encode("ascii", "backslashreplace").decode("ascii")
    return "".join(character if character.isprintable() else "?" for character in shown)


def colour_of(row: ActivityRow) -> str:
    """By what was busy."""
    return BUSY_COLOURS.get(row.name, MAIN_THREAD)


def busy_rows(axes: Axes, activity: Activity, unit: TimeUnit, shift_ms: float = 0.0) -> None:
    """A row each, as high as it was busy, on a line; `shift_ms` is what stands at 0 of the axis."""
    bottoms = [ROW_HIGH * number for number in range(len(activity.rows))][::-1]
    for bottom, row in zip(bottoms, activity.rows, strict=True):
        edges = (np.arange(len(row.percent) + 1) * activity.step_ms - shift_ms) / unit.ms
        heights = bottom + np.array(row.percent) / 100
        axes.stairs(heights, edges, baseline=bottom, fill=True, color=colour_of(row), linewidth=0, zorder=2)
        axes.axhline(bottom, color=plots.GUIDE, linewidth=0.4)
    axes.set_ylim(-0.1, ROW_HIGH * len(bottoms))
    axes.set_yticks(
        [bottom + 0.5 for bottom in bottoms], [_busy_label(row) for row in activity.rows], fontsize=5
    )
    axes.tick_params(axis="y", length=0, pad=1)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=plots.GUIDE, linewidth=0.4)


def _busy_label(row: ActivityRow) -> str:
    return row.name if row.whole_mbps is None else f"{row.name}, of {row.whole_mbps:.3g} Mbit/s"

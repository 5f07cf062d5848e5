"""The portraits: one load of each condition to look at, after the measured ones. They are in no estimate.

As a part of the page: of each condition its page, how that came to be, and its waterfall, small.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from markupsafe import Markup
from PIL import Image

from analysis.charts.waterfallview import thumbnail
from analysis.evaluation.loads import NO_REQUESTS, Median, Medians, read_kept, told_of, whole_film
from analysis.evaluation.results import Results
from analysis.labels import conditions, words
from analysis.labels.markup import templates
from analysis.runs import filmfile, harfile
from analysis.runs.filmfile import KeptFilm, picture, webp
from analysis.runs.harfile import HarLoad, read_har
from harness.errors import Outcome
from harness.records import StoredRecord
from harness.study.plan import PORTRAIT

LoadDetail = TypeVar("LoadDetail")

MOST_PORTRAITS = 60
SCREENSHOT, TEMPLATE = "screenshot.png", "portraits.html.j2"
FRAMES = 5  # of a film
FRAME_PIXELS, SCREENSHOT_PIXELS = 100, 320
LARGEST_PIXELS = 50_000_000  # of a screenshot
STEPS_MS = (100, 200, 500)


@dataclass(frozen=True)
class Portrait:
    """A load that was looked at: its page-load time, None of one that failed, and the `median_ms` of the `trials` that
    count. What could not be read of its files is None.
    """

    label: str
    page: str
    run: str
    trial: str
    outcome: str
    plt_ms: float | None
    median_ms: float
    trials: int
    place: int
    load: HarLoad | None
    film: KeptFilm | None
    screenshot: Path | None


@dataclass(frozen=True)
class Portraits:
    """The first `MOST_PORTRAITS` in reading order; `conditions` have one."""

    shown: tuple[Portrait, ...]
    conditions: int

    def medians(self, told: Callable[[Portrait], LoadDetail | None]) -> Medians[LoadDetail]:
        """They as a report draws single loads: those of which there is such a thing."""
        loads = []
        for portrait in self.shown:
            load = told(portrait)
            if load is not None and portrait.plt_ms is not None:
                head = (
                    portrait.label,
                    portrait.run,
                    portrait.trial,
                    portrait.plt_ms,
                    portrait.median_ms,
                    portrait.trials,
                )
                loads.append(Median(*head, load, portrait.place))
        return Medians(tuple(loads), self.conditions, ())


def portraits(results: Results) -> Portraits:
    """Those of all runs, of each condition the first."""
    by_cell = {cell: (name, record) for cell, name, record in reversed(list(_taken(results)))}
    cells = [condition for condition in results.cells.to_dict("records") if int(condition["cell"]) in by_cell]
    told = told_of(results)
    made = []
    for cell in cells[:MOST_PORTRAITS]:
        name, record = by_cell[int(cell["cell"])]
        folder = results.by_name[name].folder_of(record.trial, record.attempt)
        har = read_kept(folder / harfile.FILE, read_har)
        screenshot = folder / SCREENSHOT
        made.append(
            Portrait(
                label=conditions.cell_text(cell, told),
                page=str(cell["page"]),
                run=name,
                trial=record.trial,
                outcome=record.outcome,
                plt_ms=getattr(record, "plt_ms", None) if record.outcome == Outcome.OK else None,
                median_ms=float(cell["median"]),
                trials=int(cell["n"]),
                place=int(cell["place"]),
                load=har if har != NO_REQUESTS else None,
                film=read_kept(folder / filmfile.FILE, whole_film),
                screenshot=screenshot if screenshot.is_file() and not screenshot.is_symlink() else None,
            )
        )
    return Portraits(tuple(made), len(cells))


def _taken(results: Results) -> Iterator[tuple[int, str, StoredRecord]]:
    """Cell, run and record of each portrait of a condition that has records."""
    for name, run in results.by_name.items():
        if not run.portraits:
            continue
        mine = results.records[results.records["run"] == name]
        cells = dict(zip(mine["trial"].astype(str), mine["cell"].astype(int), strict=True))
        for record in run.portraits:
            cell = cells.get(record.trial.removeprefix(PORTRAIT))
            if cell is not None:
                yield cell, name, record


@dataclass(frozen=True)
class SmallPictures:
    """What the page shows of a portrait: pictures as data URIs, "" where there is none; frames with their times."""

    label: str
    trial: str
    time: str
    screenshot: str
    frames: tuple[tuple[str, str], ...]
    waterfall: str


def rendered(found: Portraits) -> Markup:
    """The part of the page; empty without portraits."""
    if not found.shown:
        return Markup()
    scales = {portrait.page: _scale_ms(found.shown, portrait.page) for portrait in found.shown}
    figures = [_figure(portrait, scales[portrait.page]) for portrait in found.shown]
    page = templates("analysis.report").get_template(TEMPLATE)
    return Markup(page.render(figures=figures, conditions=found.conditions))  # noqa: S704 - escaped by the template


def _scale_ms(shown: Sequence[Portrait], page: str) -> float:
    """Until when all portraits of a page are drawn: a round time at which the last of them has loaded."""
    longest = max([portrait.plt_ms or 0.0 for portrait in shown if portrait.page == page])
    least = max(longest * 1.05 / FRAMES, STEPS_MS[0])
    power = 10.0 ** math.floor(math.log10(least / STEPS_MS[0]))
    step = next(
        (step_ms * power for step_ms in STEPS_MS if step_ms * power >= least), 10 * STEPS_MS[0] * power
    )
    return FRAMES * step


def _figure(portrait: Portrait, until_ms: float) -> SmallPictures:
    time = words.duration(portrait.plt_ms) if portrait.plt_ms is not None else f"failed ({portrait.outcome})"
    median = "" if math.isnan(portrait.median_ms) else f", median {words.duration(portrait.median_ms)}"
    waterfall = thumbnail(portrait.load, until_ms) if portrait.load else ""
    return SmallPictures(
        label=portrait.label,
        trial=portrait.trial,
        time=f"{time}{median} of {portrait.trials}" if median else time,
        screenshot=_screenshot(portrait.screenshot),
        frames=_frames(portrait.film, until_ms) if portrait.film else (),
        waterfall=_uri("image/svg+xml", base64.b64encode(waterfall.encode()).decode("ascii"))
        if waterfall
        else "",
    )


def _frames(film: KeptFilm, until_ms: float) -> tuple[tuple[str, str], ...]:
    """What was to be seen at equal steps of time; a film of which a picture is damaged shows none."""
    size = film.scaled(FRAME_PIXELS)
    times = [until_ms * number / FRAMES for number in range(1, FRAMES + 1)]
    try:
        return tuple(
            (words.duration(at), _uri("image/webp", webp(picture(film.at(at), size)))) for at in times
        )
    except ValueError:
        return ()


def _screenshot(path: Path | None) -> str:
    """A small picture of it; "" where it cannot be read."""
    if path is None:
        return ""
    try:
        with Image.open(path, formats=("PNG",)) as opened:
            if opened.width * opened.height > LARGEST_PIXELS:
                return ""
            small = opened.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):  # of files that are damaged
        return ""
    small.thumbnail((SCREENSHOT_PIXELS, SCREENSHOT_PIXELS))
    return _uri("image/webp", webp(small))


def _uri(kind: str, base64_text: str) -> str:
    return f"data:{kind};base64,{base64_text}"

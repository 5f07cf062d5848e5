"""Waterfalls for a browser: what interactive ones are made from, and small ones for lists of loads.

An interactive one is made from loads as rows, as small as may be, their films, script, style and controls. The films
are made anew: small pictures, as many as there is room for.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from analysis.charts.waterfall import COLOURS, MARK_COLOURS, colour_of, phase_bars
from analysis.evaluation.loads import (
    NO_REQUESTS,
    FailedLoad,
    Median,
    MedianFilm,
    MedianFilms,
    MedianLoad,
    MedianLoads,
)
from analysis.labels import words
from analysis.runs.filmfile import KeptFilm, picture, webp
from analysis.runs.harfile import PHASES, Activity, HarLoad, HarRequest
from harness.input.shown import clipped, printable
from harness.study.plan import PORTRAIT

MOST_FILM_BYTES = 2_500_000  # of all films together
MOST_PICTURES = 40  # of a film
PICTURE_PIXELS = 200
MOST_BYTES = 4_000_000  # of all loads together
MOST_REQUESTS = 5000  # of a load
LONGEST_URL = 300
CACHED, BLOCKS = 1, 2  # flags of a row
SCRIPTS = ("pairs.js", "waterfalls.js")
NO_FILMS = MedianFilms((), 0, ())
# Of a thumbnail.
WIDTH, HEIGHT = 300, 120
LEAST_ROWS = 12  # a page of few requests has thin bars, too
THINNEST = 0.6


def film_data(film: KeptFilm, films: int) -> dict[str, Any]:
    """Its size and, in the order of time, when each picture came, the progress with it, and the picture as WebP.

    `films` share the room.
    """
    size = film.scaled(PICTURE_PIXELS)
    some = words.evenly(film.frames, MOST_PICTURES)
    made = [webp(picture(frame, size)) for frame in some]
    fit = max(2, math.floor(MOST_FILM_BYTES / films / (sum(map(len, made)) / len(made))))
    kept = words.evenly(list(zip(some, made, strict=True)), fit)
    return {
        "size": size,
        "frames": [[each.at_ms, round(each.progress, 3), text] for each, text in kept],
    }


@dataclass(frozen=True)
class WaterfallView:
    """`data`, `script`, `style` and `controls` are for the page as they are; `digest` is the script's, for the page's
    policy. `filmed`: some of the loads have films; `portrayed`: they are portraits, which are not measured.
    """

    data: Markup
    script: Markup
    style: Markup
    controls: Markup
    digest: str
    note: str
    filmed: bool
    portrayed: bool


def view(
    medians: MedianLoads, filmed: MedianFilms = NO_FILMS, failed: Sequence[FailedLoad] = ()
) -> WaterfallView | None:
    """The loads until they are too many to embed, those that failed last; None without any.

    One that was filmed and has no HAR has no rows.
    """
    films = {(median.run, median.trial): median.load for median in filmed.loads}
    told = {(median.run, median.trial) for median in medians.loads}
    silent = [_without_har(median) for median in filmed.loads if (median.run, median.trial) not in told]
    shown = [
        (_label(median), median.load, films.get((median.run, median.trial)))
        for median in (*medians.loads, *silent)
    ]
    shown += [(_failed_label(failure), failure.load, failure.film) for failure in failed]
    if not shown:
        return None
    loads: list[str] = []
    cut, room = 0, len(films) + len(failed)
    for label, load, film in shown:
        made = load_text(label, load, film_data(film, room) if film else None)
        if loads and sum(map(len, loads)) + len(made) > MOST_BYTES:
            break
        cut += max(0, len(load.requests) - MOST_REQUESTS)
        loads.append(made)
    script = script_text()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    return WaterfallView(
        data=data_of(loads),
        script=Markup(script),  # noqa: S704 - our own, as the next two
        style=Markup(file_text("waterfalls.css")),  # noqa: S704
        controls=controls(),
        digest=digest,
        note=_note(medians, filmed, len(loads), cut, len(failed)),
        filmed=bool(room),
        portrayed=any(trial.startswith(PORTRAIT) for _, trial in told | films.keys()),
    )


def data_of(loads: Iterable[str]) -> Markup:
    """The data of a page with these loads (`load_text`), for an element that holds no script."""
    head = {"phases": PHASES, "colours": [COLOURS[name] for name in PHASES], "marks": MARK_COLOURS}
    return _inert(f'{json.dumps(head)[:-1]}, "loads": [{",".join(loads)}]}}')


def load_text(
    label: str, load: HarLoad, film: Mapping[str, Any] | None = None, most_requests: int = MOST_REQUESTS
) -> str:
    """A load as JSON: its first requests, and its film (`film_data`)."""
    made = {
        "label": label,
        "connections": load.connections,
        "marks": {name: round(at, 1) for name, at in load.marks_ms.items()},
        "requests": [_request_row(request) for request in load.requests[:most_requests]],
        "activity": _activity(load.activity),
        **({"film": film} if film else {}),
    }
    return json.dumps(made, separators=(",", ":"))


def script_text() -> str:
    """The whole script, for a page with `controls` and `data_of`."""
    return "".join(map(file_text, SCRIPTS))


def controls() -> Markup:
    """The controls, and the elements that waterfalls are drawn in."""
    return Markup(file_text("controls.html"))  # noqa: S704 - our own


def file_text(name: str) -> str:
    """A file of this folder."""
    return (resources.files("analysis.charts") / name).read_text(encoding="utf-8")


def _note(medians: MedianLoads, filmed: MedianFilms, loads: int, cut: int, failed: int) -> str:
    parts = []
    conditions = max(medians.conditions, filmed.conditions)
    if failed:
        many = words.count(failed, "load")
        parts.append(
            f"{many} that failed, filmed until then and in no estimate, {'is' if failed == 1 else 'are'} here, too."
        )
    if loads < conditions:
        parts.append(f"Of {conditions:,} conditions that kept HARs or films, {loads:,} are here.")
    if cut:
        parts.append(f"Of a load the first {MOST_REQUESTS:,} requests are here; {cut:,} later ones are not.")
    refused = (*medians.refused, *filmed.refused)
    if refused:
        parts.append(f"{words.count(len(refused), 'file')} could not be read: {'; '.join(refused[:3])}.")
    return " ".join(parts)


def _inert(text: str) -> Markup:
    """JSON that ends no element and begins none, within one of HTML that holds no script."""
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))  # noqa: S704


def _label(median: MedianLoad) -> str:
    return f"{median.label} ({words.duration(median.plt_ms)}, trial {median.trial})"


def _failed_label(failed: FailedLoad) -> str:
    attempt = "" if failed.attempt == 1 else f", attempt {failed.attempt}"
    return f"{failed.label} (failed: {failed.outcome}, trial {failed.trial}{attempt})"


def _without_har(film: MedianFilm) -> MedianLoad:
    head = (film.label, film.run, film.trial, film.plt_ms, film.median_ms, film.trials)
    return Median(*head, NO_REQUESTS, film.place)


def _activity(activity: Activity | None) -> dict[str, Any] | None:
    if activity is None:
        return None
    rows = [[row.name, row.whole_mbps, row.percent, colour_of(row)] for row in activity.rows]
    return {"step": activity.step_ms, "rows": rows}


def _request_row(request: HarRequest) -> list[Any]:
    return [
        clipped(printable(request.url), LONGEST_URL),
        round(request.start_ms, 1),
        *(round(took, 1) for took in request.phases_ms),
        request.kind,
        request.status,
        request.body_bytes,
        request.connection,
        request.priority,
        request.protocol,
        request.method,
        CACHED * request.cached + BLOCKS * (request.blocks is True),
    ]


def thumbnail(load: HarLoad, until_ms: float) -> str:
    """A small waterfall of bars and marks: an SVG of numbers alone, `until_ms` wide; what comes later is cut off."""
    across, down = WIDTH / until_ms, HEIGHT / max(LEAST_ROWS, len(load.requests))
    bars = []
    for name, rows, starts, lengths in phase_bars(load.requests):
        shown = zip(rows.tolist(), starts.tolist(), lengths.tolist(), strict=True)
        drawn = [
            _bar(at * across, row * down, took * across, down) for row, at, took in shown if at < until_ms
        ]
        bars += [f'<path fill="{COLOURS[name]}" d="{"".join(drawn)}"/>'] if drawn else []
    marks = [
        f'<path d="M{at * across:.1f} 0V{HEIGHT}" stroke="{MARK_COLOURS[name]}"/>'
        for name, at in load.marks_ms.items()
        if 0 <= at < until_ms
    ]
    return _picture([*bars, *marks])


def refused_thumbnail(text: str) -> str:
    """In place of a load that cannot be drawn: a few words of ours."""
    at = f'x="{WIDTH / 2:g}" y="{HEIGHT / 2:g}"'
    return _picture(
        [f'<text {at} text-anchor="middle" font-family="sans-serif" font-size="13" fill="#777">{text}</text>']
    )


def _bar(left: float, top: float, width: float, height: float) -> str:
    width, height = min(max(width, THINNEST), WIDTH), max(height * 0.9, THINNEST)
    return f"M{left:.1f} {top:.2f}h{width:.2f}v{height:.2f}h{-width:.2f}z"


def _picture(parts: Sequence[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none">'
        f"{''.join(parts)}</svg>"
    )

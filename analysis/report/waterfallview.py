"""What the interactive waterfalls of a report (waterfalls.js) are made from: loads as rows, as small as may be."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from markupsafe import Markup

from analysis.charts.waterfall import COLOURS, MARK_COLOURS
from analysis.evaluation.medianloads import Median, MedianFilm, MedianFilms, MedianLoad, MedianLoads
from analysis.labels import words
from analysis.report.filmview import film_data
from analysis.runs.harfile import PHASES, HarLoad, HarRequest
from harness.input.shown import clipped, printable

MOST_BYTES = 4_000_000  # of all loads together
MOST_REQUESTS = 5000  # of a load
LONGEST_URL = 300
CACHED, BLOCKS = 1, 2  # flags of a row
NO_FILMS = MedianFilms((), 0, ())


@dataclass(frozen=True)
class WaterfallView:
    """`data` and `script` are for the page as they are; `digest` is the script's, for the page's policy.

    `filmed`: some of the loads have films.
    """

    data: Markup
    script: Markup
    digest: str
    note: str
    filmed: bool


def view(medians: MedianLoads, filmed: MedianFilms = NO_FILMS) -> WaterfallView | None:
    """The loads until they are too many to embed; None without any. One that was filmed and has no HAR has no rows."""
    films = {(each.run, each.trial): each.load for each in filmed.loads}
    told = {(each.run, each.trial) for each in medians.loads}
    silent = [_without_har(each) for each in filmed.loads if (each.run, each.trial) not in told]
    if not medians.loads and not silent:
        return None
    loads: list[str] = []
    cut = 0
    for each in (*medians.loads, *silent):
        film = films.get((each.run, each.trial))
        shown = film_data(film, len(films)) if film else None
        made = json.dumps(_load(each, shown), separators=(",", ":"))
        if loads and sum(map(len, loads)) + len(made) > MOST_BYTES:
            break
        cut += max(0, len(each.load.requests) - MOST_REQUESTS)
        loads.append(made)
    head = {"phases": PHASES, "colours": [COLOURS[name] for name in PHASES], "marks": MARK_COLOURS}
    text = f'{json.dumps(head)[:-1]}, "loads": [{",".join(loads)}]}}'
    script = (resources.files("analysis.report") / "waterfalls.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    note = _note(medians, filmed, len(loads), cut)
    return WaterfallView(_inert(text), Markup(script), digest, note, bool(films))  # noqa: S704 - our own


def _note(medians: MedianLoads, filmed: MedianFilms, loads: int, cut: int) -> str:
    parts = []
    conditions = max(medians.conditions, filmed.conditions)
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


def _without_har(film: MedianFilm) -> MedianLoad:
    head = (film.label, film.run, film.trial, film.plt_ms, film.median_ms, film.trials)
    return Median(*head, HarLoad((), {}, None), film.place)


def _load(median: MedianLoad, film: Mapping[str, Any] | None) -> dict[str, Any]:
    return {
        "label": f"{median.label} ({words.duration(median.plt_ms)}, trial {median.trial})",
        "connections": median.load.connections,
        "marks": {name: round(at, 1) for name, at in median.load.marks_ms.items()},
        "requests": [_row(each) for each in median.load.requests[:MOST_REQUESTS]],
        **({"film": film} if film else {}),
    }


def _row(request: HarRequest) -> list[Any]:
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

"""Waterfall and film of a trial, or of two on one axis, as one picture for a commit or a paper."""

from __future__ import annotations

import io
import threading
from dataclasses import dataclass

from matplotlib.figure import Figure
from werkzeug.exceptions import NotFound
from werkzeug.wrappers import Response

from analysis.charts import plots
from analysis.charts.waterfall import START, ascii_text, chart, comparison
from analysis.runs.filmfile import KeptFilm, picture
from analysis.runs.harfile import HarLoad
from analysis.show.asked import Asked
from analysis.show.attempts import ShownAttempt
from analysis.show.choosing import place_of

FORMS = {"svg": "image/svg+xml", "pdf": "application/pdf"}
_DRAWING = threading.Lock()  # matplotlib's settings are of the whole process


@dataclass(frozen=True)
class LoadToDraw:
    label: str
    load: HarLoad


def figure(asked: Asked, form: str) -> Response:
    """To be saved. One or two attempts are named by `of`, the event at which two are aligned by `align`."""
    found = [asked.attempt(*place_of(text)) for text in asked.request.args.getlist("of")[:2] if text.strip()]
    loads = [
        LoadToDraw(ascii_text(f"{each.label}, trial {each.name} ({each.time})"), _load(each))
        for each in found
    ]
    films = [_film(each) for each in found]
    if not loads:
        raise NotFound("No trial is named of which there could be a picture.")
    with _DRAWING, plots.look():
        if len(loads) == 1:
            made = chart(loads[0].load, loads[0].label, films[0])
        else:
            align = _align(asked.request.args.get("align", ""), loads)
            made = comparison(loads[0], loads[1], align, (films[0], films[1]))
        data = _saved(made, form)
    name = "-and-".join(each.name.replace(", attempt ", "-") for each in found)
    headers = {"Content-Disposition": f'attachment; filename="waterfall-{_plain(name)}.{form}"'}
    return Response(data, headers=headers, mimetype=FORMS[form])


def _align(text: str, loads: list[LoadToDraw]) -> str:
    return text if all(text in each.load.marks_ms for each in loads) else START


def _load(attempt: ShownAttempt) -> HarLoad:
    if attempt.har.load is None:
        raise NotFound(f"There is no picture of trial {attempt.name}: {'; '.join(attempt.har.notes)}.")
    return attempt.har.load


def _film(attempt: ShownAttempt) -> KeptFilm | None:
    """None of one with a picture that is gone or damaged."""
    film = attempt.film.film
    try:
        for each in film.frames if film else ():
            picture(each, (1, 1))
    except ValueError:
        return None
    return film


def _saved(made: Figure, form: str) -> bytes:
    file = io.BytesIO()
    made.savefig(file, format=form, metadata=plots.NO_DATE[form])
    return file.getvalue()


def _plain(name: str) -> str:
    """For a header: letters, digits and hyphens."""
    return "".join(each if each.isascii() and each.isalnum() else "-" for each in name)[:80]

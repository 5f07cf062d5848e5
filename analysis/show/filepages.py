"""What pages are made of beside their text: style, scripts, pictures of loads, and the files of trials.

A file of a trial is shown when it is a picture by its first bytes, and else saved by the browser, never opened.
"""

from __future__ import annotations

import io
import math
import threading
from dataclasses import dataclass
from importlib import resources

from matplotlib.figure import Figure
from werkzeug.exceptions import NotFound
from werkzeug.utils import send_file
from werkzeug.wrappers import Response

from analysis.charts import plots
from analysis.charts.waterfall import START, ascii_text, chart, comparison
from analysis.charts.waterfallview import file_text, refused_thumbnail, script_text, thumbnail
from analysis.runs.filmfile import KeptFilm, picture
from analysis.runs.harfile import HarLoad
from analysis.runs.series import folder_of
from analysis.show.asked import Asked, ShownAttempt, file_in, har_in, picture_type
from analysis.show.trialpages import place_of

STATIC = {"show.css": "text/css", "show.js": "text/javascript", "icon.svg": "image/svg+xml"}
SVG = "image/svg+xml"
LONGEST_MS = 1e8
FORMS = {"svg": "image/svg+xml", "pdf": "application/pdf"}
_DRAWING = threading.Lock()  # matplotlib's settings are of the whole process


def static(_asked: Asked, name: str) -> Response:
    """One of our own files."""
    if name == "waterfalls.js":
        return Response(script_text(), mimetype="text/javascript")
    if name == "waterfalls.css":
        return Response(file_text(name), mimetype="text/css")
    if name not in STATIC:
        raise NotFound("There is no such file.")
    text = (resources.files("analysis.show") / "static" / name).read_text(encoding="utf-8")
    return Response(text, mimetype=STATIC[name])


def small_waterfall(asked: Asked, trial: str, attempt: int) -> Response:
    """The HAR of an attempt as a small picture, as long as `until` says, in ms."""
    found = har_in(folder_of(asked.shown.run, trial, attempt))
    until_ms = _until(asked.request.args.get("until", ""))
    made = (
        refused_thumbnail("the HAR cannot be drawn")
        if found.load is None
        else thumbnail(found.load, until_ms)
    )
    return Response(made, mimetype=SVG)


def kept_picture(asked: Asked, trial: str, attempt: int, name: str) -> Response:
    """A picture that was kept of an attempt."""
    path = file_in(folder_of(asked.shown.run, trial, attempt), name)
    kind = picture_type(path) if path is not None else None
    if path is None or kind is None:
        raise NotFound(f"{name[:80]} is no picture of this trial.")
    return send_file(path, asked.request.environ, mimetype=kind)


def kept(asked: Asked, trial: str, attempt: int, name: str) -> Response:
    """A file of an attempt, to be saved."""
    path = file_in(folder_of(asked.shown.run, trial, attempt), name)
    if path is None:
        raise NotFound(f"{name[:80]} is no file of this trial.")
    return send_file(
        path,
        asked.request.environ,
        mimetype="application/octet-stream",
        as_attachment=True,
        download_name=f"{trial}-{attempt}-{name}",
    )


def _until(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    return found if 1 <= found <= LONGEST_MS else 1000.0


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

"""What pages are made of beside their text: style, scripts, and the files of trials.

A file of a trial is shown when it is a picture by its first bytes, and else saved by the browser, never opened.
"""

from __future__ import annotations

import math
from importlib import resources

from werkzeug.exceptions import NotFound
from werkzeug.utils import send_file
from werkzeug.wrappers import Response

from analysis.runs.series import folder_of
from analysis.show.asked import Asked
from analysis.show.trialfiles import file_in, har_in, picture_type
from analysis.waterfalls.thumbnail import refused, thumbnail
from analysis.waterfalls.waterfallview import file_text, script_text

STATIC = {"show.css": "text/css", "show.js": "text/javascript", "icon.svg": "image/svg+xml"}
SVG = "image/svg+xml"
LONGEST_MS = 1e8


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
    made = refused("the HAR cannot be drawn") if found.load is None else thumbnail(found.load, until_ms)
    return Response(made, mimetype=SVG)


def picture(asked: Asked, trial: str, attempt: int, name: str) -> Response:
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

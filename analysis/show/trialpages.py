"""The page of a trial, with its metrics, waterfall, film, console and files, and that of two trials side by side.

Also what pages are made of beside their text: style, scripts, pictures of loads, files of trials. A file of a trial is
shown when it is a picture by its first bytes, and else saved by the browser, never opened.
"""

from __future__ import annotations

import io
import json
import math
import threading
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from matplotlib.figure import Figure
from werkzeug.exceptions import NotFound
from werkzeug.utils import send_file
from werkzeug.wrappers import Response

from analysis.charts import plots
from analysis.charts.waterfall import START, NamedLoad, ascii_text, chart, comparison
from analysis.charts.waterfallview import controls, file_text, refused_thumbnail, script_text, thumbnail
from analysis.labels import words
from analysis.labels.metrics import UNITS, MetricColumn, main_label
from analysis.runs.filmfile import FILE, KeptFilm, picture
from analysis.runs.harfile import MARKS, HarLoad
from analysis.show.asked import Asked, ShownAttempt, file_in, har_in, picture_type, waterfall_data
from analysis.show.shownrun import CONDITION, ShownRun
from harness.input.shown import clipped
from harness.model.kind import Kind
from harness.model.metric import Metric, Unit
from harness.study.metrics import metrics_of

MOST_OFFERED = 300
LONGEST = 120  # characters of a text
UNIT_TEXTS = {**UNITS, Unit.PER_S: "/s", Unit.BYTES_PER_S: "bytes/s"}
MOST_FRAMES = 60
STATIC = {"show.css": "text/css", "show.js": "text/javascript", "icon.svg": "image/svg+xml"}
SVG = "image/svg+xml"
LONGEST_MS = 1e8
FORMS = {"svg": "image/svg+xml", "pdf": "application/pdf"}
_DRAWING = threading.Lock()  # matplotlib's settings are of the whole process


@dataclass(frozen=True)
class Offered:
    """An attempt that can be chosen, by the text that stands for it in an address."""

    text: str
    label: str


def attempt_text(trial: str, attempt: int) -> str:
    """`00012`, or `00012:2` of a second attempt."""
    return trial if attempt == 1 else f"{trial}:{attempt}"


def attempt_of(text: str) -> tuple[str, int]:
    """`attempt_text` read back. What is no number of an attempt belongs to the name."""
    trial, colon, number = text.strip().rpartition(":")
    if colon and number.isascii() and number.isdecimal() and len(number) < 9 and int(number) > 0:
        return trial, int(number)
    return text.strip(), 1


def chosen(shown: ShownRun, texts: Sequence[str]) -> tuple[list[tuple[str, int]], str]:
    """The two attempts, or in one line why they are not two."""
    wanted = [attempt_of(text) for text in texts if text.strip()]
    for (trial, attempt), text in zip(wanted, (text for text in texts if text.strip()), strict=True):
        if shown.of_trial(trial, attempt) is None:
            return [], f"the run holds no trial {text.strip()[:80]}"
    if len(wanted) != 2:
        told = (
            "choose two trials"
            if len(wanted) < 2
            else f"{len(wanted)} trials are chosen; two can be compared"
        )
        return wanted[:2], told
    return wanted, ""


def offered(shown: ShownRun, condition: str = "") -> list[Offered]:
    """What is worth setting against a trial: the trial nearest to the median of every condition, then those of the
    same condition, or of all.
    """
    return list(dict.fromkeys(_offered(shown, condition)))[:MOST_OFFERED]


def _offered(shown: ShownRun, condition: str) -> Iterator[Offered]:
    for key, portrait in shown.portraits.items():
        yield Offered(str(portrait["trial"]), f"{shown.conditions[key].label}: the portrait")
    for shown_condition in shown.conditions.values():
        if shown_condition.median_trial is not None and shown_condition.key != condition:
            yield Offered(
                attempt_text(*shown_condition.median_trial),
                f"{shown_condition.label}: the trial at the median",
            )
    attempts = shown.of_condition(condition) if condition else shown.attempts
    for row in attempts.head(MOST_OFFERED).to_dict("records"):
        label = shown.conditions[row[CONDITION]].label
        yield Offered(attempt_text(str(row["trial"]), int(row["attempt"])), f"{label}: block {row['block']}")


@dataclass(frozen=True)
class MetricRow:
    """A metric: its label, and its value in each record, a dash where it was not observed. `change` is by how much the
    second one is above the first.
    """

    key: str
    label: str
    meaning: str
    values: tuple[str, ...]
    change: str = ""


def metric_rows(records: Sequence[Mapping[str, Any]], kind: Kind) -> list[MetricRow]:
    """The metrics that some record observed, numbers and flags and short texts; lists are in the record itself."""
    rows = []
    for key, metric in metrics_of(kind).items():
        values = [record.get(key) for record in records]
        if metric.unit in (Unit.TEXTS, Unit.COUNTS, Unit.READING) or all(value is None for value in values):
            continue
        shown = tuple(_text(key, metric, value) for value in values)
        rows.append(
            MetricRow(key, metric.label, metric.meaning.replace("`", ""), shown, _change(metric, values))
        )
    return rows


def _text(key: str, metric: Metric, value: Any) -> str:
    if value is None:
        return words.DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not metric.unit.is_number or not words.is_number(value):
        return clipped(str(value), LONGEST)
    unit = UNIT_TEXTS.get(metric.unit, "")
    return f"{MetricColumn(key, metric.label, metric.unit).text(value)} {unit}".strip()


def _change(metric: Metric, values: Sequence[Any]) -> str:
    """`+12 %` of a number, `+3` of a small count; empty where nothing differs or there is nothing to compare."""
    if len(values) < 2 or not metric.unit.is_number or not all(map(words.is_number, values)):
        return ""
    first, second = float(values[0]), float(values[1])
    if first == second:
        return "same"
    if metric.unit is Unit.COUNT:
        return signed(second - first, "")
    return signed(100 * (second / first - 1), " %") if first > 0 and math.isfinite(second / first) else ""


def signed(value: float, unit: str) -> str:
    """With its sign, and a decimal below 10 where it has one."""
    digits = 1 if abs(value) < 10 and value % 1 else 0
    return f"{'+' if value > 0 else words.MINUS}{abs(value):,.{digits}f}{unit}"


@dataclass(frozen=True)
class ShownFrame:
    """A picture by its name in the folder of the attempt, None of one that is gone; and what is written below it."""

    name: str | None
    text: str


def shown_frames(film: KeptFilm, gone: Container[str] = ()) -> tuple[ShownFrame, ...]:
    """The pictures of a film, or so many of them evenly, the first and the last among them."""
    folder = FILE.rpartition("/")[0]
    return tuple(
        ShownFrame(
            None if frame.path.name in gone else f"{folder}/{frame.path.name}",
            f"{words.duration(frame.at_ms)}, {100 * frame.progress:.0f} %",
        )
        for frame in words.evenly(film.frames, MOST_FRAMES)
    )


def trial(asked: Asked, trial: str, attempt: int) -> Response:
    shown = asked.shown
    shown_attempt = asked.attempt(trial, attempt)
    before, after = _beside(asked, shown_attempt)
    return asked.page(
        "trial.html.j2",
        trial=shown_attempt,
        before=before,
        after=after,
        metric=main_label(shown.run.kind),
        loads=shown.run.kind is Kind.LOAD,
        metrics=metric_rows([shown_attempt.record], shown.run.kind),
        record=json.dumps(shown_attempt.record, indent=1, ensure_ascii=False),
        waterfalls=waterfall_data([shown_attempt]),
        controls=controls(),
        frames=shown_frames(shown_attempt.film.film, shown_attempt.film.gone)
        if shown_attempt.film.film
        else (),
        offered=[
            offer
            for offer in offered(shown, shown_attempt.condition)
            if offer.text != attempt_text(trial, attempt)
        ],
        here=attempt_text(trial, attempt),
    )


def _beside(asked: Asked, found: ShownAttempt) -> tuple[str | None, str | None]:
    """The addresses of the attempts before and after it at the same condition."""
    mine = asked.shown.of_condition(found.condition)
    listed = list(zip(mine["trial"].astype(str), mine["attempt"].astype(int), strict=True))
    if (found.trial, found.attempt) not in listed:  # a portrait
        return None, None
    at = listed.index((found.trial, found.attempt))
    urls = [
        asked.url("trial", trial=trial, attempt=attempt) for trial, attempt in listed[max(0, at - 1) : at + 2]
    ]
    return urls[0] if at else None, urls[-1] if at + 1 < len(listed) else None


def compare(asked: Asked) -> Response:
    shown = asked.shown
    wanted, why_not = chosen(shown, asked.request.args.getlist("of"))
    both = [] if why_not else [asked.attempt(*key) for key in wanted]
    return asked.page(
        "compare.html.j2",
        both=both,
        why_not=why_not,
        given=[*(attempt_text(*key) for key in wanted), "", ""][:2],
        offered=offered(shown),
        loads=shown.run.kind is Kind.LOAD,
        metrics=metric_rows([attempt.record for attempt in both], shown.run.kind) if both else [],
        waterfalls=waterfall_data(both),
        controls=controls(),
        marks=[
            name
            for name in MARKS.values()
            if all(attempt.har.load and name in attempt.har.load.marks_ms for attempt in both)
        ],
    )


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
    har = har_in(asked.shown.run.folder_of(trial, attempt))
    until_ms = _until(asked.request.args.get("until", ""))
    made = refused_thumbnail("the HAR cannot be drawn") if har.load is None else thumbnail(har.load, until_ms)
    return Response(made, mimetype=SVG)


def kept_picture(asked: Asked, trial: str, attempt: int, name: str) -> Response:
    """A picture that was kept of an attempt."""
    path = file_in(asked.shown.run.folder_of(trial, attempt), name)
    kind = picture_type(path) if path is not None else None
    if path is None or kind is None:
        raise NotFound(f"{name[:80]} is no picture of this trial.")
    return send_file(path, asked.request.environ, mimetype=kind)


def kept(asked: Asked, trial: str, attempt: int, name: str) -> Response:
    """A file of an attempt, to be saved."""
    path = file_in(asked.shown.run.folder_of(trial, attempt), name)
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
        until_ms = float(text)
    except ValueError:
        until_ms = math.nan
    return until_ms if 1 <= until_ms <= LONGEST_MS else 1000.0


def figure(asked: Asked, form: str) -> Response:
    """To be saved. One or two attempts are named by `of`, the event at which two are aligned by `align`."""
    attempts = [
        asked.attempt(*attempt_of(text)) for text in asked.request.args.getlist("of")[:2] if text.strip()
    ]
    loads = [
        NamedLoad(
            ascii_text(f"{attempt.label}, trial {attempt.name} ({attempt.time})"),
            _load(attempt),
            _film(attempt),
        )
        for attempt in attempts
    ]
    if not loads:
        raise NotFound("No trial is named of which there could be a picture.")
    with _DRAWING, plots.look():
        if len(loads) == 1:
            made = chart(loads[0])
        else:
            made = comparison(loads[0], loads[1], _align(asked.request.args.get("align", ""), loads))
        data = _saved(made, form)
    name = "-and-".join(attempt.name.replace(", attempt ", "-") for attempt in attempts)
    headers = {"Content-Disposition": f'attachment; filename="waterfall-{_plain(name)}.{form}"'}
    return Response(data, headers=headers, mimetype=FORMS[form])


def _align(text: str, loads: list[NamedLoad]) -> str:
    return text if all(text in named_load.load.marks_ms for named_load in loads) else START


def _load(attempt: ShownAttempt) -> HarLoad:
    if attempt.har.load is None:
        raise NotFound(f"There is no picture of trial {attempt.name}: {'; '.join(attempt.har.notes)}.")
    return attempt.har.load


def _film(attempt: ShownAttempt) -> KeptFilm | None:
    """None of one with a picture that is gone or damaged."""
    film = attempt.film.film
    try:
        for frame in film.frames if film else ():
            picture(frame, (1, 1))
    except ValueError:
        return None
    return film


def _saved(made: Figure, form: str) -> bytes:
    file = io.BytesIO()
    made.savefig(file, format=form, metadata=plots.NO_DATE[form])
    return file.getvalue()


def _plain(name: str) -> str:
    """For a header: letters, digits and hyphens."""
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in name)[
        :80
    ]

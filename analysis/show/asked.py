"""What a page is made from: the run as it is now, what was asked, an attempt with its files, and the page's template.

Every value becomes text: none is markup, none moves a terminal or turns the writing around. The record of an attempt
and the files of its folder are not trusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from markupsafe import Markup
from werkzeug.exceptions import NotFound
from werkzeug.routing import MapAdapter
from werkzeug.wrappers import Request, Response

from analysis.charts.waterfallview import data_of, film_data, load_text
from analysis.evaluation.loads import NO_REQUESTS
from analysis.labels import words
from analysis.labels.markup import templates
from analysis.runs.filmfile import FILE as FILM_FILE
from analysis.runs.filmfile import KeptFilm, read_film
from analysis.runs.harfile import FILE as HAR_FILE
from analysis.runs.harfile import MOST_REQUESTS, HarLoad, read_har
from analysis.show.shownrun import CONDITION, LEFT_OUT, LiveRun, ShownRun
from harness.input.shown import clipped, one_line
from harness.records import PORTRAITS, RECORDS, line_of
from harness.study.plan import PORTRAIT

SCREENSHOT = "screenshot.png"
MOST_FILES = 100
# By how a picture begins. Only these are shown as pictures; whatever else a file is, it is saved and never opened.
PICTURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}
NO_HAR = 'no HAR of it was kept; keep = ["har"] in a study, or `coldload load --keep`, keeps it'
NO_FILM = 'it was not filmed; keep = ["filmstrip"] in a study films a load'
LONGEST_LINE = 1000  # of a console


@dataclass(frozen=True)
class KeptFile:
    name: str
    size: int


@dataclass(frozen=True)
class ReadHar:
    """A load, or in one line why there is none; `notes` say what is not in it."""

    load: HarLoad | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class ReadFilm:
    """A film, or in one line why there is none; of a film, the note says what is to be known of it, such as how many of
    its pictures are `gone`.
    """

    film: KeptFilm | None
    note: str
    gone: frozenset[str] = frozenset()


def kept_files(folder: Path) -> tuple[KeptFile, ...]:
    """The files of an attempt; none where the folder is missing."""
    if not folder.is_dir():
        return ()
    names = sorted(file.name for file in folder.iterdir())[:MOST_FILES]
    files = ((name, file_in(folder, name)) for name in names)
    return tuple(KeptFile(name, path.stat().st_size) for name, path in files if path is not None)


def file_in(folder: Path, name: str) -> Path | None:
    """A file by its name; None for what is no file, can be none, or lies elsewhere, as behind a link."""
    try:
        inside, path = folder.resolve(), (folder / name).resolve()
        return path if path.is_relative_to(inside) and path.is_file() else None
    except (OSError, RuntimeError, ValueError):  # a name that is too long, a circle of links, a NUL
        return None


def picture_type(path: Path) -> str | None:
    """The media type of a picture by its first bytes; None of anything else."""
    with path.open("rb") as file:
        head = file.read(12)
    return next((kind for start, kind in PICTURES.items() if head.startswith(start)), None)


def har_in(folder: Path) -> ReadHar:
    """The load that was kept."""
    if not (folder / HAR_FILE).exists():
        return ReadHar(None, (NO_HAR,))
    path = file_in(folder, HAR_FILE)
    if path is None:
        return ReadHar(None, ("the HAR is no file of this trial",))
    try:
        load = read_har(path)
    except (OSError, ValueError) as error:
        return ReadHar(None, (f"the HAR cannot be drawn: {clipped(one_line(str(error)), 200)}",))
    notes = []
    if not load.requests:
        notes.append("the HAR holds no request that could be read")
    if not load.whole:
        notes.append("the browser's log was cut off: what came later is not known")
    if load.left_out:
        notes.append(f"{load.left_out:,} entries of the HAR could not be read")
    return ReadHar(load, tuple(notes))


def film_in(folder: Path) -> ReadFilm:
    """The film that was kept."""
    if not (folder / FILM_FILE).exists():
        return ReadFilm(None, NO_FILM)
    path = file_in(folder, FILM_FILE)
    if path is None:
        return ReadFilm(None, "the film is no file of this trial")
    try:
        film = read_film(path)
    except (OSError, ValueError) as error:
        return ReadFilm(None, f"the film cannot be shown: {clipped(one_line(str(error)), 200)}")
    names = [frame.path.name for frame in film.frames]
    gone = frozenset(name for name in names if file_in(path.parent, name) is None)
    notes = []
    if film.outcome:
        notes.append(f"the load failed ({film.outcome}): the film ends there and is in no estimate")
    if gone:
        notes.append(f"{len(gone):,} of {len(names):,} pictures of the film are gone")
    return ReadFilm(film, "; ".join(notes), gone)


def screenshot_note(folder: Path) -> str:
    """Why there is no screenshot to show; empty when there is one."""
    if not (folder / SCREENSHOT).exists():
        return 'no screenshot of it was kept; keep = ["screenshot"] in a study keeps it'
    path = file_in(folder, SCREENSHOT)
    if path is None or picture_type(path) is None:
        return "the screenshot is damaged: it is no picture"
    return ""


@dataclass(frozen=True)
class ShownAttempt:
    """An attempt: where it stands in the run, its record, and the files that were kept of it.

    `console_note` and `screenshot_note` say why there is none to show.
    """

    trial: str
    attempt: int
    condition: str
    label: str
    outcome: str
    left_out: str
    time: str
    record: Mapping[str, Any]
    folder: Path
    files: tuple[KeptFile, ...]
    har: ReadHar
    film: ReadFilm
    console: tuple[str, ...]
    console_note: str
    screenshot_note: str

    @property
    def name(self) -> str:
        """As in `00012`, or `00012, attempt 2`, or `portrait-00012`."""
        return self.trial if self.attempt == 1 else f"{self.trial}, attempt {self.attempt}"

    @property
    def is_portrait(self) -> bool:
        """Whether it was looked at, and not measured."""
        return self.trial.startswith(PORTRAIT)

    @property
    def url_keys(self) -> dict[str, Any]:
        """As arguments of an address."""
        return {"trial": self.trial, "attempt": self.attempt}


def shown_attempt(shown: ShownRun, trial: str, attempt: int) -> ShownAttempt | None:
    """None when the run holds no such attempt; RecordsError when its name leads somewhere else."""
    row = shown.of_trial(trial, attempt)
    if row is None:
        return None
    folder = shown.run.folder_of(trial, attempt)
    stored = PORTRAITS if trial.startswith(PORTRAIT) else RECORDS
    record = line_of(shown.run.directory / stored, trial, attempt) or {}
    errors = record.get("console_errors")
    value, left_out = row[shown.metric], row[LEFT_OUT]
    return ShownAttempt(
        trial=trial,
        attempt=attempt,
        condition=str(row[CONDITION]),
        label=shown.conditions[row[CONDITION]].label,
        outcome=str(row["outcome"]),
        left_out=str(left_out) if isinstance(left_out, str) else "",
        time=_time(value, shown.metric),
        record=record,
        folder=folder,
        files=kept_files(folder),
        har=har_in(folder),
        film=film_in(folder),
        console=tuple(clipped(one_line(str(error)), LONGEST_LINE) for error in errors)
        if isinstance(errors, list)
        else (),
        console_note=_console_note(record),
        screenshot_note=screenshot_note(folder),
    )


def _time(value: float | None, metric: str) -> str:
    """The main metric; a dash where there is none."""
    if value is None:
        return words.DASH
    return words.duration(value) if metric.endswith("_ms") else words.number(value, 1)


def _console_note(record: Mapping[str, Any]) -> str:
    count, told = record.get("console_error_count"), record.get("console_errors")
    if count is None and told is None:
        return "the console of this trial was not observed"
    if not told:
        return "no error on the page's console"
    if isinstance(count, int) and isinstance(told, list) and count > len(told):
        return f"the first {len(told):,} of {count:,} errors"
    return ""


def waterfall_data(attempts: Sequence[ShownAttempt]) -> Markup | None:
    """For the script of the waterfalls, of those whose HAR or film could be read; None when there is none."""
    shown = [
        attempt
        for attempt in attempts
        if attempt.film.film or (attempt.har.load and attempt.har.load.requests)
    ]
    return data_of(_load_text(attempt, len(shown)) for attempt in shown) if shown else None


def _load_text(each: ShownAttempt, films: int) -> str:
    label, load = f"{each.label} (trial {each.name}, {each.time})", each.har.load or NO_REQUESTS
    return load_text(label, load, _film_data(each, films), most_requests=MOST_REQUESTS)


def _film_data(each: ShownAttempt, films: int) -> Mapping[str, Any] | None:
    """None also of a film with a picture that is gone or damaged: the page's own film says which."""
    try:
        return film_data(each.film.film, films) if each.film.film else None
    except ValueError:
        return None


ENVIRONMENT = templates("analysis.show", "templates")


def sentence(text: str) -> str:
    """A line as a sentence: its first letter large, a full stop at its end."""
    return f"{text[:1].upper()}{text[1:]}."


ENVIRONMENT.filters["sentence"] = sentence


def rendered(template: str, status: int = 200, **context: Any) -> Response:
    """A page."""
    return Response(ENVIRONMENT.get_template(template).render(context), status, mimetype="text/html")


@dataclass(frozen=True)
class Asked:
    """A request for a page. `shown` raises RecordsError when the run cannot be read."""

    live: LiveRun
    request: Request
    adapter: MapAdapter

    @cached_property
    def shown(self) -> ShownRun:
        """One state of the run for the whole page."""
        return self.live.now()

    def url(self, endpoint: str, **values: Any) -> str:
        """The address of a page; values that are none of its parts become its arguments."""
        return self.adapter.build(endpoint, values)

    def attempt(self, trial: str, attempt: int) -> ShownAttempt:
        """An attempt of the run, or a page that says there is none."""
        answer = shown_attempt(self.shown, trial, attempt)
        if answer is None:
            raise NotFound(f"The run holds no attempt {attempt} at a trial {trial[:80]}.")
        return answer

    def page(self, template: str, **context: Any) -> Response:
        """A page with the head that all pages of a run have."""
        return rendered(
            template,
            url=self.url,
            title=self.shown.run.title,
            directory=self.shown.run.directory.resolve().name,
            progress=self.shown.progress,
            **context,
        )

"""One attempt as its page and a comparison show it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup

from analysis.labels import words
from analysis.runs.harfile import MOST_REQUESTS, HarLoad
from analysis.runs.series import folder_of
from analysis.show.rawrecord import raw_record
from analysis.show.shownrun import CONDITION, LEFT_OUT, ShownRun
from analysis.show.trialfiles import KeptFile, ReadFilm, ReadHar, film_in, har_in, kept_files, screenshot_note
from analysis.waterfalls.filmview import film_data
from analysis.waterfalls.waterfallview import data_of, load_text
from harness.input.shown import clipped, one_line
from harness.records import RECORDS

LONGEST_LINE = 1000  # of a console


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
        """As in `00012`, or `00012, attempt 2`."""
        return self.trial if self.attempt == 1 else f"{self.trial}, attempt {self.attempt}"

    @property
    def place(self) -> dict[str, Any]:
        """As arguments of an address."""
        return {"trial": self.trial, "attempt": self.attempt}


def shown_attempt(shown: ShownRun, trial: str, attempt: int) -> ShownAttempt | None:
    """None when the run holds no such attempt; RecordsError when its name leads somewhere else."""
    row = shown.of_trial(trial, attempt)
    if row is None:
        return None
    folder = folder_of(shown.run, trial, attempt)
    record = raw_record(shown.run.directory / RECORDS, trial, attempt) or {}
    errors = record.get("console_errors")
    value, left_out = row[shown.metric], row[LEFT_OUT]
    return ShownAttempt(
        trial=trial,
        attempt=attempt,
        condition=str(row[CONDITION]),
        label=shown.conditions[row[CONDITION]].label,
        outcome=str(row["outcome"]),
        left_out=str(left_out) if isinstance(left_out, str) else "",
        time=words.duration(value) if shown.metric.endswith("_ms") else words.number(value, 1),
        record=record,
        folder=folder,
        files=kept_files(folder),
        har=har_in(folder),
        film=film_in(folder),
        console=tuple(clipped(one_line(str(each)), LONGEST_LINE) for each in errors)
        if isinstance(errors, list)
        else (),
        console_note=_console_note(record),
        screenshot_note=screenshot_note(folder),
    )


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
    shown = [each for each in attempts if each.film.film or (each.har.load and each.har.load.requests)]
    return data_of(_load_text(each, len(shown)) for each in shown) if shown else None


def _load_text(each: ShownAttempt, films: int) -> str:
    label, load = f"{each.label} (trial {each.name}, {each.time})", each.har.load or HarLoad((), {}, None)
    return load_text(label, load, _film_data(each, films), most_requests=MOST_REQUESTS)


def _film_data(each: ShownAttempt, films: int) -> Mapping[str, Any] | None:
    """None also of a film with a picture that is gone or damaged: the page's own film says which."""
    try:
        return film_data(each.film.film, films) if each.film.film else None
    except ValueError:
        return None

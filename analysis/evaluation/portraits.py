"""The portraits of a run: one load of each condition to look at, after the measured ones. They are in no estimate."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from analysis.evaluation.loads import NO_REQUESTS, Median, Medians, told_of, whole_film
from analysis.evaluation.results import Results
from analysis.labels import conditions
from analysis.runs import filmfile, harfile
from analysis.runs.filmfile import KeptFilm
from analysis.runs.harfile import HarLoad, read_har
from analysis.runs.series import folder_of
from harness.outcome import Outcome
from harness.records import StoredRecord
from harness.study.plan import PORTRAIT

MOST_PORTRAITS = 60
SCREENSHOT = "screenshot.png"

Told = TypeVar("Told")


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

    def medians(self, told: Callable[[Portrait], Told | None]) -> Medians[Told]:
        """They as a report draws single loads: those of which there is such a thing."""
        loads = []
        for each in self.shown:
            load = told(each)
            if load is not None and each.plt_ms is not None:
                head = (each.label, each.run, each.trial, each.plt_ms, each.median_ms, each.trials)
                loads.append(Median(*head, load, each.place))
        return Medians(tuple(loads), self.conditions, ())


def portraits(results: Results) -> Portraits:
    """Those of all runs, of each condition the first."""
    by_cell = {cell: (name, record) for cell, name, record in reversed(list(_taken(results)))}
    cells = [each for each in results.cells.to_dict("records") if int(each["cell"]) in by_cell]
    told = told_of(results)
    made = []
    for cell in cells[:MOST_PORTRAITS]:
        name, record = by_cell[int(cell["cell"])]
        folder = folder_of(results.by_name[name], record.trial, record.attempt)
        har = _read(folder / harfile.FILE, read_har)
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
                film=_read(folder / filmfile.FILE, whole_film),
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


def _read(path: Path, read: Callable[[Path], Told]) -> Told | None:
    with contextlib.suppress(OSError, ValueError):
        return read(path)
    return None

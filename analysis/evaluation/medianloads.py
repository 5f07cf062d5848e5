"""The load of each condition that took as long as half of them: the one to look into, by its HAR or its film."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import pandas as pd

from analysis.evaluation.results import Results, run_names
from analysis.labels import conditions
from analysis.runs import filmfile, harfile
from analysis.runs.filmfile import KeptFilm, picture, read_film
from analysis.runs.harfile import HarLoad, read_har
from analysis.runs.rundirectory import Run
from analysis.runs.series import TRIALS, folder_of
from harness.input.shown import clipped, one_line

MOST_CONDITIONS = 60
TRIES = 5  # of the trials next to the median, where files are missing or damaged

Told = TypeVar("Told")


@dataclass(frozen=True)
class Median(Generic[Told]):
    """The load of a condition that is nearest to its median; `median_ms` is that median, of `trials` trials.

    `load` is what was kept of it. Conditions of one `place` differ in the protocol alone.
    """

    label: str
    run: str
    trial: str
    plt_ms: float
    median_ms: float
    trials: int
    load: Told
    place: int = 0


@dataclass(frozen=True)
class Medians(Generic[Told]):
    """Those of all conditions that kept any, in reading order; `conditions` is how many kept some.

    `refused` are files that could not be read, each with why.
    """

    loads: tuple[Median[Told], ...]
    conditions: int
    refused: tuple[str, ...]


MedianLoad = Median[HarLoad]
MedianLoads = Medians[HarLoad]
MedianFilm = Median[KeptFilm]
MedianFilms = Medians[KeptFilm]


def median_loads(results: Results) -> MedianLoads:
    """By their HARs."""
    return _medians(results, harfile.FILE, read_har)


def median_films(results: Results) -> MedianFilms:
    """By their films, of which every picture can be read."""
    return _medians(results, filmfile.FILE, whole_film)


def whole_film(index: Path) -> KeptFilm:
    """A film of which every picture can be read; OSError or ValueError without one."""
    film = read_film(index)
    for each in film.frames:
        picture(each, (1, 1))
    return film


def _medians(results: Results, file: str, read: Callable[[Path], Told]) -> Medians[Told]:
    """Reads at most `TRIES` files a condition, of at most `MOST_CONDITIONS`."""
    found: list[Median[Told]] = []
    refused: list[str] = []
    kept = 0
    if not any((run.directory / TRIALS).is_dir() for run in results.runs):
        return Medians((), 0, ())
    observed = results.sifted.kept[["cell", "run", "trial", "attempt", results.metric]].dropna()
    by_cell = {int(str(cell)): trials for cell, trials in observed.groupby("cell")}
    for cell in results.cells.to_dict("records"):
        mine = by_cell.get(int(cell["cell"]), observed.head(0))
        trials = list(_nearest(results, mine, float(cell["median"]), file))
        if not trials:
            continue
        kept += 1
        if kept > MOST_CONDITIONS:
            continue
        label = conditions.cell_text(cell, told_of(results))
        for run, name, trial, attempt, plt in trials[:TRIES]:
            path = folder_of(run, trial, attempt) / file
            try:
                load = read(path)
            except (OSError, ValueError) as error:
                why = clipped(one_line(str(error)), 200)
                refused.append(f"{name}, trial {trial}: {path.name} cannot be drawn ({why})")
                continue
            found.append(
                Median(
                    label=label,
                    run=name,
                    trial=trial,
                    plt_ms=plt,
                    median_ms=float(cell["median"]),
                    trials=int(cell["n"]),
                    load=load,
                    place=int(cell["place"]),
                )
            )
            break
    return Medians(tuple(found), kept, tuple(refused))


def told_of(results: Results) -> tuple[str, ...]:
    """What a label says of a condition: the page and the rate where a reader has to be told them, and what differs."""
    needed = (name for name in ("page", "down_mbps") if results.cells[name].nunique(dropna=False) > 1)
    return (*results.split_columns, *needed, "rtt_ms", "protocol")


def _nearest(
    results: Results, mine: pd.DataFrame, median: float, file: str
) -> Iterator[tuple[Run, str, str, int, float]]:
    """Those of the trials that have such a file, the nearest to the median first."""
    runs = dict(zip(run_names(results.runs), results.runs, strict=True))
    order = (mine[results.metric] - median).abs().sort_values(kind="stable").index
    for record in mine.loc[order].to_dict("records"):
        run, trial, attempt = runs[record["run"]], str(record["trial"]), int(record["attempt"])
        if (folder_of(run, trial, attempt) / file).is_file():
            yield run, record["run"], trial, attempt, float(record[results.metric])

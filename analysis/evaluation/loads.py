"""Single loads to look into: the one nearest to each median, those that failed, and what changed between two.

They are read from their HARs and films.
"""

from __future__ import annotations

import contextlib
import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

import pandas as pd

from analysis.evaluation.results import Results
from analysis.labels import conditions, words
from analysis.runs import filmfile, harfile
from analysis.runs.filmfile import KeptFilm, picture, read_film
from analysis.runs.harfile import HarLoad, HarRequest, read_har
from analysis.runs.rundirectory import TRIALS, Run
from harness.errors import Outcome
from harness.input.shown import clipped, one_line

MOST_CONDITIONS = 60
TRIES = 5  # of the trials next to the median, where files are missing or damaged

LoadDetail = TypeVar("LoadDetail")
MOST_LOADS = 6
NO_REQUESTS = HarLoad((), {}, None)


@dataclass(frozen=True)
class Median(Generic[LoadDetail]):
    """The load of a condition that is nearest to its median; `median_ms` is that median, of `trials` trials.

    `load` is what was kept of it. Conditions of one `place` differ in the protocol alone.
    """

    label: str
    run: str
    trial: str
    plt_ms: float
    median_ms: float
    trials: int
    load: LoadDetail
    place: int = 0


@dataclass(frozen=True)
class Medians(Generic[LoadDetail]):
    """Those of all conditions that kept any, in reading order; `conditions` is how many kept some.

    `refused` are files that could not be read, each with why.
    """

    loads: tuple[Median[LoadDetail], ...]
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
    for frame in film.frames:
        picture(frame, (1, 1))
    return film


def _medians(results: Results, file: str, read: Callable[[Path], LoadDetail]) -> Medians[LoadDetail]:
    """Reads at most `TRIES` files a condition, of at most `MOST_CONDITIONS`."""
    medians: list[Median[LoadDetail]] = []
    refused: list[str] = []
    kept = 0
    if not any((run.directory / TRIALS).is_dir() for run in results.runs):
        return Medians((), 0, ())
    observed = results.sifted.kept[["cell", "run", "trial", "attempt", results.metric]].dropna()
    by_cell = {int(str(cell)): trials for cell, trials in observed.groupby("cell")}
    for cell in results.cells.to_dict("records"):
        if not math.isfinite(cell["median"]):  # nothing counts, or no load is near a time-out
            continue
        mine = by_cell.get(int(cell["cell"]), observed.head(0))
        trials = list(_nearest(results, mine, float(cell["median"]), file))
        if not trials:
            continue
        kept += 1
        if kept > MOST_CONDITIONS:
            continue
        label = conditions.cell_text(cell, told_of(results))
        for run, name, trial, attempt, plt in trials[:TRIES]:
            path = run.folder_of(trial, attempt) / file
            try:
                load = read(path)
            except (OSError, ValueError) as error:
                why = clipped(one_line(str(error)), 200)
                refused.append(f"{name}, trial {trial}: {path.name} cannot be drawn ({why})")
                continue
            medians.append(
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
    return Medians(tuple(medians), kept, tuple(refused))


def told_of(results: Results) -> tuple[str, ...]:
    """What a label says of a condition: the page and the rate where a reader has to be told them, and what differs."""
    needed = (name for name in ("page", "down_mbps") if results.cells[name].nunique(dropna=False) > 1)
    return (*results.split_columns, *needed, "rtt_ms", "protocol")


def _nearest(
    results: Results, mine: pd.DataFrame, median: float, file: str
) -> Iterator[tuple[Run, str, str, int, float]]:
    """Those of the trials that have such a file, the nearest to the median first."""
    order = (mine[results.metric] - median).abs().sort_values(kind="stable").index
    for record in mine.loc[order].to_dict("records"):
        run, trial, attempt = results.by_name[record["run"]], str(record["trial"]), int(record["attempt"])
        if (run.folder_of(trial, attempt) / file).is_file():
            yield run, record["run"], trial, attempt, float(record[results.metric])


@dataclass(frozen=True)
class FailedLoad:
    """An attempt that ended otherwise than `ok`, its film, and what it asked for where a HAR tells."""

    label: str
    run: str
    trial: str
    attempt: int
    outcome: str
    film: KeptFilm
    load: HarLoad


def failed_loads(results: Results) -> tuple[FailedLoad, ...]:
    """The first of each condition and outcome; a film that cannot be read is passed over."""
    if not any((run.directory / TRIALS).is_dir() for run in results.runs):
        return ()
    return tuple(islice(_failed(results), MOST_LOADS))


def _failed(results: Results) -> Iterator[FailedLoad]:
    cells = {int(cell["cell"]): cell for cell in results.cells.to_dict("records")}
    failed = results.records[results.records["outcome"] != Outcome.OK]
    seen: set[tuple[int, str]] = set()
    for record in failed.to_dict("records"):
        key = int(record["cell"]), str(record["outcome"])
        if key in seen or key[0] not in cells:
            continue
        trial, attempt = str(record["trial"]), int(record["attempt"])
        folder = results.by_name[record["run"]].folder_of(trial, attempt)
        film = read_kept(folder / filmfile.FILE, whole_film)
        if film is None:
            continue
        seen.add(key)
        yield FailedLoad(
            label=conditions.cell_text(cells[key[0]], told_of(results)),
            run=str(record["run"]),
            trial=trial,
            attempt=attempt,
            outcome=key[1],
            film=film,
            load=read_kept(folder / harfile.FILE, read_har) or NO_REQUESTS,
        )


def read_kept(path: Path, read: Callable[[Path], LoadDetail]) -> LoadDetail | None:
    """What a file holds; None where it is missing or damaged."""
    with contextlib.suppress(OSError, ValueError):
        return read(path)
    return None


@dataclass(frozen=True)
class LoadChanges:
    """`only_first` and `only_second` are requests that the other load does not have. `moved` is how many of the
    `common` ones would have to come at another position for both to have one order.
    """

    requests: tuple[int, int]
    body_bytes: tuple[int, int]
    connections: tuple[int | None, int | None]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    common: int
    moved: int

    @property
    def text(self) -> str:
        """In one sentence."""
        made = [
            f"{words.count(self.requests[0], 'request')} and {self.requests[1]:,}",
            f"bodies of {words.kilobytes(self.body_bytes[0])} kB and {words.kilobytes(self.body_bytes[1])} kB",
        ]
        if None not in self.connections:
            made.append(f"{words.count(self.connections[0] or 0, 'connection')} and {self.connections[1]:,}")
        alone = [
            f"{len(urls):,} in the {which} alone"
            for urls, which in ((self.only_first, "first"), (self.only_second, "second"))
            if urls
        ]
        order = f"{self.moved:,} of {self.common:,} in another order" if self.moved else "in the same order"
        return f"{', '.join([*made, *alone])}; those in both {order}"


def load_changes(first: HarLoad, second: HarLoad) -> LoadChanges:
    """Requests are the same by method and address, whatever the scheme; a repeated one by its number."""
    before, after = _keys(first.requests), _keys(second.requests)
    ranks = {key: number for number, key in enumerate(after)}
    common = [ranks[key] for key in before if key in ranks]
    known = set(before)
    return LoadChanges(
        requests=(len(before), len(after)),
        body_bytes=(first.body_bytes, second.body_bytes),
        connections=(first.connections, second.connections),
        only_first=tuple(key[1] for key in before if key not in ranks),
        only_second=tuple(key[1] for key in after if key not in known),
        common=len(common),
        moved=len(common) - _in_order(common),
    )


def _keys(requests: Sequence[HarRequest]) -> list[tuple[str, str, int]]:
    seen: Counter[tuple[str, str]] = Counter()
    made = []
    for request in requests:
        key = request.method, request.url.partition("://")[2]
        made.append((*key, seen[key]))
        seen[key] += 1
    return made


def _in_order(ranks: Sequence[int]) -> int:
    """The length of the longest rising subsequence."""
    tails: list[int] = []
    for rank in ranks:
        at = bisect_left(tails, rank)
        tails[at : at + 1] = [rank]
    return len(tails)

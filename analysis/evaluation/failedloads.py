"""Loads that failed and were filmed until then: to be looked at, in no estimate."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from analysis.evaluation.medianloads import told_of, whole_film
from analysis.evaluation.results import Results, run_names
from analysis.labels import conditions
from analysis.runs import filmfile, harfile
from analysis.runs.filmfile import KeptFilm
from analysis.runs.harfile import HarLoad, read_har
from analysis.runs.series import TRIALS, folder_of
from harness.outcome import Outcome

MOST_LOADS = 6
NO_REQUESTS = HarLoad((), {}, None)


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
    runs = dict(zip(run_names(results.runs), results.runs, strict=True))
    cells = {int(cell["cell"]): cell for cell in results.cells.to_dict("records")}
    failed = results.sifted.excluded
    failed = failed[failed["outcome"] != Outcome.OK]
    seen: set[tuple[int, str]] = set()
    for record in failed.to_dict("records"):
        key = int(record["cell"]), str(record["outcome"])
        if key in seen or key[0] not in cells:
            continue
        trial, attempt = str(record["trial"]), int(record["attempt"])
        folder = folder_of(runs[record["run"]], trial, attempt)
        film = _film(folder)
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
            load=_load(folder),
        )


def _film(folder: Path) -> KeptFilm | None:
    with contextlib.suppress(OSError, ValueError):
        return whole_film(folder / filmfile.FILE)
    return None


def _load(folder: Path) -> HarLoad:
    with contextlib.suppress(OSError, ValueError):
        return read_har(folder / harfile.FILE)
    return NO_REQUESTS

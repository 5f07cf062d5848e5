"""The load of each condition that took as long as half of them: the one to look into. From runs that kept HARs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from analysis.evaluation.results import Results, run_names
from analysis.labels import conditions
from analysis.runs.harfile import FILE, HarLoad, read_har
from analysis.runs.rundirectory import Run
from analysis.runs.series import folder_of
from harness.input.shown import clipped, one_line

MOST_CONDITIONS = 60
TRIES = 5  # of the trials next to the median, where HARs are missing or damaged


@dataclass(frozen=True)
class MedianLoad:
    """The load of a condition that is nearest to its median; `median_ms` is that median, of `trials` trials.

    Conditions of one `place` differ in the protocol alone.
    """

    label: str
    run: str
    trial: str
    plt_ms: float
    median_ms: float
    trials: int
    load: HarLoad
    place: int = 0


@dataclass(frozen=True)
class MedianLoads:
    """Those of all conditions that kept any, in reading order; `conditions` is how many kept some.

    `refused` are files that could not be read, each with why.
    """

    loads: tuple[MedianLoad, ...]
    conditions: int
    refused: tuple[str, ...]


def median_loads(results: Results) -> MedianLoads:
    """Reads at most `TRIES` files a condition, of at most `MOST_CONDITIONS`."""
    found: list[MedianLoad] = []
    refused: list[str] = []
    kept = 0
    for cell in results.cells.to_dict("records"):
        trials = list(_nearest(results, int(cell["cell"]), float(cell["median"])))
        if not trials:
            continue
        kept += 1
        if kept > MOST_CONDITIONS:
            continue
        label = conditions.cell_text(cell, (*results.split_columns, *_told(results), "rtt_ms", "protocol"))
        for run, name, trial, attempt, plt in trials[:TRIES]:
            path = folder_of(run, trial, attempt) / FILE
            try:
                load = read_har(path)
            except (OSError, ValueError) as error:
                why = clipped(one_line(str(error)), 200)
                refused.append(f"{name}, trial {trial}: {FILE} cannot be drawn ({why})")
                continue
            found.append(
                MedianLoad(
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
    return MedianLoads(tuple(found), kept, tuple(refused))


def _told(results: Results) -> tuple[str, ...]:
    """The page and the rate, where a reader has to be told them."""
    return tuple(name for name in ("page", "down_mbps") if results.cells[name].nunique(dropna=False) > 1)


def _nearest(results: Results, cell: int, median: float) -> Iterator[tuple[Run, str, str, int, float]]:
    """The trials of a condition that count and have a HAR, the nearest to the median first."""
    runs = dict(zip(run_names(results.runs), results.runs, strict=True))
    records = results.sifted.kept
    mine = records[(records["cell"] == cell) & records[results.metric].notna()]
    order = (mine[results.metric] - median).abs().sort_values(kind="stable").index
    for record in mine.loc[order].to_dict("records"):
        run, trial, attempt = runs[record["run"]], str(record["trial"]), int(record["attempt"])
        if (folder_of(run, trial, attempt) / FILE).is_file():
            yield run, record["run"], trial, attempt, float(record[results.metric])

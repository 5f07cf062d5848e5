"""What a trial showed while it ran: the series under trials/<id>/, read when a figure or table asks for them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pandas as pd

from analysis.runs.rundirectory import Run
from harness.errors import RecordsError
from harness.input import jsontext
from harness.input.shown import shown
from harness.records import Number

TRIALS = "trials"  # the folder with what was kept of them
MOST_LINES = 2_000_000  # of a file
LONGEST_NAME = (
    60  # characters of a folder's name, each of at most four bytes: far below any file system's limit
)


class Series(StrEnum):
    """The files, by what a line of theirs is about; the columns that are numbers."""

    _value_: str
    numbers: tuple[str, ...]

    def __new__(cls, value: str, *numbers: str) -> Series:
        member = str.__new__(cls, value)
        member._value_ = value
        member.numbers = numbers
        return member

    BUCKETS = (
        "buckets",
        *("t_s", "seconds", "users", "pages", "failed", "pages_per_s", "page_ms", "page_p95_ms"),
        *("workers_busy", "workers", "cpu_idle_share", "server_cpu_s", "memory_bytes", "requests"),
    )
    PAGES = "pages", "t_s", "user", "users", "ms", "document_ms", "requests", "failed", "connections", "bytes"
    SECONDS = (
        "seconds",
        *("t_s", "server_cpu_s", "server_rss_bytes", "server_pss_bytes", "server_threads"),
        *("server_connections", "workers_busy", "workers_idle", "server_hits", "server_bytes"),
        *("server_errors", "generator_cpu_s", "generator_rss_bytes", "emulator_cpu_s", "machine_idle_share"),
        *("machine_memory_bytes", "down_packets", "up_packets", "down_bytes", "up_bytes", "users"),
    )


def folder_of(run: Run, trial: str, attempt: int) -> Path:
    """Where the files of an attempt are; RecordsError for a trial whose name leads somewhere else."""
    name = trial if attempt == 1 else f"{trial}-{attempt}"
    if Path(name).name != name or name in ("", "..") or "\0" in name or len(name) > LONGEST_NAME:
        raise RecordsError(
            f"{run.directory}: {shown(name)} is no name of a trial's folder; the record is damaged or not one of ours"
        )
    return run.directory / TRIALS / name


def path_of(run: Run, trial: str, attempt: int, series: Series) -> Path:
    """Where the series of an attempt is, see `folder_of`."""
    return folder_of(run, trial, attempt) / f"{series}.jsonl"


def series_of(run: Run, trial: str, attempt: int, series: Series) -> pd.DataFrame:
    """A row per line, numbers as floats, NaN where nothing was observed; empty where the file is missing.

    A torn last line, of a trial that was killed, is left out.
    """
    path = path_of(run, trial, attempt, series)
    rows = list(_rows(path, series)) if path.is_file() else []
    return pd.DataFrame(rows, columns=list(series.numbers)).astype(float)


def series_of_all(runs: Mapping[str, Run], records: pd.DataFrame, series: Series) -> pd.DataFrame:
    """The series of those records (columns run, trial, attempt, cell), each with run, trial and cell in front.

    `runs`: by the names that the records give them.
    """
    parts = list(_parts(runs, records, series))
    columns = ["run", "trial", "cell", *series.numbers]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)


def _parts(runs: Mapping[str, Run], records: pd.DataFrame, series: Series) -> Iterator[pd.DataFrame]:
    for record in records.to_dict("records"):
        run, trial = record["run"], str(record["trial"])
        found = series_of(runs[run], trial, int(record["attempt"]), series)
        if not found.empty:
            yield found.assign(run=run, trial=trial, cell=record["cell"])


@cache
def _decoder(series: Series) -> msgspec.json.Decoder[msgspec.Struct]:
    return msgspec.json.Decoder(
        msgspec.defstruct(series.name, [(key, Number, None) for key in series.numbers])
    )


def _rows(path: Path, series: Series) -> Iterator[tuple[Any, ...]]:
    decoder = _decoder(series)
    for number, line in jsontext.each(path, lambda text: jsontext.decoded(text, decoder)):
        if number > MOST_LINES:
            raise RecordsError(f"{path} holds more than {MOST_LINES:,} lines; no trial of ours has so many")
        yield msgspec.structs.astuple(line)

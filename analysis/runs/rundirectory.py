"""A run directory as one value: the plan's header, the calibration and one row per attempt.

Reading is tolerant where a run may still be going on (a truncated last line, a missing plan) and says so in
`Run.notes`; it is strict where numbers could silently change (a damaged line, an attempt recorded twice).

A run differs from the next one by more than its trials say, and so does a machine of a run on several, or a lane of a
run in several, with its cores. Nothing is compared across them (`in_levels`): a block that was begun again elsewhere is
another block.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pyarrow as pa

from analysis.runs.recordtable import cut_off, read_records
from harness.errors import RecordsError, StudyError
from harness.input import jsontext
from harness.input.jsontext import part
from harness.input.shown import one_line, shown
from harness.model.environment import environments
from harness.model.kind import Kind
from harness.records import PORTRAITS, RECORDS, RecordReader, StoredRecord, executor_of
from harness.study.claim import Claim
from harness.study.plan import LOOKS, PLAN, Options, Plan, read_looks
from harness.study.studytext import STUDY, StudyText

TRIALS = "trials"  # the folder with what was kept of them
LONGEST_NAME = 60  # characters of a folder's name, of at most four bytes: far below any file system's limit
EXECUTOR = ("machine", "lane", "lanes")
LEVEL = ("run", "block", "restart")  # what is compared has all three in common


@dataclass(frozen=True)
class Run:
    """One execution of a study, as its directory tells it."""

    directory: Path
    study: str
    title: str
    study_text: StudyText
    plan: Plan | None
    environment: Mapping[str, Any]
    calibration: tuple[Mapping[str, Any], ...]
    records: pd.DataFrame
    condition_columns: tuple[str, ...]
    notes: tuple[str, ...]
    kind: Kind = Kind.LOAD
    requested: Mapping[str, frozenset[str]] = field(default_factory=dict)
    stopped: frozenset[str] = frozenset()  # trials that looks made needless
    portraits: tuple[StoredRecord, ...] = ()  # loads that were looked at; they are in no estimate
    joined: tuple[Mapping[str, Any], ...] = ()  # what the machines of a run on several were made with

    @property
    def planned(self) -> int | None:
        """The number of trials to be made, whatever the number of attempts; None without a plan."""
        return None if self.plan is None else len(self.plan.trials) - len(self.stopped)

    @property
    def environments(self) -> tuple[Mapping[str, Any], ...]:
        """What it was begun with, then what it went on with, call by call; then those of machines that joined."""
        return (*environments(self.environment), *self.joined)

    @property
    def looked(self) -> bool:
        """Whether the run looked at its records to know when to stop."""
        return self.plan is not None and bool(self.plan.looks)

    @property
    def claims(self) -> tuple[Claim, ...]:
        """Those of its plan."""
        return self.plan.claims if self.plan else ()

    @property
    def every_claim(self) -> tuple[Claim, ...]:
        """These, and the published ones that its conditions are compared for."""
        return self.plan.every_claim if self.plan else ()

    @property
    def engines(self) -> tuple[str, ...]:
        """Those that the study's file lists, in its order; empty where it lists none."""
        try:
            listed = self.study_text.keys.get("engines")
        except StudyError:  # a note of the run says so
            return ()
        return tuple(map(str, listed)) if isinstance(listed, list) else ()

    @property
    def options(self) -> Options:
        """Those of the command line that changed the study."""
        return self.plan.options if self.plan else ()

    @property
    def study_as_run(self) -> str:
        """The study's file, and below it these options."""
        return self.study_text.as_run(self.options)

    def folder_of(self, trial: str, attempt: int) -> Path:
        """Where the files of an attempt are; RecordsError for a trial whose name leads somewhere else."""
        name = trial if attempt == 1 else f"{trial}-{attempt}"
        if Path(name).name != name or name in ("", "..") or "\0" in name or len(name) > LONGEST_NAME:
            raise RecordsError(
                f"{self.directory}: {shown(name)} is no name of a trial's folder; the record is damaged or not one of "
                "ours"
            )
        return self.directory / TRIALS / name


def load(directory: Path, cache: Path | None = None) -> Run:
    """Read a run directory. Raises RecordsError when it holds no record or a damaged one.

    `cache` is a folder of the user in which the records of large runs are kept, so that they are read once.
    """
    path = directory / RECORDS
    if not path.is_file():
        raise RecordsError(f"{directory} is not a run directory: it has no {RECORDS}; give the path of a run")
    notes: list[str] = []
    plan = _read_plan(directory / PLAN, notes)
    looks = read_looks(directory / LOOKS, plan) if plan else None
    read = read_records(directory, plan, looks, cache)
    notes += read.notes
    if not read.rows.num_rows:
        raise RecordsError(f"{path} holds no complete record yet; run the study first, or wait for one trial")
    study_text = _study_text(directory / STUDY, notes)
    environment = _read_environment(directory / "environment.json", notes)
    name = plan.study if plan else directory.resolve().name
    return Run(
        directory=directory,
        study=name,
        title=(plan.title if plan else "") or name,
        study_text=study_text,
        plan=plan,
        environment=environment,
        calibration=tuple(data for _, data in _lines(directory / "calibration.jsonl", notes)),
        records=_frame(read.rows, directory.resolve().name),
        condition_columns=read.conditions,
        kind=read.kind,
        requested=_requested(directory / "requested.jsonl", notes),
        stopped=looks.stopped if looks else frozenset(),
        portraits=tuple(_portraits(directory / PORTRAITS, notes)),
        joined=tuple(part(data, "environment") for _, data in _lines(directory / "machines.jsonl", notes)),
        notes=tuple(notes),
    )


def write_parquet(records: pd.DataFrame, path: Path) -> None:
    """The flat records for other tools: one row per attempt, the columns of `Run.records`."""
    records.to_parquet(path, index=False)


def tells_executors(records: pd.DataFrame) -> bool:
    """Whether some record says where it was made."""
    return bool(_told(records))


def executors(records: pd.DataFrame) -> pd.Series[str]:
    """Who made each record; "" where its run has one executor alone."""
    there = _told(records)
    if not there:
        return pd.Series("", index=records.index)
    numbers = records.groupby(there, dropna=False, sort=False).ngroup()
    firsts = records.loc[~numbers.duplicated(), there].reindex(columns=list(EXECUTOR))
    names = [
        executor_of(_text(row.machine), _whole(row.lane), _whole(row.lanes)) for row in firsts.itertuples()
    ]
    return pd.Series(np.array([name or "" for name in names], dtype=object)[numbers], index=records.index)


def executor_of_reading(reading: Mapping[str, Any]) -> str | None:
    """Who measured a link; None where there is one alone."""
    machine, lane, lanes = (reading.get(key) for key in EXECUTOR)
    numbers = (number if isinstance(number, int) else None for number in (lane, lanes))
    return executor_of(machine if isinstance(machine, str) else None, *numbers)


def in_levels(records: pd.DataFrame) -> pd.DataFrame:
    """The records with the name of their level as `run`, and as `restart` how often their block was begun again."""
    runs, where = records["run"].astype(str), executors(records)
    several = where.groupby(runs).transform("nunique") > 1
    restart = records["restart"].fillna(0) if "restart" in records else 0
    named = runs.where(~several | (where == ""), runs + " on " + where)
    return records.assign(run=named, restart=restart)


def _frame(rows: pa.Table, run: str) -> pd.DataFrame:
    """One row per attempt; every metric that is a number is a float column, NaN where it was not observed."""
    frame: pd.DataFrame = rows.to_pandas()
    frame.insert(0, "run", run)
    return frame.copy()


def _read_plan(path: Path, notes: list[str]) -> Plan | None:
    if path.is_file():
        return Plan.read(path)
    notes.append(f"{PLAN} is missing, so the number of planned trials is not known.")
    return None


def _lines(path: Path, notes: list[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    return jsontext.each(path, jsontext.parse, lambda number: notes.append(cut_off(path, number)))


class _Requested(msgspec.Struct):
    """What a load asked for, known by its digest."""

    digest: str
    urls: list[str]


def _requested(path: Path, notes: list[str]) -> dict[str, frozenset[str]]:
    """The URLs by their digest."""
    read = partial(jsontext.decoded, decoder=msgspec.json.Decoder(_Requested))
    lists = jsontext.each(path, read, lambda number: notes.append(cut_off(path, number)))
    return {requested.digest: frozenset(requested.urls) for _, requested in lists}


def _portraits(path: Path, notes: list[str]) -> Iterator[StoredRecord]:
    """A line cut off by a kill is none, and the reader is told, as of all others."""
    for _, record, _ in RecordReader().of(path, lambda number: notes.append(cut_off(path, number))):
        yield record


def _read_environment(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return jsontext.read(path)
    except ValueError as error:
        notes.append(f"environment.json cannot be read ({one_line(str(error))}).")
        return {}


def _study_text(path: Path, notes: list[str]) -> StudyText:
    """The study, also one that is no TOML, with a note that says so."""
    text = StudyText()
    try:
        text = StudyText.read(path)
        _ = text.keys
    except FileNotFoundError:
        pass
    except (OSError, StudyError) as error:
        notes.append(f"{STUDY} cannot be read ({getattr(error, 'strerror', None) or error}).")
    return text


def _told(records: pd.DataFrame) -> list[str]:
    return [name for name in EXECUTOR if name in records and records[name].notna().any()]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    """A whole number; columns with gaps hold doubles."""
    return None if pd.isna(value) else int(value)

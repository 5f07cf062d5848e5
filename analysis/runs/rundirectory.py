"""A run directory as one value: the plan's header, the calibration and one row per attempt.

Reading is tolerant where a run may still be going on (a truncated last line, a missing plan) and says so in
`Run.notes`; it is strict where numbers could silently change (a damaged line, an attempt recorded twice).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from analysis.runs.flatrecord import numbers_of
from analysis.runs.planheader import PlanHeader, read_plan
from analysis.runs.recordtable import RECORDS, read_records
from analysis.runs.runfields import lines_if_there
from harness.errors import RecordsError
from harness.input import jsontext, tomltext
from harness.input.shown import one_line
from harness.model.kind import Kind

__all__ = ["RECORDS", "Run", "load", "write_parquet"]


@dataclass(frozen=True)
class Run:
    """One execution of a study, as its directory tells it."""

    directory: Path
    study: str
    title: str
    study_text: str
    plan: PlanHeader
    environment: Mapping[str, Any]
    calibration: tuple[Mapping[str, Any], ...]
    records: pd.DataFrame
    condition_columns: tuple[str, ...]
    notes: tuple[str, ...]
    kind: Kind = Kind.LOAD
    requested: Mapping[str, frozenset[str]] = field(default_factory=dict)

    @property
    def planned(self) -> int | None:
        """The number of trials to be made, whatever the number of attempts."""
        if self.plan.planned:
            return len(self.plan.planned)
        if self.plan.blocks is None or self.plan.conditions is None:
            return None
        return self.plan.blocks * self.plan.conditions


def load(directory: Path, cache: Path | None = None) -> Run:
    """Read a run directory. Raises RecordsError when it holds no record or a damaged one.

    `cache` is a folder of the user in which the records of large runs are kept, so that they are read once.
    """
    path = directory / RECORDS
    if not path.is_file():
        raise RecordsError(f"{directory} is not a run directory: it has no {RECORDS}; give the path of a run")
    notes: list[str] = []
    plan = read_plan(directory, notes)
    read = read_records(directory, plan, cache)
    notes += read.notes
    if not read.rows.num_rows:
        raise RecordsError(f"{path} holds no complete record yet; run the study first, or wait for one trial")
    study_text = _study_text(directory / "study.toml", notes)
    described = _read_study(study_text, notes)
    environment = _read_environment(directory / "environment.json", notes)
    name = plan.study or described.get("name") or directory.resolve().name
    return Run(
        directory=directory,
        study=str(name),
        title=str(described.get("title") or name),
        study_text=study_text,
        plan=plan,
        environment=environment,
        calibration=tuple(data for _, data in lines_if_there(directory / "calibration.jsonl", notes)),
        records=_frame(read.rows, directory.resolve().name, environment, numbers_of(read.kind)),
        condition_columns=read.conditions,
        kind=read.kind,
        requested={
            str(each["digest"]): frozenset(map(str, each["urls"]))
            for _, each in lines_if_there(directory / "requested.jsonl", notes)
        },
        notes=tuple(notes),
    )


def write_parquet(records: pd.DataFrame, path: Path) -> None:
    """The flat records for other tools: one row per attempt, the columns of `Run.records`."""
    records.to_parquet(path, index=False)


def _frame(rows: pa.Table, run: str, environment: Mapping[str, Any], numbers: Sequence[str]) -> pd.DataFrame:
    """One row per attempt; every metric that is a number is a float column, NaN where it was not observed."""
    frame: pd.DataFrame = rows.to_pandas()
    if frame["compression"].isna().all():  # in runs of older versions it was one for the whole study
        replay = environment.get("replay")
        known = replay.get("compression") if isinstance(replay, dict) else None
        frame["compression"] = known if isinstance(known, str) else None
    for column in numbers:
        frame[column] = frame[column].astype(float) if column in frame else math.nan
    frame.insert(0, "run", run)
    return frame.copy()


def _read_environment(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return jsontext.read(path)
    except ValueError as error:
        notes.append(f"environment.json cannot be read ({one_line(str(error))}).")
        return {}


def _study_text(path: Path, notes: list[str]) -> str:
    try:
        return tomltext.read_text(path)
    except FileNotFoundError:
        return ""
    except (OSError, tomltext.TomlRefusedError) as error:
        notes.append(f"study.toml cannot be read ({getattr(error, 'strerror', None) or error}).")
        return ""


def _read_study(text: str, notes: list[str]) -> Mapping[str, Any]:
    try:
        return tomltext.parse(text)
    except tomltext.TomlRefusedError as error:
        notes.append(f"study.toml cannot be read ({error}).")
        return {}

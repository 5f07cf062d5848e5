"""A run directory as one value: the plan's header, the calibration and one row per attempt.

Reading is tolerant where a run may still be going on (a truncated last line, a missing plan) and says so in
`Run.notes`; it is strict where numbers could silently change (a damaged line, an attempt recorded twice).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.runs.flatrecord import SCHEMAS, check_keys, flat_condition, flat_record, kind_of, numbers_of
from analysis.runs.planheader import PlanHeader, read_plan
from analysis.runs.runfields import canonical, lines_if_there, optional, required
from harness.errors import RecordsError
from harness.input import jsontext, tomltext
from harness.input.shown import one_line
from harness.model.dimensions import SET
from harness.model.kind import Kind
from harness.model.pageset import set_of
from harness.model.soundness import unsound

RECORDS = "records.jsonl"


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


def load(directory: Path) -> Run:
    """Read a run directory. Raises RecordsError when it holds no record or a damaged one."""
    path = directory / RECORDS
    if not path.is_file():
        raise RecordsError(f"{directory} is not a run directory: it has no {RECORDS}; give the path of a run")
    notes: list[str] = []
    plan = read_plan(directory, notes)
    kind, rows, conditions = _read_records(path, plan, notes)
    if not rows:
        raise RecordsError(f"{path} holds no complete record yet; run the study first, or wait for one trial")
    study_text = _read_text(directory / "study.toml")
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
        records=_frame(rows, directory.resolve().name, environment, numbers_of(kind)),
        condition_columns=conditions,
        kind=kind,
        requested={
            str(each["digest"]): frozenset(map(str, each["urls"]))
            for _, each in lines_if_there(directory / "requested.jsonl", notes)
        },
        notes=tuple(notes),
    )


def write_parquet(records: pd.DataFrame, path: Path) -> None:
    """The flat records for other tools: one row per attempt, the columns of `Run.records`."""
    records.to_parquet(path, index=False)


def _read_records(
    path: Path, plan: PlanHeader, notes: list[str]
) -> tuple[Kind, list[dict[str, Any]], tuple[str, ...]]:
    """What was measured, flat rows, and the columns that together name a condition."""
    kind: Kind | None = None
    rows: list[dict[str, Any]] = []
    conditions: dict[str, None] = {}
    seen: dict[tuple[str, int], int] = {}
    odd: Counter[str] = Counter()
    counted: set[tuple[str, int]] = set()  # trials, with how often their block had been begun again
    for number, data in lines_if_there(path, notes):
        where = f"{path}:{number}"
        check_keys(data, where)
        kind = kind_of(data, kind, where)
        condition = flat_condition(data, kind, where)
        if plan.sets:
            condition[SET] = set_of(plan.sets, condition["page"])
        trial = required(data, "trial", str, where)
        attempt = required({"attempt": 1, **data}, "attempt", int, where)
        if attempt < 1:
            raise RecordsError(f"{where}: attempt is {attempt}; the first one is 1")
        if (trial, attempt) in seen:
            raise RecordsError(
                f"{where}: attempt {attempt} at trial {trial} is already on line {seen[trial, attempt]}; "
                "an attempt is recorded once"
            )
        seen[trial, attempt] = number
        optional(data, "left_out", str, where)
        required(data, "block", int, where)
        optional(data, "lane", int, where)
        required(data, "outcome", str, where)
        counts = unsound(data) is None
        optional(data, "machine", str, where)
        go = trial, optional(data, "restart", int, where) or 0
        odd.update(_oddities(data, plan, counts=counts, again=counts and go in counted))
        counted |= {go} if counts else set()
        rows.append({"left_out": None, **flat_record(data, kind, where), "attempt": attempt, **condition})
        conditions.update(dict.fromkeys(condition))
    notes += [f"{count} of {len(rows)} records {oddity}." for oddity, count in odd.items()]
    return kind or Kind.LOAD, rows, tuple(conditions)


def _oddities(record: Mapping[str, Any], plan: PlanHeader, *, counts: bool, again: bool) -> Iterator[str]:
    """What a report says of a record that it takes as it is. `again`: it counts, and so did one of its trial before."""
    if record.get("schema") not in SCHEMAS:
        yield f"do not say schema {' or '.join(map(str, SCHEMAS))}; they are read as if they did"
    if "left_out" in record and (record["left_out"] is None) is not counts:
        yield "count by left_out and not by the rules of this version, or the other way round; the rules decide"
    if again:
        yield "count although an earlier attempt at their trial does"
    if not plan.trials:
        return
    if record["trial"] not in plan.trials:
        yield "are of trials that plan.jsonl does not hold"
    elif plan.trials[record["trial"]] != (record["block"], canonical(record["condition"])):
        yield "have another block or condition than their trial has in plan.jsonl"
    if record["trial"] in plan.stopped:
        yield "are of trials after a look that stopped their condition"


def _frame(
    rows: list[dict[str, Any]], run: str, environment: Mapping[str, Any], numbers: Sequence[str]
) -> pd.DataFrame:
    """One row per attempt; every metric that is a number is a float column, NaN where it was not observed.

    A column that holds values of several types becomes text, so that it sorts and can be stored.
    """
    frame = pd.DataFrame(rows)
    if frame["compression"].isna().all():  # in runs of older versions it was one for the whole study
        replay = environment.get("replay")
        known = replay.get("compression") if isinstance(replay, dict) else None
        frame["compression"] = known if isinstance(known, str) else None
    for column in numbers:
        frame[column] = frame[column].astype(float) if column in frame else math.nan
    frame.insert(0, "run", run)
    for name in list(frame):
        if pd.api.types.is_object_dtype(frame[name]) and frame[name].dropna().map(type).nunique() > 1:
            frame[name] = frame[name].map(str, na_action="ignore")
    return frame.copy()


def _read_environment(path: Path, notes: list[str]) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        return jsontext.parse(path.read_bytes())
    except ValueError as error:
        notes.append(f"environment.json cannot be read ({one_line(str(error))}).")
        return {}


def _read_text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _read_study(text: str, notes: list[str]) -> Mapping[str, Any]:
    try:
        return tomltext.parse(text)
    except tomltext.TomlRefusedError as error:
        notes.append(f"study.toml cannot be read ({error}).")
        return {}

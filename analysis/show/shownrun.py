"""A run as it is now, in the terms of its pages: attempts, the conditions that they are of, and verdicts in brief."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import pandas as pd

from analysis.evaluation.results import evaluate
from analysis.labels import words
from analysis.labels.conditions import POINT, cell_text, in_reading_order, panel_columns, varying
from analysis.report import summary
from analysis.report.summary import Said
from analysis.runs.exclude import rules_of, sift
from analysis.runs.rundirectory import Run, load
from analysis.statistics.estimate import Estimate, IntervalKind, estimate
from harness.model.condition import AGAIN
from harness.model.kind import main_metric
from harness.records import PORTRAITS, RECORDS
from harness.study.plan import LOOKS, PLAN, PORTRAIT
from harness.study.studytext import STUDY

NOT_MEASURED = "portrait, which is not measured"
WATCHED = (RECORDS, PORTRAITS, PLAN, LOOKS, "calibration.jsonl", "environment.json", STUDY)
CONDITION, LEFT_OUT = "of_condition", "left_out_by"  # columns of ours
State = tuple[tuple[int, int] | None, ...]


@dataclass(frozen=True)
class ShownCondition:
    """A condition. `key` is the id of its first trial, which stays when a run goes on; `recorded` counts attempts, the
    estimate is of the main metric of those that count.
    """

    key: str
    label: str
    estimate: Estimate
    recorded: int
    median_trial: tuple[str, int] | None


@dataclass(frozen=True)
class ShownRun:
    """`attempts` are the records of the run in their order, with the key of the condition, and the rule that left an
    attempt out (None: it counts). `conditions` are in reading order, by key.
    """

    run: Run
    attempts: pd.DataFrame
    conditions: Mapping[str, ShownCondition]

    @property
    def metric(self) -> str:
        return main_metric(self.run.kind)

    @property
    def progress(self) -> str:
        """How far the run has come."""
        recorded, planned = self.attempts["trial"].nunique(), self.run.planned
        are = "is" if recorded == 1 else "are"
        if planned is None or recorded >= planned:
            every = "All " if planned is not None and recorded > 1 else ""
            return f"{every}{words.count(recorded, 'trial')} {are} recorded."
        return f"{recorded:,} of {planned:,} trials {are} recorded; reload to see what is new."

    @cached_property
    def verdicts(self) -> Sequence[Said]:
        """What became of the claims; RecordsError where the run cannot be evaluated as one."""
        return summary.claims(evaluate([self.run]))

    @cached_property
    def portraits(self) -> Mapping[str, dict[str, Any]]:
        """The loads that were looked at and not measured, as rows of `attempts`, by the keys of their conditions."""
        of_trial = dict(zip(self.attempts["trial"].astype(str), self.attempts[CONDITION], strict=True))
        rows: dict[str, dict[str, Any]] = {}
        for record in self.run.portraits:
            key = of_trial.get(record.trial.removeprefix(PORTRAIT))
            if key is not None:
                rows[str(key)] = {**record.facts, CONDITION: str(key), LEFT_OUT: NOT_MEASURED}
        return rows

    def of_trial(self, trial: str, attempt: int) -> dict[str, Any] | None:
        """The row of an attempt, or of a portrait."""
        if trial.startswith(PORTRAIT):
            return next(
                (
                    portrait
                    for portrait in self.portraits.values()
                    if portrait["trial"] == trial and attempt == 1
                ),
                None,
            )
        rows = self.attempts[(self.attempts["trial"] == trial) & (self.attempts["attempt"] == attempt)]
        return dict(rows.iloc[0]) if len(rows) else None

    def of_condition(self, key: str) -> pd.DataFrame:
        """The attempts at a condition, in their order."""
        return self.attempts[self.attempts[CONDITION] == key]


class LiveRun:
    """A run directory, read again whenever a file of it has changed."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._lock = Lock()
        self._state: State | None = None
        self._shown: ShownRun | None = None

    def now(self) -> ShownRun:
        """The run as it is; RecordsError where it cannot be read."""
        with self._lock:  # threads that ask meanwhile wait for the one reading
            state = tuple(map(_state_of, (self.directory / name for name in WATCHED)))
            if self._shown is None or state != self._state:
                self._shown = shown_run(load(self.directory))
                self._state = state
            return self._shown


def shown_run(run: Run) -> ShownRun:
    """A run that was read, as its pages show it."""
    records = run.records
    columns = [name for name in run.condition_columns if name != AGAIN]
    numbers = records.groupby([*columns, AGAIN], dropna=False).ngroup()
    keys = records["trial"].groupby(numbers).transform("first")
    sifted = sift(records, rules_of(run.kind))
    excluded = sifted.excluded["excluded_by"]
    attempts = records.assign(**{CONDITION: keys, LEFT_OUT: excluded.reindex(records.index)})
    firsts = attempts.loc[~numbers.duplicated()]
    panel = panel_columns(records, columns)
    told = (
        "page",
        *(name for name in varying(firsts, [*panel, *POINT]) if name not in ("page", *POINT)),
        *POINT[::-1],
    )
    times = sifted.timed[main_metric(run.kind)].dropna()
    groups = dict(iter(attempts.groupby(CONDITION, sort=False)))
    conditions = {}
    for first in in_reading_order(firsts, [*panel, *POINT[::-1], AGAIN]).to_dict("records"):
        key, label = first["trial"], f"{cell_text(first, told)}{' (again)' if first[AGAIN] else ''}"
        conditions[key] = _condition(key, label, groups[key], times)
    return ShownRun(run, attempts, conditions)


def interval_text(made: Estimate) -> str:
    """The interval of a median, or the range of few trials, which is named so; empty where there is neither."""
    text = words.span(made.low, made.high, words.decimals(made.median))
    return f"{text} range" if made.interval is IntervalKind.RANGE else text


def _condition(key: str, label: str, attempts: pd.DataFrame, times: pd.Series[float]) -> ShownCondition:
    """`times`: those of all attempts that count, infinite of time-outs."""
    counted = times[times.index.intersection(attempts.index)]
    made = estimate(counted.tolist())
    nearest = None
    if math.isfinite(made.median):
        there = attempts.loc[counted.index]
        row = there.iloc[int((counted - made.median).abs().to_numpy().argmin())]
        nearest = (str(row["trial"]), int(row["attempt"]))
    return ShownCondition(key, label, made, len(attempts), nearest)


def _state_of(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size

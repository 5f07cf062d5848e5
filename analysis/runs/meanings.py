"""What keeps numbers of two meanings out of one estimate: metrics that an older schema observed otherwise, and loads
that were traced or filmed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pandas as pd

from analysis.labels import words
from analysis.runs.rundirectory import Run
from harness.errors import RecordsError
from harness.outcome import Outcome

# By the schema that changed them. Before 2: seen until two frames after the load event, without frames of other sites;
# of a task that began before the first paint nothing counted.
CHANGED: Mapping[int, tuple[str, ...]] = {2: ("lcp_ms", "cls", "tbt_ms")}
OLDEST = 1
# What takes time while the page loads, by the key of a record that says so.
COSTLY: Mapping[str, str] = {"traced": "a trace", "filmed": "a film"}


def of_one_meaning(runs: Sequence[Run]) -> tuple[Run, ...]:
    """The runs, without what must not be set against each other.

    Of records of several schemas, those before a change of a metric lose it, and their runs say so in a note. Trials
    that were traced or filmed and trials that were not are refused with a RecordsError.
    """
    for mark in COSTLY:
        _refuse_some_marked(runs, mark)
    for schema, changed in CHANGED.items():
        older = [_older(run.records, schema) for run in runs]
        if any(each.any() for each in older) and not all(each.all() for each in older):
            runs = [_without(run, changed, rows) for run, rows in zip(runs, older, strict=True)]
    return tuple(runs)


def _older(records: pd.DataFrame, schema: int) -> pd.Series[bool]:
    """The records from before a schema; one that says none is of the oldest."""
    if "schema" not in records:
        return pd.Series(True, index=records.index, dtype=bool)
    return pd.to_numeric(records["schema"], errors="coerce").fillna(OLDEST) < schema


def _without(run: Run, metrics: Sequence[str], rows: pd.Series[bool]) -> Run:
    lost = [each for each in metrics if each in run.records and run.records.loc[rows, each].notna().any()]
    if not lost:
        return run
    records = run.records.assign(**{each: run.records[each].mask(rows) for each in lost})
    note = (
        f"{words.listed(lost)} of {int(rows.sum())} records of an older schema are left out: they meant something "
        "else, and other records here have them as they are now."
    )
    return replace(run, records=records, notes=(*run.notes, note))


def _refuse_some_marked(runs: Sequence[Run], mark: str) -> None:
    """An engine that cannot be observed so is never marked."""
    told: dict[str, dict[bool, Run]] = {}
    for run in runs:
        counted = run.records[run.records["outcome"] == Outcome.OK.value]
        marked = counted[mark].eq(True) if mark in counted else pd.Series(False, index=counted.index)
        for engine, found in zip(counted["engine"].map(str), marked, strict=True):
            told.setdefault(engine, {}).setdefault(bool(found), run)
    for engine, sides in told.items():
        if len(sides) > 1:
            raise RecordsError(
                f"trials of {engine} were {mark} in {sides[True].directory} and were not in {sides[False].directory}; "
                f"{COSTLY[mark]} takes time: report these runs apart"
            )

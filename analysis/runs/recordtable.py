"""records.jsonl as a table: one row per attempt, every line checked. Large ones are read once and then kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from analysis.runs import recordcache
from analysis.runs.flatrecord import SCHEMAS, FlatRecords, check_keys, flat_condition, kind_of
from analysis.runs.planheader import LOOKS, PLAN, PlanHeader
from analysis.runs.recordcolumns import RecordColumns
from analysis.runs.runfields import canonical, lines_if_there, optional, required
from harness.errors import RecordsError
from harness.model.dimensions import SET
from harness.model.kind import Kind
from harness.model.pageset import Sets, set_of
from harness.model.soundness import unsound

RECORDS = "records.jsonl"
LARGE_BYTES = 5_000_000  # smaller ones are read as quickly as they would be looked up


@dataclass(frozen=True)
class RecordTable:
    """The flat rows of a run. `conditions` are the columns that together name a condition."""

    kind: Kind
    rows: pa.Table
    conditions: tuple[str, ...]
    notes: tuple[str, ...]


def read_records(directory: Path, plan: PlanHeader, cache: Path | None) -> RecordTable:
    """The records of a run directory; `cache` is where those of large runs are kept. RecordsError for a damaged one."""
    path = directory / RECORDS
    if cache is None or path.stat().st_size < LARGE_BYTES:
        return _read(path, plan)
    read = [directory / name for name in (RECORDS, PLAN, LOOKS)]
    key = recordcache.key_of(read)
    known = recordcache.fetch(cache, key)
    if known is not None:
        facts = known.facts
        return RecordTable(Kind(facts["kind"]), known.rows, tuple(facts["conditions"]), tuple(facts["notes"]))
    made = _read(path, plan)
    if recordcache.key_of(read) == key:  # else the run went on meanwhile
        facts = {"kind": made.kind.value, "conditions": made.conditions, "notes": made.notes}
        recordcache.store(cache, key, recordcache.KeptRecords(made.rows, facts))
    return made


def _read(path: Path, plan: PlanHeader, as_text: Collection[str] = ()) -> RecordTable:
    notes: list[str] = []
    kind: Kind | None = None
    columns = RecordColumns(as_text)
    conditions: dict[str, None] = {}
    known = _Conditions(plan.sets)
    flat = FlatRecords()
    seen: dict[tuple[str, int], int] = {}
    odd: Counter[str] = Counter()
    counted: set[tuple[str, int]] = set()  # trials, with how often their block had been begun again
    for number, data in lines_if_there(path, notes):
        where = f"{path}:{number}"
        check_keys(data, where)
        kind = kind_of(data, kind, where)
        condition, name = known.read(data, kind, where)
        trial = required(data, "trial", str, where)
        attempt = required(data, "attempt", int, where) if "attempt" in data else 1
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
        optional(data, "lanes", int, where)
        optional(data, "machine", str, where)
        required(data, "outcome", str, where)
        counts = unsound(data) is None
        go = trial, optional(data, "restart", int, where) or 0
        odd.update(_oddities(data, name, plan, counts=counts, again=counts and go in counted))
        if counts:
            counted.add(go)
        columns.add({"left_out": None, **flat.row(data, kind, where), "attempt": attempt, **condition})
        conditions.update(dict.fromkeys(condition))
    if columns.mixed:  # that is known at the end only
        return _read(path, plan, columns.mixed)
    notes += [f"{count} of {len(seen)} records {oddity}." for oddity, count in odd.items()]
    return RecordTable(kind or Kind.LOAD, columns.table(), tuple(conditions), tuple(notes))


class _Conditions:
    """The conditions of records, each read once: a run has far fewer than records."""

    def __init__(self, sets: Sets) -> None:
        self._sets = sets
        self._known: dict[bytes, tuple[Mapping[str, Any], str]] = {}

    def read(self, record: Mapping[str, Any], kind: Kind, where: str) -> tuple[Mapping[str, Any], str]:
        """The flat columns of a record's condition, and the condition as text, the same for equal ones."""
        condition = record["condition"]
        key = msgspec.json.encode(condition)
        if key not in self._known:
            flat = flat_condition(record, kind, where)
            if self._sets:
                flat[SET] = set_of(self._sets, flat["page"])
            self._known[key] = flat, canonical(condition)
        return self._known[key]


def _oddities(
    record: Mapping[str, Any], condition: str, plan: PlanHeader, *, counts: bool, again: bool
) -> Iterator[str]:
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
    elif plan.trials[record["trial"]] != (record["block"], condition):
        yield "have another block or condition than their trial has in plan.jsonl"
    if record["trial"] in plan.stopped:
        yield "are of trials after a look that stopped their condition"

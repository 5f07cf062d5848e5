"""records.jsonl as a table: one row per attempt, every line checked.

Rows become columns batch by batch, so that a hundred thousand of them fit into little memory. Large files are read
once, and their rows kept as Parquet. An entry is known by the digest of the files that it was read from and of the code
that read them. So it is never that of other records. It lies in the user's own folder: what a run directory holds,
somebody else may have made.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import RecordsError
from harness.model.condition import AGAIN, OF_WORKLOADS, SET, Condition, Sets, dimensions_of, set_of
from harness.model.kind import Kind, Users
from harness.model.metric import Unit
from harness.records import RECORDS, RecordReader, StoredRecord
from harness.study.metrics import metrics_of
from harness.study.plan import LOOKS, PLAN, Looks, Plan

LARGE_BYTES = 5_000_000  # smaller ones are read as quickly as they would be looked up
BATCH_ROWS = 5_000
MOST_SHAPES = 1000  # of readings, whose names are remembered
MOST_ENTRIES = 20  # of large files that were read
# The code that rows depend on.
READERS = ("analysis.runs", "harness", "harness.input", "harness.model", "harness.probes", "harness.study")
TOLD = b"told"  # of an entry: what there is beside its rows
WHOLE, TEXT, NUMBER, FLAG = pa.int64(), pa.string(), pa.float64(), pa.bool_()
HEAD = {
    **{"left_out": TEXT, "schema": WHOLE, "kind": TEXT, "trial": TEXT, "block": WHOLE, "order": WHOLE},
    **{"attempt": WHOLE, "machine": TEXT, "lane": WHOLE, "lanes": WHOLE, "restart": WHOLE},
    **{"outcome": TEXT, "reason": TEXT, "started_utc": TEXT},
}
TAIL = {"overhead_ms": NUMBER, "archive_digest": TEXT, "machine_speed": NUMBER}
OF_SOME_RUNS = ("machine", "lane", "lanes", "restart")  # where some record says so
COUNTED = ("protocols", "requests_by_protocol", "tls_versions", "errors")  # counts by name: as one text
FIRST_OF_CONDITIONS = (
    *("page", "variant", "compression", "protocol", "engine", "driver", "origins", "server"),
    *("link", "down_mbps", "up_mbps", "rtt_ms", "queue_down_bytes", "queue_up_bytes"),
)
IN_THE_NAME = ("from", "to", "over_s", "steps", "step_s", "connections", "depth")  # of a workload


@dataclass(frozen=True)
class RecordTable:
    """The flat rows of a run. `conditions` are the columns that together name a condition."""

    kind: Kind
    rows: pa.Table
    conditions: tuple[str, ...]
    notes: tuple[str, ...]


def read_records(directory: Path, plan: Plan | None, looks: Looks | None, cache: Path | None) -> RecordTable:
    """The records of a run directory; `cache` is where those of large runs are kept. RecordsError for a damaged one."""
    path = directory / RECORDS
    if cache is None or path.stat().st_size < LARGE_BYTES:
        return _read(path, plan, looks)
    read = [directory / name for name in (RECORDS, PLAN, LOOKS)]
    key = _key_of(read)
    known = _fetch(cache, key)
    if known is not None:
        return known
    made = _read(path, plan, looks)
    if _key_of(read) == key:  # else the run went on meanwhile
        _store(cache, key, made)
    return made


def _read(path: Path, plan: Plan | None, looks: Looks | None) -> RecordTable:
    notes: list[str] = []
    read = RecordReader(plan.distinct if plan else ())
    rows = _Rows()
    oddities = _Oddities(plan, looks)
    seen: dict[tuple[str, int], int] = {}
    for number, record, condition in read.of(path, lambda number: notes.append(cut_off(path, number))):
        key = record.trial, record.attempt
        if key in seen:
            raise RecordsError(
                f"{path}:{number}: attempt {record.attempt} at trial {record.trial} is already on line {seen[key]}; an "
                "attempt is recorded once"
            )
        seen[key] = number
        oddities.note(record, condition)
        rows.add(record, condition)
    notes += [f"{count} of {len(seen)} records {oddity}." for oddity, count in oddities.counted.items()]
    kind = read.kind or Kind.LOAD
    table, conditions = rows.table(kind, plan.sets if plan else {})
    return RecordTable(kind, table, conditions, tuple(notes))


def cut_off(path: Path, number: int) -> str:
    """The note on a last line without its end."""
    return f"The last line of {path.name} is incomplete and was left out (line {number})."


class _Oddities:
    """What a report says of records that it takes as they are, counted."""

    def __init__(self, plan: Plan | None, looks: Looks | None) -> None:
        self.counted: Counter[str] = Counter()
        self._planned = {planned.trial: planned for planned in plan.trials} if plan else None
        self._stopped = looks.stopped if looks else frozenset()
        self._finished: set[tuple[str, int]] = (
            set()
        )  # trials, with how often their block had been begun again

    def note(self, record: StoredRecord, condition: Condition) -> None:
        """Another record; those of a trial come in their order."""
        self.counted.update(self._of(record, condition))

    def _of(self, record: StoredRecord, condition: Condition) -> Iterator[str]:
        counts = record.unsound is None
        if (record.left_out is None) is not counts:
            yield "count by left_out and not by the rules of this version, or the other way round; the rules decide"
        if counts:
            go = record.trial, record.restart or 0
            if go in self._finished:
                yield "count although an earlier attempt at their trial does"
            self._finished.add(go)
        if self._planned is None:
            return
        planned = self._planned.get(record.trial)
        if planned is None:
            yield f"are of trials that {PLAN} does not hold"
        elif (planned.block, planned.condition) != (record.block, condition):
            yield f"have another block or condition than their trial has in {PLAN}"
        if record.trial in self._stopped:
            yield "are of trials after a look that stopped their condition"


class _Rows:
    """Takes records, and makes a table of them. Nested counts are one text, nested readings columns of their own."""

    def __init__(self) -> None:
        self._records: list[StoredRecord] = []
        self._batches: list[dict[str, pa.Array]] = []
        self._readings: dict[str, None] = {}
        self._conditions: dict[int, tuple[int, Condition]] = {}  # by identity: their number
        self._numbers: list[int] = []

    def add(self, record: StoredRecord, condition: Condition) -> None:
        number, _ = self._conditions.setdefault(id(condition), (len(self._conditions), condition))
        self._numbers.append(number)
        self._records.append(record)
        if len(self._records) >= BATCH_ROWS:
            self._end_batch(Kind(record.kind))

    def table(self, kind: Kind, sets: Sets) -> tuple[pa.Table, tuple[str, ...]]:
        """All rows, and the columns that name a condition."""
        self._end_batch(kind)
        lengths = [len(batch["trial"]) for batch in self._batches]
        names = [*(self._batches[0] if self._batches else ()), *self._readings]
        columns = {}
        for name in dict.fromkeys(names):
            parts = [batch.get(name) for batch in self._batches]
            column = _joined(parts, lengths)
            if column.null_count < len(column) or name not in OF_SOME_RUNS:
                columns[name] = column
        flat = [flat_condition(condition, sets) for _, condition in self._conditions.values()]
        naming = tuple(dict.fromkeys(name for condition in flat for name in condition))
        of_condition = pa.array(self._numbers, WHOLE)
        for name in naming:
            columns[name] = _inferred([condition.get(name) for condition in flat]).take(of_condition)
        return pa.table(columns), naming

    def _end_batch(self, kind: Kind) -> None:
        if not self._records:
            return
        types = columns_of(kind)
        rows = zip(*map(attrgetter(*types), self._records), strict=True)
        batch = {
            name: pa.array(values, each) for (name, each), values in zip(types.items(), rows, strict=True)
        }
        for key in COUNTED:
            if key in metrics_of(kind):
                counts = [getattr(record, key) for record in self._records]
                batch[key] = pa.array(list(map(_told, counts)), TEXT)
                if key == "errors":
                    batch["error_count"] = pa.array(list(map(_sum, counts)), WHOLE)
        for key, metric in metrics_of(kind).items():
            if metric.unit is Unit.READING:
                batch |= self._leaves([getattr(record, key) for record in self._records], key)
        self._batches.append(batch)
        self._records = []

    def _leaves(self, readings: Sequence[Mapping[str, Any] | None], prefix: str) -> dict[str, pa.Array]:
        rows = [{} if reading is None else _leaves(reading, prefix) for reading in readings]
        names = dict.fromkeys(name for alike in dict.fromkeys(map(tuple, rows)) for name in alike)
        self._readings |= names
        return {name: _inferred([row.get(name) for row in rows]) for name in names}


def columns_of(kind: Kind) -> dict[str, pa.DataType]:
    """The columns that are keys of a record of this kind, in their order, with their types."""
    types = {Unit.FLAG: FLAG, Unit.TEXT: TEXT}
    metrics = metrics_of(kind).items()
    nested = (Unit.TEXTS, Unit.COUNTS, Unit.READING)
    scalars = {key: types.get(each.unit, NUMBER) for key, each in metrics if each.unit not in nested}
    head = {key: each for key, each in HEAD.items() if key != "kind" or kind is not Kind.LOAD}
    return head | scalars | TAIL


def flat_condition(condition: Condition, sets: Sets) -> dict[str, Any]:
    """The columns that name a condition."""
    told = dimensions_of(condition)
    flat = {key: told.pop(key) for key in FIRST_OF_CONDITIONS}
    flat |= {key: told.pop(key) for key in tuple(told) if key.startswith("link_")}
    flat |= {key: told.pop(key) for key in (AGAIN, *OF_WORKLOADS[condition.kind])}
    if condition.workload is not None:
        load = condition.workload.to_json()
        flat |= {f"workload_{key}": value for key, value in load.items() if key not in IN_THE_NAME}
    if isinstance(condition.workload, Users):
        flat["workload_slower_than_s"] = condition.workload.slower_than_s  # also the usual one
        flat["workload_seconds"] = condition.workload.seconds
    flat |= told | ({SET: set_of(sets, condition.page)} if sets else {})
    return {key: _scalar(value) for key, value in flat.items()}


def _scalar(value: Any) -> Any:
    """A nested value of a condition as text, so that it still tells two conditions apart."""
    return json.dumps(value, sort_keys=True) if isinstance(value, dict | list) else value


def _leaves(reading: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    """The values of nested objects, each by the keys that lead to it."""
    leaves: dict[str, Any] = {}
    for name, value in zip(_names(prefix, tuple(reading)), reading.values(), strict=True):
        if isinstance(value, dict):
            leaves |= _leaves(value, name)
        elif not isinstance(value, list):
            leaves[name] = value
    return leaves


@lru_cache(maxsize=MOST_SHAPES)
def _names(prefix: str, keys: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{prefix}_{key}" for key in keys)


def _told(counts: Mapping[str, int] | None) -> str | None:
    return None if counts is None else ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))


def _sum(counts: Mapping[str, int] | None) -> int | None:
    return None if counts is None else sum(counts.values())


def _inferred(values: Sequence[Any]) -> pa.Array:
    """Values of one type as what they are, others as texts."""
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], TEXT)


def _joined(parts: Sequence[pa.Array | None], lengths: Sequence[int]) -> pa.ChunkedArray:
    """The parts of a column, nothing where a batch does not have it; whole numbers and others as numbers."""
    types = {part.type for part in parts if part is not None} - {pa.null()} or {pa.null()}
    kind = types.pop() if len(types) == 1 else NUMBER if types == {WHOLE, NUMBER} else TEXT
    return pa.chunked_array(
        [
            pa.nulls(length, kind) if part is None else part.cast(kind, safe=False)
            for part, length in zip(parts, lengths, strict=True)
        ],
        kind,
    )


def _key_of(paths: Iterable[Path]) -> str:
    """The digest of files, of those that are there, and of the code that reads them."""
    digest = hashlib.sha256(_code().encode())
    for path in paths:
        digest.update(f"\n{path.name} ".encode())
        if path.is_file():
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


@cache
def _code() -> str:
    digest = hashlib.sha256(pa.__version__.encode())
    for package in READERS:
        for file in sorted(resources.files(package).iterdir(), key=lambda each: each.name):
            if file.name.endswith(".py"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _fetch(folder: Path, key: str) -> RecordTable | None:
    """The entry of a key; None without one, or when it is damaged."""
    path = _path(folder, key)
    try:
        stored = pq.read_table(path)
        path.touch()  # the least used entries go first
    except (OSError, pa.ArrowInvalid):
        return None
    told = json.loads(stored.schema.metadata[TOLD])
    rows = stored.rename_columns(told["names"]).replace_schema_metadata()
    return RecordTable(Kind(told["kind"]), rows, tuple(told["conditions"]), tuple(told["notes"]))


def _store(folder: Path, key: str, entry: RecordTable) -> None:
    """Keep an entry, whole or not at all; without room or rights there it is not kept."""
    # Parquet wants names of its own: those of a record may be empty, or hold anything.
    numbered = entry.rows.rename_columns([str(number) for number in range(entry.rows.num_columns)])
    names = {"names": entry.rows.column_names, "conditions": entry.conditions}
    told = {TOLD: json.dumps({**names, "kind": entry.kind, "notes": entry.notes})}
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as temporary:
            path = Path(temporary) / "new"
            pq.write_table(numbered.replace_schema_metadata(told), path, compression="zstd")
            path.replace(_path(folder, key))
        _drop_least_used(folder)


def _drop_least_used(folder: Path) -> None:
    entries = sorted(folder.glob("*.parquet"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in entries[MOST_ENTRIES:]:
        path.unlink(missing_ok=True)


def _path(folder: Path, key: str) -> Path:
    return folder / f"{key}.parquet"

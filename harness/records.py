"""The record of an attempt at a trial as a value, and as it stands in records.jsonl.

Its keys are the contract of docs/reference/files.md. `RecordReader` is the one reader of what `Record` writes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple

import msgspec
from typing_extensions import TypeVar

from harness.errors import Outcome
from harness.input import jsontext
from harness.input.keys import NAME_PATTERN
from harness.input.shown import shown
from harness.model.condition import Condition
from harness.model.kind import Kind, main_metric
from harness.model.metric import Unit
from harness.model.trials import MAX_ATTEMPTS, PlannedTrial
from harness.model.underload import CrowdObservation, RateObservation
from harness.probes.registry import Observation
from harness.study.metrics import metrics_of, observation_of, unsound
from harness.study.plan import MAX_PLANNED, ConditionReader

RECORDS = "records.jsonl"
PORTRAITS = "portraits.jsonl"  # the same, of loads that were looked at and not measured
# By kind; earlier ones are read no more. Of loads: 1, lcp_ms, cls and tbt_ms ended two frames after the load event.
# Of users: 2, the bound was 3 s and users_over_bound was called users_over_3s.
SCHEMAS: Mapping[Kind, int] = {Kind.LOAD: 2, Kind.USERS: 3, Kind.REQUESTS: 2}
MOST_RESTARTS = 1000  # of a block
MOST_LANES = 10_000
LARGEST = 10**12  # of a metric: what is beyond was not measured, and could not be reckoned with
SMALLEST_MS = 1e-3  # of a load

Observed = TypeVar("Observed", bound=Observation | CrowdObservation | RateObservation, default=Any)


@dataclass(frozen=True)
class Record(Generic[Observed]):
    """One attempt at a trial as it is stored: what was planned, how it ended, what was observed, as its kind has it.

    `left_out` names the rule by which the attempt does not count (`harness.study.metrics`); None when it counts.
    `machine_speed` is that of the machine before the block (`harness.lab.machine`).
    `machine` is where it was made, None for a run on one machine, and `lane` in which of its `lanes`, None without any;
    `restart` how often its block was begun again before.
    """

    planned: PlannedTrial
    outcome: Outcome
    reason: str | None
    started_utc: str
    observation: Observed
    overhead_ms: float | None
    archive_digest: str | None = None
    attempt: int = 1
    left_out: str | None = None
    machine_speed: float | None = None
    machine: str | None = None
    lane: int | None = None
    lanes: int | None = None
    restart: int = 0

    @property
    def kind(self) -> Kind:
        """What was measured."""
        return self.planned.condition.kind

    @property
    def executor(self) -> str | None:
        """Who made it, where there are several: what is compared is made by one of them."""
        return executor_of(self.machine, self.lane, self.lanes)

    def to_json(self) -> dict[str, Any]:
        """The keys of a record. That of a load says no kind."""
        return {
            "schema": SCHEMAS[self.kind],
            **({} if self.kind is Kind.LOAD else {"kind": self.kind.value}),
            **self.planned.to_json(),
            "attempt": self.attempt,
            "left_out": self.left_out,
            **({} if self.machine is None else {"machine": self.machine}),
            **({} if self.lane is None else {"lane": self.lane, "lanes": self.lanes}),
            **({"restart": self.restart} if self.restart else {}),
            "outcome": self.outcome.value,
            "reason": self.reason,
            "started_utc": self.started_utc,
            **{key: getattr(self.observation, key) for key in metrics_of(self.kind)},
            "overhead_ms": self.overhead_ms,
            "archive_digest": self.archive_digest,
            **({} if self.machine_speed is None else {"machine_speed": self.machine_speed}),
        }


Whole = Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]
LaneNumber = Annotated[int, msgspec.Meta(ge=1, le=MOST_LANES)]
Number = (
    Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
    | Annotated[float, msgspec.Meta(ge=float(-LARGEST), le=float(LARGEST))]
    | None
)
HELD: Mapping[Unit, Any] = {
    Unit.FLAG: bool | None,
    Unit.TEXT: str | None,
    Unit.TEXTS: list[str] | None,
    Unit.COUNTS: dict[str, Whole] | None,
    Unit.READING: dict[str, Any] | None,
}  # of a metric that is no number


class StoredRecord(msgspec.Struct):
    """A line of records.jsonl, with the text of docs/reference below its fields.

    Each kind adds its metrics, by their keys; what was not observed is None.

    The condition is text, as a run has few of them: `RecordReader.condition` reads it.
    """

    schema: int
    """version of the record's format: no other is read"""
    trial: Annotated[str, msgspec.Meta(pattern=rf"\A{NAME_PATTERN.pattern}\Z")]
    """id of the trial, as in plan.jsonl"""
    block: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    """round over all conditions, from 1: what is compared stands in one"""
    order: Annotated[int, msgspec.Meta(ge=1, le=MAX_PLANNED)]
    """place of the trial in the run, from 1"""
    condition: msgspec.Raw
    """what was loaded, how and by what"""
    attempt: Annotated[int, msgspec.Meta(ge=1, le=MAX_ATTEMPTS * MOST_RESTARTS)]
    """which attempt at the trial it is, from 1; `trial` and `attempt` together are unique"""
    left_out: str | None
    """rule by which the attempt does not count; null when it counts"""
    outcome: str
    """how the trial ended"""
    kind: str = Kind.LOAD.value
    """`users` or `requests`; absent for a page load"""
    machine: str | None = None
    """machine that made it; absent for a run on one machine"""
    lane: LaneNumber | None = None
    """lane that made it, from 1; absent without lanes"""
    lanes: LaneNumber | None = None
    """how many lanes the run has; absent without lanes"""
    restart: Annotated[int, msgspec.Meta(ge=0, le=MOST_RESTARTS)] | None = None
    """how often the block had been begun again on another machine or lane; absent for never"""
    reason: str | None = None
    """what happened, in words; null when the outcome is `ok`"""
    started_utc: str | None = None
    """start of the trial, ISO 8601"""
    overhead_ms: Number = None
    """wall time of the trial beyond `plt_ms`, or beyond the load that a server was under"""
    archive_digest: str | None = None
    """digest of the archive that was served"""
    machine_speed: Number = None
    """runs a second of a fixed piece of work on one core, before the block; absent when not measured"""

    @property
    def executor(self) -> str | None:
        """`Record.executor`."""
        return executor_of(self.machine, self.lane, self.lanes)

    @property
    def facts(self) -> Mapping[str, Any]:
        """All its keys, those of its metrics too, with their values."""
        return msgspec.structs.asdict(self)

    @property
    def unsound(self) -> str | None:
        """The first reason by which the attempt does not count, whatever its `left_out` says."""
        return unsound(self.facts)


@cache
def stored_type(kind: Kind) -> type[StoredRecord]:
    """The records of a kind as they are stored."""
    metrics = [(key, HELD.get(each.unit, Number), None) for key, each in metrics_of(kind).items()]
    made: type[Any] = msgspec.defstruct(f"Stored_{kind}", metrics, bases=(StoredRecord,))
    return made


class RecordReader:
    """Reads the lines of a run's records, which are of one kind. ValueError, in one line, for what is none of ours.

    Of conditions that equal a `known` one it has that one.
    """

    def __init__(self, known: Iterable[Condition] = ()) -> None:
        self.kind: Kind | None = None
        self.condition = ConditionReader(known)
        self._decoder = msgspec.json.Decoder(StoredRecord)

    def __call__(self, line: bytes) -> StoredRecord:
        if self.kind is None:
            self._begin(jsontext.decoded(line, self._decoder))
        record = jsontext.decoded(line, self._decoder)
        if record.kind != self.kind:
            raise ValueError(f"kind is {shown(record.kind)}, above it is {self.kind}; a run is of one kind")
        _refuse_schema(record.schema, self.kind)
        load = getattr(record, "plt_ms", None)
        if load is not None and 0 < load < SMALLEST_MS:
            raise ValueError(f"plt_ms is {shown(load)}; no page loads in less than {SMALLEST_MS:g} ms")
        return record

    def _begin(self, first: StoredRecord) -> None:
        if first.kind not in list(Kind):
            raise ValueError(f"kind is {shown(first.kind)}; this version knows {', '.join(Kind)}")
        self.kind = Kind(first.kind)
        _refuse_schema(first.schema, self.kind)
        self._decoder = msgspec.json.Decoder(stored_type(self.kind))

    def of(
        self, path: Path, cut: Callable[[int], object] = jsontext.nothing
    ) -> Iterator[tuple[int, StoredRecord, Condition]]:
        """(line, record, its condition) of each line of a records.jsonl, as `jsontext.each`."""

        def read(line: bytes) -> tuple[StoredRecord, Condition]:
            record = self(line)
            return record, self.condition(record.condition)

        for number, (record, condition) in jsontext.each(path, read, cut):
            yield number, record, condition


def line_of(path: Path, trial: str, attempt: int) -> dict[str, Any] | None:
    """The keys of an attempt as they stand in a records.jsonl; None when it holds none, or only the torn beginning."""
    sought = trial.encode() if trial.isascii() and trial.isprintable() else b""
    for _, line, _ in jsontext.lines(path):
        if sought not in line:  # parsing takes a hundred times as long
            continue
        try:
            data = jsontext.parse(line)
        except ValueError:
            continue
        if data.get("trial") == trial and data.get("attempt") == attempt:
            return data
    return None


def _refuse_schema(found: int, kind: Kind) -> None:
    if found != SCHEMAS[kind]:
        raise ValueError(
            f"a record of schema {shown(found)}; of kind {kind} this version reads schema {SCHEMAS[kind]}: read the "
            "run with the version that wrote it, or run its study again"
        )


class RecordLine(NamedTuple):
    """A record as its line of records.jsonl, with what whoever stores it has to know of it.

    It is made where the record was made, so that one coordinator can store what many machines make. `figure` is the
    main metric. `requested` are the URLs of `requested_digest`.
    """

    text: str
    trial: str
    attempt: int
    left_out: str | None
    outcome: Outcome
    reason: str | None
    figure: float | None
    executor: str | None = None
    requested_digest: str | None = None
    requested: tuple[str, ...] = ()

    @classmethod
    def of(cls, record: Record) -> RecordLine:
        seen = record.observation
        is_load = isinstance(seen, Observation)
        return cls(
            text=json.dumps(record.to_json()) + "\n",
            trial=record.planned.trial,
            attempt=record.attempt,
            left_out=record.left_out,
            outcome=record.outcome,
            reason=record.reason,
            figure=getattr(seen, main_metric(record.kind)),
            executor=record.executor,
            requested_digest=seen.requested_digest if is_load else None,
            requested=seen.requested if is_load else (),
        )


def with_reason(line: bytes, reason: str | None) -> bytes:
    """A line of records.jsonl, without its end, with another reason."""
    return json.dumps({**jsontext.parse(line), "reason": reason}).encode()


def not_run(planned: PlannedTrial, reason: str) -> Record:
    """The record of a trial that could not begin: this machine lacks its engine, or its servers are dead."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    nothing = observation_of(planned.condition.kind)()
    return Record(planned, Outcome.TESTBED_FAILED, reason, now, nothing, None)


def lane_name(number: int) -> str:
    """As in `lane 2`."""
    return f"lane {number}"


def lane_of(number: int, lanes: int) -> str:
    """As in `lane 2 of 4`: of another number of lanes the second has other cores."""
    return f"{lane_name(number)} of {lanes}"


def executor_of(machine: str | None, lane: int | None, lanes: int | None) -> str | None:
    """The machine, the lane, or both; None where there is one alone."""
    if lane is None:
        return machine
    name = lane_name(lane) if lanes is None else lane_of(lane, lanes)
    return name if machine is None else f"{machine}, {name}"

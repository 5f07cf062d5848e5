"""The record of an attempt at a trial as a value. Its keys are the contract of docs/record-format.md."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, NamedTuple

from typing_extensions import TypeVar

from harness.model.kind import Kind
from harness.model.metrics import OBSERVATIONS, AnyObservation, main_metric, metrics_of
from harness.model.observation import Observation
from harness.model.place import place_of
from harness.model.plan import PlannedTrial
from harness.outcome import Outcome
from harness.system.clock import utc_text

RECORD_SCHEMA = 2  # 1: lcp_ms, cls and tbt_ms ended two frames after the load event

Seen = TypeVar("Seen", bound=AnyObservation, default=Any)


@dataclass(frozen=True)
class Record(Generic[Seen]):
    """One attempt at a trial as it is stored: what was planned, how it ended, what was observed, as its kind has it.

    `left_out` names the rule by which the attempt does not count (`harness.model.soundness`); None when it counts.
    `machine_speed` is that of the machine before the block (`harness.lab.machinespeed`).
    `machine` is where it was made, None for a run on one machine, and `lane` in which of its `lanes`, None without any;
    `restart` how often its block was begun again before.
    """

    planned: PlannedTrial
    outcome: Outcome
    reason: str | None
    started_utc: str
    observation: Seen
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
    def place(self) -> str | None:
        """Where it was made, where there are several places: what is compared is made in one of them."""
        return place_of(self.machine, self.lane, self.lanes)

    def to_json(self) -> dict[str, Any]:
        """The keys of a record. That of a load says no kind, as those of older versions."""
        return {
            "schema": RECORD_SCHEMA,
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
    place: str | None = None
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
            place=record.place,
            requested_digest=seen.requested_digest if is_load else None,
            requested=seen.requested if is_load else (),
        )


def not_run(planned: PlannedTrial, reason: str) -> Record:
    """The record of a trial that could not begin: this machine lacks its engine, or its servers are dead."""
    now = utc_text(datetime.now(UTC), "milliseconds")
    nothing = OBSERVATIONS[planned.condition.kind]()
    return Record(planned, Outcome.TESTBED_FAILED, reason, now, nothing, None)

"""The record of an attempt at a trial as a value. Its keys are the contract of docs/record-format.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from harness.model.observation import METRICS, Observation
from harness.outcome import Outcome
from harness.study.plan import PlannedTrial

RECORD_SCHEMA = 1


@dataclass(frozen=True)
class Record:
    """One attempt at a trial as it is stored: what was planned, how it ended, what was observed.

    `left_out` names the rule by which the attempt does not count (`harness.model.soundness`); None when it counts.
    """

    planned: PlannedTrial
    outcome: Outcome
    reason: str | None
    started_utc: str
    observation: Observation
    overhead_ms: float | None
    archive_digest: str | None = None
    attempt: int = 1
    left_out: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": RECORD_SCHEMA,
            **self.planned.to_json(),
            "attempt": self.attempt,
            "left_out": self.left_out,
            "outcome": self.outcome.value,
            "reason": self.reason,
            "started_utc": self.started_utc,
            **{key: getattr(self.observation, key) for key in METRICS},
            "overhead_ms": self.overhead_ms,
            "archive_digest": self.archive_digest,
        }

"""How far a run has come: what is left of its plan. Pure but for the reading of a run's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from harness.run.attempts import Attempts, read_attempts
from harness.run.looks import Looks, read_looks
from harness.study.plan import Plan, PlannedTrial

RECORDS, LOOKS = "records.jsonl", "looks.jsonl"


@dataclass(frozen=True)
class Standing:
    """A plan with the attempts that were made and the looks that were taken. Both grow as the run goes on."""

    plan: Plan
    attempts: Attempts
    looks: Looks

    @classmethod
    def read(cls, folder: Path, plan: Plan) -> Standing:
        """That of a run directory; changes nothing there."""
        return cls(plan, read_attempts(folder / RECORDS, plan), read_looks(folder / LOOKS, plan))

    def is_left(self, planned: PlannedTrial) -> bool:
        """Whether the trial is neither finished nor no longer needed."""
        return self.looks.needs(planned) and self.attempts.next_of(planned) is not None

    @property
    def left(self) -> list[PlannedTrial]:
        """The trials still to do, in their order."""
        return [planned for planned in self.plan.trials if self.is_left(planned)]

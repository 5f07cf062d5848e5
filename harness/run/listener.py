"""What a run tells while it goes on, and what it says of itself at the end."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol as Interface

from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.work import Watcher


class Listener(Watcher, Interface):
    """What a run tells about its progress, which goes by trials."""

    def of_lane(self, lane: int) -> Watcher:
        """What is told of a lane."""

    def attempt_repeated(self, planned: PlannedTrial, record: RecordLine) -> None:
        """An attempt does not count, and the next one follows."""

    def trial_ended(self, planned: PlannedTrial, record: RecordLine) -> None:
        """The last attempt at a trial has ended."""

    def trials_not_run(self, count: int) -> None:
        """Trials that will not be run: of an engine that is missing, or of conditions measured enough."""


@dataclass
class Summary:
    """What came of the trials of this call. `already` were finished before it."""

    already: int
    counted: int = 0
    repeated: int = 0  # attempts
    not_needed: int = 0
    without: Counter[str] = field(
        default_factory=Counter
    )  # trials without a result, by the reason of the last attempt

    def add(self, left_out: str | None, *, repeated: bool) -> None:
        """An attempt has ended, see `Record`; `repeated` when another one at its trial follows."""
        if repeated:
            self.repeated += 1
        elif left_out is None:
            self.counted += 1
        else:
            self.without[left_out] += 1

    def __str__(self) -> str:
        """`48 trials counted, 5 attempts repeated, 1 trial without a result (1 page-timeout)`."""
        said = [f"{_counted(self.counted, 'trial')} counted"]
        if self.repeated:
            said.append(f"{_counted(self.repeated, 'attempt')} repeated")
        if self.without:
            reasons = ", ".join(f"{count} {name}" for name, count in self.without.most_common())
            said.append(f"{_counted(self.without.total(), 'trial')} without a result ({reasons})")
        if self.not_needed:
            said.append(f"{_counted(self.not_needed, 'trial')} no longer needed")
        before = f" ({self.already} were finished before)" if self.already else ""
        return ", ".join(said) + before


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"

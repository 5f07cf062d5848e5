"""When a condition has been measured enough: looks at the records after blocks that were fixed beforehand.

What is enough is a question of statistics, and is asked of whoever runs the study (`Enough`). What a look found is
stored in looks.jsonl. It holds for the rest of the run, also when that is killed and goes on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from harness.input import keys
from harness.input.shown import shown
from harness.model.condition import Condition
from harness.model.plan import MAX_PLANNED, Plan, PlannedTrial
from harness.run.runlines import each_line

LOOKS_SCHEMA = 1


@dataclass(frozen=True)
class Found:
    """What a look found: the conditions that need no more trials, and what that was seen from, as JSON can hold it."""

    stopped: frozenset[Condition]
    facts: Mapping[str, Any]


class Enough(Interface):
    """Says what the records of a run directory are enough for, up to and including a block that is whole."""

    def __call__(self, folder: Path, block: int) -> Found: ...


class Looks:
    """The looks of a run: those that are planned, those that were taken, and what they stopped."""

    def __init__(self, plan: Plan) -> None:
        self._planned = plan.looks
        self._conditions = {key_of(condition): condition for condition in plan.distinct}
        self._stopped: dict[Condition, int] = {}
        self._taken: set[int] = set()

    def due(self, block: int) -> tuple[int, ...]:
        """The looks to take before the first trial of this block."""
        return tuple(look for look in self._planned if look < block and look not in self._taken)

    def note(self, block: int, stopped: Iterable[str]) -> None:
        """A look was taken after a block, and stopped conditions, by their keys.

        ValueError for a look or a condition that is not of the plan.
        """
        if block not in self._planned:
            raise ValueError(f"plan.jsonl has no look after block {block}")
        for key in stopped:
            if key not in self._conditions:
                raise ValueError(f"condition {shown(key)} is not in plan.jsonl")
            self._stopped.setdefault(self._conditions[key], block)
        self._taken.add(block)

    def needs(self, planned: PlannedTrial) -> bool:
        """Whether a trial is still wanted: its condition was not stopped after an earlier block."""
        return not self._stopped or self._stopped.get(planned.condition, planned.block) >= planned.block

    def line(self, block: int, found: Found) -> dict[str, Any]:
        """What looks.jsonl says of a look: the conditions that it stopped, and no earlier one did."""
        new = sorted(key_of(each) for each in found.stopped - self._stopped.keys())
        return {"schema": LOOKS_SCHEMA, "block": block, "stopped": new, "facts": dict(found.facts)}


def key_of(condition: Condition) -> str:
    """A condition's name, which no other of its plan has."""
    return str(condition)


def of_trials(plan: Plan, trials: Iterable[str]) -> frozenset[Condition]:
    """The conditions of trials, by their ids."""
    wanted = set(trials)
    return frozenset(trial.condition for trial in plan.trials if trial.trial in wanted)


def read_looks(path: Path, plan: Plan) -> Looks:
    """The looks that looks.jsonl tells of; a last line that a kill cut off is no look yet."""
    looks = Looks(plan)
    each_line(path, partial(_note, looks))
    return looks


def _note(looks: Looks, line: Mapping[str, Any]) -> None:
    block = keys.checked_number("block", line["block"], 1, MAX_PLANNED, whole=True)
    if not isinstance(line["stopped"], list):
        raise TypeError(f"stopped is {shown(line['stopped'])}")
    looks.note(int(block), map(str, line["stopped"]))

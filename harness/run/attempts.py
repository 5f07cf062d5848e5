"""Which attempts a run has made, and which comes next. Pure but for the reading of records.jsonl.

A trial is finished when an attempt counts, when its attempts are spent, or when its block has gone on to a later trial:
a late attempt would stand far from what it is compared with. Blocks may be run side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from harness.input import jsontext, keys
from harness.input.shown import shown
from harness.model.condition import Condition
from harness.model.soundness import MACHINE, unsound
from harness.run.runlines import each_line
from harness.study.plan import ConditionReader, Plan, PlannedTrial
from harness.study.trials import MAX_ATTEMPTS

ENGINE_MISSING = "engine-missing"  # why an attempt was not made at all; another one would not be, either
PROBATION_BLOCKS = 2


class Attempts:
    """The attempts of a run, noted in the order in which they were made."""

    def __init__(self, plan: Plan) -> None:
        self._planned = {trial.trial: trial for trial in plan.trials}
        self._most = plan.attempts
        self._made: dict[str, set[int]] = {}
        self._counted: set[str] = set()
        self._open: dict[
            int, str | None
        ] = {}  # of a block: the latest trial, None when it can have no more attempts
        # Blocks in which an attempt at a condition failed by itself, and those in which the machine is blamed.
        self._failed: defaultdict[Condition, set[int]] = defaultdict(set)
        self._disturbed: defaultdict[Condition, set[int]] = defaultdict(set)
        self._calm_blocks: set[int] = set()  # in which some attempt counted
        self._succeeded: defaultdict[Condition, set[int]] = defaultdict(
            set
        )  # in which an attempt at it counted

    def note(self, trial: str, attempt: int, left_out: str | None, *, final: bool = False) -> None:
        """An attempt was made; `final` when none can follow. ValueError for one that is not of the plan, or known."""
        if trial not in self._planned:
            raise ValueError(f"trial {shown(trial)} is not in plan.jsonl")
        made = self._made.setdefault(trial, set())
        if attempt in made:
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} is recorded twice")
        if trial in self._counted:
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} follows one that counts")
        made.add(attempt)
        planned = self._planned[trial]
        self._open[planned.block] = None if final or left_out == ENGINE_MISSING else trial
        if left_out is None:
            self._counted.add(trial)
            self._succeeded[planned.condition].add(planned.block)
            self._calm_blocks.add(planned.block)
        else:
            blocks = self._disturbed if left_out in MACHINE else self._failed
            blocks[planned.condition].add(planned.block)

    def planned(self, trial: str) -> PlannedTrial:
        """The trial of the plan with that id."""
        return self._planned[trial]

    def next_of(self, planned: PlannedTrial) -> int | None:
        """The number of the attempt to make next, from 1; None when the trial is finished."""
        made = self._made.get(planned.trial)
        if made is None:
            return 1
        gone_past = self._open.get(planned.block) != planned.trial
        if gone_past or planned.trial in self._counted or len(made) >= self.allowed(planned):
            return None
        return max(made) + 1

    def allowed(self, planned: PlannedTrial) -> int:
        """How many attempts the trial may have: a single one of a condition that has never counted before."""
        return 1 if self.is_hopeless(planned) else self._most

    def is_hopeless(self, planned: PlannedTrial) -> bool:
        """Whether no attempt at the condition ever counted, and that was its own fault in two blocks before this trial.

        A page that times out each time must not cost all its attempts in every block. What the machine is blamed for
        says nothing of the page, unless others counted in that block: a page can starve the machine itself.
        """
        condition = planned.condition
        own = self._failed[condition] | (self._disturbed[condition] & self._calm_blocks)
        earlier = sum(block < planned.block for block in own)
        succeeded = any(block < planned.block for block in self._succeeded[condition])
        return earlier >= PROBATION_BLOCKS and not succeeded

    @property
    def recorded(self) -> int:
        """How many trials have an attempt."""
        return len(self._made)


def read_attempts(path: Path, plan: Plan) -> Attempts:
    """The attempts that records.jsonl tells of; a last line that a kill cut off is no record yet."""
    found = Attempts(plan)
    each_line(path, partial(_note, found, ConditionReader(plan.distinct)), _told)
    return found


class _Told(msgspec.Struct):
    """What of a record says which attempt was made, and whether it counts: little of much."""

    trial: str
    block: int
    order: int
    condition: msgspec.Raw
    left_out: str | None
    attempt: int = 1


_TOLD = msgspec.json.Decoder(_Told)


def _told(line: bytes) -> Mapping[str, Any]:
    """That, or the whole record: of an older version, or to say what is wrong with it."""
    try:
        return msgspec.structs.asdict(_TOLD.decode(line))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return jsontext.parse(line)


def _note(found: Attempts, condition: ConditionReader, record: Mapping[str, Any]) -> None:
    """Records of older versions do not say whether they count; those knew one attempt at a trial."""
    older = "left_out" not in record
    left_out = unsound(record) if older else record["left_out"]
    if left_out is not None:
        left_out = keys.text(record, "left_out", left_out)
    attempt = keys.checked_number("attempt", record.get("attempt", 1), 1, MAX_ATTEMPTS, whole=True)
    trial = PlannedTrial.from_json(record, condition)
    found.note(trial.trial, int(attempt), left_out, final=older)
    if found.planned(trial.trial) != trial:
        raise ValueError(f"trial {shown(trial.trial)} has another block, order or condition in plan.jsonl")

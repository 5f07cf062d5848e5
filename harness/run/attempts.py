"""Which attempts a run has made, and which comes next. Pure but for the reading of records.jsonl.

A trial is finished when an attempt counts, when its attempts are spent, or when its block has gone on to a later trial:
a late attempt would stand far from what it is compared with. Blocks may be run side by side.

A block whose machine is lost is begun again on another one, as a whole: what is compared stands on one machine. A
restarted block has attempts with higher numbers, so that no two attempts of a trial have the same: with three attempts
per trial, 1 to 3 are those of the block as it was begun first, 4 to 6 of its first restart. A lane is such a machine.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec

from harness.input import jsontext, keys
from harness.input.shown import shown
from harness.model.place import place_of
from harness.model.plan import ConditionReader, Plan, PlannedTrial
from harness.model.soundness import MACHINE, unsound
from harness.model.trials import MAX_ATTEMPTS
from harness.run.runlines import each_line

ENGINE_MISSING = "engine-missing"  # why an attempt was not made at all; another one would not be, either
PROBATION_BLOCKS = 2
MOST_RESTARTS = 1000  # of a block
MOST_LANES = 10_000
MOST_NUMBER = MAX_ATTEMPTS * MOST_RESTARTS  # of an attempt


@dataclass
class _Go:
    """The attempts at the trials of a block by one machine. `latest` is the latest trial, None when it is final."""

    machine: str | None = None
    made: dict[str, set[int]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    latest: str | None = None


class Attempts:
    """The attempts of a run, noted in the order in which they were made."""

    def __init__(self, plan: Plan) -> None:
        self._planned = {trial.trial: trial for trial in plan.trials}
        self._most = plan.attempts
        self._gos: defaultdict[int, dict[int, _Go]] = defaultdict(
            dict
        )  # of a block, by how often it was restarted
        self._tried: set[str] = set()
        self._condition = plan.numbered
        # Blocks in which an attempt at a condition failed by itself, and those in which the machine is blamed.
        self._failed: defaultdict[int, set[int]] = defaultdict(set)
        self._disturbed: defaultdict[int, set[int]] = defaultdict(set)
        self._calm_blocks: set[int] = set()  # in which some attempt counted
        self._succeeded: defaultdict[int, set[int]] = defaultdict(set)  # in which an attempt at it counted

    def note(
        self,
        trial: str,
        attempt: int,
        left_out: str | None,
        *,
        final: bool = False,
        machine: str | None = None,
    ) -> None:
        """An attempt was made; `final` when none can follow. ValueError for one that is not of the plan, or known."""
        if trial not in self._planned:
            raise ValueError(f"trial {shown(trial)} is not in plan.jsonl")
        planned = self._planned[trial]
        go = self._gos[planned.block].setdefault(self.restart_of(attempt), _Go(machine))
        if attempt in go.made.get(trial, ()):
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} is recorded twice")
        if trial in go.counted:
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} follows one that counts")
        go.made.setdefault(trial, set()).add(attempt)
        go.machine = machine
        go.latest = None if final or left_out == ENGINE_MISSING else trial
        self._tried.add(trial)
        if left_out is None:
            go.counted.add(trial)
            self._succeeded[self._condition[trial]].add(planned.block)
            self._calm_blocks.add(planned.block)
        else:
            blocks = self._disturbed if left_out in MACHINE else self._failed
            blocks[self._condition[trial]].add(planned.block)

    def planned(self, trial: str) -> PlannedTrial:
        """The trial of the plan with that id."""
        return self._planned[trial]

    def restart_of(self, attempt: int) -> int:
        """How often the block of an attempt had been begun again before it."""
        return (attempt - 1) // self._most

    def restarts(self, block: int) -> Iterable[int]:
        """The goes at a block that there are, by how often it was begun again before."""
        return self._gos.get(block) or (0,)

    def begun_on(self, block: int) -> tuple[str | None] | None:
        """The machine of the latest go at a block, alone in a tuple; None where there is no attempt to go on from."""
        gos = self._gos.get(block)
        latest = gos[max(gos)] if gos else None
        return (latest.machine,) if latest and latest.made else None

    def take(self, block: int, machine: str | None) -> None:
        """A machine goes on with a block that it began; one that another machine took is begun again."""
        gos = self._gos[block]
        if not gos or gos[max(gos)].machine != machine:
            gos[max(gos, default=-1) + 1] = _Go(machine)

    def next_of(self, planned: PlannedTrial, restart: int | None = None) -> int | None:
        """The number of the attempt to make next; None when the trial is finished. In the latest go at its block, or
        after so many restarts.
        """
        gos = self._gos.get(planned.block) or {}
        number = max(gos, default=0) if restart is None else restart
        go = gos.get(number)
        made = go.made.get(planned.trial) if go else None
        if go is None or made is None:
            return number * self._most + 1
        if go.latest != planned.trial or planned.trial in go.counted or len(made) >= self.allowed(planned):
            return None
        return max(made) + 1

    def last_of(self, planned: PlannedTrial, attempt: int) -> int:
        """The number of the last attempt that the trial may have where that one is the next."""
        return self.restart_of(attempt) * self._most + self.allowed(planned)

    def allowed(self, planned: PlannedTrial) -> int:
        """How many attempts the trial may have: a single one of a condition that has never counted before."""
        return 1 if self.is_hopeless(planned) else self._most

    def is_hopeless(self, planned: PlannedTrial) -> bool:
        """Whether no attempt at the condition ever counted, and that was its own fault in two blocks before this trial.

        A page that times out each time must not cost all its attempts in every block. What the machine is blamed for
        says nothing of the page, unless others counted in that block: a page can starve the machine itself.
        """
        condition = self._condition[planned.trial]
        own = self._failed[condition] | (self._disturbed[condition] & self._calm_blocks)
        earlier = sum(block < planned.block for block in own)
        succeeded = any(block < planned.block for block in self._succeeded[condition])
        return earlier >= PROBATION_BLOCKS and not succeeded

    @property
    def recorded(self) -> int:
        """How many trials have an attempt."""
        return len(self._tried)


def read_attempts(path: Path, plan: Plan) -> Attempts:
    """The attempts that records.jsonl tells of; a last line that a kill cut off is no record yet."""
    found = Attempts(plan)
    each_line(path, partial(_note, found, ConditionReader(plan.distinct)), _told)
    return found


class _ToldAttempt(msgspec.Struct):
    """What of a record says which attempt was made, and whether it counts: little of much."""

    trial: str
    block: int
    order: int
    condition: msgspec.Raw
    left_out: str | None
    attempt: Annotated[int, msgspec.Meta(ge=1, le=MOST_NUMBER)] = 1
    machine: str | None = None
    lane: Annotated[int, msgspec.Meta(ge=1, le=MOST_LANES)] | None = None
    lanes: Annotated[int, msgspec.Meta(ge=1, le=MOST_LANES)] | None = None


_TOLD = msgspec.json.Decoder(_ToldAttempt)


def _told(line: bytes) -> _ToldAttempt | Mapping[str, Any]:
    """That, or the whole record: of an older version, or to say what is wrong with it."""
    try:
        return _TOLD.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return jsontext.parse(line)


def _note(found: Attempts, condition: ConditionReader, record: _ToldAttempt | Mapping[str, Any]) -> None:
    """Records of older versions do not say whether they count; those knew one attempt at a trial."""
    if isinstance(record, _ToldAttempt):
        told, older = record, False
    else:
        told, older = _checked(record, condition), "left_out" not in record
    for key in ("left_out", "machine"):
        if getattr(told, key) is not None:
            keys.text({key: getattr(told, key)}, key)
    place = place_of(told.machine, told.lane, told.lanes)
    found.note(told.trial, told.attempt, told.left_out, final=older, machine=place)
    planned = found.planned(told.trial)
    same = (told.block, told.order) == (planned.block, planned.order)
    if not same or condition(told.condition) != planned.condition:
        raise ValueError(f"trial {shown(told.trial)} has another block, order or condition in plan.jsonl")


def _checked(record: Mapping[str, Any], condition: ConditionReader) -> _ToldAttempt:
    """What a whole record says; StudyError or another error for what it cannot say."""
    planned = PlannedTrial.from_json(record, condition)
    attempt = keys.checked_number("attempt", record.get("attempt", 1), 1, MOST_NUMBER, whole=True)
    return _ToldAttempt(
        planned.trial,
        planned.block,
        planned.order,
        msgspec.Raw(msgspec.json.encode(record["condition"])),
        record["left_out"] if "left_out" in record else unsound(record),
        int(attempt),
        record.get("machine"),
        _lane_number(record, "lane"),
        _lane_number(record, "lanes"),
    )


def _lane_number(record: Mapping[str, Any], key: str) -> int | None:
    value = record.get(key)
    return None if value is None else int(keys.checked_number(key, value, 1, MOST_LANES, whole=True))

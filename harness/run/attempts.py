"""Which attempts a run has made, which comes next, and what is left of its plan. Pure but for the reading of its files.

A trial is finished when an attempt counts, when its attempts are spent, or when its block has gone on to a later trial:
a late attempt would stand far from what it is compared with. Blocks may be run side by side.

A block whose executor is lost is begun again by another one, as a whole: what is compared is made by one executor. A
restarted block has attempts with higher numbers, so that no two attempts of a trial have the same: with three attempts
per trial, 1 to 3 are those of the block as it was begun first, 4 to 6 of its first restart.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from harness.errors import Outcome, RecordsError
from harness.input import jsontext
from harness.input.shown import shown
from harness.model.soundness import UNMEASURABLE
from harness.model.trials import PlannedTrial
from harness.records import PORTRAITS, RECORDS, RecordReader
from harness.study.metrics import machine_reasons, reasons_of
from harness.study.plan import LOOKS, PLAN, PORTRAIT, Looks, Plan, read_looks

ENGINE_MISSING = "engine-missing"  # why an attempt was not made at all; another one would not be, either
PROBATION_BLOCKS = 2


@dataclass
class _Go:
    """The attempts at the trials of a block by one executor. `latest` is the latest trial, None when it is final."""

    executor: str | None = None
    made: dict[str, set[int]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    latest: str | None = None


class Attempts:
    """The attempts of a run, noted in the order in which they were made."""

    def __init__(self, plan: Plan) -> None:
        self._planned = {trial.trial: trial for trial in plan.trials}
        self._most = plan.attempts
        self._spoiling = _unmeasurable(plan)
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
        self._loaded: set[int] = set()  # conditions of which an attempt counted that did not time out
        self._saturated: defaultdict[int, list[tuple[str, str]]] = defaultdict(list)  # trial and reason

    def note(
        self,
        trial: str,
        attempt: int,
        left_out: str | None,
        *,
        executor: str | None = None,
        timed_out: bool = False,
    ) -> None:
        """An attempt was made, and may have `timed_out`. ValueError for one that is not of the plan, or known."""
        if trial not in self._planned:
            raise ValueError(f"trial {shown(trial)} is not in plan.jsonl")
        planned = self._planned[trial]
        go = self._gos[planned.block].setdefault(self.restart_of(attempt), _Go(executor))
        if attempt in go.made.get(trial, ()):
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} is recorded twice")
        if trial in go.counted:
            raise ValueError(f"attempt {attempt} at trial {shown(trial)} follows one that counts")
        go.made.setdefault(trial, set()).add(attempt)
        go.executor = executor
        go.latest = None if left_out == ENGINE_MISSING else trial
        self._tried.add(trial)
        if left_out is None:
            go.counted.add(trial)
            if not timed_out:
                self._loaded.add(self._condition[trial])
            self._succeeded[self._condition[trial]].add(planned.block)
            self._calm_blocks.add(planned.block)
        else:
            if left_out in self._spoiling:
                self._saturated[self._condition[trial]].append((trial, left_out))
            blocks = self._disturbed if left_out in machine_reasons() else self._failed
            blocks[self._condition[trial]].add(planned.block)

    def works(self, trial: str) -> bool:
        """Whether the condition of a trial was tried, and has loaded in time or only the machine was in its way."""
        condition = self._condition[trial]
        if condition in self._loaded:
            return True
        late = self._succeeded[condition]  # its attempts that counted timed out
        return bool(self._disturbed[condition] and not (self._failed[condition] or late))

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
        """The executor of the latest go at a block, alone in a tuple; None where there is no attempt to go on from."""
        gos = self._gos.get(block)
        latest = gos[max(gos)] if gos else None
        return (latest.executor,) if latest and latest.made else None

    def take(self, block: int, executor: str | None) -> None:
        """An executor goes on with a block that it began; one that another executor took is begun again."""
        gos = self._gos[block]
        if not gos or gos[max(gos)].executor != executor:
            gos[max(gos, default=-1) + 1] = _Go(executor)

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

        A page that fails each time must not cost all its attempts in every block. What the machine is blamed for
        says nothing of the page, unless others counted in that block: a page can starve the machine itself.
        """
        condition = self._condition[planned.trial]
        own = self._failed[condition] | (self._disturbed[condition] & self._calm_blocks)
        earlier = sum(block < planned.block for block in own)
        succeeded = any(block < planned.block for block in self._succeeded[condition])
        return earlier >= PROBATION_BLOCKS and not succeeded

    @property
    def unmeasurable(self) -> Iterator[tuple[PlannedTrial, str]]:
        """A trial of each condition that this machine cannot measure, with the reason.

        As many attempts as a trial may have were left out for it, and none at the condition ever counted.
        """
        for condition, ended in self._saturated.items():
            if len(ended) >= self._most and not self._succeeded[condition]:
                trial, reason = ended[-1]
                yield self._planned[trial], reason

    @property
    def recorded(self) -> int:
        """How many trials have an attempt."""
        return len(self._tried)


def _unmeasurable(plan: Plan) -> frozenset[str]:
    """The reasons that stop a condition for the run: those that leave nothing of an attempt that the study is about."""
    about = {
        *(claim.metric for claim in plan.every_claim),
        *(figure.metric for figure in plan.figures),
    }
    kinds = {condition.kind for condition in plan.distinct}
    return frozenset(
        reason.name
        for kind in kinds
        for reason in reasons_of(kind)
        if reason.name in UNMEASURABLE and not about & reason.spares
    )


def read_attempts(path: Path, plan: Plan) -> Attempts:
    """The attempts that records.jsonl tells of; a last line that a kill cut off is no record yet."""
    attempts, read = Attempts(plan), RecordReader(plan.distinct)

    def note(line: bytes) -> None:
        record = read(line)
        timed_out = record.outcome == Outcome.PAGE_TIMEOUT
        attempts.note(
            record.trial, record.attempt, record.left_out, executor=record.executor, timed_out=timed_out
        )
        planned = attempts.planned(record.trial)
        same = (record.block, record.order) == (planned.block, planned.order)
        if not same or read.condition(record.condition) != planned.condition:
            raise ValueError(f"trial {shown(record.trial)} has another block, order or condition in {PLAN}")

    for _ in jsontext.each(path, note):
        pass
    return attempts


def read_portrayed(path: Path, plan: Plan) -> set[str]:
    """The portraits that portraits.jsonl tells of, whatever became of them."""
    read = RecordReader(plan.distinct)
    taken = {record.trial for _, record in jsontext.each(path, read)}
    for strange in sorted(taken - plan.portraits.keys()):
        raise RecordsError(f"{path}: trial {shown(strange)} is no portrait of {PLAN}; choose another --out")
    return taken


@dataclass(frozen=True)
class Standing:
    """A plan with the attempts, looks and portraits that there are. All of them grow as the run goes on."""

    plan: Plan
    attempts: Attempts
    looks: Looks
    portrayed: set[str] = field(default_factory=set)

    @classmethod
    def read(cls, folder: Path, plan: Plan) -> Standing:
        """That of a run directory; changes nothing there."""
        return cls(
            plan,
            read_attempts(folder / RECORDS, plan),
            read_looks(folder / LOOKS, plan),
            read_portrayed(folder / PORTRAITS, plan),
        )

    @property
    def portraits(self) -> list[PlannedTrial]:
        """Those still to take."""
        return [portrait for portrait in self.plan.portraits.values() if portrait.trial not in self.portrayed]

    @property
    def is_finished(self) -> bool:
        """Whether no trial is left, and no portrait that is due."""
        return not self.left and not self.portraits_due

    @property
    def portraits_due(self) -> list[PlannedTrial]:
        """Those still to take that are worth it: a page that failed or timed out each time would do so once more."""
        return [
            portrait
            for portrait in self.portraits
            if self.attempts.works(portrait.trial.removeprefix(PORTRAIT))
        ]

    @cached_property
    def blocks(self) -> Mapping[int, tuple[PlannedTrial, ...]]:
        """The trials of each block, in their order."""
        by_block = itertools.groupby(self.plan.trials, lambda planned: planned.block)
        return {number: tuple(trials) for number, trials in by_block}

    def left_of(self, block: int) -> list[PlannedTrial]:
        """The trials of a block that are neither finished nor no longer needed, in the latest go at it.

        None are left when any go at it is whole, also one that was thought lost.
        """
        needed = [planned for planned in self.blocks[block] if self.looks.needs(planned)]
        left = needed
        for restart in sorted(self.attempts.restarts(block)):
            left = [trial for trial in needed if self.attempts.next_of(trial, restart) is not None]
            if not left:
                return []
        return left

    def of_blocks(self, blocks: Iterable[int]) -> list[PlannedTrial]:
        """The trials of these blocks that are needed, also those that are finished: a block may be begun again."""
        every = [planned for block in sorted(set(blocks)) for planned in self.blocks[block]]
        return [planned for planned in every if self.looks.needs(planned)]

    @property
    def left(self) -> list[PlannedTrial]:
        """The trials still to do, in their order."""
        return [planned for block in self.blocks for planned in self.left_of(block)]

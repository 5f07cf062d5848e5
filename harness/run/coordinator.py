"""A run: its coordinator says what is due, hands it to executors block by block, and stores what comes of it."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.errors import ColdloadError, Outcome, StudyError
from harness.input.shown import count_of
from harness.lab.calibration import Calibration
from harness.lab.environment import distinct_archives
from harness.lab.lab import Archives
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.attempts import ENGINE_MISSING, PROBATION_BLOCKS, Standing
from harness.run.directory import JoinedMachine, RunDirectory
from harness.run.dispatch import Dispatch
from harness.run.work import (
    Attempted,
    Block,
    BlockLeft,
    Crew,
    CrewEvents,
    Due,
    Listener,
    Opened,
    Summary,
    Watcher,
    conduct,
)
from harness.study.plan import Enough
from harness.study.study import Study
from sites.archive import Archive, open_archive
from sites.optimise.derive import variant_of


class Coordinator:
    """Nobody else writes to the run.

    `left` are the trials that are left; looks that were due when the run ended are taken at once. `enough` is asked at
    the plan's looks which conditions need no more trials. The run ends at `ends_s` by the monotonic clock, between two
    attempts, and begins no block that would take longer at the pace so far: what is left is for another call.
    """

    def __init__(
        self,
        run: RunDirectory,
        listener: Listener,
        enough: Enough | None = None,
        ends_s: float | None = None,
    ) -> None:
        self.run = run
        self.standing = run.standing()
        self.listener = listener
        self._enough = enough
        self._ends_s = ends_s
        self.is_time_up = False
        self._hopeless: set[Condition] = set()
        self.left = self.standing.left
        self.summary = Summary(len(run.plan.trials) - len(self.left))
        if self.left:
            self.take_looks(self.left[0].block)
        self.dispatch = Dispatch(self.standing)
        self._is_begun = False
        self._untold = {planned.trial for planned in self.left}

    def carry_out(self, crew: Crew) -> None:
        """Run what is left, and store what comes of it, until nothing is left or the time is up."""
        self.dispatch.doubles = crew.doubles
        conduct(crew, self)

    def portray(self, crew: Crew) -> None:
        """Load each condition once more, to look at it, wherever there is time: nothing of it is compared."""
        waiting = () if self.is_time_up else self.standing.portraits_due
        if waiting:
            self.listener.preparing(f"portraits: {count_of(len(waiting), 'load')} to look at, not measured")
        conduct(crew, PortraitLoads(deque(waiting), self._store_told))
        lost = [portrait.trial for portrait in waiting if portrait.trial not in self.standing.portrayed]
        if lost:
            told = f"{count_of(len(lost), 'portrait')} lost twice with the lane or machine that took it"
            self.listener.warned(f"{told}; the same command goes on")

    def close(self, crew: Crew) -> None:
        """Nothing is left to do for a crew."""
        self._store_told(crew.close())

    @property
    def is_over(self) -> bool:
        """Whether nothing is left, or the time is up."""
        return self.is_time_up or self.is_measured

    def take_in(self, told: CrewEvents) -> None:
        """Store what executors told. That the time is up ends the run between two attempts; where a block has ended, a
        look may find first that there is no need of another one (`next_block`).
        """
        self._store_told(told)
        if all(isinstance(event, Attempted) for _, event in told) and self._is_past(time.monotonic()):
            self.is_time_up = True

    @property
    def is_measured(self) -> bool:
        """Whether no trial is left."""
        return not self.dispatch.left

    @property
    def to_come(self) -> list[PlannedTrial]:
        """All needed trials of the blocks that are left, as one may be begun again as a whole, and the portraits."""
        blocks = self.standing.of_blocks(planned.block for planned in self.left)
        return [*blocks, *self.standing.portraits]

    def _is_past(self, when_s: float) -> bool:
        return self._ends_s is not None and when_s > self._ends_s

    def is_finished(self, block: int) -> bool:
        """Whether a block is finished, whoever did it. That of the portraits never is."""
        return block <= self.run.plan.blocks and self.dispatch.is_over(block)

    def watcher(self, told: Watcher, **where: Any) -> Watcher:
        """For the lab of an executor: its readings are stored with `where` it is."""
        return ExecutorWatcher(self.run, told, where)

    def _store_told(self, told: CrewEvents) -> None:
        self.store([event for _, event in told if isinstance(event, Attempted)])
        for executor, event in told:
            if isinstance(event, Attempted):
                if not event.repeated:
                    self.dispatch.trial_ended(executor.name)
            elif isinstance(event, Opened):
                self._opened(event)
            else:
                self.dispatch.ended(executor.name, time.monotonic())

    def _opened(self, opened: Opened) -> None:
        """Store what a lab is made on and with, the first one's as that of the run."""
        if not self._is_begun:
            self._begin(opened)
            self._is_begun = True
        if opened.machine is not None:
            self.run.append_machine(JoinedMachine(opened.machine, opened.environment, opened.number))

    def _begin(self, opened: Opened) -> None:
        """Store what the run is made on and with, and warn of the engines that are lacking.

        Raises RecordsError when it is another one than the run was begun with.
        """
        for engine, reason in opened.lacking.items():
            count = sum(planned.condition.engine is engine for planned in self.left)
            if count:
                self.listener.warned(f"{count} trials with {engine} are recorded as testbed-failed: {reason}")
        of_several = opened.machine is not None
        warning = self.run.write_environment(opened.environment, of_several=of_several)
        if warning:
            self.listener.warned(warning)

    def next_block(self, executor: str | None, present: Collection[str | None], now_s: float) -> Block | None:
        """What an executor is to run now, after the looks before it; None when it has to wait, or nothing is left."""
        self._stop_unmeasurable()
        while self._enough and (look := self.dispatch.look_to_take()) is not None:
            self.take_looks(look)
            self.dispatch.look_again()
        number = self.dispatch.next_for(executor, present, now_s)
        if number is None:
            return None
        if self._is_past(now_s + self.dispatch.expected_s(executor, number)):
            self.is_time_up = True
            return None
        self.standing.attempts.take(number, executor)
        block = Block(number, tuple(map(self._due, self.standing.left_of(number))))
        self.dispatch.began(executor, number, len(block.trials), now_s)
        return block

    def take_looks(self, block: int) -> None:
        """Take the looks that are due before a block, all earlier ones being finished."""
        if take_looks(self.run, self.standing, block, self._enough):
            self.summary.not_needed += self._stopped()

    def _stop_unmeasurable(self) -> None:
        """Make no more trials of conditions that this machine cannot measure; that is found out once."""
        for planned, reason in self.standing.attempts.unmeasurable:
            line = self.standing.looks.line_of_unmeasurable(planned.block, planned.condition, reason)
            if line is not None:
                self.run.append_look(line)
                self.standing.looks.note(planned.block, line["stopped"], reason)
                count = self._stopped()
                self.summary.unmeasurable += count
                self.listener.warned(
                    f"{planned.condition} cannot be measured on this machine ({reason}); its other "
                    f"{count_of(count, 'trial')} will not be run"
                )
                self.dispatch.look_again()

    def _stopped(self) -> int:
        """How many trials that were left are needed no more."""
        needed = [planned for planned in self.left if self.standing.looks.needs(planned)]
        stopped = len(self.left) - len(needed)
        self.left = needed
        self.listener.trials_not_run(stopped)
        return stopped

    def store(self, ended: Sequence[Attempted]) -> None:
        """Store attempts with one flush; they are on disk when this returns.

        One that is stored already, or comes after one that counts, is left alone.
        """
        if not ended:
            return
        self.run.append_requested(attempt.record for attempt in ended)
        self._keep_portraits(
            [attempt.record for attempt in ended if attempt.record.trial in self.run.plan.portraits]
        )
        measured = (attempt for attempt in ended if attempt.record.trial not in self.run.plan.portraits)
        new = [attempt for attempt in measured if self._noted(attempt.record)]
        if new:
            self.run.append_lines(attempt.record for attempt in new)
        for attempt in new:
            self._told(attempt.record, repeated=attempt.repeated)

    def _keep_portraits(self, records: Sequence[RecordLine]) -> None:
        """Store loads that were looked at, each once."""
        new: dict[str, RecordLine] = {}
        for record in records:
            if record.trial not in self.standing.portrayed:
                new.setdefault(record.trial, record)
        if not new:
            return
        self.run.append_portraits(new.values())
        for record in new.values():
            self.standing.portrayed.add(record.trial)
            self.summary.portraits += record.outcome is Outcome.OK
            self.listener.portrait_taken(self.run.plan.portraits[record.trial], record)

    def _noted(self, record: RecordLine) -> bool:
        try:
            self.standing.attempts.note(
                record.trial,
                record.attempt,
                record.left_out,
                executor=record.executor,
                timed_out=record.outcome is Outcome.PAGE_TIMEOUT,
            )
        except ValueError as error:
            self.listener.warned(f"an attempt is not stored: {error}")
            return False
        return True

    def _told(self, record: RecordLine, *, repeated: bool) -> None:
        planned = self.standing.attempts.planned(record.trial)
        if not repeated:
            if record.trial not in self._untold:
                return  # a block was run again elsewhere, which is no progress
            self._untold.remove(record.trial)
        self.summary.add(record.left_out, repeated=repeated)
        if record.left_out == ENGINE_MISSING:
            self.listener.trials_not_run(1)
        elif repeated:
            self.listener.attempt_repeated(planned, record)
        else:
            self.listener.trial_ended(planned, record)

    def _due(self, planned: PlannedTrial) -> Due:
        attempts, condition = self.standing.attempts, planned.condition
        if attempts.is_hopeless(planned) and condition not in self._hopeless:
            self._hopeless.add(condition)
            self.listener.warned(
                f"{condition} did not count in {PROBATION_BLOCKS} blocks, nor ever before; "
                "it gets one attempt per block until it does"
            )
        attempt = attempts.next_of(planned)
        if attempt is None:
            raise AssertionError(f"trial {planned.trial} is finished")
        return Due(planned, attempt, attempts.last_of(planned, attempt), attempts.restart_of(attempt))


@dataclass
class PortraitLoads:
    """The loads that are looked at: each goes to the next executor that is idle, and once more if that one is lost."""

    waiting: deque[PlannedTrial]
    store: Callable[[CrewEvents], None]
    _busy: dict[str | None, PlannedTrial] = field(default_factory=dict)
    _settled: set[str] = field(default_factory=set)  # those that have a record, or had another chance

    @property
    def is_over(self) -> bool:
        return not (self.waiting or self._busy)

    def next_block(
        self, executor: str | None, _present: Collection[str | None], _now_s: float
    ) -> Block | None:
        if not self.waiting:
            return None
        planned = self._busy[executor] = self.waiting.popleft()
        return Block(planned.block, (Due(planned, attempt=1, last=1),))

    def take_in(self, told: CrewEvents) -> None:
        self.store(told)
        for executor, event in told:
            if isinstance(event, Attempted):
                self._settled.add(event.record.trial)
            elif isinstance(event, BlockLeft) and executor.name in self._busy:
                self._give_back(self._busy.pop(executor.name))

    def _give_back(self, planned: PlannedTrial) -> None:
        """An executor is at this load no more; without a record of it, it was lost with the executor."""
        if planned.trial not in self._settled:
            self._settled.add(planned.trial)
            self.waiting.append(planned)


@dataclass(frozen=True)
class ExecutorWatcher:
    """Stores the readings of an executor, and passes on what its lab tells. `where` goes into the readings."""

    run: RunDirectory
    told: Watcher
    where: Mapping[str, Any]

    def preparing(self, what: str) -> None:
        self.told.preparing(what)

    def warned(self, what: str) -> None:
        self.told.warned(what)

    def waiting(self, seconds: float) -> None:
        self.told.waiting(seconds)

    def calibrated(self, reading: Calibration) -> None:
        self.run.append_calibration({**reading.to_json(), **self.where})
        self.told.calibrated(reading)

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self.told.attempt_started(planned, attempt)


def take_looks(run: RunDirectory, standing: Standing, block: int, enough: Enough | None) -> bool:
    """Take the looks that are due before a block, all earlier trials being finished; whether there were any."""
    if enough is None:
        return False
    due = standing.looks.due(block)
    for look in due:
        line = standing.looks.line(look, enough(run.folder, look))
        run.append_look(line)
        standing.looks.note(look, line["stopped"])
    return bool(due)


OpenCrew = Callable[[Study, Archives, Coordinator], AbstractContextManager[Crew]]


@dataclass(frozen=True)
class Until:
    """What ends a run before its plan does: `enough` says at looks what needs no more trials, the time may be up."""

    enough: Enough | None = None
    ends_s: float | None = None


def run_study(
    study: Study,
    run: RunDirectory,
    archives_root: Path,
    listener: Listener,
    until: Until,
    open_crew: OpenCrew,
) -> Summary:
    """Run what is left of the plan. Everything that is stored is stored here.

    `open_crew` opens the executors, also of another machine; when the last of them cannot go on, what it failed of is
    raised. RecordsError when an archive is another one than the run was begun with, also where nothing is left; of a
    finished run archives may be gone.
    """
    coordinator = Coordinator(run, listener, until.enough, until.ends_s)
    is_finished = coordinator.standing.is_finished
    if is_finished and not all((archives_root / page).is_dir() for page in study.every_page):
        return coordinator.summary
    archives = archives_of(study, archives_root, listener)
    run.refuse_other_archives({name: archive.digest for name, archive in distinct_archives(archives).items()})
    if is_finished:
        return coordinator.summary
    try:
        with open_crew(study, archives, coordinator) as crew:
            coordinator.carry_out(crew)
            coordinator.portray(crew)
            coordinator.close(crew)
    except ColdloadError as error:
        if not coordinator.is_measured:
            raise
        listener.warned(f"not every portrait was taken ({error}); the same command goes on with them")
    return coordinator.summary


def archives_of(study: Study, root: Path, watcher: Watcher) -> Archives:
    """For each engine the archive of every page and variant, by the name it is served under; variants are made if
    missing, for the engine that will load them.
    """
    archives: dict[Engine, dict[str, Archive]] = {
        setup.engine: {} for part in study.parts for setup in part.setups
    }
    for engine, page, variant in dict.fromkeys(
        (condition.engine, condition.page, condition.variant) for condition in study.conditions
    ):
        watcher.preparing(f"{variant} of {page}")
        served = variant.served_name(page)
        if served in archives[engine]:
            raise StudyError(
                f"page {page} in variant {variant} and another one are both called {served}; rename a page"
            )
        archives[engine][served] = variant_of(open_archive(root, page), variant, engine)
    return archives

"""The coordinator of a run: holds its directory, says what is due, block by block, and stores what comes of it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.records import Record
from harness.run.attempts import ENGINE_MISSING, PROBATION_BLOCKS
from harness.run.directory import RunDirectory
from harness.run.listener import Listener, Summary
from harness.run.looks import Enough
from harness.run.standing import Standing
from harness.run.work import Block, Due, Made
from harness.study.plan import PlannedTrial
from harness.testbed.calibration import Calibration


class Coordinator:
    """Nobody else writes to the run. It is the watcher of the laboratories, whose readings it stores.

    `left` are the trials that are left; looks that were due when the run ended are taken at once. `enough` is asked at
    the plan's looks which conditions need no more trials.
    """

    def __init__(self, run: RunDirectory, listener: Listener, enough: Enough | None = None) -> None:
        self.run = run
        self.standing = run.standing()
        self._listener = listener
        self._enough = enough
        self._hopeless: set[Condition] = set()
        self.left = self.standing.left
        self.summary = Summary(len(run.plan.trials) - len(self.left))
        if self.left and take_looks(run, self.standing, self.left[0].block, enough):
            self.left = self._needed(self.left)
        by_block = itertools.groupby(self.left, lambda planned: planned.block)
        self._by_block = {number: tuple(trials) for number, trials in by_block}

    def begin(self, environment: Mapping[str, Any], lacking: Mapping[Engine, str]) -> None:
        """Store what a laboratory is made on and with, and warn of the engines that it lacks.

        Raises RecordsError when it is another one than the run was begun with.
        """
        for engine, reason in lacking.items():
            count = sum(planned.condition.engine is engine for planned in self.left)
            self._listener.warned(f"{count} trials with {engine} are recorded as testbed-failed: {reason}")
        self.run.write_environment(environment)

    def blocks(self) -> Iterator[Block]:
        """What is left, block by block. The next one is asked for when a block has been run: looks are between."""
        for number, trials in itertools.groupby(self.left, lambda planned: planned.block):
            self.take_looks(number)
            needed = self._needed(list(trials))
            if needed:
                yield self.due(number)

    def due(self, number: int, machine: str | None = None) -> Block:
        """What a machine is to run of a block: what is left of it, or all of it when another machine began it."""
        self.standing.attempts.take(number, machine)
        return Block(number, tuple(map(self._due, self.standing.left_of(number))))

    def next_block(self, number: int, machine: str) -> Block | None:
        """`due`, after the looks before the block; None when they left nothing of it."""
        self.take_looks(number)
        self._needed(self._by_block.pop(number, ()))  # tells of those that are not, once
        return self.due(number, machine) if self.standing.left_of(number) else None

    def take_looks(self, block: int) -> None:
        """Take the looks that are due before a block, all earlier ones being finished."""
        take_looks(self.run, self.standing, block, self._enough)

    def store(self, made: Made) -> None:
        """Store an attempt; it is on disk when this returns."""
        self.store_all((made,))

    def store_all(self, many: Sequence[Made]) -> None:
        """Store attempts with one flush. One that is stored already, or comes after one that counts, is left alone."""
        new = [self._restarted(made) for made in many if self._noted(made.record)]
        self.run.append(*(made.record for made in new))
        for made in new:
            self._told(made)

    def _restarted(self, made: Made) -> Made:
        restart = self.standing.attempts.restart_of(made.record.attempt)
        return replace(made, record=replace(made.record, restart=restart)) if restart else made

    def _noted(self, record: Record) -> bool:
        trial, attempt = record.planned.trial, record.attempt
        try:
            self.standing.attempts.note(trial, attempt, record.left_out, machine=record.place)
        except ValueError as error:
            self._listener.warned(f"an attempt is not stored: {error}")
            return False
        return True

    def _told(self, made: Made) -> None:
        record = made.record
        self.summary.add(record, repeated=made.repeated)
        if record.left_out == ENGINE_MISSING:
            self._listener.trials_not_run(1)
        elif made.repeated:
            self._listener.attempt_repeated(record)
        else:
            self._listener.trial_ended(record)

    def preparing(self, what: str) -> None:
        self._listener.preparing(what)

    def warned(self, what: str) -> None:
        self._listener.warned(what)

    def waiting(self, seconds: float) -> None:
        self._listener.waiting(seconds)

    def calibrated(self, reading: Calibration, machine: str | None = None) -> None:
        on = {} if machine is None else {"machine": machine}
        self.run.append_calibration({**reading.to_json(), **on})
        self._listener.calibrated(reading)

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self._listener.attempt_started(planned, attempt)

    def _needed(self, trials: Sequence[PlannedTrial]) -> list[PlannedTrial]:
        """Those that no look stopped."""
        needed = [planned for planned in trials if self.standing.looks.needs(planned)]
        stopped = len(trials) - len(needed)
        self.summary.not_needed += stopped
        if stopped:
            self._listener.trials_not_run(stopped)
        return needed

    def _due(self, planned: PlannedTrial) -> Due:
        attempts, condition = self.standing.attempts, planned.condition
        if attempts.is_hopeless(planned) and condition not in self._hopeless:
            self._hopeless.add(condition)
            self._listener.warned(
                f"{condition} did not count in {PROBATION_BLOCKS} blocks, nor ever before; "
                "it gets one attempt per block until it does"
            )
        attempt = attempts.next_of(planned)
        if attempt is None:
            raise AssertionError(f"trial {planned.trial} is finished")
        return Due(planned, attempt, attempts.last_of(planned, attempt))


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

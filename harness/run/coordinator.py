"""The coordinator of a run: holds its directory, says what is due, block by block, and stores what comes of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from harness.lab.calibration import Calibration
from harness.model.condition import Condition
from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import RecordLine
from harness.run.attempts import ENGINE_MISSING, PROBATION_BLOCKS
from harness.run.directory import RunDirectory
from harness.run.dispatch import Dispatch
from harness.run.listener import Listener, Summary
from harness.run.standing import Standing
from harness.run.work import Block, Due, Made
from harness.study.plan import Enough


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
        if self.left:
            self.take_looks(self.left[0].block)
        self._untold = {planned.trial for planned in self.left}

    def begin(self, environment: Mapping[str, Any], lacking: Mapping[Engine, str]) -> None:
        """Store what a laboratory is made on and with, and warn of the engines that it lacks.

        Raises RecordsError when it is another one than the run was begun with.
        """
        for engine, reason in lacking.items():
            count = sum(planned.condition.engine is engine for planned in self.left)
            self._listener.warned(f"{count} trials with {engine} are recorded as testbed-failed: {reason}")
        warning = self.run.write_environment(environment)
        if warning:
            self._listener.warned(warning)

    def blocks(self) -> Iterator[Block]:
        """What is left, block by block. The next one is asked for when a block has been run: looks are between."""
        for number in dict.fromkeys(planned.block for planned in self.left):
            self.take_looks(number)
            if self.standing.left_of(number):
                yield self.due(number)

    def due(self, number: int, machine: str | None = None) -> Block:
        """What a machine is to run of a block: what is left of it, or all of it when another machine began it."""
        self.standing.attempts.take(number, machine)
        return Block(number, tuple(map(self._due, self.standing.left_of(number))))

    def next_block(
        self, dispatch: Dispatch, place: str, present: Collection[str], now_s: float
    ) -> Block | None:
        """What one of several places is to run now, after the looks before it; None when it has to wait, or nothing is
        left. `present` are the places that there are.
        """
        look = dispatch.look_to_take()
        if look is not None:
            self.take_looks(look)
            dispatch.look_again()
        number = dispatch.next_for(place, present, now_s)
        if number is None:
            return None
        block = self.due(number, place)
        dispatch.began(place, number, len(block.trials), now_s)
        return block

    def take_looks(self, block: int) -> None:
        """Take the looks that are due before a block, all earlier ones being finished."""
        if take_looks(self.run, self.standing, block, self._enough):
            needed = [planned for planned in self.left if self.standing.looks.needs(planned)]
            stopped = len(self.left) - len(needed)
            self.left = needed
            self.summary.not_needed += stopped
            self._listener.trials_not_run(stopped)

    def store(self, made: Made) -> None:
        """Store an attempt; it is on disk when this returns."""
        self.store_all([(RecordLine.of(made.record), made.repeated)])

    def store_all(self, many: Sequence[tuple[RecordLine, bool]]) -> None:
        """Store attempts with one flush, each with whether another one at its trial follows.

        One that is stored already, or comes after one that counts, is left alone.
        """
        self.run.append_requested(record for record, _ in many)
        new = [(record, repeated) for record, repeated in many if self._noted(record)]
        if new:
            self.run.append_lines(record for record, _ in new)
        for record, repeated in new:
            self._told(record, repeated=repeated)

    def _noted(self, record: RecordLine) -> bool:
        try:
            self.standing.attempts.note(record.trial, record.attempt, record.left_out, machine=record.place)
        except ValueError as error:
            self._listener.warned(f"an attempt is not stored: {error}")
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
            self._listener.trials_not_run(1)
        elif repeated:
            self._listener.attempt_repeated(planned, record)
        else:
            self._listener.trial_ended(planned, record)

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
        return Due(planned, attempt, attempts.last_of(planned, attempt), attempts.restart_of(attempt))


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

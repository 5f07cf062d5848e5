"""A trial with its attempts: repeated inside its block until one counts, on a machine that is calm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from harness.errors import TestbedFailed
from harness.lab.lab import TrialLab
from harness.lab.machine import Calm, MachineSpeed
from harness.model.trials import PlannedTrial
from harness.outcome import Outcome
from harness.records import Record, not_run
from harness.run.attempts import ENGINE_MISSING
from harness.run.work import Due, Made, Watcher
from harness.study.soundness import MACHINE, unsound

FAILURES_IN_A_ROW = 3

Folders = Callable[[str, int], Path]  # of a trial and its attempt: where the files go that are kept


class Repeating:
    """Runs trials, one after the other. What an attempt gave is handed out before the next one starts.

    `remeasure` measures the links from a trial on, of a testbed that was made anew. `patient`: after a disturbed
    attempt it waits for a calm machine; of no use where nothing is repeated.
    """

    def __init__(
        self,
        made: TrialLab,
        folders: Folders,
        watcher: Watcher,
        remeasure: Callable[[PlannedTrial], None],
        *,
        patient: bool,
    ) -> None:
        self._made = made
        self._folders = folders
        self._watcher = watcher
        self._remeasure = remeasure
        self._patient = patient
        self._calm = Calm()
        self._speed = MachineSpeed()
        self._disturbed = False  # the machine disturbed the latest attempt
        self._failures = Failures()

    def trial(self, due: Due) -> Iterator[Made]:
        """Run what is left of a trial; raises TestbedFailed when the testbed fails again and again."""
        lack = self._made.lacking.get(due.planned.condition.engine)
        if lack:
            missing = replace(
                not_run(due.planned, lack),
                attempt=due.attempt,
                left_out=ENGINE_MISSING,
                restart=due.restart,
            )
            yield Made(missing, repeated=False, files=self._folder(missing))
            return
        for attempt in range(due.attempt, due.last + 1):
            record = replace(self._attempt(due.planned, attempt), restart=due.restart)
            repeated = record.left_out is not None and attempt < due.last
            yield Made(record, repeated=repeated, files=self._folder(record))
            self._failures.add(record)
            if record.outcome is Outcome.TESTBED_FAILED:
                self._made.renew()
                self._wait_if_disturbed()
                self._remeasure(due.planned)
            if not repeated:
                return

    def _attempt(self, planned: PlannedTrial, attempt: int) -> Record:
        self._wait_if_disturbed()
        self._watcher.attempt_started(planned, attempt)
        speed = self._speed.of_block(planned.block)
        made = self._made.run_trial(planned, self._folders(planned.trial, attempt))
        record = replace(made, attempt=attempt, left_out=unsound(made.to_json()), machine_speed=speed)
        self._disturbed = disturbed(record)
        return record

    def _folder(self, record: Record) -> Path:
        return self._folders(record.planned.trial, record.attempt)

    def _wait_if_disturbed(self) -> None:
        if self._disturbed and self._patient and not self._calm.wait(self._watcher.waiting):
            self._watcher.warned("the machine stays busy; the next attempt is made all the same")
        self._disturbed = False


class Failures:
    """Failures of the testbed in a row. A single trial's are not enough to give up: its page may be what breaks it."""

    def __init__(self) -> None:
        self._row: list[str] = []

    def add(self, record: Record) -> None:
        """Raises TestbedFailed when the testbed failed too often in a row, in more than one trial."""
        if record.outcome is not Outcome.TESTBED_FAILED:
            self._row.clear()
            return
        self._row.append(record.planned.trial)
        if len(self._row) >= FAILURES_IN_A_ROW and len(set(self._row)) > 1:
            raise TestbedFailed(f"the testbed failed {len(self._row)} times in a row, last: {record.reason}")


def disturbed(record: Record) -> bool:
    """Whether the machine is why an attempt does not count, so that it helps to wait."""
    times = (getattr(record.observation, key, None) for key in ("server_stopped_ms", "client_stopped_ms"))
    stopped = any((each or 0) > 0 for each in times)
    return record.left_out in MACHINE or (record.left_out is not None and stopped)

"""A trial with its attempts: repeated inside its block until one counts, on a machine that is calm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from harness.errors import TestbedFailed
from harness.model.condition import Condition
from harness.model.soundness import MACHINE, unsound
from harness.outcome import Outcome
from harness.records import Record, not_run
from harness.run.attempts import ENGINE_MISSING, PROBATION_BLOCKS, Attempts
from harness.run.directory import RunDirectory
from harness.run.kinds import Room
from harness.run.listener import Listener, Summary
from harness.study.plan import PlannedTrial
from harness.testbed.calm import Calm

FAILURES_IN_A_ROW = 3


class Repeating:
    """Runs trials, one after the other. What each attempt gave is stored before the next one starts."""

    def __init__(self, made: Room, run: RunDirectory, attempts: Attempts, listener: Listener) -> None:
        self._made = made
        self._run = run
        self._attempts = attempts
        self._listener = listener
        self._calm = Calm()
        self._disturbed = False  # the machine disturbed the latest attempt
        self._failures = Failures()
        self._hopeless: set[Condition] = set()

    def trial(self, planned: PlannedTrial, summary: Summary, remeasure: Callable[[], None]) -> None:
        """Run what is left of a trial. `remeasure` measures the links of a testbed that was made anew.

        Raises TestbedFailed when the testbed fails again and again.
        """
        lack = self._made.lacking.get(planned.condition.engine)
        if lack:
            self._store(replace(not_run(planned, lack), left_out=ENGINE_MISSING))
            summary.without[ENGINE_MISSING] += 1
            self._listener.trials_not_run(1)
            return
        self._warn_if_hopeless(planned)
        while (attempt := self._attempts.next_of(planned)) is not None:
            record = self._attempt(planned, attempt)
            repeated = self._attempts.next_of(planned) is not None
            summary.add(record, repeated=repeated)
            tell = self._listener.attempt_repeated if repeated else self._listener.trial_ended
            tell(record)
            self._failures.add(record)
            if record.outcome is Outcome.TESTBED_FAILED:
                self._made.renew()
                self._wait_if_disturbed()
                remeasure()

    def _attempt(self, planned: PlannedTrial, attempt: int) -> Record:
        self._wait_if_disturbed()
        self._listener.attempt_started(planned, attempt)
        files = self._run.trial_folder(planned.trial, attempt)
        made = self._made.run_trial(planned, files)
        record = replace(made, attempt=attempt, left_out=unsound(made.to_json()))
        self._store(record)
        self._disturbed = disturbed(record)
        return record

    def _store(self, record: Record) -> None:
        self._run.append(record)
        self._attempts.note(record.planned.trial, record.attempt, record.left_out)

    def _wait_if_disturbed(self) -> None:
        """Nothing is repeated where a trial has one attempt, so nothing is gained by waiting."""
        patient = self._run.plan.attempts > 1
        if self._disturbed and patient and not self._calm.wait(self._listener.waiting):
            self._listener.warned("the machine stays busy; the next attempt is made all the same")
        self._disturbed = False

    def _warn_if_hopeless(self, planned: PlannedTrial) -> None:
        condition = planned.condition
        if self._attempts.is_hopeless(planned) and condition not in self._hopeless:
            self._hopeless.add(condition)
            self._listener.warned(
                f"{condition} did not count in {PROBATION_BLOCKS} blocks, nor ever before; "
                "it gets one attempt per block until it does"
            )


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

"""A lab that is open: that of a study in this enclosure, its links measured, where blocks are run.

A trial of a run is repeated inside its block until an attempt counts, on a machine that is calm: here and nowhere
else. Which lab measures which kind stands in `KINDS`: a further kind is a further `TrialLab`, and a line there.

`python -m harness.run.openlab` is a lab in a process of its own; `harness.run.labprocess` has both ends of its wire.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from harness.capacity.crowdtrial import crowd_lab, crowd_programs
from harness.capacity.ratetrial import rate_lab, rate_programs
from harness.engines.browsers import browser_programs
from harness.errors import ColdloadError, Outcome, TestbedFailed, UsageError
from harness.lab.calibration import Patience, refuse_if_off
from harness.lab.emulated import STALL_VARIABLE
from harness.lab.environment import describe_environment
from harness.lab.lab import Archives, Opening, TrialLab
from harness.lab.machine import Calm, MachineSpeed
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.trials import PlannedTrial
from harness.records import Record, RecordLine, not_run
from harness.run.attempts import ENGINE_MISSING
from harness.run.coordinator import Coordinator
from harness.run.directory import attempt_folder
from harness.run.labprocess import ENTERED, FAILED, Assignment, Wire
from harness.run.work import (
    Attempted,
    Block,
    BlockLeft,
    CrewEvents,
    Due,
    Made,
    Opened,
    RunsBlocks,
    Watcher,
)
from harness.study.metrics import machine_reasons, unsound
from harness.study.study import Study
from harness.system.enclosure import enclosed, limit_private_files
from harness.system.interruption import CommandKilled
from harness.trial.trial import load_lab
from sites.archive import open_archive

FAILURES_IN_A_ROW = 3

Folders = Callable[[str, int], Path]  # of a trial and its attempt: where the files go that are kept


class Repeating:
    """Runs trials, one after the other. What an attempt gave is handed out before the next one starts.

    A testbed that failed is made anew before the next attempt, whichever trial's that is; then `remeasure` measures the
    links from that trial on. `patient`: after a disturbed attempt it waits for a calm machine; of no use where nothing
    is repeated.
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
        self._latest: Record | None = None  # an attempt after which the testbed was not looked at yet
        self._failures = Failures()

    def trial(self, due: Due) -> Iterator[Made]:
        """Run what is left of a trial; raises TestbedFailed when the testbed fails again and again."""
        self._renew_if_failed(due.planned)
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
            self._latest = record
            yield Made(record, repeated=repeated, files=self._folder(record))
            if not repeated:
                return
            self._renew_if_failed(due.planned)

    def _renew_if_failed(self, planned: PlannedTrial) -> None:
        """What the latest attempt leaves to be done before the next one, which is at this trial.

        Raises TestbedFailed when the testbed fails again and again.
        """
        latest, self._latest = self._latest, None
        if latest is None:
            return
        self._failures.add(latest)
        if latest.outcome is Outcome.TESTBED_FAILED:
            self._made.renew()
            self._wait_if_disturbed()
            self._remeasure(planned)

    def _attempt(self, planned: PlannedTrial, attempt: int) -> Record:
        if not planned.portrait:  # nothing of it is compared
            self._wait_if_disturbed()
        self._watcher.attempt_started(planned, attempt)
        speed = self._speed.of_block(planned.block)
        files = self._folders(planned.trial, attempt)
        shutil.rmtree(
            files, ignore_errors=True
        )  # of the same attempt, which was killed before it had a record
        made = self._made.run_trial(planned, files)
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
    stopped = any((duration or 0) > 0 for duration in times)
    return record.left_out in machine_reasons() or (record.left_out is not None and stopped)


@dataclass(frozen=True)
class Measuring:
    """How a kind is measured: its lab, and the programs it runs."""

    lab: Callable[[Opening], AbstractContextManager[TrialLab]]
    programs: Callable[[], Mapping[str, Callable[[], str]]]


KINDS: Mapping[Kind, Measuring] = {
    Kind.LOAD: Measuring(load_lab, browser_programs),
    Kind.USERS: Measuring(crowd_lab, crowd_programs),
    Kind.REQUESTS: Measuring(rate_lab, rate_programs),
}


class OpenLab:
    """Runs blocks in a lab that is open. `environment` is what it was made on and with."""

    def __init__(
        self, made: TrialLab, opening: Opening, folders: Folders, watcher: Watcher, *, patient: bool
    ) -> None:
        self._made = made
        self._opening = opening
        self._watcher = watcher
        self._is_measured = False
        programs = KINDS[opening.study.kind].programs()
        self.environment: Mapping[str, Any] = describe_environment(
            made.testbed, opening.archives, opening.study, programs
        )
        self._repeating = Repeating(made, folders, watcher, self._measure_from, patient=patient)

    @property
    def lacking(self) -> Mapping[Engine, str]:
        """The engines that cannot work on this machine, each with the reason."""
        return self._made.lacking

    def run(self, block: Block) -> Iterator[Made]:
        """Run a block, see `RunsBlocks`."""
        if not self._is_measured:
            self._measure(self._opening.trials)
            self._is_measured = True
        for due in block.trials:
            yield from self._repeating.trial(due)

    def _measure_from(self, planned: PlannedTrial) -> None:
        """Measure the links from a trial on, over the testbed that there is by then."""
        self._measure([trial for trial in self._opening.trials if trial.order >= planned.order])

    def _measure(self, trials: Sequence[PlannedTrial]) -> None:
        last = []
        for link in links_of(trials):
            self._watcher.preparing(f"measuring link {link.name}")
            for reading in self._made.readings(link, trials, Patience(waiting=self._watcher.waiting)):
                self._watcher.calibrated(reading)
            last.append(reading)
        refuse_if_off(last)


def links_of(trials: Iterable[PlannedTrial]) -> list[Link]:
    """The links of trials, each once, the slowest first."""
    return sorted(
        {planned.condition.link for planned in trials},
        key=lambda link: (link.down.rate.mean_mbps, link.rtt_ms, link.name),
    )


@contextlib.contextmanager
def open_lab(opening: Opening, folders: Folders, watcher: Watcher, *, patient: bool) -> Iterator[OpenLab]:
    """A lab for trials of a study, open for the length of the block. Must run inside an enclosure.

    `patient`: after an attempt that was disturbed it waits for a calm machine.
    """
    with KINDS[opening.study.kind].lab(opening) as made:
        yield OpenLab(made, opening, folders, watcher, patient=patient)


@contextlib.contextmanager
def here(study: Study, archives: Archives, coordinator: Coordinator) -> Iterator[Here]:
    """The lab of this process, which must be inside an enclosure.

    MeasurementRefused is raised before the first trial when a link is off.
    """
    watcher = coordinator.watcher(coordinator.listener)
    opening = Opening(
        study=study,
        archives=archives,
        trials=coordinator.to_come,
        run=coordinator.run.folder,
        tell=watcher.preparing,
        warn=watcher.warned,
    )
    count = sum(len(collection) for collection in archives.values())
    watcher.preparing(f"servers for {count} archive(s), {len(study.protocols)} protocol(s)")
    patient = coordinator.run.plan.attempts > 1
    with open_lab(opening, coordinator.run.trial_folder, watcher, patient=patient) as made:
        yield Here(made)


@dataclass
class Here:
    """A crew of one: the lab of this process, which goes on whenever it is heard."""

    lab: RunsBlocks
    name: None = None
    doubles: bool = False
    _is_open: bool = False
    _attempts: Iterator[Made] | None = None

    @property
    def executors(self) -> tuple[Here]:
        return (self,)

    @property
    def is_idle(self) -> bool:
        return self._is_open and self._attempts is None

    def take(self, block: Block) -> None:
        self._attempts = self.lab.run(block)

    def heard(self) -> CrewEvents:
        """What comes next of its block, see `work.Crew` and `OpenLab.run`."""
        if not self._is_open:
            self._is_open = True
            return [(self, Opened(self.lab.environment, self.lab.lacking))]
        if self._attempts is None:
            raise AssertionError("an executor that is alone has no block to wait for")
        made = next(self._attempts, None)
        if made is None:
            self._attempts = None
            return [(self, BlockLeft())]
        return [(self, Attempted(RecordLine.of(made.record), made.repeated))]

    def close(self) -> CrewEvents:
        return ()


def main() -> int:
    """The process of a lab: serve the other end, in an enclosure of its own, until it says no more."""
    wire = Wire()
    try:
        if STALL_VARIABLE in os.environ:
            raise UsageError(f"{STALL_VARIABLE} makes every link late on purpose; unset it")
        return enclosed(lambda: _serve(wire))
    except CommandKilled as killed:  # maybe within a line: the other end sees that the wire ends
        sys.stderr.write(f"{killed}\n")
        return killed.exit_code
    except ColdloadError as error:
        wire.tell(FAILED, error)
        return error.exit_code


def _serve(wire: Wire) -> int:
    try:
        wire.tell(ENTERED, None)
        _work(wire, wire.told())
    except (EOFError, BrokenPipeError):
        return 0  # the other end has gone
    except ColdloadError as error:
        wire.tell(FAILED, error)
        return error.exit_code
    except OSError as error:
        wire.tell(FAILED, str(error))
        return 3
    return 0


def _work(wire: Wire, assignment: Assignment) -> None:
    if assignment.memory_bytes is not None:
        limit_private_files(assignment.memory_bytes)
    opening = Opening(
        study=assignment.study,
        archives={
            engine: {name: open_archive(folder.parent, folder.name) for name, folder in folders.items()}
            for engine, folders in assignment.archives.items()
        },
        trials=assignment.trials,
        run=assignment.run,
        tell=wire.preparing,
        warn=wire.warned,
    )
    folders = partial(attempt_folder, assignment.files)
    with open_lab(opening, folders, wire, patient=assignment.patient) as executor:
        wire.answer(executor)


if __name__ == "__main__":
    sys.exit(main())

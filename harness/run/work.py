"""The unit of work, who does it, who is told, and the loop that all of it goes through (`conduct`). Blocks and events
are values, so that they can travel to another process.

The coordinator (`harness.run.coordinator`) holds the run directory and says what is due. An executor runs it, block by
block: the lab of this process, one in a process of its own on the cores of a lane, or one at a worker of Dask.
The executors of a run are its crew. What is compared stands in one block, and a block is run by one executor.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from harness.input.shown import count_of
from harness.lab.calibration import Calibration
from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import Record, RecordLine

ASK_AGAIN_S = 1.0


@dataclass(frozen=True)
class Due:
    """A trial that is due: the number of its next attempt, and of the last one that it may have.

    `restart`: how often its block was begun again before.
    """

    planned: PlannedTrial
    attempt: int
    last: int
    restart: int = 0


@dataclass(frozen=True)
class Block:
    """What is due of a block, in its order."""

    number: int
    trials: tuple[Due, ...]


@dataclass(frozen=True)
class Made:
    """An attempt that has ended in a lab. `repeated` when another one at its trial follows.

    `files` is the folder with what was kept of it; there is none when nothing was.
    """

    record: Record
    repeated: bool
    files: Path


class RunsBlocks(Interface):
    """A lab that is open, in this process or in one of its own. `environment` is what it is made on and with;
    `lacking` are the engines that it lacks, each with the reason.
    """

    @property
    def environment(self) -> Mapping[str, Any]: ...

    @property
    def lacking(self) -> Mapping[Engine, str]: ...

    def run(self, block: Block) -> Iterator[Made]:
        """The attempts of a block, one after the other as they end; none begins before the next one is asked for. The
        links of all trials are measured before the first one.

        Raises TestbedFailed when the testbed fails again and again, MeasurementRefused when a link is off.
        """


class Executor(Interface):
    """Runs blocks, one at a time. `name`: as `Record.executor` has it; None where there is one alone."""

    @property
    def name(self) -> str | None: ...

    @property
    def is_idle(self) -> bool:
        """Whether it can take a block now."""

    def take(self, block: Block) -> None:
        """Begin a block. That it cannot any more is told later, as all else that comes of it."""


@dataclass(frozen=True)
class Opened:
    """An executor can take blocks. What its lab is made on and with, the engines that it lacks, each with the
    reason; where there are several machines, what its own is called and the number by which it is known again.
    """

    environment: Mapping[str, Any]
    lacking: Mapping[Engine, str]
    machine: str | None = None
    number: str | None = None


@dataclass(frozen=True)
class Attempted:
    """An attempt has ended; `repeated` when another one at its trial follows."""

    record: RecordLine
    repeated: bool


@dataclass(frozen=True)
class BlockLeft:
    """An executor is at its block no more, whole or not."""


ExecutorEvent = Opened | Attempted | BlockLeft
CrewEvents = Sequence[tuple[Executor, ExecutorEvent]]


class Crew(Interface):
    """The executors of a run. `doubles`: whether two of them may be at one block at the end."""

    @property
    def doubles(self) -> bool: ...

    @property
    def executors(self) -> Sequence[Executor]:
        """Those that are there."""

    def heard(self) -> CrewEvents:
        """Wait for what executors tell. It is stored when the next call comes; attempts of which more than a record is
        kept, and those of this machine, do not begin earlier.

        Raises what the last executor failed of when none can go on.
        """

    def close(self) -> CrewEvents:
        """Nothing is left to do: end all, and give what was told meanwhile."""


class Work(Interface):
    """What a crew does: its blocks, and what becomes of them."""

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to hand out, nor to hear of."""

    def next_block(
        self, executor: str | None, present: Collection[str | None], now_s: float, /
    ) -> Block | None:
        """What an executor that is idle is to run now; None when it has to wait. `present` are the names of all that
        there are.
        """

    def take_in(self, told: CrewEvents) -> None:
        """What executors told, in its order."""


def conduct(crew: Crew, work: Work) -> None:
    """The loop of coldload: until the work is over, its blocks go to idle executors, and what these tell is taken in.

    Executors are asked whether they can take a block after each event that may have made one of them idle, and now and
    then: time alone may make a block free.
    """
    asked_s, is_asking = -ASK_AGAIN_S, True
    while not work.is_over:
        now_s = time.monotonic()
        if is_asking or now_s - asked_s >= ASK_AGAIN_S:
            present = [executor.name for executor in crew.executors]
            for executor in crew.executors:
                block = work.next_block(executor.name, present, now_s) if executor.is_idle else None
                if block is not None:
                    executor.take(block)
            asked_s, is_asking = now_s, False
            if work.is_over:  # that was found out meanwhile
                break
        told = crew.heard()
        work.take_in(told)
        is_asking = not all(isinstance(event, Attempted) for _, event in told)


class Watcher(Interface):
    """Who is told what a lab is doing."""

    def preparing(self, what: str) -> None: ...

    def warned(self, what: str) -> None: ...

    def waiting(self, seconds: float) -> None:
        """The machine is busy, and the lab has waited for so long."""

    def calibrated(self, reading: Calibration) -> None: ...

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None: ...


class Listener(Watcher, Interface):
    """What a run tells about its progress, which goes by trials."""

    def of_lane(self, lane: int) -> Watcher:
        """What is told of a lane."""

    def attempt_repeated(self, planned: PlannedTrial, record: RecordLine) -> None:
        """An attempt does not count, and the next one follows."""

    def trial_ended(self, planned: PlannedTrial, record: RecordLine) -> None:
        """The last attempt at a trial has ended."""

    def portrait_taken(self, planned: PlannedTrial, record: RecordLine) -> None:
        """A load that was looked at, and not measured, has ended."""

    def trials_not_run(self, count: int) -> None:
        """Trials that will not be run: of an engine that is missing, or of conditions measured enough."""


@dataclass
class Summary:
    """What came of the trials of this call. `already` were finished before it."""

    already: int
    counted: int = 0
    repeated: int = 0  # attempts
    not_needed: int = 0
    portraits: int = 0
    unmeasurable: int = 0  # trials of conditions that this machine cannot measure
    # Trials without a result, by the reason of the last attempt.
    without: Counter[str] = field(default_factory=Counter)

    def add(self, left_out: str | None, *, repeated: bool) -> None:
        """An attempt has ended, see `Record`; `repeated` when another one at its trial follows."""
        if repeated:
            self.repeated += 1
        elif left_out is None:
            self.counted += 1
        else:
            self.without[left_out] += 1

    def __str__(self) -> str:
        """`48 trials counted, 5 attempts repeated, 1 trial without a result (1 page-timeout)`."""
        said = [f"{count_of(self.counted, 'trial')} counted"]
        if self.repeated:
            said.append(f"{count_of(self.repeated, 'attempt')} repeated")
        if self.without:
            reasons = ", ".join(f"{count} {name}" for name, count in self.without.most_common())
            said.append(f"{count_of(self.without.total(), 'trial')} without a result ({reasons})")
        if self.not_needed:
            said.append(f"{count_of(self.not_needed, 'trial')} no longer needed")
        if self.portraits:
            said.append(f"{count_of(self.portraits, 'portrait')} taken")
        if self.unmeasurable:
            said.append(f"{count_of(self.unmeasurable, 'trial')} not measurable on this machine")
        before = f" ({self.already} were finished before)" if self.already else ""
        return ", ".join(said) + before

"""A crew in lanes: labs in processes of their own, each on the CPUs of its lane; and whether lanes disturb each
other: the same loads in a lane while the others rest, and while all of them are busy.

A round of that looks at one lane, the next round at the next one. It has two phases in random order, alone and busy,
with a load of each condition in either. What both share (the lane, a drift, a busy hour) cancels out of their ratio.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import select
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import ColdloadError, StorageFailed
from harness.lab.lab import Archives
from harness.model.condition import Condition
from harness.model.trials import PlannedTrial
from harness.records import RecordLine, lane_name, lane_of
from harness.run.coordinator import Coordinator
from harness.run.labprocess import COMMAND, DONE, ENTERED, MADE, NEXT, READY, Assignment, LabProcess
from harness.run.lanes import Lane
from harness.run.work import (
    Attempted,
    Block,
    BlockLeft,
    Crew,
    CrewEvents,
    Due,
    Executor,
    ExecutorEvent,
    Listener,
    Opened,
    Watcher,
)
from harness.study.study import Study
from harness.system.files import private_folder
from harness.system.process import conversing
from harness.system.program import Command

LaneJob = tuple[Assignment, Watcher]


class LaneLostError(Exception):
    """A lane has ended, of `failure`, and the others cannot go on without it."""

    def __init__(self, lane: int, failure: ColdloadError) -> None:
        super().__init__(told_lost(lane, failure))
        self.failure = failure


def told_lost(lane: int, failure: ColdloadError) -> str:
    """As in `lane 2 has ended: the process of the lab died (killed by SIGKILL): ...`."""
    return f"{lane_name(lane)} has ended: {failure}"


@contextlib.contextmanager
def in_lanes(
    lanes: Sequence[Lane], study: Study, archives: Archives, coordinator: Coordinator
) -> Iterator[Crew]:
    """A crew in lanes for a run. Must be outside any enclosure.

    A lane that fails is told of and left out; another one begins its block again.
    """
    assignment = assignment_of(study, archives, coordinator.to_come, coordinator.run.folder)
    listener, count = coordinator.listener, len(lanes)

    def job(lane: Lane) -> LaneJob:
        told = listener.of_lane(lane.number)
        return assignment, coordinator.watcher(told, lane=lane.number, lanes=count)

    try:
        with lane_crew(lanes, job, listener.warned) as crew:
            yield crew
    except LaneLostError as lost:
        raise lost.failure from lost


def assignment_of(study: Study, archives: Archives, trials: Sequence[PlannedTrial], run: Path) -> Assignment:
    """What the labs of a run are opened for."""
    return Assignment(
        study=study,
        archives={
            engine: {name: archive.folder for name, archive in named.items()}
            for engine, named in archives.items()
        },
        trials=tuple(trials),
        run=run,
        files=run / "trials",
        patient=study.trials.attempts > 1,
    )


@dataclass
class LaneExecutor:
    """A lab in one of the `lanes`."""

    lane: Lane
    lanes: Sequence[Lane]
    lab: LabProcess
    is_idle: bool = False
    _waits: bool = False  # for the next attempt, until the latest one is stored

    @property
    def number(self) -> int:
        return self.lane.number

    @property
    def name(self) -> str:
        return lane_of(self.number, len(self.lanes))

    def open(self, assignment: Assignment) -> None:
        """Have the lab opened, with the memory of the lane."""
        self._say(replace(assignment, memory_bytes=self.lane.memory_bytes))

    def take(self, block: Block) -> None:
        self.is_idle = False
        self._say(block)

    def go_on(self) -> None:
        """What it told of is stored: the next attempt may begin."""
        if self._waits:
            self._waits = False
            self._say(NEXT)

    def hear(self) -> ExecutorEvent | None:
        """What it says next; None for what was for its watcher. Raises what its lab failed of."""
        kind, content = self.lab.message()
        if kind == MADE:
            self._waits = True
            record = replace(content.record, lane=self.number, lanes=len(self.lanes))
            return Attempted(RecordLine.of(record), content.repeated)
        if kind == READY:
            self.is_idle = True
            environment, lacking = content
            return Opened({**environment, "lanes": [lane.to_json() for lane in self.lanes]}, lacking)
        if kind == DONE:
            self.is_idle = True
            return BlockLeft()
        if kind != ENTERED:
            self.lab.tell_watcher(kind, content)
        return None

    def _say(self, what: object) -> None:
        with contextlib.suppress(ColdloadError):  # that it has gone is heard next
            self.lab.say(what)


class LaneCrew:
    """Lanes that are there. With fewer of them than `least` it cannot go on: then `heard` raises LaneLostError."""

    doubles = False

    def __init__(self, lanes: Sequence[LaneExecutor], warned: Callable[[str], None], least: int = 1) -> None:
        self._lanes = list(lanes)
        self._warned = warned
        self._least = least

    @property
    def executors(self) -> Sequence[LaneExecutor]:
        return tuple(self._lanes)

    def heard(self) -> CrewEvents:
        for lane in self._lanes:
            lane.go_on()
        told: list[tuple[Executor, ExecutorEvent]] = []
        for lane in speaking(self._lanes):
            try:
                event = lane.hear()
            except StorageFailed:  # the disk is full for all of them, whoever wrote
                raise
            except ColdloadError as failure:
                self._lose(lane, failure)
                event = BlockLeft()
            if event is not None:
                told.append((lane, event))
        return told

    def close(self) -> CrewEvents:
        return ()

    def _lose(self, lane: LaneExecutor, failure: ColdloadError) -> None:
        self._lanes.remove(lane)
        lane.lab.process.end()  # it may live on
        if len(self._lanes) < self._least:
            raise LaneLostError(lane.number, failure) from failure
        self._warned(f"{told_lost(lane.number, failure)}; the others go on")


def speaking(lanes: Collection[LaneExecutor]) -> Sequence[LaneExecutor]:
    """Wait until some of the lanes have said something, or are gone; these."""
    heard = [lane for lane in lanes if lane.lab.process.has_line]
    if heard:
        return heard
    ready, _, _ = select.select([lane.lab.process for lane in lanes], [], [])
    return [lane for lane in lanes if lane.lab.process in ready]


@contextlib.contextmanager
def lane_crew(
    lanes: Sequence[Lane],
    job: Callable[[Lane], LaneJob],
    warned: Callable[[str], None],
    least: int = 1,
    program: Command = COMMAND,
) -> Iterator[LaneCrew]:
    """A crew with a lab in every lane, for the length of the block; they open meanwhile, side by side.

    `program` is what runs in a lane.
    """
    with contextlib.ExitStack() as stack:
        logs = stack.enter_context(private_folder())
        started: list[LaneExecutor] = []
        for lane in lanes:
            assignment, watcher = job(lane)
            command = program.on_cpus(lane.cpus).named(f"lane {lane.number}")
            process = stack.enter_context(conversing(command, logs / f"lane-{lane.number}.log"))
            executor = LaneExecutor(lane, lanes, LabProcess(process, watcher))
            executor.open(assignment)
            started.append(executor)
        stack.callback(_close, started)  # all at once, before one after the other is waited for
        yield LaneCrew(started, warned, least)


def _close(lanes: Sequence[LaneExecutor]) -> None:
    for lane in lanes:
        lane.lab.process.close()


ATTEMPTS = 3  # at a load of the lane that is looked at; one at the others'


@dataclass(frozen=True)
class Phase:
    """A part of a round: the lane that is looked at, and whether the others are busy meanwhile."""

    round: int
    lane: int
    busy: bool

    def __str__(self) -> str:
        """`round 3: lane 1, all lanes busy`."""
        return f"round {self.round}: {lane_name(self.lane)}, {'all lanes busy' if self.busy else 'alone'}"


@dataclass(frozen=True)
class LaneLoad:
    """An attempt in the lane that a phase looks at."""

    phase: Phase
    condition: Condition
    record: RecordLine


def phases(rounds: int, lanes: Sequence[int], source: random.Random) -> Iterator[Phase]:
    """All phases of a measurement, in their order."""
    for number, lane in zip(range(1, rounds + 1), itertools.cycle(lanes), strict=False):
        for busy in source.sample((False, True), 2):
            yield Phase(number, lane, busy)


class Carrying:
    """The loads that tell whether `lanes` are carried, phase by phase; those of the lane that is looked at are kept.

    Before the first phase every lane makes one load, so that it measures its links. A phase ends when all lanes rest.
    """

    def __init__(
        self,
        lanes: Sequence[Lane],
        rounds: int,
        conditions: Sequence[Condition],
        seed: int,
        listener: Listener,
    ) -> None:
        self._count = len(lanes)
        self._listener = listener
        self._conditions = conditions
        self._source = random.Random(seed)  # noqa: S311  # an order that can be made again, not a secret
        self._planned: dict[str, PlannedTrial] = {}
        self._phases = phases(rounds, [lane.number for lane in lanes], self._source)
        self._phase: Phase | None = None
        self._tested: str | None = None  # the lane that the phase looks at, as an executor
        self._is_begun = False  # that lane has its block of the phase
        self._cold: set[str | None] = {
            lane_of(lane.number, self._count) for lane in lanes
        }  # have loaded nothing yet
        self._busy: set[str | None] = set()
        self.loads: list[LaneLoad] = []
        self.is_over = False

    def next_block(self, executor: str | None, _present: object, _now_s: float) -> Block | None:
        """What a lane that rests is to load: of the lane that is looked at every condition, of the others one after the
        other meanwhile.
        """
        block = self._next_of(executor)
        if block is not None:
            self._busy.add(executor)
        return block

    def take_in(self, told: CrewEvents) -> None:
        """Keep the loads of the lane that is looked at; when the last lane has come to rest, the next phase begins."""
        for executor, event in told:
            if isinstance(event, Attempted) and self._phase and executor.name == self._tested:
                self.loads.append(self._told(self._phase, event))
            elif isinstance(event, BlockLeft):
                self._busy.discard(executor.name)
                if not (self._busy or self._cold):
                    self._begin(next(self._phases, None))

    def _begin(self, phase: Phase | None) -> None:
        self._phase, self._is_begun, self.is_over = phase, False, phase is None
        if phase is not None:
            self._tested = lane_of(phase.lane, self._count)
            self._listener.preparing(str(phase))

    def _next_of(self, executor: str | None) -> Block | None:
        if self._phase is None:
            if executor not in self._cold:
                return None
            self._cold.remove(executor)
            return self._one_load(1)
        if executor == self._tested and not self._is_begun:
            self._is_begun = True
            return self._every_condition(self._phase.round)
        is_tested = not self._is_begun or self._tested in self._busy
        return self._one_load(self._phase.round) if self._phase.busy and is_tested else None

    def _told(self, phase: Phase, ended: Attempted) -> LaneLoad:
        planned = self._planned[ended.record.trial]
        if ended.repeated:
            self._listener.attempt_repeated(planned, ended.record)
        else:
            self._listener.trial_ended(planned, ended.record)
        return LaneLoad(phase, planned.condition, ended.record)

    def _every_condition(self, number: int) -> Block:
        cells = self._source.sample(self._conditions, len(self._conditions))
        return Block(number, tuple(self._due(number, cell, ATTEMPTS) for cell in cells))

    def _one_load(self, number: int) -> Block:
        return Block(number, (self._due(number, self._source.choice(self._conditions), 1),))

    def _due(self, number: int, condition: Condition, last: int) -> Due:
        order = len(self._planned) + 1
        planned = PlannedTrial(f"{order:05d}", number, order, condition)
        self._planned[planned.trial] = planned
        return Due(planned, 1, last)

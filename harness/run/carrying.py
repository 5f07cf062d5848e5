"""Whether lanes disturb each other: the same loads in a lane while the others rest, and while all of them are busy.

A round looks at one lane, the next round at the next one. It has two phases in random order, alone and busy, with a
load of each condition in either. What both share (the lane, a drift, a busy hour) cancels out of their ratio.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.model.condition import Condition
from harness.model.trials import PlannedTrial
from harness.records import RecordLine, lane_name
from harness.run.lanecrew import LaneCrew
from harness.run.work import Attempted, Block, BlockLeft, Due, Listener, Opened

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
    """Loads conditions in lanes, phase by phase, and tells the listener. Raises LaneLostError when a lane fails."""

    def __init__(
        self, crew: LaneCrew, conditions: Sequence[Condition], seed: int, listener: Listener
    ) -> None:
        self._crew = crew
        self._listener = listener
        self._conditions = conditions
        self._source = random.Random(seed)  # noqa: S311  # an order that can be made again, not a secret
        self._planned: dict[str, PlannedTrial] = {}

    def loads(self, rounds: int) -> Iterator[LaneLoad]:
        """All attempts of so many rounds in the lanes that are looked at."""
        self._warm_up()
        for phase in phases(rounds, [lane.number for lane in self._crew.executors], self._source):
            yield from self._phase(phase)

    def _warm_up(self) -> None:
        """One load in every lane, before which it measures its links."""
        waited = len(self._crew.executors)
        while waited:
            for lane, event in self._crew.heard():
                if isinstance(event, Opened):
                    lane.take(self._one_load(1))
                elif isinstance(event, BlockLeft):
                    waited -= 1

    def _phase(self, phase: Phase) -> Iterator[LaneLoad]:
        """Ends when all lanes rest again."""
        self._listener.preparing(str(phase))
        (tested,) = (lane for lane in self._crew.executors if lane.number == phase.lane)
        others = [lane for lane in self._crew.executors if lane is not tested and phase.busy]
        for lane in others:
            lane.take(self._one_load(phase.round))
        tested.take(self._every_condition(phase.round))
        while not all(lane.is_idle for lane in (tested, *others)):
            for executor, event in self._crew.heard():
                if isinstance(event, Attempted) and executor is tested:
                    yield self._told(phase, event)
                if isinstance(event, BlockLeft) and executor is not tested and not tested.is_idle:
                    executor.take(self._one_load(phase.round))

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

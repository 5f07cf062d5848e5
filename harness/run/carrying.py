"""Whether lanes disturb each other: the same loads in a lane while the others rest, and while all of them are busy.

A round looks at one lane, the next round at the next one. It has two phases in random order, alone and busy, with a
load of each condition in either. What both share (the lane, a drift, a busy hour) cancels out of their ratio.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from harness.model.condition import Condition
from harness.model.trials import PlannedTrial
from harness.records import Record, RecordLine, lane_name
from harness.run.labprocess import DONE, ENTERED, MADE, READY
from harness.run.listener import Listener
from harness.run.runninglane import RunningLane, speaking
from harness.run.work import Block, Due, Made

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
    record: Record


def phases(rounds: int, lanes: Sequence[int], source: random.Random) -> Iterator[Phase]:
    """All phases of a measurement, in their order."""
    for number, lane in zip(range(1, rounds + 1), itertools.cycle(lanes), strict=False):
        for busy in source.sample((False, True), 2):
            yield Phase(number, lane, busy)


class Carrying:
    """Loads conditions in lanes, phase by phase, and tells the listener. Raises LaneLostError when a lane fails."""

    def __init__(
        self, lanes: Sequence[RunningLane], conditions: Sequence[Condition], seed: int, listener: Listener
    ) -> None:
        self._lanes = {each.number: each for each in lanes}
        self._listener = listener
        self._conditions = conditions
        self._source = random.Random(seed)  # noqa: S311  # an order that can be made again, not a secret
        self._orders = itertools.count(1)

    def loads(self, rounds: int) -> Iterator[LaneLoad]:
        """All attempts of so many rounds in the lanes that are looked at."""
        self._warm_up()
        for phase in phases(rounds, tuple(self._lanes), self._source):
            yield from self._phase(phase)

    def _warm_up(self) -> None:
        """One load in every lane, before which it measures its links."""
        waited = dict(self._lanes)
        while waited:
            for lane in speaking(waited.values()):
                kind, _ = self._hear(lane)
                if kind == READY:
                    lane.start(self._one_load(1))
                elif kind == DONE:
                    del waited[lane.number]

    def _phase(self, phase: Phase) -> Iterator[LaneLoad]:
        """Ends when all lanes rest again."""
        self._listener.preparing(str(phase))
        tested = self._lanes[phase.lane]
        others = [each for each in self._lanes.values() if each is not tested and phase.busy]
        for each in others:
            each.start(self._one_load(phase.round))
        tested.start(self._every_condition(phase.round))
        while running := [each for each in (tested, *others) if each.is_running]:
            for lane in speaking(running):
                kind, content = self._hear(lane)
                if kind == MADE and lane is tested:
                    yield LaneLoad(phase, self._told(content, lane.number))
                if kind == DONE and lane is not tested and tested.is_running:
                    lane.start(self._one_load(phase.round))

    def _told(self, made: Made, lane: int) -> Record:
        record = replace(made.record, lane=lane, lanes=len(self._lanes))
        if made.repeated:
            self._listener.attempt_repeated(record.planned, RecordLine.of(record))
        else:
            self._listener.trial_ended(record.planned, RecordLine.of(record))
        return record

    def _hear(self, lane: RunningLane) -> tuple[str, Any]:
        kind, content = lane.hear()
        if kind == MADE:
            lane.go_on()
        elif kind not in (ENTERED, READY, DONE):
            lane.laboratory.tell_watcher(kind, content)
        return kind, content

    def _every_condition(self, number: int) -> Block:
        cells = self._source.sample(self._conditions, len(self._conditions))
        return Block(number, tuple(self._due(number, cell, ATTEMPTS) for cell in cells))

    def _one_load(self, number: int) -> Block:
        return Block(number, (self._due(number, self._source.choice(self._conditions), 1),))

    def _due(self, number: int, condition: Condition, last: int) -> Due:
        order = next(self._orders)
        return Due(PlannedTrial(f"{order:05d}", number, order, condition), 1, last)

"""A run in lanes: one coordinator, one run directory, and a block in every lane at a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.records import lane_of
from harness.run.coordinator import Coordinator
from harness.run.directory import RunDirectory
from harness.run.dispatch import Dispatch
from harness.run.labprocess import CALIBRATED, DONE, ENTERED, MADE, READY, Assignment
from harness.run.lanes import Lane
from harness.run.listener import Listener, Summary
from harness.run.runner import archives_of
from harness.run.runninglane import LaneLostError, RunningLane, running_lanes, speaking
from harness.run.work import Watcher
from harness.study.plan import Enough
from harness.study.study import Study


def run_in_lanes(
    lanes: Sequence[Lane],
    study: Study,
    run: RunDirectory,
    archives_root: Path,
    listener: Listener,
    enough: Enough | None = None,
) -> Summary:
    """Run what is left of the plan in lanes, every block in one of them. Must run outside any enclosure.

    A lane that fails is told of and left out; another one begins its block again. Raises what the last one
    failed of when none is left.
    """
    coordinator = Coordinator(run, listener, enough)
    if not coordinator.left:
        return coordinator.summary
    assignment = assignment_of(study, coordinator.left, run.folder, archives_root, coordinator)
    jobs = [(lane, in_lane(assignment, lane), listener.of_lane(lane.number)) for lane in lanes]
    with running_lanes(jobs) as started:
        SideBySide(coordinator, started).run()
    return coordinator.summary


def assignment_of(
    study: Study, trials: Sequence[PlannedTrial], run: Path, archives_root: Path, watcher: Watcher
) -> Assignment:
    """What the laboratories of a run are opened for; variants that are missing are made here, once for all of them."""
    archives = archives_of(study, archives_root, watcher)
    return Assignment(
        study=study,
        archives={
            engine: {name: archive.folder for name, archive in found.items()}
            for engine, found in archives.items()
        },
        trials=tuple(trials),
        run=run,
        files=run / "trials",
        patient=study.trials.attempts > 1,
    )


def in_lane(assignment: Assignment, lane: Lane) -> Assignment:
    """The same in a lane."""
    return replace(assignment, memory_bytes=lane.memory_bytes)


class SideBySide:
    """Hands blocks to lanes and stores what comes of them."""

    def __init__(self, coordinator: Coordinator, lanes: Sequence[RunningLane]) -> None:
        self._coordinator = coordinator
        self._lanes = {each.number: each for each in lanes}
        self._count = len(lanes)
        self._divided = [
            {"lane": each.number, "cpus": list(each.lane.cpus), "memory_gib": each.lane.memory_gib}
            for each in lanes
        ]
        self._dispatch = Dispatch(coordinator.standing, doubles=False)
        self._is_described = False

    def _place(self, number: int) -> str:
        return lane_of(number, self._count)

    def run(self) -> None:
        """Until every block has ended; raises what the last lane failed of when that comes first."""
        while self._dispatch.left:
            for lane in speaking(self._lanes.values()):
                self._unless_lost(lane, self._hear)
            asked = 0
            while asked != len(
                self._lanes
            ):  # what a lane leaves that is lost here is for those before it, too
                asked = len(self._lanes)
                for lane in tuple(self._lanes.values()):
                    if lane.is_ready and not lane.is_running:
                        self._unless_lost(lane, self._hand_out)

    def _unless_lost(self, lane: RunningLane, do: Callable[[RunningLane], None]) -> None:
        try:
            do(lane)
        except LaneLostError as lost:
            del self._lanes[lane.number]
            self._end(lane)
            if not self._lanes:
                raise lost.failure from lost
            self._coordinator.warned(f"{lost}; the others go on")

    def _hear(self, lane: RunningLane) -> None:
        kind, content = lane.hear()
        if kind == READY:
            self._describe(*content)
        elif kind == MADE:
            record = replace(content.record, lane=lane.number, lanes=self._count)
            self._coordinator.store(replace(content, record=record))
            lane.go_on()
        elif kind == DONE:
            self._end(lane)
        elif kind == CALIBRATED:
            (reading,) = content
            on = {"lane": lane.number, "lanes": self._count}
            self._coordinator.run.append_calibration({**reading.to_json(), **on})
            lane.laboratory.tell_watcher(kind, content)
        elif kind != ENTERED:
            lane.laboratory.tell_watcher(kind, content)

    def _describe(self, environment: Mapping[str, Any], lacking: Mapping[Engine, str]) -> None:
        """The environment is stored once: all lanes run the same programs on one machine."""
        if not self._is_described:
            self._coordinator.begin({**environment, "lanes": self._divided}, lacking)
            self._is_described = True

    def _hand_out(self, lane: RunningLane) -> None:
        """Give a lane that is idle its next block, if there is one for it that need not wait for a look."""
        lanes = [self._place(number) for number in self._lanes]
        block = self._coordinator.next_block(
            self._dispatch, self._place(lane.number), lanes, time.monotonic()
        )
        if block is not None:
            lane.start(block)

    def _end(self, lane: RunningLane) -> None:
        """The lane is at its block no more."""
        self._dispatch.ended(self._place(lane.number), time.monotonic())

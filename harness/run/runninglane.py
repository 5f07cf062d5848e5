"""A lane as the coordinator sees it: a laboratory in a process of its own, on the CPUs of the lane."""

from __future__ import annotations

import contextlib
import select
import tempfile
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import ColdloadError
from harness.records import lane_name
from harness.run.labprocess import COMMAND, DONE, NEXT, READY, Assignment, LaboratoryProcess
from harness.run.lanes import Lane
from harness.run.work import Block, Watcher
from harness.system.process import conversing
from harness.system.program import Command

LaneJob = tuple[Lane, Assignment, Watcher]


class LaneLostError(Exception):
    """A lane has ended; `failure` is what it failed of."""

    def __init__(self, lane: int, failure: ColdloadError) -> None:
        super().__init__(f"{lane_name(lane)} has ended: {failure}")
        self.failure = failure


@dataclass
class RunningLane:
    """`is_ready`: its laboratory is open; `is_running`: a block. Made by `running_lanes`.

    What is done with a lane that is gone, or cannot go on, raises LaneLostError.
    """

    lane: Lane
    laboratory: LaboratoryProcess
    is_ready: bool = False
    is_running: bool = False

    @property
    def number(self) -> int:
        return self.lane.number

    def start(self, block: Block) -> None:
        """Give it a block to run; it must be ready and run none."""
        self._say(block)
        self.is_running = True

    def go_on(self) -> None:
        """What it told of is stored: the next attempt may begin."""
        self._say(NEXT)

    def hear(self) -> tuple[str, Any]:
        """Its next message, kind and content."""
        try:
            kind, content = self.laboratory.message()
        except ColdloadError as failure:
            raise LaneLostError(self.number, failure) from failure
        self.is_ready = self.is_ready or kind == READY
        self.is_running = self.is_running and kind != DONE
        return kind, content

    def _say(self, what: object) -> None:
        try:
            self.laboratory.say(what)
        except ColdloadError as failure:
            raise LaneLostError(self.number, failure) from failure


def speaking(lanes: Collection[RunningLane]) -> Sequence[RunningLane]:
    """Wait until some of the lanes have said something, or are gone; these."""
    heard = [each for each in lanes if each.laboratory.process.has_line]
    if heard:
        return heard
    ready, _, _ = select.select([each.laboratory.process for each in lanes], [], [])
    return [each for each in lanes if each.laboratory.process in ready]


@contextlib.contextmanager
def running_lanes(jobs: Sequence[LaneJob], program: Command = COMMAND) -> Iterator[list[RunningLane]]:
    """A lane for every job, for the length of the block; their laboratories open meanwhile, side by side.

    `program` is what runs in a lane.
    """
    with contextlib.ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="coldload-lanes-")))
        started = []
        for lane, assignment, watcher in jobs:
            command = program.on_cpus(lane.cpus).named(f"lane {lane.number}")
            process = stack.enter_context(conversing(command, logs / f"lane-{lane.number}.log"))
            laboratory = LaboratoryProcess(process, watcher)
            laboratory.say(assignment)
            started.append(RunningLane(lane, laboratory))
        stack.callback(_close, started)  # all at once, before one after the other is waited for
        yield started


def _close(lanes: Sequence[RunningLane]) -> None:
    for lane in lanes:
        lane.laboratory.process.close()

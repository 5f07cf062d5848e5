"""The unit of work: what is due of a block, and what comes of it. Values, so that they can travel to another process.

The coordinator (`harness.run.coordinator`) holds the run directory and says what is due. An executor runs it: the
laboratory of this process (`harness.run.laboratory`), or something that has laboratories elsewhere. What is compared
stands in one block, and a block is run by one laboratory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from harness.lab.calibration import Calibration
from harness.model.trials import PlannedTrial
from harness.records import Record


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
    """An attempt that has ended. `repeated` when another one at its trial follows.

    `files` is the folder with what was kept of it; there is none when nothing was.
    """

    record: Record
    repeated: bool
    files: Path


class Executor(Interface):
    """Runs blocks."""

    def run(self, block: Block) -> Iterator[Made]:
        """The attempts of a block, one after the other as they end; none begins before the next one is asked for.

        Raises TestbedFailed when the testbed fails again and again, MeasurementRefused when a link is off.
        """


class Watcher(Interface):
    """Who is told what a laboratory is doing."""

    def preparing(self, what: str) -> None: ...

    def warned(self, what: str) -> None: ...

    def waiting(self, seconds: float) -> None:
        """The machine is busy, and the laboratory has waited for so long."""

    def calibrated(self, reading: Calibration) -> None: ...

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None: ...

"""Which room measures which kind. A further kind is a further room, and a line in `ROOMS`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol as Interface

from harness.capacity.crowdroom import crowd_programs, crowd_room
from harness.capacity.rateroom import rate_programs, rate_room
from harness.lab.calibration import Calibration
from harness.lab.opening import Opening
from harness.lab.testbed import Testbed
from harness.lab.untilright import Patience
from harness.model.engine import Engine
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.records import Record
from harness.trial.browsers import browser_programs
from harness.trial.loadroom import load_room


class Room(Interface):
    """Where the trials of a run are made: its servers, and what makes the load. All of it is up."""

    @property
    def testbed(self) -> Testbed:
        """The testbed; another one after `renew`."""

    @property
    def lacking(self) -> Mapping[Engine, str]:
        """The engines that cannot work on this machine, each with the reason."""

    def renew(self) -> None:
        """Take everything down and bring it up again, after a part of it failed."""

    def readings(
        self, link: Link, trials: Sequence[PlannedTrial], patience: Patience
    ) -> Iterator[Calibration]:
        """Measurements of a link as these trials will use it, until one is right; the last one counts."""

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        """One attempt at a trial, whatever happens to it; `files` is the folder for what is kept of it."""


@dataclass(frozen=True)
class Measuring:
    """How a kind is measured: its room, and the programs it runs."""

    room: Callable[[Opening], AbstractContextManager[Room]]
    programs: Callable[[], Mapping[str, Callable[[], str]]]


ROOMS: Mapping[Kind, Measuring] = {
    Kind.LOAD: Measuring(load_room, browser_programs),
    Kind.USERS: Measuring(crowd_room, crowd_programs),
    Kind.REQUESTS: Measuring(rate_room, rate_programs),
}

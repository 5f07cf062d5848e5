"""The room of kind `requests`: one closed loop a trial."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from harness.capacity.ratetrial import TOOLS, RateOptions, run_rate_trial
from harness.lab.calibrate import readings
from harness.lab.calibration import Calibration
from harness.lab.opening import Opening
from harness.lab.studybed import Archives, ServedPart, StudyBed, opened
from harness.lab.untilright import Patience
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.model.serversettings import Tuning
from harness.records import Record
from harness.study.study import EngineSetup, Study


class RateRoom(StudyBed):
    """The servers of a study of request rates; its tools are started by each trial."""

    def __init__(self, study: Study, archives: Archives) -> None:
        parts = [ServedPart.of(each) for each in study.parts]
        super().__init__(archives, study.setups, study.tcp, study.link_backend, parts)
        self._options = {
            (part.factor, setup.server.name): RateOptions(setup.server.capacity, study.keep)
            for part in study.parts
            for setup in part.setups
        }

    def refuse_unless_usable(self, engine: Engine) -> None:
        TOOLS[engine].version()

    def tuning(self, setup: EngineSetup) -> Tuning:
        """A status page costs what is measured, so that there is none."""
        return Tuning(setup.server.settings, name=setup.server.name)

    def readings(
        self, link: Link, trials: Sequence[PlannedTrial], patience: Patience
    ) -> Iterator[Calibration]:
        """Whatever the trials: a closed loop has one client."""
        del trials
        yield from readings(self.testbed, link, patience=patience)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        condition = planned.condition
        options = self._options[condition.factor, condition.server]
        return run_rate_trial(self.testbed, planned, options, files)


@contextlib.contextmanager
def rate_room(opening: Opening) -> Iterator[RateRoom]:
    """The room for a study, open for the length of the block; nothing of it depends on which trials are left."""
    with opened(RateRoom(opening.study, opening.archives)) as room:
        yield room


def rate_programs() -> Mapping[str, Callable[[], str]]:
    """What trials run by, each with what asks for its version."""
    return {engine.value: tool.version for engine, tool in TOOLS.items()}

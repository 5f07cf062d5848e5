"""The room of kind `load`: one cold page load a trial."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from harness.lab.calibrate import readings
from harness.lab.calibration import Calibration
from harness.lab.opening import Opening
from harness.lab.studybed import ServedPart
from harness.lab.testbed import Testbed
from harness.lab.untilright import Patience
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.plan import PlannedTrial
from harness.records import Record
from harness.trial.bench import Bench, opened
from harness.trial.trial import TrialOptions, run_trial


class LoadRoom:
    """Browsers and servers of a study of page loads."""

    def __init__(self, bench: Bench, options: TrialOptions) -> None:
        self._bench = bench
        self._options = options

    @property
    def testbed(self) -> Testbed:
        return self._bench.testbed

    @property
    def lacking(self) -> Mapping[Engine, str]:
        return self._bench.lacking

    def renew(self) -> None:
        self._bench.renew()

    def readings(
        self, link: Link, trials: Sequence[PlannedTrial], patience: Patience
    ) -> Iterator[Calibration]:
        """Whatever the trials: a load has one client."""
        del trials
        yield from readings(self.testbed, link, patience=patience)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        return run_trial(self.testbed, self._bench.drivers, planned, self._options, files)


@contextlib.contextmanager
def load_room(opening: Opening) -> Iterator[LoadRoom]:
    """The room for a study, open for the length of the block; nothing of it depends on which trials are left."""
    study = opening.study
    parts = [ServedPart.of(each) for each in study.parts]
    with opened(Bench(opening.archives, study.setups, study.tcp, study.link_backend, parts)) as bench:
        yield LoadRoom(bench, TrialOptions(study.timeout_s, study.keep, vitals=study.vitals))

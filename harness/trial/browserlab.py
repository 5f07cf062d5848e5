"""Kind `load`: a lab with browsers beside its servers, one cold page load a trial."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from harness.engines.browsers import MAKERS, Drivers
from harness.lab.lab import Archives, Lab, Opening, ServedPart, TrialLab, opened, parts_of
from harness.lab.testbed import CLIENT
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.kind import PORTRAYED
from harness.model.protocol import Protocol as WireProtocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.study.serverfile import NamedServer
from harness.study.study import EngineSetup, Study
from harness.system.enclosure import WORKSPACE
from harness.trial.trial import run_trial
from sites.archive import Archive


class BrowserLab(Lab):
    """Testbed and drivers together, renewed after a failure of either."""

    drivers: Drivers

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        super().open()
        self.drivers = Drivers(WORKSPACE, self._stack, CLIENT.path)

    def refuse_unless_usable(self, engine: Engine) -> None:
        MAKERS[engine].refuse_unless_usable()

    def tuning(self, setup: EngineSetup) -> Tuning:
        return Tuning(setup.server.settings)


class LoadLab(BrowserLab, TrialLab):
    """Browsers and servers of a study of page loads."""

    def __init__(self, study: Study, archives: Archives) -> None:
        super().__init__(archives, parts_of(study), study.tcp)
        self._options = TrialOptions(study.timeout_s, study.keep, vitals=study.vitals)
        self._looking = replace(self._options, keep=PORTRAYED, vitals=True)

    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        options = self._looking if planned.portrait else self._options
        return run_trial(self.testbed, self.drivers, planned, options, files)


def load_lab(opening: Opening) -> contextlib.AbstractContextManager[LoadLab]:
    """The lab for a study, open for the length of the block; nothing of it depends on which trials are left."""
    return opened(LoadLab(opening.study, opening.archives))


def browser_lab(
    archives: Mapping[str, Archive],
    protocols: Iterable[WireProtocol],
    *,
    replay: Replay | None = None,
    server: str | None = None,
    engine: Engine = DEFAULT_ENGINE,
) -> contextlib.AbstractContextManager[BrowserLab]:
    """A lab that serves the archives to one engine, for loads one by one. Must run inside an enclosure."""
    setup = EngineSetup(
        engine,
        tuple(protocols),
        engine.drivers[:1],
        NamedServer.usual(server or engine.traits.server),
        (replay or Replay.usual(engine),),
    )
    tcp = TcpSettings()
    return opened(BrowserLab({engine: archives}, [ServedPart((setup,), tcp)], tcp))

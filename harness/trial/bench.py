"""Testbed and drivers together: what trials need, brought up once and renewed after a failure."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping

from harness.lab.studybed import StudyBed, opened
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.link import Backend
from harness.model.protocol import Protocol as WireProtocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.study.namedserver import NamedServer
from harness.study.study import EngineSetup
from harness.system.enclosure import WORKSPACE
from harness.trial.browsers import MAKERS, Drivers
from sites.archive import Archive

__all__ = ["Bench", "bench", "opened"]


class Bench(StudyBed):
    """Testbed and drivers together, renewed after a failure of either."""

    drivers: Drivers

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        super().open()
        self.drivers = Drivers(WORKSPACE, self._stack)

    def refuse_unless_usable(self, engine: Engine) -> None:
        MAKERS[engine].refuse_unless_usable()

    def tuning(self, setup: EngineSetup) -> Tuning:
        return Tuning(setup.server.settings)


def bench(
    archives: Mapping[str, Archive],
    protocols: Iterable[WireProtocol],
    *,
    backend: Backend | None = None,
    replay: Replay | None = None,
    server: str | None = None,
    engine: Engine = DEFAULT_ENGINE,
) -> contextlib.AbstractContextManager[Bench]:
    """A testbed that serves the archives to one engine, and drivers. Must run inside an enclosure."""
    setup = EngineSetup(
        engine,
        tuple(protocols),
        engine.drivers[:1],
        NamedServer.usual(server or engine.traits.server),
        (replay or Replay.usual(engine),),
    )
    return opened(Bench({engine: archives}, [setup], TcpSettings(), backend))

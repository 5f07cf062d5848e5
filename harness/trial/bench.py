"""Testbed and drivers together: what trials need, brought up once and renewed after a failure."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping

from harness.errors import EnvironmentLacks
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.link import Backend
from harness.model.protocol import Protocol as WireProtocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.study.namedserver import NamedServer
from harness.study.study import EngineSetup
from harness.system.enclosure import WORKSPACE
from harness.testbed.testbed import Testbed, testbed
from harness.trial.browsers import MAKERS, Drivers
from sites.archive import Archive


class Bench:
    """Testbed and drivers together, renewed after a failure of either.

    `archives` are those of each engine, by the name they are served under; `lacking` are the engines that cannot work
    on this machine, each with the reason.
    """

    def __init__(
        self,
        archives: Mapping[Engine, Mapping[str, Archive]],
        setups: Iterable[EngineSetup],
        tcp: TcpSettings,
        backend: Backend | None,
    ) -> None:
        self._archives = archives
        self._setups = tuple(setups)
        self._tcp = tcp
        self._backend = backend
        self._stack = contextlib.ExitStack()
        self.testbed: Testbed
        self.drivers: Drivers
        self.lacking: dict[Engine, str] = {}

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        self.testbed = self._stack.enter_context(testbed(self._tcp, self._backend))
        for setup in self._setups:
            try:
                self._serve(setup)
            except EnvironmentLacks as error:
                self.lacking[setup.engine] = str(error)
                if len(self.lacking) == len(self._setups):
                    raise
        self.drivers = Drivers(WORKSPACE, self._stack)

    def _serve(self, setup: EngineSetup) -> None:
        MAKERS[setup.engine].refuse_unless_usable()
        tuning = Tuning(setup.server.settings)
        for archive, replay in itertools.product(self._archives[setup.engine].values(), setup.replays):
            self.testbed.serve(archive, setup.protocols, replay, setup.server.program, setup.engine, tuning)

    def renew(self) -> None:
        """Take everything down and bring it up again."""
        self.close()
        self.open()

    def close(self) -> None:
        """Take everything down, in reverse order."""
        self._stack.close()


@contextlib.contextmanager
def opened(made: Bench) -> Iterator[Bench]:
    """The bench, open for the length of the block. Must run inside an enclosure."""
    try:
        made.open()
        yield made
    finally:
        made.close()


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

"""Testbed and drivers together: what trials need, brought up once and renewed after a failure."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping

from harness.browser.qtwebkit import home as qtwebkit
from harness.errors import EnvironmentLacks
from harness.model.engine import DEFAULT_DRIVERS, Engine
from harness.model.link import Backend
from harness.model.protocol import Protocol as WireProtocol
from harness.model.settings import DEFAULT_TLS, Replay, TcpSettings
from harness.study.abilities import DEFAULT_SERVERS
from harness.study.study import EngineSetup
from harness.system.enclosure import WORKSPACE
from harness.testbed.testbed import Testbed, testbed
from harness.trial.browsers import Drivers
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
        if setup.engine is Engine.QTWEBKIT:
            qtwebkit.version()  # tells whether it is there
        for archive, replay in itertools.product(self._archives[setup.engine].values(), setup.replays):
            self.testbed.serve(archive, setup.protocols, replay, setup.server, setup.engine)

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
    tcp: TcpSettings | None = None,
    *,
    backend: Backend | None = None,
    replay: Replay | None = None,
    server: str | None = None,
    engine: Engine = Engine.CHROMIUM,
) -> contextlib.AbstractContextManager[Bench]:
    """A testbed that serves the archives to one engine, and drivers. Must run inside an enclosure."""
    setup = EngineSetup(
        engine,
        tuple(protocols),
        (DEFAULT_DRIVERS[engine],),
        server or DEFAULT_SERVERS[engine],
        (replay or Replay(tls=DEFAULT_TLS[engine]),),
    )
    return opened(Bench({engine: archives}, [setup], tcp or TcpSettings(), backend))

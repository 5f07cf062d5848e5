"""A testbed that serves what a study asks for: brought up once, and renewed after a failure."""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from harness.errors import EnvironmentLacks
from harness.model.engine import Engine
from harness.model.link import Backend
from harness.model.serversettings import Tuning
from harness.model.settings import TcpSettings
from harness.study.study import EngineSetup
from harness.testbed.testbed import Testbed, testbed
from sites.archive import Archive

Archives = Mapping[Engine, Mapping[str, Archive]]  # of each engine, by the name they are served under


class StudyBed(ABC):
    """A testbed with all servers of a study. A room says which engines can work here, and how a server is tuned.

    `lacking` are the engines that cannot work on this machine, each with the reason.
    """

    def __init__(
        self, archives: Archives, setups: Iterable[EngineSetup], tcp: TcpSettings, backend: Backend | None
    ) -> None:
        self._archives = archives
        self._setups = tuple(setups)
        self._tcp = tcp
        self._backend = backend
        self._stack = contextlib.ExitStack()
        self.testbed: Testbed
        self.lacking: dict[Engine, str] = {}

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work."""
        self.testbed = self._stack.enter_context(testbed(self._tcp, self._backend))
        for setup in self._setups:
            try:
                self._serve(setup)
            except EnvironmentLacks as error:
                self.lacking[setup.engine] = str(error)
                if len(self.lacking) == len({each.engine for each in self._setups}):
                    raise

    @abstractmethod
    def refuse_unless_usable(self, engine: Engine) -> None:
        """Raise EnvironmentLacks when this machine cannot run the engine."""

    @abstractmethod
    def tuning(self, setup: EngineSetup) -> Tuning:
        """How the server of a setup is set up."""

    def _serve(self, setup: EngineSetup) -> None:
        self.refuse_unless_usable(setup.engine)
        program, tuning = setup.server.program, self.tuning(setup)
        for archive, replay in itertools.product(self._archives[setup.engine].values(), setup.replays):
            self.testbed.serve(archive, setup.protocols, replay, program, setup.engine, tuning)

    def renew(self) -> None:
        """Take everything down and bring it up again."""
        self.close()
        self.open()

    def close(self) -> None:
        """Take everything down, in reverse order."""
        self._stack.close()


Bed = TypeVar("Bed", bound=StudyBed)


@contextlib.contextmanager
def opened(made: Bed) -> Iterator[Bed]:
    """The testbed, open for the length of the block. Must run inside an enclosure."""
    try:
        made.open()
        yield made
    finally:
        made.close()

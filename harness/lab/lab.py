"""A lab: a testbed that serves what a study asks for, brought up once and renewed after a failure."""

from __future__ import annotations

import contextlib
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from harness.errors import EnvironmentLacks, StorageFailed, TestbedFailed
from harness.input.shown import Tell
from harness.lab.calibrate import readings
from harness.lab.calibration import Calibration, Patience
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Served
from harness.model.engine import Engine
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.model.trials import PlannedTrial
from harness.records import Record
from harness.study.serverfile import NamedServer
from harness.study.study import EngineSetup, Study
from sites.archive import Archive

Archives = Mapping[Engine, Mapping[str, Archive]]  # of each engine, by the name they are served under
EndpointKey = tuple[Engine, str, Replay, NamedServer, Protocol]  # what is alike in it has one endpoint
OPENINGS = 2  # tries to bring everything up


@dataclass(frozen=True)
class ServedPart:
    """What a study, or one factor of it, has served: `archives` by name, None: all there are."""

    setups: tuple[EngineSetup, ...]
    tcp: TcpSettings
    factor: str = ""
    archives: frozenset[str] | None = None

    @classmethod
    def of(cls, study: Study) -> ServedPart:
        """That of a study without its factors."""
        names = {condition.served.archive for condition in study.own_conditions}
        return cls(study.setups, study.tcp, study.factor, frozenset(names))

    def serves(self, archive: Archive) -> bool:
        return self.archives is None or archive.name in self.archives


def parts_of(study: Study) -> tuple[ServedPart, ...]:
    """What a study has served, with and without its factors."""
    return tuple(ServedPart.of(part) for part in study.parts)


class Lab(ABC):
    """A testbed with all servers of a study. Each kind says which engines can work here, and how a server is tuned.

    `parts` are those of a study with factors; what is served alike in several has one server. `lacking` are the engines
    that cannot work on this machine, each with the reason.
    """

    def __init__(
        self,
        archives: Archives,
        parts: Sequence[ServedPart],
        tcp: TcpSettings,
    ) -> None:
        self._archives = archives
        self._parts = parts
        self._tcp = tcp
        self._there: dict[EndpointKey, Served] = {}
        self._stack = contextlib.ExitStack()
        self.testbed: Testbed
        self.lacking: dict[Engine, str] = {}
        self._worked = False

    def open(self) -> None:
        """Bring everything up; raises EnvironmentLacks when no engine can work.

        A part that failed as it started may have been struck by somebody: all is brought up again before an engine is
        said to be lacking. One that worked before is not lacking: TestbedFailed.
        """
        for left in reversed(range(OPENINGS)):
            try:
                self._bring_up(is_last=left == 0)
            except TestbedFailed:
                if not left:
                    raise
                self.close()
            else:
                self._worked = True
                return

    def _bring_up(self, *, is_last: bool) -> None:
        self.testbed = self._stack.enter_context(testbed(self._tcp))
        self._there = {}
        setups = [(served_part, setup) for served_part in self._parts for setup in served_part.setups]
        usable = {setup.engine: False for _, setup in setups}
        for part, setup in setups:
            if setup.engine in self.lacking:
                continue
            try:
                if not usable[setup.engine]:
                    self.refuse_unless_usable(setup.engine)
                    usable[setup.engine] = True
                self._serve(part, setup)
            except StorageFailed:
                raise
            except EnvironmentLacks as error:
                if isinstance(error, TestbedFailed) and (self._worked or not is_last):
                    raise
                self.lacking[setup.engine] = str(error)
                if len(self.lacking) == len(usable):
                    raise

    @abstractmethod
    def refuse_unless_usable(self, engine: Engine) -> None:
        """Raise EnvironmentLacks when this machine cannot run the engine."""

    @abstractmethod
    def tuning(self, setup: EngineSetup) -> Tuning:
        """How the server of a setup is set up."""

    def _serve(self, part: ServedPart, setup: EngineSetup) -> None:
        archives = filter(part.serves, self._archives[setup.engine].values())
        for archive, replay in itertools.product(archives, setup.replays):
            self._serve_archive(part, setup, archive, replay)

    def _serve_archive(self, part: ServedPart, setup: EngineSetup, archive: Archive, replay: Replay) -> None:
        """By a server of its own, but for protocols by which it is served just so already."""
        tuning = replace(self.tuning(setup), factor=part.factor)
        keys = {
            protocol: (setup.engine, archive.name, replay, setup.server, protocol)
            for protocol in setup.protocols
        }
        new = [protocol for protocol, key in keys.items() if key not in self._there]
        if new:
            self.testbed.serve(archive, new, replay, setup.server.program, setup.engine, tuning)
        for protocol, key in keys.items():
            own = Served(archive.name, protocol, setup.engine, replay.compression, tuning.name, part.factor)
            self.testbed.serve_also(self._there.setdefault(key, own), part.factor, part.tcp)

    def renew(self) -> None:
        """Take everything down and bring it up again."""
        self.close()
        self.open()

    def close(self) -> None:
        """Take everything down, in reverse order."""
        self._stack.close()


class TrialLab(Lab):
    """A lab where the trials of a study are made, all of one kind."""

    def readings(
        self, link: Link, trials: Sequence[PlannedTrial], patience: Patience
    ) -> Iterator[Calibration]:
        """Measurements of a link as these trials will use it, until one is right; the last one counts.

        Whatever the trials, it is measured with one client; server addresses at a distance are those of their pages.
        """
        wanted = {trial.condition.served for trial in trials if trial.condition.link == link}
        endpoints = (self.testbed.endpoints[served] for served in wanted if served in self.testbed.endpoints)
        far = {address: ms for endpoint in endpoints for address, ms in endpoint.distances_ms.items()}
        yield from readings(self.testbed, link, patience=patience, distances_ms=far)

    @abstractmethod
    def run_trial(self, planned: PlannedTrial, files: Path) -> Record:
        """One attempt at a trial, whatever happens to it; `files` is the folder for what is kept of it."""


@dataclass(frozen=True, kw_only=True)
class Opening:
    """What a lab is opened with: a study, its archives, the trials that are left of it, the directory of the run.

    `tell` is given what is being prepared, for somebody who waits; `warn` what somebody should read afterwards.
    """

    study: Study
    archives: Archives
    trials: Sequence[PlannedTrial]
    run: Path
    tell: Tell
    warn: Tell


AnyLab = TypeVar("AnyLab", bound=Lab)


@contextlib.contextmanager
def opened(made: AnyLab) -> Iterator[AnyLab]:
    """The lab, open for the length of the block. Must run inside an enclosure."""
    try:
        made.open()
        yield made
    finally:
        made.close()

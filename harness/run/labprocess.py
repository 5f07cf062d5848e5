"""A lab in a process of its own, which makes its enclosure itself: an executor for whoever has several of them.

    here                                     the process (harness.run.openlab)
      │  an assignment ───────────────────────►  its lab is opened
      │  ◄─────────────── ready: environment
      │  a block ─────────────────────────────►  the links are measured, once; the block begins
      │  ◄─────────────── an attempt
      │  next ────────────────────────────────►  the next attempt begins
      │  ◄─────────────── the end of the block

Values travel pickled: both ends are of one version on one machine. The process dies with the one that started it.
"""

from __future__ import annotations

import base64
import contextlib
import os
import pickle
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from harness.errors import ColdloadError, TestbedFailed
from harness.lab.calibration import Calibration
from harness.model.engine import Engine
from harness.model.trials import PlannedTrial
from harness.run.work import Block, Made, RunsBlocks, Watcher
from harness.study.study import Study
from harness.system.process import Conversation, conversing
from harness.system.program import Command

ENDING_S = 1.0  # from the end of what a process says to its own
AT_LAST_S = 1e8  # years: whoever waits has his own limit, and ends the process
COMMAND = Command.of(sys.executable, "-P", "-m", "harness.run.openlab").dying_with_us().named("lab")
ENTERED, READY, MADE, DONE, FAILED, NEXT = "entered", "ready", "made", "done", "failed", "next"


@dataclass(frozen=True)
class Assignment:
    """What a lab is opened for. `archives` are folders, for each engine by the name an archive is served under.

    `trials` are all that may come; `files` is where the folders of attempts with kept files go. `run` stands for the
    run directory. `patient`: see `harness.run.openlab`. `memory_bytes` is its share of the memory, None: all.
    """

    study: Study
    archives: Mapping[Engine, Mapping[str, Path]]
    trials: tuple[PlannedTrial, ...]
    run: Path
    files: Path
    patient: bool
    memory_bytes: int | None = None


def to_line(message: object) -> str:
    """A message as a line."""
    return base64.b64encode(pickle.dumps(message)).decode()


def of_line(line: str | bytes) -> Any:
    """Inverse of `to_line`."""
    return pickle.loads(base64.b64decode(line))  # noqa: S301  # of our own process


class Wire:
    """What the process of a lab speaks with: standard input and output. It is the watcher of the lab."""

    def __init__(self) -> None:
        self._out = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)  # what anything else prints goes to the log

    def tell(self, kind: str, content: object) -> None:
        self._out.write(to_line((kind, content)).encode() + b"\n")
        self._out.flush()

    def told(self) -> Any:
        """The next message; EOFError when there will be none."""
        line = sys.stdin.buffer.readline()
        if not line.endswith(b"\n"):
            raise EOFError
        return of_line(line)

    def preparing(self, what: str) -> None:
        self.tell("preparing", (what,))

    def warned(self, what: str) -> None:
        self.tell("warned", (what,))

    def waiting(self, seconds: float) -> None:
        self.tell("waiting", (seconds,))

    def calibrated(self, reading: Calibration) -> None:
        self.tell("calibrated", (reading,))

    def attempt_started(self, planned: PlannedTrial, attempt: int) -> None:
        self.tell("attempt_started", (planned, attempt))

    def answer(self, lab: RunsBlocks) -> NoReturn:
        """Run the blocks that are told in a lab; EOFError when there will be none."""
        self.tell(READY, (lab.environment, lab.lacking))
        while True:
            for made in lab.run(self.told()):
                self.tell(MADE, made)
                if self.told() != NEXT:
                    raise AssertionError("an attempt is followed by the next one")
            self.tell(DONE, None)


@dataclass
class LabProcess:
    """The process, from here. `environment` and `lacking` are known once it is open."""

    process: Conversation
    watcher: Watcher
    environment: Mapping[str, Any] = field(default_factory=dict)
    lacking: Mapping[Engine, str] = field(default_factory=dict)

    def open(self, assignment: Assignment) -> None:
        """Open the lab; raises what keeps it from opening."""
        self.say(assignment)
        self.environment, self.lacking = self.heard(READY)

    def run(self, block: Block) -> Iterator[Made]:
        """Run a block, see `RunsBlocks`."""
        self.say(block)
        while (made := self.heard(MADE, DONE)) is not None:
            yield made
            self.say(NEXT)

    def kill(self) -> None:
        """End it at any instant, from any thread."""
        self.process.kill()

    def heard(self, *wanted: str) -> Any:
        """What comes with the next message of such a kind; raises the error that comes instead of it."""
        while True:
            kind, content = self.message()
            if kind in wanted:
                return content
            self.tell_watcher(kind, content)

    def message(self) -> tuple[str, Any]:
        """The next message, of whatever kind; raises the error that comes instead of it."""
        try:
            kind, content = of_line(self.process.hear(AT_LAST_S))
        except EOFError as error:
            raise self._died() from error
        if kind == FAILED:
            raise content if isinstance(content, ColdloadError) else TestbedFailed(str(content))
        return kind, content

    def tell_watcher(self, kind: str, content: tuple[Any, ...]) -> None:
        """Pass on a message that is for the watcher."""
        getattr(self.watcher, kind)(*content)

    def say(self, message: object) -> None:
        try:
            self.process.say(to_line(message))
        except EOFError as error:
            raise self._died() from error

    def _died(self) -> TestbedFailed:
        self.process.ends_within(ENDING_S)
        return TestbedFailed(
            f"the process of the lab died ({self.process.ending}): {self.process.last_lines()}"
        )


@contextlib.contextmanager
def lab_process(watcher: Watcher, log: Path) -> Iterator[LabProcess]:
    """A process in an enclosure for the length of the block, not open yet; EnvironmentLacks when it cannot have one.

    The thread that comes here must live as long: the kernel ends the process with it.
    """
    with conversing(COMMAND, log) as process:
        started = LabProcess(process, watcher)
        started.heard(ENTERED)
        yield started

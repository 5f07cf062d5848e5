"""What browsers have in common that a trial starts by itself and steers without a program between them and us."""

from __future__ import annotations

import abc
import contextlib
import json
import shutil
import signal
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines import fonts
from harness.engines.browser import HOP, PLAIN_HOP, BrowserTrace, Surroundings, TracePart
from harness.engines.browserlog import BrowserLog
from harness.engines.relay import SchemeHop
from harness.errors import EnvironmentLacks, Outcome, TestbedFailed, TrialFailed
from harness.system.process import Conversation
from harness.system.program import Command, run

START_TIMEOUT_S = 60.0
END_S = 1.0  # its pipes close a little before a process is gone

# By which only its own faults end a program, others do not.
CRASHES = frozenset(
    {
        *(signal.SIGSEGV, signal.SIGABRT, signal.SIGTRAP, signal.SIGILL),
        *(signal.SIGBUS, signal.SIGFPE, signal.SIGSYS),
    }
)


@dataclass(frozen=True)
class BrowserHome:
    """The folder that a browser lives in, thrown away with the trial. `name` is the browser's, in messages."""

    folder: Path
    name = "the browser"

    @property
    def pid(self) -> int | None:
        """The browser's main process, once it has started."""
        return number_in(self.folder / "pid")

    @property
    def driver_pid(self) -> None:
        """Nothing steers it but ourselves."""
        return

    def end(self) -> None:
        """It has ended with the block in which it ran."""

    def start_over(self) -> None:
        """`harness.study.rules` lets no load with a warm cache come here."""
        raise TestbedFailed(f"{self.name} keeps nothing of a page")

    def read_trace(self, path: Path) -> BrowserTrace:
        """No probe asks for one that it cannot write."""
        raise TestbedFailed(f"{self.name} has no trace for {path.name}")


@dataclass(frozen=True)
class SteeredHome(BrowserHome, abc.ABC):
    """A home and what is around it. `hops` take the browser's requests, each those under one scheme."""

    surroundings: Surroundings
    hops: tuple[SchemeHop, ...] = ()

    @property
    def programs(self) -> Mapping[str, int]:
        pids = {
            name: next(iter(each.relay.programs.values()), None)
            for name, each in zip((HOP, PLAIN_HOP), self.hops, strict=False)
        }
        return {name: pid for name, pid in pids.items() if pid is not None}

    def read_log(self) -> BrowserLog:
        log = self.own_log()
        for hop in self.hops:
            log = hop.seen_from(log)
        return log

    @abc.abstractmethod
    def own_log(self) -> BrowserLog:
        """What the browser itself told; TestbedFailed when that cannot be read."""

    @contextlib.contextmanager
    def hops_running(self) -> Iterator[contextlib.ExitStack]:
        """The hops for the length of the block, which starts the browser meanwhile and ends it.

        The stack waits for them when it is closed.
        """
        with contextlib.ExitStack() as hops:
            waiting = contextlib.ExitStack()
            for hop in self.hops:
                waiting.callback(hops.enter_context(hop.running(self.surroundings.client)))
            yield waiting


class SteeredBrowser:
    """A started browser; what follows is what none of them can."""

    def since_a_long_task_ms(self) -> float:
        raise unable("does not tell of long tasks")

    def start_trace(self, parts: Sequence[TracePart]) -> None:
        raise unable(f"has no trace of {', '.join(parts)}")

    def end_trace(self, path: Path) -> None:
        raise unable(f"has no trace for {path.name}")

    def leave(self) -> None:
        raise unable("leaves no page")

    def at_full_speed(self) -> int:
        raise unable("is not slowed")

    def text_without_glyph(self) -> Mapping[str, int]:
        raise unable("does not tell which font shows a text")

    def linger(self, seconds: float) -> None:
        time.sleep(seconds)  # the browser works on by itself


def unable(what: str) -> TrialFailed:
    """That this engine cannot do something, and which one can."""
    return TrialFailed(Outcome.PAGE_ERROR, f"this engine {what}; that takes Chromium")


@contextlib.contextmanager
def lived_in(folder: Path) -> Iterator[Path]:
    """A folder for a browser to live in, for the length of the block."""
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def environment(home: Path) -> dict[str, str]:
    """For a browser that lives in a folder: our fonts, and nothing of a desktop."""
    return {
        "HOME": str(home),
        "TMPDIR": str(home),
        "XDG_RUNTIME_DIR": str(home),
        "XDG_CACHE_HOME": str(home / ".cache"),
        **fonts.ENVIRONMENT,
        "LC_ALL": "C.UTF-8",
    }


def begun(program: Conversation, name: str) -> None:
    """Wait until the program has said its first word; TestbedFailed when it did not start."""
    try:
        program.hear(START_TIMEOUT_S)
    except (EOFError, TimeoutError) as error:
        raise TestbedFailed(f"{name} did not start: {error}") from error


def asked(
    program: Conversation,
    command: Mapping[str, object],
    timeout_s: float,
    silence: str,
    outcome: Outcome = Outcome.PAGE_ERROR,
) -> dict[str, Any]:
    """What the program answers to a command in JSON. TrialFailed when it died or, with `silence` and that outcome, when
    it does not answer: `page-timeout` is for the load event alone.
    """
    try:
        answer: dict[str, Any] = json.loads(program.ask(json.dumps(command), timeout_s))
    except TimeoutError as error:
        raise TrialFailed(outcome, silence) from error
    except (EOFError, ValueError) as error:
        program.ends_within(END_S)
        said = f"the browser died ({program.ending}): {error}"
        raise TrialFailed(Outcome.PAGE_ERROR, said, died=program.was_killed) from error
    return answer


def version_of(command: Command, name: str) -> str:
    """What a program of ours says of its engine; EnvironmentLacks when Debian's Python has none."""
    try:
        return run(command, timeout_s=60).strip()
    except TestbedFailed as error:
        why = str(error).rpartition(" | ")[2]  # the last line it printed
        raise EnvironmentLacks(
            f"{name} does not work here ({why}); `coldload doctor` tells how to get it"
        ) from error


def number_in(path: Path) -> int | None:
    """The whole number that a file holds; None where there is none."""
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None

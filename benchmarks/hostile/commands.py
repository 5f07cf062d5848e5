"""`coldload` run as a user runs it, in a folder of its own, and what is left of it when it has gone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.hostile.cases import HUNG, TRACEBACK, one_line, traceback_in
from harness.system.processtree import family

MARK = "COLDLOAD_HOSTILE_MARK"
GONE_WITHIN_S = 2.0
WARNING = "warning: "
NOT_KNOWN = 4  # of `--fail-on`
NONE: Mapping[str, str] = MappingProxyType({})
COLDLOAD = Path(sys.executable).parent / "coldload"


@dataclass
class Workdir:
    """A folder to run commands in: archives, runs and everything temporary lie there."""

    folder: Path
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)

    def __post_init__(self) -> None:
        self.temporary.mkdir(parents=True, exist_ok=True)

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def archives(self) -> Path:
        return self.folder / "archives"

    @contextlib.contextmanager
    def started(self, *words: str, variables: Mapping[str, str] = NONE, **others: Any) -> Iterator[Running]:
        """A command that is killed, if it still runs, when the block ends. `variables` are added to its environment,
        `others` are options of its Popen.
        """
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            # As a shell starts what it has in the background. Commands would ignore it, too, and outlive a Ctrl-C.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        out, err = self.folder / "stdout", self.folder / "stderr"
        environment = {
            **os.environ,
            MARK: self.mark,
            "TMPDIR": str(self.temporary),
            "COLDLOAD_ARCHIVES": str(self.archives),
            **variables,
        }
        with out.open("wb") as stdout, err.open("wb") as stderr:
            options = {"stdin": subprocess.DEVNULL, "stdout": stdout, "stderr": stderr, **others}
            popen = subprocess.Popen(
                [COLDLOAD, *words], cwd=self.folder, env=environment, start_new_session=True, **options
            )
        try:
            yield Running(popen, out, err)
        finally:
            if popen.poll() is None:
                popen.kill()
            popen.wait()

    def left_behind(self) -> list[str]:
        """Processes of commands started here, and temporary files, a moment after the last of them has ended."""
        deadline = time.monotonic() + GONE_WITHIN_S
        while True:
            left = [*self._processes(), *(f"file {path.name}" for path in self.temporary.iterdir())]
            if not left or time.monotonic() > deadline:
                return left
            time.sleep(0.05)

    def _processes(self) -> list[str]:
        processes = []
        for process in Path("/proc").iterdir():
            if not process.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (process / "environ").read_bytes():
                    processes.append(f"process {' '.join(argv(int(process.name)))[:100]}")
        return processes


@dataclass(frozen=True)
class Running:
    """A command under way."""

    popen: subprocess.Popen[bytes]
    out: Path
    err: Path

    @property
    def alive(self) -> bool:
        return self.popen.poll() is None

    def written(self) -> str:
        """What it has said on standard error."""
        return self.err.read_text(errors="replace")

    def ends_within(self, seconds: float) -> bool:
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def parts(self) -> dict[int, list[str]]:
        """The processes of its whole tree with their command lines, the command itself first."""
        return {pid: words for pid in family(self.popen.pid) if (words := argv(pid))}


def badly_ended(code: int | None, error: str, codes: Collection[int]) -> dict[str, str]:
    """Faults of a command that should end with one of the codes, and with one line of an error unless it is 0 or a
    verdict, which is told on standard output; warnings stand before it.
    """
    if trace := traceback_in(error):
        return {TRACEBACK: trace}
    if code is None:
        return {HUNG: "it does not end"}
    if code not in codes or "[Errno" in error:
        return {TRACEBACK: f"exit code {code}: {one_line(error)}"}
    lines = [line for line in error.splitlines() if not line.startswith(WARNING)]
    if code and code != NOT_KNOWN and len(lines) != 1:
        return {TRACEBACK: f"exit code {code} with {len(lines)} lines: {one_line(error)}"}
    return {}


def argv(pid: int) -> list[str]:
    """The command line of a process; [] when it has gone or is a zombie."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").rstrip("\0").split("\0")
    except OSError:
        return []


def listens(pid: int) -> bool:
    """Whether a process of ours catches signals: until then nobody is there yet, and it ends as the system has it."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False
    caught = int(status.partition("SigCgt:")[2].split()[0], 16)
    return bool(caught >> (signal.SIGTERM - 1) & 1)


def send(pid: int, number: signal.Signals) -> bool:
    """Send a signal to a process of ours; whether it was there."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True

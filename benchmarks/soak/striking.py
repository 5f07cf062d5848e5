"""The faults of a soak: which comes next, how each strikes a run, on what ground, and how a call then has to end."""

from __future__ import annotations

import contextlib
import random
import shutil
import signal
import struct
import subprocess
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.hostile.cases import one_line, traceback_in
from benchmarks.hostile.commands import NONE, Running, Workdir, send
from benchmarks.hostile.runners import INTERRUPTED, KILLED, struck_by
from benchmarks.hostile.stage import PARTS
from benchmarks.waitinglab import whole_lines
from harness.records import RECORDS
from harness.system import syscalls
from harness.system.files import move_into_place
from harness.system.processtree import family


class Fault(StrEnum):
    """What befalls a run. What each does: `benchmarks/soak/__main__.py`."""

    KILL = "kill"
    STOP = "stop"
    DISK = "disk"
    CLOCK = "clock"
    INTERRUPT = "interrupt"
    TERM = "term"
    SERVER = "server"
    DNSMASQ = "dnsmasq"
    EMULATOR = "emulator"
    BROWSER = "browser"
    DRIVER = "driver"


PARTS_OF: Mapping[Fault, tuple[str, ...]] = {
    Fault.SERVER: ("caddy", "nginx", "gateway"),
    Fault.DNSMASQ: ("dnsmasq",),
    Fault.EMULATOR: ("linkem",),
    Fault.BROWSER: (
        *("chromium", "renderer", "firefox", "firefox-page"),
        *("webkit", "webkit-page", "qtwebkit"),
    ),
    Fault.DRIVER: ("chromedriver", "playwright", "hop", "weston"),
}
OUTLIVED = (Fault.STOP, *PARTS_OF)  # the runner goes on
ENDING = (Fault.KILL, Fault.DISK, Fault.INTERRUPT, Fault.TERM)
GROUNDED = (Fault.DISK, Fault.CLOCK)  # for these a call is begun in another way

POLL_S = 0.2
THERE_WITHIN_S = 30.0  # a part that comes with some trials
STOPPED_S = (0.3, 5.0)
STEPS_S = (-5.0, -0.5, 0.5, 30.0)
STEPPED_S = 60.0  # the longest until the clock is set back
DISK_BYTES = 64 << 20
CLOCK, CLOCK_LIBRARY = "clock", "clock.so"


def drawn(seed: str, number: int, *, outlived: bool) -> Fault:
    """The fault of that number, from 0: each kind comes once before any comes again, in an order of its own."""
    faults = list(OUTLIVED if outlived else Fault)
    turn, index = divmod(number, len(faults))
    random.Random(f"{seed} {turn}").shuffle(faults)  # noqa: S311
    return faults[index]


def ill_ended(fault: Fault | None, code: int | None, written: str, *, was_struck: bool) -> str | None:
    """How a call ended, where it should not have ended so. `fault` is what ended it, None for nothing.

    `was_struck`: by faults that it outlived; it may give up with exit code 3 after some of them.
    """
    said = [line for line in written.splitlines() if line.startswith("coldload")]
    if trace := traceback_in(written):
        return trace
    if code is None:
        return "it does not end"
    if fault is Fault.KILL:
        good = code != 0
    elif fault is Fault.DISK:
        good = code == 3 and len(said) == 1 and "No space left on device" in said[0]
    elif fault is not None and code == INTERRUPTED:
        good = len(said) == 1 and "interrupted" in said[0]
    else:
        good = code in ((0, 1, 3) if was_struck else (0, 1)) and len(said) == bool(code)
    return None if good else f"{fault or 'by itself'}: exit code {code}: {one_line(written)}"


def build_clock(folder: Path) -> None:
    """Compile what steps a clock; SystemExit without a compiler. With libfaketime 0.9.10 no Python 3.11 sleeps whose
    monotonic clock it spares.
    """
    compiler = shutil.which("cc")
    if compiler is None:
        raise SystemExit(
            "what steps the clock is compiled, and there is no cc: apt-get install gcc libc6-dev"
        )
    source = Path(__file__).with_name("clock.c")
    words = [compiler, "-O2", "-shared", "-fPIC", "-o", str(folder / CLOCK_LIBRARY), str(source)]
    subprocess.run(words, check=True)


def set_clock(folder: Path, off_s: float) -> None:
    """What the clock of a call is off by; in place, as the call has the file mapped."""
    path = folder / CLOCK
    with path.open("r+b" if path.exists() else "wb") as file:
        file.write(struct.pack("=q", round(off_s * 1e9)))


@contextlib.contextmanager
def ground(fault: Fault, run: Path, workdir: Workdir) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """Where a call works for a fault that may come, and what its environment has besides."""
    if fault is Fault.DISK:
        disk = workdir.folder / "disk"
        disk.mkdir(exist_ok=True)
        syscalls.mount("tmpfs", str(disk), "tmpfs", syscalls.MS_NOSUID, f"size={DISK_BYTES}")
        try:
            if run.exists():
                shutil.copytree(run, disk / run.name)
            yield disk / run.name, NONE
            _bring_back(disk / run.name, run)
        finally:
            syscalls.unmount(str(disk))
    elif fault is Fault.CLOCK:
        set_clock(workdir.folder, 0)
        library, clock = workdir.folder / CLOCK_LIBRARY, workdir.folder / CLOCK
        yield run, {"LD_PRELOAD": str(library), "SOAK_CLOCK": str(clock)}
    else:
        yield run, NONE


def _bring_back(source: Path, run: Path) -> None:
    """The run takes the place of what it was, at once."""
    made = run.with_name("run.new")
    shutil.rmtree(made, ignore_errors=True)
    if source.exists():
        shutil.copytree(source, made)
        move_into_place(made, run)
        shutil.rmtree(made, ignore_errors=True)


class Seen:
    """The records of a run under way."""

    def __init__(self, run: Path) -> None:
        self.run = run
        self._size, self._count = 0, 0

    def count(self) -> int:
        """How many are stored by now."""
        path = self.run / RECORDS
        size = path.stat().st_size if path.exists() else 0
        if size != self._size:
            self._size, self._count = size, whole_lines(self.run).count(b"\n")
        return self._count


def runner_of(running: Running) -> int | None:
    """The process that does the work of a command; None when it has gone."""
    tree = family(running.popen.pid)
    return tree[KILLED["work"]] if len(tree) > KILLED["work"] else None


@dataclass(frozen=True)
class Hit:
    """What a fault hit, and from and until when, in s since 1970, as records tell times."""

    what: str
    at_s: float
    until_s: float


def strike(fault: Fault, running: Running, seen: Seen, workdir: Workdir, chance: random.Random) -> Hit | None:
    """Let a fault come; None when nobody was there."""
    moved_s, pid, part = 0.0, 0, ""
    if fault in PARTS_OF:
        pid, part = _process_of(PARTS_OF[fault], running, chance)
    at_s = time.time()
    if fault is Fault.KILL:
        process = chance.choice(list(KILLED))
        what = process if struck_by(running, process) else ""
    elif fault in (Fault.INTERRUPT, Fault.TERM):
        what = "command" if struck_by(running, fault) else ""
    elif fault is Fault.STOP:
        what = _stopped(running, chance)
    elif fault is Fault.DISK:
        what = _filled(seen.run.parent)
    elif fault is Fault.CLOCK:
        what, moved_s = _stepped(running, seen, workdir, chance)
    else:
        what = part if part and send(pid, signal.SIGKILL) else ""
    return Hit(what, at_s - moved_s, time.time() + moved_s) if what else None


def _stopped(running: Running, chance: random.Random) -> str:
    pid, pause_s = runner_of(running), chance.uniform(*STOPPED_S)
    if pid is None or not send(pid, signal.SIGSTOP):
        return ""
    try:
        time.sleep(pause_s)
    finally:
        send(pid, signal.SIGCONT)
    return f"runner for {pause_s:.1f} s"


def _filled(disk: Path) -> str:
    with contextlib.suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
    return "disk of the run"


def _stepped(running: Running, seen: Seen, workdir: Workdir, chance: random.Random) -> tuple[str, float]:
    """The clock goes off within a trial, and is set back within the next one."""
    step_s, before = chance.choice(STEPS_S), seen.count()
    deadline = time.monotonic() + STEPPED_S
    set_clock(workdir.folder, step_s)
    try:
        while seen.count() == before and time.monotonic() < deadline and running.alive:
            time.sleep(POLL_S)
        time.sleep(chance.uniform(0, 1))
    finally:
        set_clock(workdir.folder, 0)
    return f"clock by {step_s:+g} s", abs(step_s)


def _process_of(parts: tuple[str, ...], running: Running, chance: random.Random) -> tuple[int, str]:
    """A process of one of the parts, as soon as there is one, with its part; "" when none comes."""
    deadline = time.monotonic() + THERE_WITHIN_S
    while time.monotonic() < deadline and running.alive:
        pids: defaultdict[str, list[int]] = defaultdict(list)
        for pid, words in running.parts().items():
            for part in parts:
                if PARTS[part].found(words):
                    pids[part].append(pid)
        if pids:
            part = chance.choice(sorted(pids))
            return chance.choice(pids[part]), part
        time.sleep(POLL_S)
    return 0, ""

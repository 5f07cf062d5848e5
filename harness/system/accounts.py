"""What processes have used: CPU by a control group or by the process tree, memory and threads.

A control group (v2) counts to the microsecond, and what ended as well; only the machine's root may make one. It is made
below our own, so that no limit changes, and moves nothing that another one limits. When we are killed, it stays behind
empty: a name in the kernel's memory, which the next one to make a group removes (and a reboot).

The process tree counts in the kernel's ticks (10 ms) per process, and loses what ends without having been waited for.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.system import syscalls
from harness.system.enclosure import WORKSPACE
from harness.system.files import alone_in
from harness.system.processtree import family

TICKS_PER_S = os.sysconf("SC_CLK_TCK")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
MOUNT = WORKSPACE / "cgroup"
PREFIX = "coldload-"
GONE = (FileNotFoundError, ProcessLookupError)
KIB = 1024


@dataclass(frozen=True)
class Usage:
    """Of some processes at a moment: user and system CPU, resident memory (what is shared counts in each), threads."""

    cpu_s: float
    rss_bytes: int
    threads: int


@dataclass(frozen=True)
class TreeAccount:
    """What the processes of the tree below `root` use. Of its CPU it knows what a `usage` tells."""

    root: int
    kind: str = "processes"
    counts_cpu_itself: bool = False

    def pids(self) -> list[int]:
        """Those that live."""
        return family(self.root)

    def cpu_seconds(self, usage: Usage | None) -> float | None:
        """Since some moment before; None when nothing of it is left. `usage` is that of the living processes."""
        return usage.cpu_s if usage else None


@dataclass(frozen=True)
class GroupAccount:
    """What the processes of a control group use, which counts their CPU itself."""

    folder: Path
    kind: str = "cgroup"
    counts_cpu_itself: bool = True

    def pids(self) -> list[int]:
        return [int(word) for word in (self.folder / "cgroup.procs").read_text().split()]

    def cpu_seconds(self, usage: Usage | None) -> float | None:  # noqa: ARG002  # it knows better
        lines = (self.folder / "cpu.stat").read_text().splitlines()
        counters = dict(line.split() for line in lines)
        return int(counters["usage_usec"]) / 1e6


Account = TreeAccount | GroupAccount


@contextlib.contextmanager
def account(root: int) -> Iterator[Account]:
    """An account of a process and its descendants for the length of the block; by a control group where that can be."""
    with contextlib.ExitStack() as undo:
        try:
            made: Account = undo.enter_context(_group(root))
        except OSError:  # no control groups, or not ours to make
            made = TreeAccount(root)
        yield made


def usage(pids: list[int]) -> Usage | None:
    """The sum over the processes that live; None when none does."""
    rows = [row for row in map(_used, pids) if row is not None]
    if not rows:
        return None
    cpu, rss, threads = (sum(values) for values in zip(*rows, strict=True))
    return Usage(cpu / TICKS_PER_S, int(rss) * PAGE_BYTES, int(threads))


def proportional_bytes(pids: list[int]) -> int | None:
    """Memory in which what is shared is divided by those who share it; None when nobody tells.

    It costs more than all else here: the kernel walks over every page.
    """
    sizes = []
    for pid in pids:
        with contextlib.suppress(*GONE, PermissionError):
            text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            sizes += [int(line.split()[1]) * KIB for line in text.splitlines() if line.startswith("Pss:")]
    return sum(sizes) if sizes else None


def _used(pid: int) -> tuple[int, int, int] | None:
    """Ticks (its own, and those of its children waited for), pages and threads of one process; None: it has gone."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except GONE:
        return None
    fields = text[text.rindex(")") + 2 :].split()  # from field 3 on (proc_pid_stat(5))
    return sum(map(int, fields[11:15])), int(fields[21]), int(fields[17])


@contextlib.contextmanager
def _group(root: int) -> Iterator[GroupAccount]:
    """A control group that holds a process and its descendants; they go back to ours afterwards."""
    ours = _our_group()
    with alone_in(ours):
        _remove_empty_groups(ours)
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=ours))
        try:
            _move(root, folder)
        except OSError:
            folder.rmdir()
            raise
    made = GroupAccount(folder)
    try:
        yield made
    finally:
        while left := made.pids():
            for pid in left:
                _put(pid, ours)
        with contextlib.suppress(OSError):  # the last one has just ended; the next run removes it
            folder.rmdir()


def _our_group() -> Path:
    """The folder of the group that we are in, below a mount of our own that the enclosure takes with it."""
    if not MOUNT.exists():
        MOUNT.mkdir()
        try:
            syscalls.mount("cgroup2", str(MOUNT), "cgroup2", syscalls.MS_NOSUID)
        except OSError:
            MOUNT.rmdir()
            raise
    (path,) = (
        line.partition("::")[2]
        for line in Path("/proc/self/cgroup").read_text().splitlines()
        if line.startswith("0::")
    )
    return MOUNT / path.lstrip("/")


def _remove_empty_groups(folder: Path) -> None:
    """What killed runs left. The kernel removes no group that holds a process."""
    for left in folder.glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            left.rmdir()


def _move(root: int, folder: Path) -> None:
    """Whoever is there already; what starts later starts in the group of who starts it."""
    moved: set[int] = set()
    while newcomers := set(family(root)) - moved:
        for pid in newcomers:
            _put(pid, folder)
        moved |= newcomers


def _put(pid: int, folder: Path) -> None:
    with contextlib.suppress(ProcessLookupError):  # it has ended
        (folder / "cgroup.procs").write_text(str(pid))

"""Which cores generator, server and emulator run on. With four or more none of them takes a core from another one.

| cores | emulator | server | generator |
| --- | --- | --- | --- |
| 1 | the one | the one | the one |
| 2 | as the generator | the first | the second |
| 3 | the third | the first | the second |
| 4 and more | the last | half of the others | the rest, the odd one too |

With two the emulator shares the core of the generator, so that the server has one to itself: it is what is measured.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from harness.lab.emulated import EmulatedLink
from harness.lab.link import RunningLink
from harness.system.processtree import family
from sites.servers.server import Server

OWN_FROM = 4  # cores


@dataclass(frozen=True)
class Cores:
    """The cores of each, by the kernel's numbers."""

    generator: tuple[int, ...]
    server: tuple[int, ...]
    emulator: tuple[int, ...]

    @property
    def shared(self) -> bool:
        """Whether any of them has to share a core."""
        return len({*self.generator, *self.server, *self.emulator}) < sum(
            map(len, (self.generator, self.server, self.emulator))
        )

    def to_json(self) -> dict[str, Any]:
        return {**{name: list(cores) for name, cores in asdict(self).items()}, "shared": self.shared}


def allotted(there: Sequence[int]) -> Cores:
    """The cores that there are, shared out by the rule above. Pure."""
    cores = sorted(there)
    if len(cores) == 1:
        return Cores(*(tuple(cores) for _ in range(3)))
    *others, last = cores
    if len(cores) < OWN_FROM:
        return Cores(generator=(cores[1],), server=(cores[0],), emulator=(last,))
    half = len(others) // 2
    return Cores(generator=tuple(others[half:]), server=tuple(others[:half]), emulator=(last,))


def allotted_here() -> Cores:
    """The same for the cores that this process may use."""
    return allotted(sorted(os.sched_getaffinity(0)))


@contextlib.contextmanager
def pinned(root: int, cores: Sequence[int]) -> Iterator[None]:
    """A process and its descendants on these cores for the length of the block; afterwards where they were.

    What they start meanwhile runs there, too, and keeps to the first one's cores of before afterwards.
    """
    try:
        before = os.sched_getaffinity(root)
    except ProcessLookupError:
        yield
        return
    _pin(root, cores)
    try:
        yield
    finally:
        _pin(root, before)


def _pin(root: int, cores: Sequence[int] | set[int]) -> None:
    """Every thread of them. A thread that starts meanwhile inherits what its maker has, so look until all have it."""
    wanted = set(cores)
    changed = True
    while changed:
        changed = False
        for thread in _threads(root):
            with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
                if os.sched_getaffinity(thread) != wanted:
                    os.sched_setaffinity(thread, wanted)
                    changed = True


def _threads(root: int) -> list[int]:
    found: list[int] = []
    for pid in family(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found += [int(each.name) for each in Path(f"/proc/{pid}/task").iterdir()]
    return found


@contextlib.contextmanager
def placed(server: Server, link: RunningLink, cores: Cores) -> Iterator[None]:
    """A server and the emulator of a link on their cores for the length of the block."""
    with contextlib.ExitStack() as undo:
        for pid in server.programs.values():
            undo.enter_context(pinned(pid, cores.server))
        if isinstance(link, EmulatedLink):
            undo.enter_context(pinned(link.pid, cores.emulator))
        yield


@contextlib.contextmanager
def starting_on(cores: Sequence[int]) -> Iterator[None]:
    """What this thread starts inside the block runs on these cores, and knows from its first moment how many it has."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

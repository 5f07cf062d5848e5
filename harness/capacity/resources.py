"""What of the machine goes to whom: cores to generator, server and emulator; and whether it carries a crowd of users.

With three cores or more none of the three takes a core from another one.

| cores | emulator | server | generator |
| --- | --- | --- | --- |
| 1 | the one | the one | the one |
| 2 | as the generator | the first | the second |
| 3 | the third | the first | the second |
| 4 and more | the last | half of the others | the rest, the odd one too |

With two the emulator shares the core of the generator, so that the server has one to itself: it is what is measured.

A core is a physical one: who has it has all of its CPUs (SMT siblings). Where there is a single core, its CPUs are
shared out by the same rule. A quota of CPU time leaves as many cores as can be busy all at once.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from harness.capacity.recipe import PageRecipe
from harness.errors import EnvironmentLacks, StudyError
from harness.lab.emulated import EmulatedLink
from harness.lab.link import RunningLink
from harness.lab.testbed import MAX_CLIENTS
from harness.model.kind import Users
from harness.model.protocol import Protocol
from harness.system.processtree import family
from harness.system.topology import Topology, read_topology
from sites.servers.server import Server

OWN_FROM = 4  # cores, from which server and generator have half of them each
APART_FROM = 3  # cores, from which none is shared
HTTP1_CONNECTIONS_PER_HOST = 6  # of Chromium, and of the browsers of 2012
# What a user takes of the generator's memory, by the scheme of the page: TLS has buffers of its own. Measured with a
# thousand of them (benchmarks/crowd.py).
USER_BYTES = {"http": 500_000, "https": 800_000}
SPARE_BYTES = 300_000_000  # for server, emulator and generator without a user
SPARE_DESCRIPTORS = 100
DESCRIPTORS_PER_CONNECTION = 2  # of a server: that, and the file of the answer that is under way on it
PORTS = (1024, 65535)  # that a client connects from, each address for itself
TIME_WAIT_S = 60.0  # for which a port stays taken after its connection (linux/include/net/tcp.h)


@dataclass(frozen=True)
class Cores:
    """The CPUs of each."""

    generator: tuple[int, ...]
    """CPUs of the generator, by the kernel's numbers"""
    server: tuple[int, ...]
    """CPUs of the server"""
    emulator: tuple[int, ...]
    """CPUs of the emulator"""
    shared: bool = False
    """whether any of them shares a core, or all a quota of CPU time"""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def allotted(topology: Topology) -> Cores:
    """The cores that may be used, shared out by the rule above. Pure."""
    cores = sorted(core.cpus for core in topology.usable)
    shared = len(cores) < APART_FROM or topology.is_held_back
    parts = cores if len(cores) > 1 else [(cpu,) for cpu in cores[0]]
    *others, last = parts
    if not others:
        return Cores(last, last, last, shared)
    if len(parts) < OWN_FROM:
        return Cores(generator=parts[1], server=parts[0], emulator=last, shared=shared)
    half = len(others) // 2
    return Cores(_cpus(others[half:]), _cpus(others[:half]), last, shared)


def allotted_here() -> Cores:
    """The same for the cores that this process may use."""
    return allotted(read_topology())


def _cpus(cores: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    return tuple(sorted(itertools.chain.from_iterable(cores)))


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
    threads: list[int] = []
    for pid in family(root):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            threads += [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
    return threads


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


def connections_per_host(protocol: Protocol) -> int:
    """The most connections that a user has open to a host and port at a time."""
    return HTTP1_CONNECTIONS_PER_HOST if protocol.wire == Protocol.HTTP1.wire else 1


def crowd_of(workload: Users, recipe: PageRecipe, protocol: Protocol, rtt_ms: float) -> CrowdSize:
    """What the limits of a machine are held against. No page takes less than two round trips."""
    at_once = min(connections_per_host(protocol) * len(recipe.origins), recipe.requests)
    return CrowdSize(
        users=workload.most,
        connections_at_once=at_once,
        connections_per_page=at_once if protocol.keep_alive else recipe.requests,
        pause_s=workload.think_s + 2 * rtt_ms / 1000,
        user_bytes=USER_BYTES[protocol.scheme],
    )


@dataclass(frozen=True)
class Machine:
    """What there is of each kind, for one process where the kernel counts by process."""

    addresses: int
    descriptors: int
    memory_bytes: int
    ports: int = PORTS[1] - PORTS[0] + 1

    @classmethod
    def this(cls, topology: Topology | None = None) -> Machine:
        """What is left of it for this process, within the memory of its cgroups."""
        # The soft limit is raised to the hard one: k6 and Node do so by themselves, servers are started so.
        _, descriptors = resource.getrlimit(resource.RLIMIT_NOFILE)
        memory = min(psutil.virtual_memory().available, (topology or read_topology()).memory_bytes)
        return cls(MAX_CLIENTS, descriptors, memory)


@dataclass(frozen=True)
class CrowdSize:
    """What the limits are held against. A user waits at least `pause_s` between one page and the next."""

    users: int
    connections_at_once: int  # of a user
    connections_per_page: int
    pause_s: float
    user_bytes: int  # of memory

    @property
    def ports_per_address(self) -> float:
        """Taken at a time by one user: its open connections, and those that are in TIME_WAIT."""
        pages = TIME_WAIT_S / self.pause_s if self.pause_s > 0 else float("inf")
        return self.connections_per_page * pages + self.connections_at_once


def refuse_too_many(crowd: CrowdSize, machine: Machine) -> None:
    """Raise an error of one line when there are more users than the machine carries."""
    if crowd.users > machine.addresses:
        raise StudyError(
            f"{crowd.users:,} users are asked for, and a user has an address of its own, of which there are "
            f"{machine.addresses:,}; ask for fewer users"
        )
    for complaint in _complaints(crowd, machine):
        raise EnvironmentLacks(complaint)


def _complaints(crowd: CrowdSize, machine: Machine) -> Iterator[str]:
    per_user = DESCRIPTORS_PER_CONNECTION * crowd.connections_at_once
    descriptors = crowd.users * per_user + SPARE_DESCRIPTORS
    if 0 <= machine.descriptors < descriptors:
        yield (
            f"{crowd.users:,} users need {descriptors:,} file descriptors of the server ({crowd.connections_at_once} "
            f"connections each, with a file), and a process may have {machine.descriptors:,}; raise it with "
            f"`ulimit -Hn {descriptors}`, or ask for at most "
            f"{max(0, machine.descriptors - SPARE_DESCRIPTORS) // per_user:,} users"
        )
    memory = crowd.users * crowd.user_bytes + SPARE_BYTES
    if machine.memory_bytes < memory:
        yield (
            f"{crowd.users:,} users need some {memory / 1e9:.1f} GB of memory, and {machine.memory_bytes / 1e9:.1f} GB "
            f"are free; ask for at most {max(0, machine.memory_bytes - SPARE_BYTES) // crowd.user_bytes:,} users"
        )
    if crowd.ports_per_address > machine.ports:
        least = TIME_WAIT_S * crowd.connections_per_page / (machine.ports - crowd.connections_at_once)
        yield (
            f"a user takes {crowd.connections_per_page} ports for a page, and gets them back after {TIME_WAIT_S:g} s; "
            f"{machine.ports:,} do not last when a page comes every {1000 * crowd.pause_s:g} ms; let users think for "
            f"at least {least:.2f} s"
        )

"""The users of a crowd: how many there are when, what they take of a machine, and whether it carries them."""

from __future__ import annotations

import random
import resource
from collections.abc import Iterator
from dataclasses import dataclass

import psutil

from harness.capacity.recipe import PageRecipe
from harness.errors import EnvironmentLacks, StudyError
from harness.lab.testbed import MAX_CLIENTS
from harness.model.kind import Users
from harness.model.protocol import Protocol

HTTP1_CONNECTIONS_PER_HOST = 6  # of Chromium, and of the browsers of 2012
# What a user takes of the generator's memory, by the scheme of the page: TLS has buffers of its own. Measured with a
# thousand of them (benchmarks/crowd.py).
USER_BYTES = {"http": 500_000, "https": 800_000}
SPARE_BYTES = 300_000_000  # for server, emulator and generator without a user
SPARE_DESCRIPTORS = 100
PORTS = (1024, 65535)  # that a client connects from, each address for itself
TIME_WAIT_S = 60.0  # for which a port stays taken after its connection (linux/include/net/tcp.h)


def users_at(workload: Users, t_s: float) -> int:
    """The users that are there `t_s` seconds after the start: along the ramp, or on its step."""
    if workload.steps:
        step = int(t_s / (workload.step_s or 1.0))
        return workload.steps[min(max(step, 0), len(workload.steps) - 1)]
    start, to = workload.start or 1, workload.to or 1
    share = min(max(t_s / (workload.over_s or 1.0), 0.0), 1.0)
    return start + int((to - start) * share)


def first_pauses_ms(workload: Users, seed: int) -> list[float]:
    """How long users wait before their first page, by number.

    Those of a step, or at the start of a ramp, would all come at once. They are spread over a think time.
    """
    together = workload.most if workload.steps else workload.start or 1
    if together == 1:
        return []
    longest_ms = 1000 * min(workload.think_s, workload.step_s or workload.over_s or 0.0)
    source = random.Random(seed)  # noqa: S311  # a crowd that can be made again, not a secret
    return [round(source.uniform(0, longest_ms), 3) for _ in range(together)]


def connections_per_host(protocol: Protocol) -> int:
    """The most connections that a user has open to a host at a time."""
    return HTTP1_CONNECTIONS_PER_HOST if protocol.wire == Protocol.HTTP1.wire else 1


def crowd_of(workload: Users, recipe: PageRecipe, protocol: Protocol, rtt_ms: float) -> CrowdSize:
    """What the limits of a machine are held against. No page takes less than two round trips."""
    at_once = min(connections_per_host(protocol) * len(recipe.hosts), recipe.requests)
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
    def this(cls) -> Machine:
        _, descriptors = resource.getrlimit(
            resource.RLIMIT_NOFILE
        )  # the generator raises its own to the hard one
        return cls(MAX_CLIENTS, descriptors, psutil.virtual_memory().available)


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
    descriptors = crowd.users * crowd.connections_at_once + SPARE_DESCRIPTORS
    if 0 <= machine.descriptors < descriptors:
        yield (
            f"{crowd.users:,} users need {descriptors:,} file descriptors ({crowd.connections_at_once} connections "
            f"each), and a process may have {machine.descriptors:,}; raise it with `ulimit -Hn {descriptors}`, or ask "
            f"for at most {max(0, machine.descriptors - SPARE_DESCRIPTORS) // crowd.connections_at_once:,} users"
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

"""Lanes: the cores of one machine divided among enclosures that measure side by side. Pure.

A lane has whole cores, so that no two lanes share what SMT siblings share, and all of its cores on one NUMA node, so
that its memory is near. All lanes have as many cores. What is left over has the coordinator and the rest of the system.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import UsageError
from harness.system.topology import Core, Topology

# A browser on one core has to wait for itself: its load takes half as long again (docs/lanes.md).
LEAST_CORES = 2
LEAST_MEMORY = 2 * 2**30  # browser, servers and the private tmpfs of an enclosure


@dataclass(frozen=True)
class Lane:
    """One of the enclosures that measure side by side. `number` counts from 1; `memory_bytes` is its share."""

    number: int
    cores: tuple[Core, ...]
    memory_bytes: int

    @property
    def cpus(self) -> tuple[int, ...]:
        """Those that its processes may use, by the kernel's numbers."""
        return tuple(sorted(cpu for core in self.cores for cpu in core.cpus))

    @property
    def memory_gib(self) -> float:
        """Its share of the memory, as it is told."""
        return round(self.memory_bytes / 2**30, 1)

    def to_json(self) -> dict[str, Any]:
        """The lane as environment.json tells of it."""
        return {"lane": self.number, "cpus": list(self.cpus), "memory_gib": self.memory_gib}


def most_lanes(topology: Topology) -> int:
    """How many lanes of LEAST_CORES and LEAST_MEMORY there is room for; at least one."""
    by_cores = sum(len(node) // LEAST_CORES for node in topology.nodes)
    return max(1, min(by_cores, topology.memory_bytes // LEAST_MEMORY))


def worth_measuring(topology: Topology) -> tuple[int, ...]:
    """The numbers of lanes that differ in the size of a lane, from the most there is room for down to two."""
    largest = max(map(len, topology.nodes))
    numbers = {_room(topology.nodes, size) for size in range(LEAST_CORES, largest + 1)}
    most = most_lanes(topology)
    return tuple(sorted({min(number, most) for number in numbers} - {0, 1}, reverse=True))


def divided(topology: Topology, count: int) -> tuple[Lane, ...]:
    """So many lanes, as large as they can be, spread over the NUMA nodes. UsageError when there are not enough cores.

    A single lane has all cores that can be busy at once, also of several nodes.
    """
    there = len(topology.usable)
    if not 1 <= count <= there:
        raise UsageError(
            f"--lanes is {count}; this process may use {topology}: at most {there} lane{'s' * (there != 1)} of one core"
        )
    memory = topology.memory_bytes // count
    if count == 1:
        return (Lane(1, topology.usable, memory),)
    size = next(size for size in range(there, 0, -1) if _room(topology.nodes, size) >= count)
    free = [list(node) for node in topology.nodes]
    lanes = []
    for number in range(1, count + 1):
        node = max(free, key=len)  # the first of those with the most cores left
        lanes.append(Lane(number, tuple(node[:size]), memory))
        del node[:size]
    return tuple(lanes)


def _room(nodes: Sequence[Sequence[Core]], size: int) -> int:
    """How many lanes of so many cores fit."""
    return sum(len(node) // size for node in nodes)


def warnings(lanes: Sequence[Lane]) -> tuple[str, ...]:
    """What somebody who forces a number of lanes should know."""
    found = []
    cores, memory = len(lanes[0].cores), lanes[0].memory_bytes
    if cores < LEAST_CORES:
        found.append(
            f"a lane has {cores} core{'s' * (cores != 1)}; lanes of fewer than {LEAST_CORES} cores were not measured, "
            "and loads in them take longer"
        )
    if memory < LEAST_MEMORY:
        found.append(
            f"a lane has {memory / 2**30:.1f} GiB of memory; lanes with less than {LEAST_MEMORY / 2**30:g} GiB "
            "were not measured"
        )
    return tuple(found)

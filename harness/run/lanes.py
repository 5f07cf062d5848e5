"""Lanes: the cores of one machine divided among enclosures that measure side by side, and how many a machine carries.

A lane has whole cores, so that no two lanes share what SMT siblings share, and all of its cores on one NUMA node, so
that its memory is near. All lanes have as many cores. What is left over has the coordinator and the rest of the system.

How many machines carry, as `coldload doctor --lanes` measured it, stands in the user's cache folder:

    {"machine": {...}, "versions": {...}, "measured": {"8": {"verdict": ..., "taken_utc": ..., "findings": [...]}}}

A file per machine and limits; a home folder may be shared by many. What other versions found is out of date.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.errors import ColdloadError, RecordsError, UsageError
from harness.input import jsontext, keys
from harness.input.shown import count_of, one_line
from harness.system.files import alone_in, write_whole
from harness.system.folders import cache_folder
from harness.system.topology import Core, Topology

# A browser on one core has to wait for itself: its load takes half as long again (docs/lanes.md).
LEAST_CORES = 2
LEAST_MEMORY = 2 * 2**30  # browser, servers and the private tmpfs of an enclosure
KNOWN_SCHEMA = 1
MOST = 10_000
MACHINE_ID = Path("/etc/machine-id")


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


def machine_digest() -> str | None:
    """Of the machine-id, whose own text is a secret of the machine (machine-id(5)); None where there is none."""
    number = MACHINE_ID.read_text().strip() if MACHINE_ID.exists() else ""
    return hashlib.sha256(f"coldload {number}".encode()).hexdigest()[:16] if number else None


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
            f"--lanes is {count}; this process may use {topology}: at most {count_of(there, 'lane')} of one core"
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
    sentences = []
    cores, memory = len(lanes[0].cores), lanes[0].memory_bytes
    if cores < LEAST_CORES:
        sentences.append(
            f"a lane has {count_of(cores, 'core')}; lanes of fewer than {LEAST_CORES} cores were not measured, "
            "and loads in them take longer"
        )
    if memory < LEAST_MEMORY:
        sentences.append(
            f"a lane has {memory / 2**30:.1f} GiB of memory; lanes with less than {LEAST_MEMORY / 2**30:g} GiB "
            "were not measured"
        )
    return tuple(sentences)


class LaneVerdict(StrEnum):
    """Whether a machine carries a number of lanes."""

    CARRIED = "carried"
    NOT_CARRIED = "not carried"
    UNKNOWN = "not known yet"


@dataclass(frozen=True)
class LaneMachine:
    """A machine as a measurement of lanes holds for it: what may be used of it, and the versions that were run."""

    topology: Topology
    processor: str | None
    versions: Mapping[str, str]

    def to_json(self) -> dict[str, Any]:
        """What tells machines apart, and the same one with other limits. Kernels differ a little in their memory."""
        return {
            "machine": machine_digest(),
            "processor": self.processor,
            "cores": [asdict(core) for core in self.topology.cores],
            "quota": self.topology.quota,
            "memory_gib": round(self.topology.memory_bytes / 2**30),
        }

    @property
    def path(self) -> Path:
        """Where its measurements are kept."""
        text = json.dumps(self.to_json(), sort_keys=True)
        return cache_folder() / "lanes" / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


@dataclass(frozen=True)
class KnownLanes:
    """What was measured of a machine: verdicts by the number of lanes, and when. `outdated` says by which versions it
    was, where by others than these: then nothing is known.
    """

    verdicts: Mapping[int, LaneVerdict]
    taken_utc: Mapping[int, str]
    outdated: str | None = None

    def carries(self, possible: Collection[int]) -> int | None:
        """The most of those numbers that are carried, one when none of them is; None when that is not known."""
        verdicts = {number: self.verdicts.get(number) for number in possible}
        carried = [number for number, verdict in verdicts.items() if verdict is LaneVerdict.CARRIED]
        if carried:
            return max(carried)
        return 1 if all(verdict is LaneVerdict.NOT_CARRIED for verdict in verdicts.values()) else None


def known_lanes(machine: LaneMachine) -> KnownLanes:
    """What is known of a machine. RecordsError for a file that is damaged."""
    if not machine.path.exists():
        return KnownLanes({}, {})
    try:
        stored = jsontext.read(machine.path)
        versions = {name: keys.text(stored["versions"], name) for name, _ in stored["versions"].items()}
        measurements = {_number(number): each for number, each in stored["measured"].items()}
        if versions != machine.versions:
            return KnownLanes({}, {}, ", ".join(f"{name} {version}" for name, version in versions.items()))
        return KnownLanes(
            {number: LaneVerdict(each["verdict"]) for number, each in measurements.items()},
            {number: keys.text(each, "taken_utc") for number, each in measurements.items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError, ColdloadError) as error:
        raise RecordsError(
            f"{machine.path} is damaged ({one_line(str(error))}); remove it and measure again with "
            "`coldload doctor --lanes`"
        ) from error


def keep_lanes(
    machine: LaneMachine,
    number: int,
    verdict: LaneVerdict,
    taken_utc: str,
    findings: Sequence[Mapping[str, Any]],
) -> None:
    """Store what was measured of a number of lanes, beside what is known of others by the same versions."""
    path = machine.path
    path.parent.mkdir(parents=True, exist_ok=True)
    measured = {"verdict": verdict.value, "taken_utc": taken_utc, "findings": list(findings)}
    with alone_in(path.parent):
        data = {
            "schema": KNOWN_SCHEMA,
            "machine": machine.to_json(),
            "versions": dict(machine.versions),
            "measured": {**(_stored(path) if known_lanes(machine).verdicts else {}), str(number): measured},
        }
        write_whole(path, json.dumps(data, indent=1) + "\n")


def _stored(path: Path) -> dict[str, Any]:
    return dict(jsontext.read(path)["measured"])


def _number(text: str) -> int:
    return int(keys.checked_number("measured", int(text), 1, MOST, whole=True))

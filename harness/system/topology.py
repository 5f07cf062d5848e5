"""The processors and the memory that this process may use: cores with their CPUs, NUMA nodes, limits of cgroups.

A CPU is what the kernel numbers and schedules on. A core is a piece of hardware: with SMT its two CPUs share it.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.input.shown import count_of

ROOT = Path("/")
CPUS, NODES, CGROUPS = "sys/devices/system/cpu", "sys/devices/system/node", "sys/fs/cgroup"
KIB = 1024

CgroupLimit = Callable[[Path], float | None]  # that of a cgroup, by its folder


@dataclass(frozen=True, order=True)
class Core:
    """A physical core: the NUMA node it belongs to, and its CPUs (SMT siblings)."""

    node: int
    cpus: tuple[int, ...]


@dataclass(frozen=True)
class Topology:
    """What this process may use. `quota` is CPU seconds per second by its cgroups; None without such a limit."""

    cores: tuple[Core, ...]
    memory_bytes: int
    quota: float | None = None

    @property
    def usable(self) -> tuple[Core, ...]:
        """The cores that can be busy all at once: as many whole ones as the quota allows, at least one.

        A process over its quota is stopped for tens of milliseconds, whatever cores are idle.
        """
        if self.quota is None:
            return self.cores
        cores: list[Core] = []
        for core in self.cores:
            if sum(len(candidate.cpus) for candidate in (*cores, core)) > self.quota:
                break
            cores.append(core)
        return tuple(cores) or self.cores[:1]

    @property
    def is_held_back(self) -> bool:
        """Whether the quota is less than all CPUs can do, so that who uses more stops all others, too."""
        return self.quota is not None and self.quota < sum(len(core.cpus) for core in self.cores)

    @property
    def nodes(self) -> tuple[tuple[Core, ...], ...]:
        """The usable cores of each NUMA node."""
        found: defaultdict[int, list[Core]] = defaultdict(list)
        for core in self.usable:
            found[core.node].append(core)
        return tuple(tuple(found[node]) for node in sorted(found))

    def __str__(self) -> str:
        """`16 cores (32 CPUs) on 2 NUMA nodes, a quota of 8 CPUs, 64.0 GiB`."""
        cpus = sum(len(core.cpus) for core in self.cores)
        said = [count_of(len(self.cores), "core") + ("" if cpus == len(self.cores) else f" ({cpus} CPUs)")]
        nodes = {core.node for core in self.cores}
        if len(nodes) > 1:
            said[0] += f" on {len(nodes)} NUMA nodes"
        if self.quota is not None:
            said.append(f"a quota of {self.quota:g} CPUs")
        return ", ".join([*said, f"{self.memory_bytes / KIB**3:.1f} GiB"])


def read_topology(root: Path = ROOT, allowed: Collection[int] | None = None) -> Topology:
    """That of this process. `allowed` are the CPUs it may use, by default as the kernel says.

    A kernel that does not tell siblings or nodes is taken to have none.
    """
    cpus = sorted(os.sched_getaffinity(0) if allowed is None else allowed)
    node_of = dict(_nodes(root / NODES))
    siblings = {tuple(sorted({cpu, *_siblings(root / CPUS, cpu)} & set(cpus))) for cpu in cpus}
    cores = sorted(Core(node_of.get(core[0], 0), core) for core in siblings)
    memory = min([_memory_bytes(root), *map(int, _limits(root, "memory", _memory_limit))])
    return Topology(tuple(cores), memory, min(_limits(root, "cpu", _cpu_limit), default=None))


def online_cpus(root: Path = ROOT) -> tuple[int, ...]:
    """The CPUs that are switched on, by the kernel's numbers; () where it does not tell."""
    return cpu_list(_text(root / CPUS / "online"))


def cpu_list(text: str) -> tuple[int, ...]:
    """The CPUs of a list as the kernel writes it: `0-3,8`."""
    cpus: list[int] = []
    for part in text.strip().split(","):
        if part:
            first, _, last = part.partition("-")
            cpus += range(int(first), int(last or first) + 1)
    return tuple(cpus)


def _siblings(cpus: Path, cpu: int) -> tuple[int, ...]:
    """Older kernels know the file by its second name alone."""
    folder = cpus / f"cpu{cpu}" / "topology"
    return cpu_list(_text(folder / "core_cpus_list") or _text(folder / "thread_siblings_list"))


def _nodes(nodes: Path) -> Iterator[tuple[int, int]]:
    """Each CPU with its NUMA node."""
    for folder in nodes.glob("node[0-9]*"):
        for cpu in cpu_list(_text(folder / "cpulist")):
            yield cpu, int(folder.name.removeprefix("node"))


def _memory_bytes(root: Path) -> int:
    for line in _text(root / "proc/meminfo").splitlines():
        name, _, value = line.partition(":")
        if name == "MemTotal":
            return int(value.split()[0]) * KIB
    raise AssertionError("the kernel tells no MemTotal")


def _limits(root: Path, controller: str, read: CgroupLimit) -> list[float]:
    """The limits of this process's cgroup and of those it lies in, of both versions of cgroups.

    A container may see the path of its cgroup on the machine, and that cgroup as the root of what is mounted.
    """
    limits: list[float] = []
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        # Version 2 has no controllers here; beside version 1 it is mounted one folder lower.
        mounts = [controllers, controller] if controllers else ["", "unified"]
        for mount in dict.fromkeys(mounts):
            top = root / CGROUPS / mount
            own = top / path.lstrip("/")
            for folder in (own, *own.parents):
                if folder.is_relative_to(top):
                    limit = read(folder)
                    limits += [] if limit is None else [limit]
    return limits


def _cpu_limit(folder: Path) -> float | None:
    words = _text(folder / "cpu.max").split()
    if not words:
        words = [_text(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
    quota, period = words if all(words) else ("max", "")
    return None if quota in ("max", "-1") else int(quota) / int(period)


def _memory_limit(folder: Path) -> float | None:
    """Version 1 writes a number beyond all memory where there is no limit."""
    text = (_text(folder / "memory.max") or _text(folder / "memory.limit_in_bytes")).strip()
    return None if text in ("", "max") else float(text)


def _text(path: Path) -> str:
    """What a file holds; "" where there is none."""
    try:
        return path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return ""

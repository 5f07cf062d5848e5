"""What the kernel tells of cores, nodes and limits, in the files of machines of several kinds."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import pytest

from harness.system.topology import Core, Topology, cpu_list, online_cpus, read_topology
from tests.facts import tells

GIB = 2**30


def told(
    root: Path,
    siblings: Sequence[str],
    nodes: Sequence[str] | Mapping[int, str] = (),
    files: Mapping[str, str] | None = None,
    *,
    allowed: Collection[int] | None = None,
) -> Topology:
    """That of a machine whose CPUs have these lists of siblings, and whose nodes these lists of CPUs; of 64 GiB."""
    numbered = nodes if isinstance(nodes, Mapping) else dict(enumerate(nodes))
    texts = {
        "proc/meminfo": f"MemTotal:       {64 * 2**20} kB\nMemFree:        1024 kB\n",
        "proc/self/cgroup": "0::/\n",
        **{f"sys/devices/system/node/node{number}/cpulist": f"{text}\n" for number, text in numbered.items()},
        **(files or {}),
    }
    cpus = [cpu for text in siblings for cpu in cpu_list(text)]
    for text in siblings:
        for cpu in cpu_list(text):
            texts[f"sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list"] = f"{text}\n"
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return read_topology(root, cpus if allowed is None else allowed)


def two_sockets(root: Path, files: Mapping[str, str] | None = None) -> Topology:
    """32 CPUs on 16 cores of two nodes, numbered as usual: first one of each core, then their siblings."""
    siblings = [f"{core},{core + 16}" for core in range(16)]
    return told(root, siblings, ("0-7,16-23", "8-15,24-31"), files)


def test_two_cores_without_smt(tmp_path: Path) -> None:
    found = told(tmp_path, ("0", "1"), ("0-1",))
    assert found == Topology((Core(0, (0,)), Core(0, (1,))), 64 * GIB)
    assert str(found) == "2 cores, 64.0 GiB"


def test_siblings_are_one_core(tmp_path: Path) -> None:
    found = told(tmp_path, ("0-1", "2-3", "4-5", "6-7"), ("0-7",))
    assert [core.cpus for core in found.cores] == [(0, 1), (2, 3), (4, 5), (6, 7)]
    assert str(found) == "4 cores (8 CPUs), 64.0 GiB"


def test_cores_know_their_node(tmp_path: Path) -> None:
    found = two_sockets(tmp_path)
    assert [len(node) for node in found.nodes] == [8, 8]
    assert found.nodes[1][0] == Core(1, (8, 24))
    assert tells([str(found)], "16 cores (32 CPUs)", "2 NUMA nodes", "64.0 GiB")
    assert "quota" not in str(found)


def test_what_the_process_may_not_use_is_not_there(tmp_path: Path) -> None:
    found = told(tmp_path, ("0-1", "2-3"), ("0-3",), allowed=(1, 2, 3))
    assert found.cores == (Core(0, (1,)), Core(0, (2, 3)))


def test_a_kernel_that_tells_nothing_has_a_core_per_cpu(tmp_path: Path) -> None:
    found = told(tmp_path, (), allowed=(0, 1, 2))
    assert found.cores == tuple(Core(0, (cpu,)) for cpu in range(3))


def test_a_container_has_its_quota_and_its_memory(tmp_path: Path) -> None:
    limits = {
        "sys/fs/cgroup/cpu.max": "650000 100000\n",
        "sys/fs/cgroup/memory.max": f"{8 * GIB}\n",
    }
    found = two_sockets(tmp_path, limits)
    assert found.quota == 6.5
    assert found.usable == tuple(Core(0, (core, core + 16)) for core in range(3))
    assert tells([str(found)], "16 cores (32 CPUs)", "2 NUMA nodes", "quota of 6.5 CPUs", "8.0 GiB")


def test_a_quota_below_a_core_leaves_one(tmp_path: Path) -> None:
    found = told(tmp_path, ("0-1", "2-3"), ("0-3",), {"sys/fs/cgroup/cpu.max": "50000 100000\n"})
    assert found.usable == (Core(0, (0, 1)),)


@pytest.mark.parametrize(
    ("group", "limits"),
    [
        ("0::/a/b\n", {"a/cpu.max": "400000 100000\n", "a/b/cpu.max": "max 100000\n"}),
        ("0::/a/b\n", {"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "800000 100000\n"}),
        (
            "4:cpu,cpuacct:/a\n0::/\n",
            {"cpu,cpuacct/a/cpu.cfs_quota_us": "400000\n", "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"},
        ),
        (  # Docker with version 1: the path is that on the machine, the folder is mounted as the root
            "4:cpu:/docker/0123\n",
            {"cpu/cpu.cfs_quota_us": "400000\n", "cpu/cpu.cfs_period_us": "100000\n"},
        ),
    ],
    ids=["a parent's", "its own", "version 1", "version 1 in a container"],
)
def test_limits_are_those_of_the_group_and_its_parents(
    tmp_path: Path, group: str, limits: Mapping[str, str]
) -> None:
    files = {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}
    assert two_sockets(tmp_path, {"proc/self/cgroup": group, **files}).quota == 4


def test_no_limit_is_none(tmp_path: Path) -> None:
    files = {
        "proc/self/cgroup": "5:memory:/\n4:cpu:/\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    }
    found = two_sockets(tmp_path, files)
    assert found.quota is None
    assert found.memory_bytes == 64 * GIB
    assert len(found.usable) == 16


def test_this_machine() -> None:
    found = read_topology()
    assert {cpu for core in found.cores for cpu in core.cpus} == os.sched_getaffinity(0)
    assert 0 < found.memory_bytes <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("text", "cpus"), [("0\n", (0,)), ("0-2,8,10-11\n", (0, 1, 2, 8, 10, 11)), ("\n", ())]
)
def test_lists_of_cpus(text: str, cpus: tuple[int, ...]) -> None:
    assert cpu_list(text) == cpus


def test_the_cpus_that_are_on(tmp_path: Path) -> None:
    assert online_cpus(tmp_path) == ()
    file = tmp_path / "sys/devices/system/cpu/online"
    file.parent.mkdir(parents=True)
    file.write_text("0,2-4\n")
    assert online_cpus(tmp_path) == (0, 2, 3, 4)
    assert os.sched_getaffinity(0) <= set(online_cpus())

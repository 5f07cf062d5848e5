"""Which cores each gets, and that real processes then have them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.capacity.resources import Cores, Machine, allotted, pinned, starting_on
from harness.system.process import running
from harness.system.program import Command
from harness.system.topology import Core, Topology

GIB = 2**30
FAR = [(cpu, cpu + 4) for cpu in range(4)]  # as siblings are numbered on most machines
NEAR = [(0, 1), (2, 3), (4, 5), (6, 7)]  # and in most virtual ones


def machine(cores: Iterable[tuple[int, ...]], quota: float | None = None) -> Topology:
    return Topology(tuple(Core(0, cpus) for cpus in cores), 64 * GIB, quota)


def without_smt(count: int, quota: float | None = None) -> Topology:
    return machine([(cpu,) for cpu in range(count)], quota)


@pytest.mark.parametrize(
    ("count", "generator", "server", "emulator"),
    [
        (1, (0,), (0,), (0,)),
        (2, (1,), (0,), (1,)),
        (3, (1,), (0,), (2,)),
        (4, (1, 2), (0,), (3,)),
        (8, (3, 4, 5, 6), (0, 1, 2), (7,)),
    ],
)
def test_the_rule(
    count: int, generator: tuple[int, ...], server: tuple[int, ...], emulator: tuple[int, ...]
) -> None:
    made = allotted(without_smt(count))
    assert made == Cores(generator, server, emulator, shared=count < 3)
    assert made == allotted(without_smt(count, quota=count)), "a quota of all of them takes nothing away"


@pytest.mark.parametrize("count", range(4, 70))
def test_with_four_or_more_every_core_has_one_user(count: int) -> None:
    made = allotted(without_smt(count))
    assert sorted((*made.generator, *made.server, *made.emulator)) == list(range(count))
    assert 0 <= len(made.generator) - len(made.server) <= 1


def test_cpus_go_by_their_numbers_whatever_the_nodes() -> None:
    nodes = Topology(tuple(Core(node, (cpu,)) for node in (0, 1) for cpu in range(node, 8, 2)), 64 * GIB)
    assert allotted(nodes) == allotted(without_smt(8))


@pytest.mark.parametrize(
    ("cores", "generator", "server", "emulator"),
    [
        (FAR[:2], (1, 5), (0, 4), (1, 5)),
        (NEAR[:3], (2, 3), (0, 1), (4, 5)),
        (NEAR, (2, 3, 4, 5), (0, 1), (6, 7)),
        (FAR, (1, 2, 5, 6), (0, 4), (3, 7)),
        ([(1,), *NEAR[1:]], (2, 3, 4, 5), (1,), (6, 7)),  # the other CPU of the first is not for us
    ],
)
def test_a_core_is_shared_out_with_all_of_its_cpus(
    cores: Sequence[tuple[int, ...]],
    generator: tuple[int, ...],
    server: tuple[int, ...],
    emulator: tuple[int, ...],
) -> None:
    assert allotted(machine(cores)) == Cores(generator, server, emulator, shared=len(cores) < 3)


@pytest.mark.parametrize("cores", [NEAR, FAR, [(cpu, cpu + 24) for cpu in range(24)]])
def test_no_core_has_two_users(cores: Sequence[tuple[int, ...]]) -> None:
    made = allotted(machine(cores))
    assert not made.shared
    for core in cores:
        assert sum(not {*part}.isdisjoint(core) for part in (made.generator, made.server, made.emulator)) == 1


def test_cpus_of_a_single_core_are_told_to_be_shared() -> None:
    assert allotted(machine([(0, 1)])) == Cores((1,), (0,), (1,), shared=True)
    assert allotted(machine([(0, 1, 2, 3)])) == Cores((1, 2), (0,), (3,), shared=True)


@pytest.mark.parametrize(
    ("topology", "generator", "server", "emulator"),
    [
        (without_smt(8, quota=4), (1, 2), (0,), (3,)),
        (without_smt(8, quota=3.5), (1,), (0,), (2,)),
        (without_smt(8, quota=1), (0,), (0,), (0,)),
        (without_smt(8, quota=0.5), (0,), (0,), (0,)),
        (machine(NEAR, quota=6), (2, 3), (0, 1), (4, 5)),
    ],
)
def test_a_quota_is_shared_whatever_the_cores(
    topology: Topology, generator: tuple[int, ...], server: tuple[int, ...], emulator: tuple[int, ...]
) -> None:
    made = allotted(topology)
    assert made == Cores(generator, server, emulator, shared=True)
    assert made.to_json()["shared"] is True


def test_no_more_memory_than_cgroups_allow() -> None:
    assert Machine.this(replace(without_smt(2), memory_bytes=5)).memory_bytes == 5
    assert 5 < Machine.this(replace(without_smt(2), memory_bytes=2**60)).memory_bytes < 2**60


def test_threads_and_children_are_pinned_and_put_back(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    core = min(before)
    command = Command.of("sh", "-c", "sleep 60 & echo $!; wait")
    with running(command, tmp_path / "log") as process:
        process.wait_until(lambda: (tmp_path / "log").read_text().endswith("\n"))
        child = int((tmp_path / "log").read_text())
        with pinned(process.pid, [core]):
            assert os.sched_getaffinity(process.pid) == {core}
            assert os.sched_getaffinity(child) == {core}
        assert os.sched_getaffinity(process.pid) == before
        assert os.sched_getaffinity(child) == before


def test_threads_of_one_process_are_all_pinned() -> None:
    over = threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    before = os.sched_getaffinity(0)
    try:
        with pinned(os.getpid(), [min(before)]):
            assert os.sched_getaffinity(thread.native_id or 0) == {min(before)}
        assert os.sched_getaffinity(thread.native_id or 0) == before
    finally:
        over.set()
        thread.join()


def test_a_process_that_is_gone_is_no_error(tmp_path: Path) -> None:
    with running(Command.of("true"), tmp_path / "log") as process:
        process.ends_within(60)
    with pinned(process.pid, [0]):
        pass


def test_what_is_started_there_knows_its_cores(tmp_path: Path) -> None:
    before = os.sched_getaffinity(0)
    with starting_on([max(before)]), running(Command.of("nproc"), tmp_path / "log") as process:
        process.ends_within(60)
    assert (tmp_path / "log").read_text() == "1\n"
    assert os.sched_getaffinity(0) == before

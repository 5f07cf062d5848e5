"""The cores of a machine divided into lanes."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RecordsError, UsageError
from harness.run.lanes import (
    Lane,
    LaneMachine,
    LaneVerdict,
    divided,
    keep_lanes,
    known_lanes,
    most_lanes,
    warnings,
)
from harness.system.topology import Core, Topology, cpu_list
from tests.facts import tells
from tests.unit.atonce import codes_of_both
from tests.unit.harness.system.test_topology import told

GIB = 2**30
TWO = Topology((Core(0, (0,)), Core(0, (1,))), 8 * GIB)
EIGHT_SMT = Topology(tuple(Core(0, (2 * core, 2 * core + 1)) for core in range(4)), 16 * GIB)
TWO_NODES = Topology(tuple(Core(core // 8, (core, core + 16)) for core in range(16)), 64 * GIB)
QUOTA = Topology(TWO_NODES.cores, 64 * GIB, quota=8.5)
MACHINES = (TWO, EIGHT_SMT, TWO_NODES, QUOTA)


# As their kernels told them: siblings, and the CPUs of the nodes. From the test data of hwloc (tests/hwloc/linux).
RECORDED: Mapping[str, tuple[Sequence[str], Mapping[int, str]]] = {
    "Xeon, two sockets, siblings numbered last": (
        [f"{core},{core + 16}" for core in range(16)],
        {0: "0-7,16-23", 1: "8-15,24-31"},
    ),
    "Xeon, four nodes numbered in turn": (
        [str(core) for core in range(40)],
        {node: ",".join(str(cpu) for cpu in range(node, 40, 4)) for node in range(4)},
    ),
    "laptop with cores of two kinds": (
        [*(f"{2 * core}-{2 * core + 1}" for core in range(6)), *(str(cpu) for cpu in range(12, 20))],
        {0: "0-19"},
    ),
    "Opteron, nodes numbered with gaps": (
        [str(core) for core in range(48)],
        {node: f"{6 * place}-{6 * place + 5}" for place, node in enumerate((0, 1, 2, 33, 34, 45, 72, 73))},
    ),
    "POWER, four siblings a core": (
        [f"{4 * core}-{4 * core + 3}" for core in range(64)],
        {node: f"{32 * place}-{32 * place + 31}" for place, node in enumerate((0, 1, 4, 5, 8, 9, 12, 13))},
    ),
}


def recorded(root: Path, name: str) -> Topology:
    siblings, nodes = RECORDED[name]
    return told(root, siblings, nodes)


def nodes_of(lane: Lane) -> set[int]:
    return {core.node for core in lane.cores}


@pytest.mark.parametrize(("machine", "most"), [(TWO, 1), (EIGHT_SMT, 2), (TWO_NODES, 8), (QUOTA, 2)])
def test_how_many_there_is_room_for(machine: Topology, most: int) -> None:
    assert most_lanes(machine) == most


def test_memory_is_a_limit_too() -> None:
    assert most_lanes(Topology(TWO_NODES.cores, 5 * GIB)) == 2
    assert most_lanes(Topology(TWO_NODES.cores, GIB)) == 1


def test_siblings_stay_together_and_lanes_apart() -> None:
    lanes = divided(EIGHT_SMT, 2)
    assert [lane.cpus for lane in lanes] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    assert [lane.number for lane in lanes] == [1, 2]
    assert {lane.memory_bytes for lane in lanes} == {8 * GIB}


def test_lanes_lie_on_one_node_and_are_spread_over_both() -> None:
    first, second = divided(TWO_NODES, 2)
    assert (nodes_of(first), nodes_of(second)) == ({0}, {1})
    assert first.cpus == (*range(8), *range(16, 24))


def test_lanes_of_a_container_keep_to_its_quota() -> None:
    lanes = divided(QUOTA, 2)
    assert [lane.cpus for lane in lanes] == [(0, 1, 16, 17), (2, 3, 18, 19)]


def test_one_lane_has_all() -> None:
    (lane,) = divided(TWO_NODES, 1)
    assert lane.cores == TWO_NODES.cores


def test_a_core_each_on_two_cores() -> None:
    lanes = divided(TWO, 2)
    assert [lane.cpus for lane in lanes] == [(0,), (1,)]
    (warning,) = warnings(lanes)
    assert tells([warning], "1 core", "fewer than 2 cores", "not measured", "loads in them take longer")


def test_little_memory_is_warned_of() -> None:
    (warning,) = warnings(divided(Topology(TWO_NODES.cores, 6 * GIB), 4))
    assert tells([warning], "1.5 GiB of memory", "less than 2 GiB", "not measured")


@pytest.mark.parametrize("count", [0, 3])
def test_more_lanes_than_cores_are_refused(count: int) -> None:
    with pytest.raises(UsageError, match=r"2 cores, 8\.0 GiB.* at most 2 lanes of one core"):
        divided(TWO, count)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_division_gives_each_lane_as_many_cores_of_its_own(machine: Topology) -> None:
    for count in range(2, len(machine.usable) + 1):
        lanes = divided(machine, count)
        assert len(lanes) == count
        assert len({len(lane.cores) for lane in lanes}) == 1
        assert all(len(nodes_of(lane)) == 1 for lane in lanes)
        assert not any(set(one.cpus) & set(other.cpus) for one, other in itertools.combinations(lanes, 2))
        if count <= most_lanes(machine):
            assert warnings(lanes) == ()


@pytest.mark.parametrize("name", RECORDED)
def test_on_recorded_machines_siblings_and_nodes_stay_together(name: str, tmp_path: Path) -> None:
    siblings, nodes = RECORDED[name]
    cores = [set(cpu_list(core)) for core in siblings]
    of_nodes = [set(cpu_list(node)) for node in nodes.values()]
    machine = recorded(tmp_path, name)
    for count in range(2, len(machine.cores) + 1):
        lanes = divided(machine, count)
        every = [cpu for lane in lanes for cpu in lane.cpus]
        assert len(every) == len(set(every))
        for lane in lanes:
            cpus = set(lane.cpus)
            assert all(core <= cpus or core.isdisjoint(cpus) for core in cores)
            assert sum(not node.isdisjoint(cpus) for node in of_nodes) == 1
        assert len({len(lane.cores) for lane in lanes}) == 1


@pytest.mark.parametrize(("name", "most"), list(zip(RECORDED, (8, 20, 7, 24, 32), strict=True)))
def test_most_lanes_of_recorded_machines(name: str, most: int, tmp_path: Path) -> None:
    assert most_lanes(recorded(tmp_path, name)) == most


def test_nodes_of_several_sizes_are_divided_as_evenly_as_they_can_be() -> None:
    uneven = Topology(tuple(Core(int(core >= 6), (core,)) for core in range(8)), 64 * GIB)
    lanes = divided(uneven, 4)
    assert [len(lane.cores) for lane in lanes] == [2, 2, 2, 2]
    assert sorted(cpu for lane in lanes for cpu in lane.cpus) == list(range(8))


CORES = Topology(tuple(Core(0, (cpu,)) for cpu in range(8)), 32 * 2**30)
MACHINE = LaneMachine(CORES, "x", {"coldload": "1.0", "chromium": "140"})
POSSIBLE = (4, 2)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))


def keep(number: int, verdict: LaneVerdict, machine: LaneMachine = MACHINE) -> None:
    keep_lanes(machine, number, verdict, "2026-01-01T00:00:00Z", [{"protocol": "h2", "ratio": 1.001}])


def test_the_most_lanes_that_are_carried_are_taken() -> None:
    assert known_lanes(MACHINE).carries(POSSIBLE) is None
    keep(2, LaneVerdict.CARRIED)
    assert known_lanes(MACHINE).carries(POSSIBLE) == 2
    keep(4, LaneVerdict.CARRIED)
    assert known_lanes(MACHINE).carries(POSSIBLE) == 4
    assert '"protocol": "h2"' in MACHINE.path.read_text()
    keep(4, LaneVerdict.NOT_CARRIED)  # measured again
    assert known_lanes(MACHINE).carries(POSSIBLE) == 2


KEEPING = """
import sys
from tests.unit.harness.run.test_lanes import LaneVerdict, keep

print("ready", flush=True)
sys.stdin.read()
for number in range(int(sys.argv[1]), 200, 2):
    keep(number, LaneVerdict.CARRIED)
"""


def test_numbers_of_lanes_measured_at_once_are_all_kept() -> None:
    words = [sys.executable, "-c", KEEPING]
    assert codes_of_both([*words, "2"], [*words, "3"]) == [0, 0]
    assert set(known_lanes(MACHINE).verdicts) == set(range(2, 200))


def test_one_lane_is_taken_when_all_numbers_were_measured_in_vain() -> None:
    keep(4, LaneVerdict.UNKNOWN)
    keep(2, LaneVerdict.NOT_CARRIED)
    assert known_lanes(MACHINE).carries(POSSIBLE) is None
    keep(4, LaneVerdict.NOT_CARRIED)
    assert known_lanes(MACHINE).carries(POSSIBLE) == 1


def test_a_number_without_room_is_not_taken() -> None:
    keep(8, LaneVerdict.CARRIED)
    assert known_lanes(MACHINE).carries(POSSIBLE) is None


def test_another_machine_or_other_limits_are_not_known() -> None:
    keep(4, LaneVerdict.CARRIED)

    def carried(machine: LaneMachine) -> int | None:
        return known_lanes(machine).carries(POSSIBLE)

    assert carried(replace(MACHINE, processor="y")) is None
    assert carried(replace(MACHINE, topology=replace(CORES, cores=CORES.cores[:4]))) is None
    assert carried(replace(MACHINE, topology=replace(CORES, quota=4.0))) is None
    assert carried(replace(MACHINE, topology=replace(CORES, memory_bytes=CORES.memory_bytes - 10**6))) == 4


def test_what_other_versions_found_is_out_of_date_and_is_replaced() -> None:
    keep(4, LaneVerdict.CARRIED)
    newer = replace(MACHINE, versions={"coldload": "1.0", "chromium": "141"})
    found = known_lanes(newer)
    assert found.carries(POSSIBLE) is None
    assert found.outdated == "coldload 1.0, chromium 140"
    keep(2, LaneVerdict.CARRIED, newer)
    assert known_lanes(newer).verdicts == {2: LaneVerdict.CARRIED}


@pytest.mark.parametrize(
    "text", ["", "{}", '{"lanes": 4}', '{"versions": [], "measured": {}}', "[4]", "\x00", '{"versions": {}}']
)
def test_a_damaged_file_is_told_in_one_line(text: str) -> None:
    keep(4, LaneVerdict.CARRIED)
    MACHINE.path.write_text(text)
    with pytest.raises(RecordsError, match=r"is damaged .*; remove it .*`coldload doctor "):
        known_lanes(MACHINE)


@pytest.mark.parametrize("old", ['"4": {', '"carried"', '"2026-01-01T00:00:00Z"'])
def test_a_damaged_measurement_is_told_too(old: str) -> None:
    keep(4, LaneVerdict.CARRIED)
    text = MACHINE.path.read_text()
    assert old in text
    MACHINE.path.write_text(text.replace(old, {'"4": {': '"many": {'}.get(old, "7")))
    with pytest.raises(RecordsError, match="is damaged"):
        known_lanes(MACHINE)

"""What is known of a machine is known of that one alone, and of the versions that were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import RecordsError
from harness.run.knownlanes import LaneMachine, LaneVerdict, keep_lanes, known_lanes
from harness.system.topology import Core, Topology

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
    with pytest.raises(
        RecordsError, match=r"is damaged .*; remove it and measure again with `coldload doctor "
    ):
        known_lanes(MACHINE)


@pytest.mark.parametrize("old", ['"4": {', '"carried"', '"2026-01-01T00:00:00Z"'])
def test_a_damaged_measurement_is_told_too(old: str) -> None:
    keep(4, LaneVerdict.CARRIED)
    text = MACHINE.path.read_text()
    assert old in text
    MACHINE.path.write_text(text.replace(old, {'"4": {': '"many": {'}.get(old, "7")))
    with pytest.raises(RecordsError, match="is damaged"):
        known_lanes(MACHINE)

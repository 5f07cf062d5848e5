"""What --lanes means on a machine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import lanechoice
from harness.cli.lanechoice import chosen_lanes, only_one, taken_by_auto, this_machine
from harness.errors import EnvironmentLacks, UsageError
from harness.model.kind import Kind
from harness.run.knownlanes import LaneMachine, LaneVerdict, keep_lanes
from harness.system.topology import Core, Topology

TWO = Topology((Core(0, (0,)), Core(0, (1,))), 8 * 2**30)
EIGHT = Topology(tuple(Core(0, (cpu,)) for cpu in range(8)), 32 * 2**30)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    return monkeypatch


def on(machine: pytest.MonkeyPatch, topology: Topology) -> None:
    """The machine is another one."""
    machine.setattr(lanechoice, "read_topology", lambda: topology)


def test_without_the_option_there_are_none() -> None:
    assert chosen_lanes(None, Kind.LOAD) == ()


def test_two_cores_are_one_lane_and_it_says_so(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, TWO)
    assert chosen_lanes("auto", Kind.LOAD) == ()
    assert capsys.readouterr().out == (
        "one lane: this process may use 2 cores, 8.0 GiB, and a lane takes 2 cores of one NUMA node and 2 GiB\n"
    )


def carried(machine: LaneMachine, number: int) -> None:
    keep_lanes(machine, number, LaneVerdict.CARRIED, "2026-01-01T00:00:00Z", [])


def test_auto_takes_what_was_measured(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, EIGHT)
    with pytest.raises(EnvironmentLacks, match=r"is not known yet; run `coldload doctor --lanes`, or give"):
        chosen_lanes("auto", Kind.LOAD)
    assert taken_by_auto(EIGHT).startswith("nothing")
    carried(this_machine(EIGHT), 2)
    assert taken_by_auto(EIGHT) == "2 lanes"
    assert [lane.cpus for lane in chosen_lanes("auto", Kind.LOAD)] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("2 lanes, as measured on 2026-01-01T00:00:00Z (")
    assert second == "2 lanes, on CPUs 0,1,2,3; 4,5,6,7, with 16.0 GiB each"


def test_what_another_version_measured_is_out_of_date(machine: pytest.MonkeyPatch) -> None:
    on(machine, EIGHT)
    carried(replace(this_machine(EIGHT), versions={"coldload": "0.0.1"}), 2)
    with pytest.raises(
        EnvironmentLacks, match=r"was measured with coldload 0\.0\.1, and not yet with coldload "
    ):
        chosen_lanes("auto", Kind.LOAD)


def test_a_number_is_taken_with_a_warning_where_it_is_many(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, TWO)
    assert [lane.cpus for lane in chosen_lanes("2", Kind.LOAD)] == [(0,), (1,)]
    assert capsys.readouterr().out.startswith("warning: a lane has 1 core; lanes of fewer than 2 cores ")
    assert chosen_lanes("1", Kind.LOAD) == ()


@pytest.mark.parametrize("choice", ["many", "", "-1", "1.5", "1000000"])
def test_what_is_no_number_is_refused(machine: pytest.MonkeyPatch, choice: str) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match="it must be a number of lanes, or auto"):
        chosen_lanes(choice, Kind.LOAD)


@pytest.mark.parametrize("choice", ["0", "9"])
def test_more_lanes_than_cores_are_refused(machine: pytest.MonkeyPatch, choice: str) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match=f"--lanes is {choice}; this process may use 8 cores"):
        chosen_lanes(choice, Kind.LOAD)


def test_lanes_are_for_page_loads(machine: pytest.MonkeyPatch) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match="lanes are for page loads; a study of kind users"):
        chosen_lanes("2", Kind.USERS)


def test_several_are_possible_on_eight_cores() -> None:
    assert only_one(EIGHT) is None

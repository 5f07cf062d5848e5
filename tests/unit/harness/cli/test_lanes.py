"""What `--lanes` means on a machine, and when lanes are carried: the interval of the difference decides."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import lanes
from harness.cli.lanes import (
    HEAD,
    LaneFinding,
    Told,
    chosen_lanes,
    findings_of,
    measure_lanes,
    only_one,
    reason_of,
    taken_by_auto,
    this_machine,
    verdict_of,
)
from harness.errors import EnvironmentLacks, Outcome, UsageError
from harness.model.kind import Kind
from harness.model.trials import PlannedTrial
from harness.probes.registry import Observation
from harness.records import Record, RecordLine
from harness.run.lanecrew import LaneLoad, Phase
from harness.run.lanes import LaneMachine, LaneVerdict, keep_lanes
from harness.system.topology import Core, Topology
from tests.facts import tells
from tests.unit.harness.run.test_attempts import PLAN


@pytest.fixture
def two_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lanes, "read_topology", lambda: TWO)


def measured(number: int | None, rounds: int = 40) -> int:
    return measure_lanes(argparse.Namespace(), number, rounds)


@pytest.mark.usefixtures("two_cores")
def test_two_cores_carry_one_lane_and_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(None) == 0
    (said,) = capsys.readouterr().out.splitlines()
    assert all(
        fact in said for fact in ("one lane", "2 cores, 8.0 GiB", "nothing to measure", "--lanes auto")
    )


@pytest.mark.usefixtures("two_cores")
def test_one_lane_needs_no_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(1) == 0
    (said,) = capsys.readouterr().out.splitlines()
    assert "one lane" in said
    assert "nothing to measure" in said


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("lanes", [0, 3, -1])
def test_more_lanes_than_cores_are_refused_before_anything_is_opened(lanes: int) -> None:
    with pytest.raises(UsageError, match=f"--lanes is {lanes}; .*at most 2 lanes of one core"):
        measured(lanes)


@pytest.mark.usefixtures("two_cores")
@pytest.mark.parametrize("rounds", [0, 2, 1001])
def test_too_few_or_too_many_rounds_are_refused(rounds: int) -> None:
    with pytest.raises(UsageError, match=f"--rounds is {rounds}; .*3 to 1000"):
        measured(2, rounds)


H2 = next(trial.condition for trial in PLAN.trials if trial.condition.protocol == "h2")


def load(number: int, *, busy: bool, plt_ms: float, left_out: str | None = None) -> LaneLoad:
    planned = PlannedTrial(f"{number:05d}", number, number, H2)
    seen = Observation(plt_ms=plt_ms)
    record = Record(
        planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", seen, 1.0, left_out=left_out, lane=1, lanes=2
    )
    return LaneLoad(Phase(number, 1, busy), H2, RecordLine.of(record))


def found(slower: float, rounds: int = 30, lost: int = 0, lost_alone: int = 0) -> LaneFinding:
    """Loads that differ by 1 % among each other, while lanes are busy all by this factor; so many are lost."""
    loads = [
        load(
            number,
            busy=busy,
            plt_ms=1000 * (1 + 0.01 * (number % 3 - 1)) * (slower if busy else 1),
            left_out="busy-machine" if number <= (lost if busy else lost_alone) else None,
        )
        for number in range(1, rounds + 1)
        for busy in (False, True)
    ]
    (finding,) = findings_of(loads, ["h2"], rounds)
    return finding


def a_finding(low: float, high: float, n: int = 40) -> LaneFinding:
    """The estimate is in the middle."""
    return LaneFinding("h2", 40, 40, n, (low + high) / 2, low, high)


def test_no_difference_is_within_the_margin() -> None:
    assert found(1.0).told is Told.WITHIN
    assert found(1.005).ratio == pytest.approx(1.005)
    assert found(1.005).told is Told.WITHIN


@pytest.mark.parametrize("slower", [1.02, 0.98])
def test_a_difference_is_not_whatever_its_direction(slower: float) -> None:
    assert found(slower).told is Told.BEYOND


def test_rounds_that_the_busy_machine_spoiled_count_against_it() -> None:
    assert found(1.0, lost=3).told is Told.WITHIN
    spoiled = found(1.0, lost=4)
    assert spoiled.told is Told.LEFT_OUT
    *_, counted, why = spoiled.cells()
    assert (counted, "busy-machine, 4 attempts" in why) == ("26 of 30", True)
    assert verdict_of([spoiled]) is LaneVerdict.NOT_CARRIED


def test_a_machine_that_others_use_says_nothing_of_lanes() -> None:
    restless = found(1.05, lost=4, lost_alone=4)
    assert restless.told is Told.RESTLESS
    assert verdict_of([restless, found(1.05)]) is LaneVerdict.UNKNOWN
    assert "others use these cores" in str(reason_of([restless]))


def test_an_interval_across_the_margin_tells_nothing_yet() -> None:
    wide = a_finding(0.985, 1.015)
    assert wide.told is Told.UNKNOWN
    *measured, verdict = wide.cells()
    assert measured == ["h2", "+0.00 %", "-1.50 to +1.50 %", "40 of 40"]
    assert tells([verdict], "not known yet", "100 rounds")
    assert a_finding(1.0099, 1.0101).cells()[-1] == "not known yet"  # at the margin no number of rounds tells


def test_without_loads_nothing_is_known() -> None:
    (finding,) = findings_of([], ["h2"], 10)
    assert finding.told is Told.RESTLESS
    assert finding.cells()[:4] == ("h2", "-", "-", "0 of 10")
    assert finding.to_json()["ratio"] is None


def test_a_finding_is_told_in_per_cent() -> None:
    told = LaneFinding("h2", 40, 40, 39, 1.0021, 0.9989, 1.0053).cells()
    assert told == ("h2", "+0.21 %", "-0.11 to +0.53 %", "39 of 40", "within 1 %")
    assert len(told) == len(HEAD)


def test_one_protocol_that_is_disturbed_decides() -> None:
    within, beyond, unknown = a_finding(0.999, 1.001), a_finding(1.02, 1.03), a_finding(0.985, 1.015)
    assert verdict_of([within, within]) is LaneVerdict.CARRIED
    assert tells([reason_of([within])], "loads stay within 1 %", "all lanes are busy")
    assert verdict_of([within, unknown]) is LaneVerdict.UNKNOWN
    assert verdict_of([within, unknown, beyond]) is LaneVerdict.NOT_CARRIED
    assert verdict_of([within, a_finding(0.999, 1.001, n=30)]) is LaneVerdict.NOT_CARRIED


TWO = Topology((Core(0, (0,)), Core(0, (1,))), 8 * 2**30)
EIGHT = Topology(tuple(Core(0, (cpu,)) for cpu in range(8)), 32 * 2**30)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    return monkeypatch


def on(machine: pytest.MonkeyPatch, topology: Topology) -> None:
    """The machine is another one."""
    machine.setattr(lanes, "read_topology", lambda: topology)


def test_without_the_option_there_are_none() -> None:
    assert chosen_lanes(None, Kind.LOAD) == ()


def test_two_cores_are_one_lane_and_it_says_so(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, TWO)
    assert chosen_lanes("auto", Kind.LOAD) == ()
    (said,) = capsys.readouterr().out.splitlines()
    assert "one lane" in said
    assert "2 cores, 8.0 GiB" in said


def carried(machine: LaneMachine, number: int) -> None:
    keep_lanes(machine, number, LaneVerdict.CARRIED, "2026-01-01T00:00:00Z", [])


def test_auto_takes_what_was_measured(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, EIGHT)
    with pytest.raises(EnvironmentLacks, match=r"not known yet; run `coldload doctor --lanes`, or give"):
        chosen_lanes("auto", Kind.LOAD)
    assert taken_by_auto(EIGHT).startswith("nothing")
    carried(this_machine(EIGHT), 2)
    assert taken_by_auto(EIGHT) == "2 lanes"
    assert [lane.cpus for lane in chosen_lanes("auto", Kind.LOAD)] == [(0, 1, 2, 3), (4, 5, 6, 7)]
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("2 lanes, as measured on 2026-01-01T00:00:00Z (")
    assert tells([second], "2 lanes", "CPUs 0,1,2,3; 4,5,6,7", "16.0 GiB each")


def test_what_another_version_measured_is_out_of_date(machine: pytest.MonkeyPatch) -> None:
    on(machine, EIGHT)
    carried(replace(this_machine(EIGHT), versions={"coldload": "0.0.1"}), 2)
    with pytest.raises(EnvironmentLacks, match=r"coldload 0\.0\.1, .*not yet with coldload "):
        chosen_lanes("auto", Kind.LOAD)


def test_a_number_is_taken_with_a_warning_where_it_is_many(
    machine: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    on(machine, TWO)
    assert [lane.cpus for lane in chosen_lanes("2", Kind.LOAD)] == [(0,), (1,)]
    out = capsys.readouterr().out
    assert out.startswith("warning: ")
    assert tells(out, "lane has 1 core", "fewer than 2 cores")
    assert chosen_lanes("1", Kind.LOAD) == ()


@pytest.mark.parametrize("choice", ["many", "", "-1", "1.5", "1000000"])
def test_what_is_no_number_is_refused(machine: pytest.MonkeyPatch, choice: str) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match="number of lanes, or auto"):
        chosen_lanes(choice, Kind.LOAD)


@pytest.mark.parametrize("choice", ["0", "9"])
def test_more_lanes_than_cores_are_refused(machine: pytest.MonkeyPatch, choice: str) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match=f"--lanes is {choice}; .*8 cores"):
        chosen_lanes(choice, Kind.LOAD)


def test_lanes_are_for_page_loads(machine: pytest.MonkeyPatch) -> None:
    on(machine, EIGHT)
    with pytest.raises(UsageError, match=r"lanes .*page loads; .*kind users"):
        chosen_lanes("2", Kind.USERS)


def test_several_are_possible_on_eight_cores() -> None:
    assert only_one(EIGHT) is None

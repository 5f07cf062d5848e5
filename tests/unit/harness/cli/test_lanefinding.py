"""When lanes are carried: the interval of the difference decides."""

from __future__ import annotations

import pytest

from harness.cli.lanefinding import HEAD, LaneFinding, Told, findings_of, reason_of, verdict_of
from harness.model.observation import Observation
from harness.model.plan import PlannedTrial
from harness.outcome import Outcome
from harness.records import Record
from harness.run.carrying import LaneLoad, Phase
from harness.run.knownlanes import LaneVerdict
from tests.unit.harness.run.test_attempts import PLAN

H2 = next(trial.condition for trial in PLAN.trials if trial.condition.protocol == "h2")


def load(number: int, *, busy: bool, plt_ms: float, left_out: str | None = None) -> LaneLoad:
    planned = PlannedTrial(f"{number:05d}", number, number, H2)
    seen = Observation(plt_ms=plt_ms)
    record = Record(
        planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", seen, 1.0, left_out=left_out, lane=1, lanes=2
    )
    return LaneLoad(Phase(number, 1, busy), record)


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
    assert spoiled.cells()[-2:] == (
        "26 of 30",
        "too many loads left out while all lanes are busy (busy-machine, 4 attempts)",
    )
    assert verdict_of([spoiled]) is LaneVerdict.NOT_CARRIED


def test_a_machine_that_others_use_says_nothing_of_lanes() -> None:
    restless = found(1.05, lost=4, lost_alone=4)
    assert restless.told is Told.RESTLESS
    assert verdict_of([restless, found(1.05)]) is LaneVerdict.UNKNOWN
    assert reason_of([restless]) == "others use these cores; measure again when the machine is quiet"


def test_an_interval_across_the_margin_tells_nothing_yet() -> None:
    wide = a_finding(0.985, 1.015)
    assert wide.told is Told.UNKNOWN
    assert wide.cells() == (
        "h2",
        "+0.00 %",
        "-1.50 to +1.50 %",
        "40 of 40",
        "not known yet: about 100 rounds would tell",
    )
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
    assert reason_of([within]) == "loads stay within 1 % while all lanes are busy"
    assert verdict_of([within, unknown]) is LaneVerdict.UNKNOWN
    assert verdict_of([within, unknown, beyond]) is LaneVerdict.NOT_CARRIED
    assert verdict_of([within, a_finding(0.999, 1.001, n=30)]) is LaneVerdict.NOT_CARRIED

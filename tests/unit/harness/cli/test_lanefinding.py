"""When lanes are carried: the interval of the difference decides."""

from __future__ import annotations

import pytest

from harness.cli.lanefinding import LaneFinding, findings_of
from harness.model.observation import Observation
from harness.outcome import Outcome
from harness.records import Record
from harness.run.carrying import LaneLoad, Phase
from harness.study.plan import PlannedTrial
from tests.unit.harness.run.test_attempts import PLAN

H2 = next(trial.condition for trial in PLAN.trials if trial.condition.protocol == "h2")


def load(number: int, *, busy: bool, plt_ms: float) -> LaneLoad:
    planned = PlannedTrial(f"{number:05d}", number, number, H2)
    seen = Observation(plt_ms=plt_ms)
    return LaneLoad(
        Phase(number, 1, busy), Record(planned, Outcome.OK, None, "2026-01-01T00:00:00.000Z", seen, 1.0)
    )


def found(slower: float, rounds: int = 30, lost: int = 0) -> LaneFinding:
    """Loads that differ by 1 % among each other, while lanes are busy all by this factor."""
    loads = [
        load(number, busy=busy, plt_ms=1000 * (1 + 0.01 * (number % 3 - 1)) * (slower if busy else 1))
        for number in range(1, rounds + 1)
        for busy in (False, True)
        if not (busy and number <= lost)
    ]
    (finding,) = findings_of(loads, ["h2"], rounds)
    return finding


def test_no_difference_is_carried() -> None:
    assert found(1.0).carried
    assert found(1.005).ratio == pytest.approx(1.005)
    assert found(1.005).carried


@pytest.mark.parametrize("slower", [1.02, 0.98])
def test_a_difference_is_not_whatever_its_direction(slower: float) -> None:
    assert not found(slower).carried


def test_rounds_that_the_busy_machine_spoiled_count_against_it() -> None:
    assert found(1.0, lost=3).carried
    assert not found(1.0, lost=4).carried


def test_without_an_interval_nothing_is_known() -> None:
    (finding,) = findings_of([], ["h2"], 10)
    assert not finding.carried
    assert not LaneFinding("h2", 10, 10, 1.0, 0.985, 1.005).carried


def test_a_finding_is_told_in_per_cent() -> None:
    told = LaneFinding("h2", 40, 39, 1.0021, 0.9989, 1.0053).cells()
    assert told == ("h2", "+0.21 %", "(-0.11 to +0.53 %)", "n = 39", "carried")

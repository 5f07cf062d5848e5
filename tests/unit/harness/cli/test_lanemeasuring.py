"""`coldload doctor --lanes` where there is nothing to measure, or the wish cannot be meant."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from harness.cli import lanemeasuring
from harness.cli.arguments.doctor import MOST
from harness.cli.lanemeasuring import measure_lanes
from harness.errors import UsageError
from harness.system.topology import Core, Topology

TWO = Topology((Core(0, (0,)), Core(0, (1,))), 8 * 2**30)


@pytest.fixture(autouse=True)
def _two_cores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLDLOAD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(lanemeasuring, "read_topology", lambda: TWO)


def measured(lanes: float, rounds: int = 40) -> int:
    return measure_lanes(Namespace(lanes=lanes, rounds=rounds))


def test_two_cores_carry_one_lane_and_nothing_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(MOST) == 0
    assert capsys.readouterr().out == (
        "one lane: this process may use 2 cores, 8.0 GiB, and a lane takes 2 cores of one NUMA node and 2 GiB; "
        "there is nothing to measure, and `coldload run --lanes auto` takes one\n"
    )


def test_one_lane_needs_no_measurement(capsys: pytest.CaptureFixture[str]) -> None:
    assert measured(1) == 0
    assert capsys.readouterr().out == "one lane is a run as it always was; there is nothing to measure\n"


@pytest.mark.parametrize("lanes", [0, 3, -1])
def test_more_lanes_than_cores_are_refused_before_anything_is_opened(lanes: int) -> None:
    with pytest.raises(UsageError, match=f"--lanes is {lanes}; .* at most 2 lanes of one core"):
        measured(lanes)


@pytest.mark.parametrize("rounds", [0, 2, 1001])
def test_too_few_or_too_many_rounds_are_refused(rounds: int) -> None:
    with pytest.raises(UsageError, match=f"--rounds is {rounds}; it must be 3 to 1000"):
        measured(2, rounds)

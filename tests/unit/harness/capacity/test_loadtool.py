"""Percentiles of counted microseconds; running a tool: real processes that stand for one."""

from __future__ import annotations

import contextlib
import math
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.capacity.loadtool import (
    ClosedLoop,
    Latency,
    Ran,
    RateReading,
    RateTool,
    ToolWatch,
    files_of,
    percentiles,
    run_tool,
    there_were,
)
from harness.errors import TestbedFailed
from harness.model.kind import OUTPUT
from harness.model.protocol import Protocol
from harness.system.program import Command


@given(st.lists(st.integers(0, 10**7), min_size=1))
def test_percentiles_are_those_of_the_sorted_values(taken: list[int]) -> None:
    values = sorted(taken)
    wanted = [values[math.ceil(share / 100 * len(values)) - 1] / 1000 for share in (50, 90, 99, 99.9)]
    assert percentiles(Counter(taken)) == Latency(*wanted)


@pytest.mark.parametrize(
    ("beyond", "wanted"),
    [(0, (1.0, 1.0, 1.0, 1.0)), (1, (1.0, 1.0, 1.0, None)), (10, (1.0, 1.0, None, None)), (101, (None,) * 4)],
)
def test_a_percentile_among_times_that_are_too_long_to_be_told_is_not_known(
    beyond: int, wanted: tuple[float | None, ...]
) -> None:
    assert percentiles({1000: 100}, beyond) == Latency(*wanted)


def test_errors_that_did_not_happen_are_left_out() -> None:
    assert there_were(status=0, timeout=2) == {"timeout": 2}


LOOP = ClosedLoop("http://site.example/", Protocol.HTTP1, 1, 1, 1.0, warm_s=0.5)
BURN = "import time\ndef burn(s):\n  t = time.process_time() + s\n  while time.process_time() < t: pass\n"


def tool(program: str, counts_from: str | None = None) -> RateTool:
    """A Python program that is told the seconds of its loop."""

    def command(loop: ClosedLoop, _folder: Path) -> Command:
        return Command.of(sys.executable, "-uc", BURN + program, loop.seconds)

    def read(_said: str, loop: ClosedLoop, _folder: Path) -> RateReading:
        return RateReading(loop.seconds, 1, {}, 0)

    return RateTool("stand-in", command, read, lambda: "stand-in 1", counts_from)


def run(made: RateTool, folder: Path, check: Callable[[], None] = lambda: None) -> tuple[Ran, list[str]]:
    began: list[str] = []
    return run_tool(made, LOOP, None, folder, ToolWatch(lambda: began.append("began"), check)), began


def test_a_tool_without_a_warm_up_runs_twice_and_the_second_counts(tmp_path: Path) -> None:
    ran, began = run(tool("import sys\nprint('for', sys.argv[1])\nburn(0.2)"), tmp_path)
    assert (ran.said, began) == ("for 1.0\n", ["began"])
    assert (tmp_path / "warm-up" / OUTPUT).read_text() == "for 0.5\n"
    assert (files_of(tmp_path) / OUTPUT).read_text() == "for 1.0\n"
    assert ran.cpu_s is not None
    assert ran.cpu_s >= 0.18  # /proc tells user and system time in whole ticks each


@pytest.mark.thorough
def test_the_cpu_time_of_a_warm_up_within_is_not_counted(tmp_path: Path) -> None:
    program = "burn(1.5)\nprint('now it counts')\nburn(0.4)"
    ran, began = run(tool(program, "now it counts"), tmp_path)
    assert (began, ran.cpu_s is not None) == (["began"], True)
    assert 0.18 <= (ran.cpu_s or 0) <= 1.4
    assert not (tmp_path / "warm-up").exists()


def test_a_tool_that_fails_tells_its_last_line(tmp_path: Path) -> None:
    with pytest.raises(TestbedFailed, match=r"stand-in died \(exit code 3\): unable to connect"):
        run(tool("print('unable to connect')\nraise SystemExit(3)"), tmp_path)


def test_a_tool_that_never_counts_has_measured_nothing(tmp_path: Path) -> None:
    with pytest.raises(TestbedFailed, match="stand-in ended before it counted: and that was it"):
        run(tool("print('and that was it')", "now it counts"), tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "shown"),
    [(signal.SIGKILL, r"died \(exit code -9\)"), (signal.SIGSTOP, "is stopped: .*SIGSTOP")],
)
def test_a_tool_that_is_killed_or_stopped_ends_the_trial(
    number: signal.Signals, shown: str, tmp_path: Path
) -> None:
    started: list[int] = []

    @contextlib.contextmanager
    def pinned(pid: int) -> Iterator[None]:
        started.append(pid)
        yield

    watch = ToolWatch(lambda: None, lambda: os.kill(started[-1], number), pinned)
    with pytest.raises(TestbedFailed, match=f"stand-in {shown}"):
        run_tool(tool("import time\ntime.sleep(600)"), LOOP, None, tmp_path, watch)


@pytest.mark.thorough
def test_a_check_that_fails_ends_the_tool(tmp_path: Path) -> None:
    def check() -> None:
        raise TestbedFailed("nginx died")

    with pytest.raises(TestbedFailed, match="nginx died"):
        run(tool("import time\ntime.sleep(600)"), tmp_path, check)

"""Which fault comes next, and how a call has to end after it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.soak.striking import (
    CLOCK,
    CLOCK_LIBRARY,
    ENDING,
    OUTLIVED,
    Fault,
    build_clock,
    drawn,
    ill_ended,
    set_clock,
)

INTERRUPTED = "coldload run: interrupted: 3 of 8 trials are done in run; the same command goes on\n"
FULL = "coldload run: cannot append to records.jsonl: No space left on device; make room\n"
BUSY = "warning: the machine was busy, and the figures are too slow\n"
TRACE = 'Traceback (most recent call last):\n  File "x.py", line 1\nValueError: no\n'


@pytest.mark.parametrize("outlived", [False, True])
def test_each_fault_comes_once_before_any_comes_again(outlived: bool) -> None:
    kinds = set(OUTLIVED if outlived else Fault)
    turns = [
        [drawn("1 x", turn * len(kinds) + place, outlived=outlived) for place in range(len(kinds))]
        for turn in range(3)
    ]
    assert all(set(turn) == kinds for turn in turns)
    assert turns[0] != turns[1]
    assert drawn("1 x", 0, outlived=outlived) == turns[0][0]
    assert not set(OUTLIVED) & set(ENDING)


@pytest.mark.parametrize(
    ("fault", "code", "written", "was_struck"),
    [
        (None, 0, BUSY, False),
        (None, 1, "coldload run: no trial of run counts\n", False),
        (None, 3, "coldload run: the testbed failed again and again\n", True),
        (Fault.KILL, -9, "", False),
        (Fault.INTERRUPT, 130, INTERRUPTED, False),
        (Fault.TERM, 130, BUSY + INTERRUPTED, False),
        (Fault.TERM, 0, "", False),
        (Fault.DISK, 3, FULL, False),
    ],
)
def test_a_call_that_ended_as_it_should(
    fault: Fault | None, code: int, written: str, was_struck: bool
) -> None:
    assert ill_ended(fault, code, written, was_struck=was_struck) is None


@pytest.mark.parametrize(
    ("fault", "code", "written"),
    [
        (None, None, ""),
        (None, 0, TRACE),
        (None, 3, "coldload run: caddy died\n"),
        (None, 2, "coldload run: no study\n"),
        (None, 1, ""),
        (Fault.KILL, 0, ""),
        (Fault.INTERRUPT, 130, ""),
        (Fault.INTERRUPT, 1, ""),
        (Fault.TERM, 130, INTERRUPTED + INTERRUPTED),
        (Fault.DISK, 3, "coldload run: caddy died\n"),
        (Fault.DISK, 0, ""),
    ],
)
def test_a_call_that_ended_as_it_should_not(fault: Fault | None, code: int | None, written: str) -> None:
    assert ill_ended(fault, code, written, was_struck=False) is not None


def test_a_clock_is_stepped_for_the_program_alone(tmp_path: Path) -> None:
    """At once, and neither its monotonic clock nor what it starts."""
    build_clock(tmp_path)
    set_clock(tmp_path, 0)
    variables = {"LD_PRELOAD": str(tmp_path / CLOCK_LIBRARY), "SOAK_CLOCK": str(tmp_path / CLOCK)}
    told = "import time; print(time.time() - time.monotonic(), flush=True)"
    script = (
        f"{told}\ninput()\n{told}\nimport subprocess, sys; subprocess.run([sys.executable, '-c', {told!r}])"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdout is not None
        before = float(program.stdout.readline())
        set_clock(tmp_path, -3.5)
        out, _ = program.communicate("\n")
    stepped, of_child = map(float, out.split())
    assert stepped - before == pytest.approx(-3.5, abs=0.1)
    assert of_child - before == pytest.approx(0, abs=0.1)

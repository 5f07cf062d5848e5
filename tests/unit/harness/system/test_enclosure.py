"""How the processes of an enclosure pass on that one of them was killed. All else is in tests/system."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from types import FrameType

import pytest

from harness.system import interruption
from harness.system.enclosure import KILLED, _passed_on, _wait_passing_signals


def passed_on(script: str) -> tuple[int, str]:
    """The code that a process which ends so is passed on with, and what is told of it."""
    code = subprocess.run(["sh", "-c", script], check=False).returncode
    reading, writing = os.pipe()
    passed = _passed_on(code, "the process of the command", writing)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        return passed, pipe.read()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGUSR1])
def test_a_process_that_was_killed_is_told_of_with_the_signal(number: signal.Signals) -> None:
    code, told = passed_on(f"kill -{number.value} $$")
    assert code == 3
    assert told.startswith(f"{KILLED}the process of the command was killed by {number.name}")
    assert ("want of memory" in told) is (number is signal.SIGKILL)


@pytest.mark.parametrize("code", [0, 1, 137])
def test_the_exit_code_of_one_that_ended_by_itself_is_its_own(code: int) -> None:
    """Also where it tells, as a shell does, how a command of its own ended."""
    assert passed_on(f"exit {code}") == (code, "")


def test_nothing_is_sent_to_a_child_whose_number_is_freed() -> None:
    """As long as a signal would be passed on, the child is there, though it has ended: nobody else has its number."""
    child = subprocess.Popen(["true"])
    there: list[bool] = []

    def look(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is signal.signal.__code__:  # a handler is set, or set back
            there.append(Path(f"/proc/{child.pid}").exists())

    sys.setprofile(look)
    try:
        assert _wait_passing_signals(child.pid) == 0
    finally:
        sys.setprofile(None)
        child.wait()
    assert there == [True] * 2 * len(interruption.SIGNALS)
    assert not Path(f"/proc/{child.pid}").exists()

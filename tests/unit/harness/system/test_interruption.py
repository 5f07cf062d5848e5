"""Signals: which end a command, and which stay ignored because whoever started it ignores them, as `nohup` does."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

WAITING = """
import sys
from harness.system import interruption

interruption.unwind()
try:
    print("up", flush=True)
    sys.stdin.read()
except KeyboardInterrupt:
    sys.exit(interruption.EXIT_CODE)
"""


def ended_by(number: signal.Signals, at_start: str) -> int:
    """Start a command with `ignore` or `default` for a signal, send it, and let the command end: its exit code."""
    with subprocess.Popen(
        ["env", f"--{at_start}-signal={number.name[3:]}", sys.executable, "-c", WAITING],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        process.communicate("")
    return process.returncode


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT])
def test_what_was_ignored_at_the_start_stays_ignored(number: signal.Signals) -> None:
    assert ended_by(number, "ignore") == 0


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_a_signal_ends_a_command(number: signal.Signals) -> None:
    assert ended_by(number, "default") == 130


def test_sigterm_always_does() -> None:
    assert ended_by(signal.SIGTERM, "ignore") == 130

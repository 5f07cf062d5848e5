"""How the program ends."""

from __future__ import annotations

import subprocess
import sys

INTERRUPTED = """
import os, signal, sys
import harness.cli.__main__ as program
import harness.cli.main as line

def command():
    os.kill(os.getpid(), signal.SIGINT)
    signal.pause()

line.prepared = lambda: command
code = program.main()
print(signal.getitimer(signal.ITIMER_REAL)[0])
sys.exit(code)
"""


def test_no_alarm_is_left_when_an_interrupted_command_has_unwound() -> None:
    """However long Python then takes to end, nothing kills it."""
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "0.0\n", "coldload: interrupted\n")

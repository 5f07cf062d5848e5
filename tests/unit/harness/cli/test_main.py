"""How the program ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from harness.cli.main import main

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


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["load", "x", "--protocol", "http2"], "there is no 'http2' (did you mean h2?)"),
        (["load", "x", "--protocol", "QUIC"], "there is no 'QUIC' (did you mean h3?)"),
        (["load", "x", "--device", "mobil"], "there is no 'mobil' (did you mean mobile?)"),
        (["load", "x", "--engine", "chrome"], "there is no 'chrome' (did you mean chromium?)"),
        (["lod"], "there is no 'lod' (did you mean load?)"),
        (["load"], "the following arguments are required: NAME"),
        (["run", "x", "--trials", "\x1b[2J"], "\\x1b[2J"),
    ],
)
def test_a_mistake_on_the_command_line_is_one_line(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(words)
    told = capsys.readouterr().err
    assert said in told
    assert told.count("\n") == 1
    assert told.endswith("--help`\n")

"""A user's command in the foreground ends as a shell would tell it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.system import interruption
from harness.system.program import Command, in_foreground


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$", 137), ("kill -13 $$", 141)])
def test_a_commands_end_is_told_as_a_shell_does(script: str, code: int) -> None:
    assert in_foreground(["sh", "-c", script]) == code


def test_a_tree_is_entered_without_modules_of_the_current_folder() -> None:
    entering = Command.of("true").in_tree(Path("/tree"), Path("/shared")).full_argv
    assert entering[:5] == (sys.executable, "-P", "-m", "harness.system.roots", "/tree")


def test_a_program_that_is_not_there_is_wrong_input() -> None:
    with pytest.raises(UsageError, match="there is no such program"):
        in_foreground(["no-such-program"])


INTERRUPTED = """
import sys
from harness.system import interruption
from harness.system.program import in_foreground

interruption.unwind()
try:
    in_foreground(["sh", "-c", sys.argv[1]])
except KeyboardInterrupt:
    sys.exit(interruption.EXIT_CODE)
"""


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_command_that_is_interrupted_tidies_up_however_long_that_takes(
    tmp_path: Path, number: signal.Signals
) -> None:
    """A shell hears a signal once what it waits for has ended, as apt-get; coldload itself has less patience."""
    gate, tidied = tmp_path / "gate", tmp_path / "tidied"
    os.mkfifo(gate)
    script = f"trap 'touch {tidied}' EXIT; trap 'exit 130' TERM; echo up; cat {gate}"
    words = [sys.executable, "-c", INTERRUPTED, script]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.send_signal(number)
        time.sleep(interruption.PATIENCE_S + 0.5)
        gate.write_text("now it may end")
        process.stdout.read()
    assert process.returncode == interruption.EXIT_CODE
    assert tidied.exists()

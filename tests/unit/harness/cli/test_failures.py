"""What a command is refused before it gets an enclosure, and how its interruption is told."""

from __future__ import annotations

import argparse
import os

import pytest

from harness.cli.failures import going_on, in_enclosure, reported
from harness.errors import UsageError
from harness.lab.emulated import STALL_VARIABLE
from harness.system.interruption import CommandKilled
from tests.facts import tells


def test_nothing_is_measured_over_links_that_are_late_on_purpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STALL_VARIABLE, "8:200")
    with pytest.raises(UsageError, match=f"{STALL_VARIABLE} is set .* unset it"):
        in_enclosure(argparse.Namespace(), lambda: 0)


@pytest.mark.parametrize(
    ("known", "said"), [((), ""), (("2 of 8 are done; go on\nso",), ": 2 of 8 are done; go on so")]
)
def test_an_interruption_is_one_line_with_what_is_known(
    known: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def command() -> int:
        raise KeyboardInterrupt(*known)

    assert reported(argparse.Namespace(command="run"), command) == 130
    assert capsys.readouterr().err == f"coldload run: interrupted{said}\n"


def test_a_pipe_that_breaks_within_a_command_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Not that of its output, which `NoLongerRead` writes."""

    def command() -> int:
        reading, writing = os.pipe()
        os.close(reading)
        with os.fdopen(writing, "wb", buffering=0) as pipe:
            return pipe.write(b"x")

    assert reported(argparse.Namespace(command="run", verbose=False), command) == 3
    assert "Broken pipe" in capsys.readouterr().err


def test_what_is_done_is_asked_when_it_is_interrupted(capsys: pytest.CaptureFixture[str]) -> None:
    done: list[int] = []

    def command() -> int:
        with going_on(lambda: f"{len(done)} of 5 are done; the same command goes on"):
            done.extend([1, 2])
            raise KeyboardInterrupt

    assert reported(argparse.Namespace(command="setup"), command) == 130
    (said,) = capsys.readouterr().err.splitlines()
    assert said.startswith("coldload setup: interrupted: ")
    assert tells([said], "2 of 5 are done", "the same command goes on")


def test_that_a_command_was_killed_is_one_line_with_how_to_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> int:
        with going_on(lambda: "2 of 5 trials are done; the same command goes on"):
            raise CommandKilled("the process of the command was killed by SIGKILL")

    assert reported(argparse.Namespace(command="run", verbose=False), command) == 3
    (said,) = capsys.readouterr().err.splitlines()
    assert tells([said], "coldload run: ", "killed by SIGKILL", "2 of 5 trials", "the same command goes on")

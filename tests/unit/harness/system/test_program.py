"""A user's command in the foreground ends as a shell would tell it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from harness.errors import UsageError
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

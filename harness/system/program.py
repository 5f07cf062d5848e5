"""Programs: where they are, and running one to its end. Quick to import; what stays is `harness.system.process`."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness.errors import EnvironmentLacks, TestbedFailed, UsageError
from harness.system.command import Command

SIGNALLED = 128
SYSTEM_PATHS = ("/usr/local/sbin", "/usr/sbin", "/sbin", "/usr/lib/chromium")


def find_program(name: str) -> str:
    """Absolute path of a program, also from the system folders an ordinary user's PATH leaves out."""
    path = os.pathsep.join([os.environ.get("PATH", ""), *SYSTEM_PATHS])
    found = shutil.which(name, path=path)
    if found is None:
        raise EnvironmentLacks(f"the program {name} is not installed; `coldload doctor` tells how to get it")
    return found


def words_and_environment(command: Command) -> tuple[list[str], dict[str, str]]:
    """What a command is started with, its programs by their absolute paths."""
    words = list(command.full_argv)
    prefix = len(words) - len(command.argv)
    words[prefix] = find_program(command.program)
    if prefix:
        words[0] = find_program(words[0])
    return words, {**os.environ, **command.environment}


def run(
    command: Command,
    *,
    stdin: str | None = None,
    timeout_s: float | None = None,
    cwd: Path | None = None,
    ok_codes: Sequence[int] = (0,),
    with_stderr: bool = False,
) -> str:
    """Run a command to its end and return its standard output (and error, if asked); TestbedFailed when it fails."""
    words, environment = words_and_environment(command)
    try:
        done = subprocess.run(
            words,
            env=environment,
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            cwd=cwd,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise TestbedFailed(f"{command.program} did not end within {timeout_s:g} s: {command}") from error
    except OSError as error:
        raise TestbedFailed(f"cannot start {command.program}: {error}") from error
    if done.returncode not in ok_codes:
        said = " | ".join((done.stderr or done.stdout).strip().splitlines()[-3:]) or "it printed nothing"
        raise TestbedFailed(f"`{command}` failed with exit code {done.returncode}: {said}")
    return done.stdout + done.stderr if with_stderr else done.stdout


def in_foreground(words: Sequence[str]) -> int:
    """Run a user's command on our terminal to its end; its exit code, of a signal 128 and its number as shells have it.

    UsageError when there is no such program.
    """
    try:
        code = subprocess.run(words, check=False).returncode
    except FileNotFoundError as error:
        raise UsageError(f"cannot run {words[0]}: there is no such program") from error
    return code if code >= 0 else SIGNALLED - code


def version_line(*words: str) -> str:
    """The first line that a program says of itself; EnvironmentLacks when it is missing."""
    return run(Command.of(*words), timeout_s=30).partition("\n")[0].strip()

"""How a command is run, in the enclosure or outside, and how it fails: in one line that decides the exit code."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

from harness.errors import ColdloadError, EnvironmentLacks, Outcome, TestbedFailed, UsageError
from harness.input.shown import one_line
from harness.system import interruption
from harness.system.folders import FOLDER, cannot_start

NO_THREAD = "can't start new thread"  # Python has no class for it


def reported(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run a command; an error of ours, of the machine, or an interruption becomes one line and its exit code."""
    try:
        return errors_reported(arguments, command)
    except KeyboardInterrupt as interrupted:  # some know what is done, and how to go on
        what = one_line(": ".join(["interrupted", *map(str, interrupted.args)]))
        if interruption.has_room(2):
            print(f"coldload {arguments.command}: {what}", file=sys.stderr)
        return interruption.EXIT_CODE


def errors_reported(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """The same for the part of a command in the enclosure, whose interruption the process outside reports."""
    try:
        code = command()
        sys.stdout.flush()
    except ColdloadError as error:
        return _failed(arguments, error, error.exit_code)
    except (
        OSError
    ) as error:  # the machine's trouble, not ours to foresee: a full disk, a folder without permission
        what = f"{error.filename or 'what it says or writes'}: {error.strerror or error}"
        why = (
            f"{what}; see whether a disk is full, a permission is missing or a limit is reached (`ulimit -a`)"
        )
        return _failed(arguments, why, EnvironmentLacks.exit_code)
    except ImportError as error:  # a command imports what it needs as it runs
        return _failed(arguments, cannot_start(error), EnvironmentLacks.exit_code)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and NO_THREAD not in str(error):
            raise
        what = "no memory is left" if isinstance(error, MemoryError) else "no further thread can be started"
        return _failed(
            arguments, f"{what}; see `ulimit -a`, and what else runs here", EnvironmentLacks.exit_code
        )
    return code


@contextlib.contextmanager
def going_on(told: Callable[[], str]) -> Iterator[None]:
    """What an interruption of the block, or that it was killed, is told with: what is done, and how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        raise KeyboardInterrupt(told()) from None
    except interruption.CommandKilled as killed:
        raise interruption.CommandKilled(f"{killed}: {told()}") from None


def _failed(arguments: argparse.Namespace, why: Exception | str, code: int) -> int:
    """The exit code, once the error is told as one line, whatever names and texts it quotes."""
    if arguments.verbose:
        import traceback

        traceback.print_exc()
    print(f"coldload {arguments.command}: {one_line(str(why))}", file=sys.stderr)
    return code


def in_enclosure(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run the command in private namespaces; its errors are reported from in there.

    What it is given of the machine's files has to be seen there: see `harness.cli.paths.refuse_hidden`.
    """
    from harness.cli.paths import refuse_hidden
    from harness.system.enclosure import enclosed
    from harness.system.refusals import (
        refuse_without_capabilities,
        refuse_without_user_namespaces,
        user_namespace_error,
    )

    refuse_stalled()
    refuse_hidden({"the installation of coldload": FOLDER, "the Python of coldload": Path(sys.prefix)})
    refuse_without_capabilities()

    def inside() -> int:
        refuse_without_user_namespaces(user_namespace_error())
        return command()

    return enclosed(lambda: errors_reported(arguments, inside))


def exit_code_of(outcome: Outcome) -> int:
    """Of a command that makes one trial."""
    if outcome is Outcome.TESTBED_FAILED:
        return TestbedFailed.exit_code
    return 0 if outcome is Outcome.OK else 1


def refuse_stalled() -> None:
    """UsageError when links would be late on purpose: no command measures over such a link."""
    from harness.lab.emulated import STALL_VARIABLE

    if STALL_VARIABLE in os.environ:
        raise UsageError(
            f"{STALL_VARIABLE} is set in the environment, which makes every link late on purpose; unset it"
        )

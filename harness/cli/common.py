"""What the commands share: their errors as one line, also from inside the enclosure."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable

from harness.errors import ColdloadError, EnvironmentLacks
from harness.input.shown import one_line
from harness.system.enclosure import enclosed, inside

NO_THREAD = "can't start new thread"  # Python has no class for it


def reported(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run a command; one of our errors becomes one line and its exit code."""
    try:
        return command()
    except ColdloadError as error:
        if arguments.verbose:
            traceback.print_exc()
        _say(arguments, error)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stderr.close()
        return 0
    except (
        OSError
    ) as error:  # the machine's trouble, not ours to foresee: a full disk, a folder without permission
        if arguments.verbose:
            traceback.print_exc()
        _say(arguments, error)
        return EnvironmentLacks.exit_code
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and NO_THREAD not in str(error):
            raise
        if arguments.verbose:
            traceback.print_exc()
        what = "no memory is left" if isinstance(error, MemoryError) else "no further thread can be started"
        _say(arguments, EnvironmentLacks(f"{what}; see `ulimit -a`, and what else runs here"))
        return EnvironmentLacks.exit_code
    except KeyboardInterrupt:
        if inside():  # told once, by the process that waits for the enclosure
            raise
        print(f"coldload {arguments.command}: interrupted", file=sys.stderr)
        return 130


def _say(arguments: argparse.Namespace, error: Exception) -> None:
    """An error as one line, whatever names and texts it quotes."""
    print(f"coldload {arguments.command}: {one_line(str(error))}", file=sys.stderr)


def in_enclosure(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run the command in private namespaces; its errors are reported from in there."""
    return enclosed(lambda: reported(arguments, command))

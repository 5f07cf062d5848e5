"""What the commands share: the enclosure with error reporting inside it, and the console."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Callable
from typing import Any

from rich.console import Console

from harness.enclosure import enclosed, inside
from harness.errors import ColdloadError, EnvironmentLacks

NO_THREAD = "can't start new thread"  # Python has no class for it
Subcommands = Any  # argparse has no public type for what add_subparsers returns


def console() -> Console:
    """The console for people; machine-readable output is printed plainly."""
    return Console(highlight=False, soft_wrap=True)


def reported(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run a command; one of our errors becomes one line and its exit code."""
    try:
        return command()
    except ColdloadError as error:
        if arguments.verbose:
            traceback.print_exc()
        print(f"coldload {arguments.command}: {error}", file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # the reader of our output has gone, as `| head` does
        sys.stderr.close()
        return 0
    except (
        OSError
    ) as error:  # the machine's trouble, not ours to foresee: a full disk, a folder without permission
        if arguments.verbose:
            traceback.print_exc()
        print(f"coldload {arguments.command}: {error}", file=sys.stderr)
        return EnvironmentLacks.exit_code
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and NO_THREAD not in str(error):
            raise
        if arguments.verbose:
            traceback.print_exc()
        what = "no memory is left" if isinstance(error, MemoryError) else "no further thread can be started"
        print(
            f"coldload {arguments.command}: {what}; see `ulimit -a`, and what else runs here", file=sys.stderr
        )
        return EnvironmentLacks.exit_code
    except KeyboardInterrupt:
        if inside():  # told once, by the process that waits for the enclosure
            raise
        print(f"coldload {arguments.command}: interrupted", file=sys.stderr)
        return 130


def in_enclosure(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run the command in private namespaces; its errors are reported from in there."""
    return enclosed(lambda: reported(arguments, command))

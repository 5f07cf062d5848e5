"""The enclosure of a command."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable

from harness.cli.failures import errors_reported
from harness.errors import UsageError
from harness.lab.needs import STALL_VARIABLE
from harness.system.enclosure import enclosed
from harness.system.refusals import (
    refuse_without_capabilities,
    refuse_without_user_namespaces,
    user_namespace_error,
)


def in_enclosure(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run the command in private namespaces; its errors are reported from in there."""
    refuse_stalled()
    refuse_without_capabilities()

    def inside() -> int:
        refuse_without_user_namespaces(user_namespace_error())
        return command()

    return enclosed(lambda: errors_reported(arguments, inside))


def refuse_stalled() -> None:
    """UsageError when links would be late on purpose: no command measures over such a link."""
    if STALL_VARIABLE in os.environ:
        raise UsageError(
            f"{STALL_VARIABLE} is set in the environment, which makes every link late on purpose; unset it"
        )

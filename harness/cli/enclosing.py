"""The enclosure of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from harness.cli.failures import errors_reported
from harness.system.enclosure import enclosed


def in_enclosure(arguments: argparse.Namespace, command: Callable[[], int]) -> int:
    """Run the command in private namespaces; its errors are reported from in there."""
    return enclosed(lambda: errors_reported(arguments, command))

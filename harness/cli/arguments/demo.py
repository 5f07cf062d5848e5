"""The arguments of `coldload demo`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.study import add_out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How long it may take, and where it goes."""
    parser.add_argument(
        "--quick", action="store_true", help="one page, 2 round-trip times, 5 trials: a minute or two"
    )
    add_out(parser)

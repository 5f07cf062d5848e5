"""The arguments of `coldload plan`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.study import add_study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A study, and how much to say of it."""
    add_study(parser)
    parser.add_argument("--order", action="store_true", help="list every trial in its order")

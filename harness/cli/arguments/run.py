"""The arguments of `coldload run`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.report import add_junit
from harness.cli.arguments.study import add_out, add_study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A study, and where its run goes."""
    parser.description = (
        "Run a study. The same command goes on where an interrupted run of the study stopped."
    )
    add_study(parser)
    add_out(parser)
    add_junit(parser)
    parser.add_argument(
        "--new", action="store_true", help="start anew even if an unfinished run of the study exists"
    )

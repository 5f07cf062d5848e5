"""The arguments of `coldload cluster`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is to be made, and where."""
    parser.description = (
        "Make the certificates of a cluster. Scheduler, workers and `coldload run --on` all get a copy of the folder: "
        "who has it belongs to the cluster, and can run programs on all its machines."
    )
    parser.add_argument("what", choices=["certificates"], help="what to make")
    parser.add_argument("folder", type=given_folder, metavar="DIR", help="a new folder for them")

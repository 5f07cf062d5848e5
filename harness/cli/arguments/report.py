"""The arguments of `coldload report`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_folder, given_run, new_file


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and where their report goes."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=given_run,
        metavar="RUN",
        help="a run directory, or a pack of one; its name, or `latest`, will do",
    )
    parser.add_argument(
        "--out",
        type=given_folder,
        metavar="DIR",
        help="where to write (default: the first run; of a pack PACK-report)",
    )
    parser.add_argument(
        "--paper",
        type=given_folder,
        metavar="DIR",
        help="also write a LaTeX document with figures, tables and methods",
    )
    add_junit(parser)


def add_junit(parser: argparse.ArgumentParser, what: str = "the claims") -> None:
    """--junit, which is looked at before anything is measured."""
    parser.add_argument(
        "--junit", type=new_file, metavar="FILE", help=f"also write {what} as JUnit XML, for CI"
    )

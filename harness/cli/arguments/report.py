"""The arguments of `coldload report`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and where their report goes."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory, or a pack of one")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="where to write (default: the first run; of a pack PACK-report)",
    )
    parser.add_argument(
        "--paper",
        type=Path,
        metavar="DIR",
        help="also write a LaTeX document with figures, tables and methods",
    )
    add_junit(parser)


def add_junit(parser: argparse.ArgumentParser, what: str = "the claims") -> None:
    """--junit, which is looked at before anything is measured."""
    parser.add_argument(
        "--junit", type=_new_file, metavar="FILE", help=f"also write {what} as JUnit XML, for CI"
    )


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text} is a folder; name a file in it")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{path.parent} is no folder; make it, or choose another place")
    return path

"""The arguments of `coldload report`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and where their report goes."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: the first run)")

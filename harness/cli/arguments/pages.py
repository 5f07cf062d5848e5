"""The arguments of `coldload pages`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One archive, or none for all."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="an archive (default: list all)")

"""The arguments of `coldload pages`."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """One archive, or none for all; as text or JSON."""
    parser.add_argument("name", nargs="?", metavar="NAME", help="an archive (default: list all)")
    parser.add_argument("--json", action="store_true", help="print what there is of each as a JSON line")

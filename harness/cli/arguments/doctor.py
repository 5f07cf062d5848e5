"""The arguments of `coldload doctor`: none."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""
    parser.description = "Looks for all that coldload needs. Exit code 3: something is missing."

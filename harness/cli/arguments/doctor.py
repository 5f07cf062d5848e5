"""The arguments of `coldload doctor`."""

from __future__ import annotations

import argparse
import math

MOST = math.inf  # --lanes without a number: as many as there is room for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is looked for, or the lanes instead."""
    parser.description = (
        "Looks for all that coldload needs. Exit code 3: something is missing. With --lanes it measures instead how "
        "many enclosures the machine carries side by side."
    )
    parser.add_argument(
        "--lanes",
        type=int,
        nargs="?",
        const=MOST,
        metavar="N",
        help="measure how many lanes the machine carries, and store it for `coldload run --lanes auto`: the same loads "
        "in a lane alone and while all lanes are busy, which may differ by 1 %% at most; with N, measure that number "
        "alone (exit code 1: it is not carried, or that is not known yet)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        default=40,
        metavar="N",
        help="rounds of a measurement of lanes, each with two loads of every protocol (default 40)",
    )

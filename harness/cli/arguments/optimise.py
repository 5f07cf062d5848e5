"""The arguments of `coldload optimize`."""

from __future__ import annotations

import argparse

from harness.cli.variantoption import add_set_option
from harness.model.engine import BROWSERS, DEFAULT_ENGINE
from harness.model.variant import SETS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The page and the variant to make of it."""
    parser.description = (
        "Make a variant of an archive: bytes and requests before and after each filter, and what it "
        "left alone and why. The variant is kept; a study that names it uses the same one."
    )
    parser.add_argument("name", nargs="?", metavar="NAME", help="an archive")
    parser.add_argument(
        "--variant",
        metavar="V",
        help=f"sets ({', '.join(SETS)}) and filters, separated by commas; -NAME takes one out again",
    )
    add_set_option(parser)
    parser.add_argument(
        "--engine",
        choices=[each.value for each in BROWSERS],
        default=DEFAULT_ENGINE.value,
        help=f"the browser it is made for (default {DEFAULT_ENGINE})",
    )
    parser.add_argument("--all-notes", action="store_true", help="list every URL that was left alone")

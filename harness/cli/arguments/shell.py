"""The arguments of `coldload shell`."""

from __future__ import annotations

import argparse

from harness.cli.linkoptions import add_link_options, add_named_link


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The link, and what to run."""
    add_named_link(parser)
    add_link_options(parser)
    parser.add_argument("argv", nargs="*", metavar="COMMAND", help="after --; default: $SHELL")

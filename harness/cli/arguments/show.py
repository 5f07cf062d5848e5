"""The arguments of `coldload show`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_run

HIGHEST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A run, a trial of it, and the port."""
    parser.description = (
        "Show a run in a browser on this machine: conditions, verdicts, the trials as a list, the waterfall, film, "
        "console, screenshot and record of a trial, two trials side by side. Prints the address to open, and answers "
        "until Ctrl-C. The address holds a secret token; nobody without it sees anything."
    )
    parser.add_argument(
        "run",
        type=given_run,
        metavar="RUN",
        help="a run directory, also of a run that is still going, its name, `latest`, or a pack",
    )
    parser.add_argument(
        "trial", nargs="?", metavar="TRIAL", help="begin with this trial; `ID:2` is its second attempt"
    )
    parser.add_argument(
        "--port", type=_port, default=0, metavar="N", help="the port of 127.0.0.1 (default: any that is free)"
    )


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text[:6]) <= HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no port; give a number from 1 to {HIGHEST_PORT}")
    return int(text)

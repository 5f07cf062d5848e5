"""`coldload show`: a run in a local browser page."""

from __future__ import annotations

import argparse
import sys

from harness.cli.paths import given_run
from harness.cli.telling import say

HIGHEST_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
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


def run(arguments: argparse.Namespace) -> int:
    from analysis.show.serving import open_server
    from harness.cli.paths import run_folders
    from harness.system import interruption

    with run_folders([arguments.run]) as (directory,), open_server(directory, arguments.port) as server:
        say(server.url if arguments.trial is None else server.url_of(arguments.trial))
        say("Open this address in a browser on this machine; Ctrl-C ends it.")
        sys.stdout.flush()
        server.serve()
        interruption.calm()  # which is how it ends
    return 0


def _port(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or not 0 < int(text[:6]) <= HIGHEST_PORT:
        raise argparse.ArgumentTypeError(f"{text[:20]!r} is no port; give a number from 1 to {HIGHEST_PORT}")
    return int(text)

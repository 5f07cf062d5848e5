"""`coldload`: parses the command line, runs the command, returns its exit code."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import harness
from harness.cli import archives, calibrate, doctor, load, optimise, report, studies, verify
from harness.cli.common import reported

EPILOG = """exit codes: 0 done, 1 the measurement says no, 2 wrong input, 3 the machine lacks something, 130 interrupted
first steps: `coldload doctor`, then `coldload demo --quick`"""


def parser() -> argparse.ArgumentParser:
    """The whole command line."""
    top = argparse.ArgumentParser(
        prog="coldload",
        description="A page-load laboratory on one machine: archived pages, an emulated link, cold loads, proof.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"coldload {harness.__version__}")
    top.add_argument("-v", "--verbose", action="store_true", help="show the traceback of an error")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for module in (doctor, calibrate, studies, archives, verify, optimise, load, report):
        module.add_commands(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point; returns the exit code."""
    arguments = parser().parse_args(argv)
    return reported(arguments, lambda: arguments.run(arguments))

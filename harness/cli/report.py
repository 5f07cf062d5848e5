"""`coldload report`."""

from __future__ import annotations

import argparse
from pathlib import Path

from harness.cli.common import Subcommands, console


def add_commands(commands: Subcommands) -> None:
    report = commands.add_parser("report", help="tables, figures and report.html from records alone")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory")
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: the first run)")
    report.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    from analysis.report import build  # noqa: PLC0415  # pandas and matplotlib take a second to import

    console().print(f"report: {build(arguments.runs, arguments.out)}")
    return 0

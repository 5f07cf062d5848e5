"""`coldload report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.cli.common import Subcommands, console


def add_commands(commands: Subcommands) -> None:
    report = commands.add_parser("report", help="tables, figures and report.html from records alone")
    report.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="a run directory")
    report.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: the first run)")
    report.set_defaults(run=run_report)


def run_report(arguments: argparse.Namespace) -> int:
    write(arguments.runs, arguments.out)
    return 0


def write(runs: Sequence[Path], out: Path | None = None) -> None:
    """Write the report of the runs, and say where it is and which trials are not in its estimates."""
    from analysis.report import build  # noqa: PLC0415  # pandas and matplotlib take a second to import

    report = build(runs, out)
    if report.left_out:
        reasons = ", ".join(f"{count} {rule}" for rule, count in report.left_out.items())
        console().print(
            f"left out of the estimates: {sum(report.left_out.values())} of {report.recorded} trials ({reasons}); "
            "a further run makes up for them: coldload report RUN RUN"
        )
    console().print(f"report: {report.path}")

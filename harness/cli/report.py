"""`coldload report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from analysis.report import build
from harness.cli.console import console


def run(arguments: argparse.Namespace) -> int:
    write(arguments.runs, arguments.out)
    return 0


def write(runs: Sequence[Path], out: Path | None = None) -> None:
    """Write the report of the runs, and say where it is and which trials are not in its estimates."""
    report = build(runs, out)
    if report.left_out:
        reasons = ", ".join(f"{count} {rule}" for rule, count in report.left_out.items())
        console().print(
            f"left out of the estimates: {sum(report.left_out.values())} of {report.recorded} trials ({reasons}); "
            "a further run makes up for them: coldload report RUN RUN"
        )
    console().print(f"report: {report.path}")

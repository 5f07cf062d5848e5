"""`coldload report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from analysis.claims import junit
from analysis.claims.claimresult import ClaimVerdict
from analysis.report.report import build
from analysis.tables.publishedtable import summary
from harness.cli.console import console
from harness.cli.runfolders import place_of_report, run_folders
from harness.system.folders import records_cache


def run(arguments: argparse.Namespace) -> int:
    out = arguments.out or place_of_report(arguments.runs[0])
    with run_folders(arguments.runs) as runs:
        return write(runs, out, arguments.junit, arguments.paper)


def write(
    runs: Sequence[Path], out: Path | None = None, junit_file: Path | None = None, paper: Path | None = None
) -> int:
    """Write the report of the runs, and say where it is, what it leaves out and which claims do not hold.

    `paper`: also as a LaTeX document in that folder. Returns the exit code: 1 when a claim fails, or one that expects
    something has no data.
    """
    report = build(runs, out, paper, records_cache())
    if report.left_out:
        reasons = ", ".join(f"{count} {rule}" for rule, count in report.left_out.items())
        console().print(
            f"left out of the estimates: {sum(report.left_out.values())} of {report.recorded} attempts ({reasons})"
        )
    for row in report.claims:
        if row.expects and row.verdict is not ClaimVerdict.HOLDS:
            console().print(f"claim {row.claim.name}: {row.verdict}: {row.sentence}")
    if report.published:
        console().print(summary(report.published))
    if junit_file:
        junit.write(report.claims, report.title, junit_file)
    if report.paper:
        console().print(f"paper: {report.paper} (pdflatex, bibtex, pdflatex, pdflatex)")
    console().print(f"report: {report.path}")
    return 1 if any(row.went_wrong for row in report.claims) else 0

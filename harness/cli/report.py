"""`coldload report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from harness.cli.paths import given_folder, given_run, new_file
from harness.system.folders import records_cache


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The runs, and where their report goes."""
    parser.add_argument(
        "runs",
        nargs="+",
        type=given_run,
        metavar="RUN",
        help="a run directory, or a pack of one; its name, or `latest`, will do",
    )
    parser.add_argument(
        "--out",
        type=given_folder,
        metavar="DIR",
        help="where to write (default: the first run; of a pack PACK-report)",
    )
    parser.add_argument(
        "--paper",
        type=given_folder,
        metavar="DIR",
        help="also write a LaTeX document with figures, tables and methods",
    )
    add_junit(parser)


def add_junit(parser: argparse.ArgumentParser, what: str = "the claims") -> None:
    """--junit, which is looked at before anything is measured."""
    parser.add_argument(
        "--junit", type=new_file, metavar="FILE", help=f"also write {what} as JUnit XML, for CI"
    )


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.paths import place_of_report, run_folders

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
    from analysis.claims import junit
    from analysis.claims.claimresult import ClaimVerdict
    from analysis.report.report import build
    from analysis.tables.publishedtable import summary
    from harness.cli.console import console
    from harness.cli.meanwhile import telling

    with telling("tables, figures and page of the report"):
        report = build(runs, out, paper, records_cache())
    if report.provisional:
        console().print(f"provisional: {report.provisional}")
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

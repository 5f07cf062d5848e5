"""`coldload report`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

import harness
from harness.cli.paths import given_folder, given_path, given_run, new_file
from harness.cli.telling import say, telling
from harness.errors import MeasurementRefused
from harness.system.folders import records_cache

if TYPE_CHECKING:
    from analysis.claims.junit import Case
    from analysis.evaluation.results import Results
    from analysis.runs.rundirectory import Run
    from harness.study.budget import PageBudget


BUDGET_FILE = "budget_file"  # the budget of `coldload advise` is a time

OTHER_CLAIMS = (
    f"What others published is judged as coldload {harness.__version__} knows it; the plan of the run holds it as "
    "it was known when the run began."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
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
    add_asked(parser)


def add_asked(
    parser: argparse.ArgumentParser, held: str = "the conditions", cases: str = "the claims"
) -> None:
    """The budget of what is `held` to it, and the files that other programs want; `cases` are those for CI.

    Their places are looked at before anything is done.
    """
    parser.add_argument(
        "--budget",
        dest=BUDGET_FILE,
        type=given_path,
        metavar="FILE.toml",
        help=f"hold {held} to the limits of this file, as docs/ci/budget.toml is: end with 1 when one is exceeded",
    )
    add_junit(parser, cases)
    parser.add_argument(
        "--summary",
        type=new_file,
        metavar="FILE.md",
        help="also write the answers and the medians in a few lines of Markdown, as for a CI job's page",
    )
    parser.add_argument(
        "--influx",
        type=new_file,
        metavar="FILE",
        help="also write the medians as InfluxDB's line protocol",
    )
    parser.add_argument(
        "--otlp",
        type=new_file,
        metavar="FILE",
        help="also write the medians as metrics of OpenTelemetry (OTLP in JSON)",
    )


def add_junit(parser: argparse.ArgumentParser, what: str) -> None:
    """--junit, which is looked at before anything is measured."""
    parser.add_argument(
        "--junit", type=new_file, metavar="FILE", help=f"also write {what} as JUnit XML, for CI"
    )


@dataclass(frozen=True)
class BesideReport:
    """What is asked of a report beside itself: where files go (`paper` is a folder), and a budget."""

    junit: Path | None = None
    summary: Path | None = None
    influx: Path | None = None
    otlp: Path | None = None
    paper: Path | None = None
    budget: PageBudget | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> BesideReport:
        """What a command line asks, also of a command that does not offer it all. StudyError for what is no budget."""
        files = {
            field.name: getattr(arguments, field.name, None)
            for field in fields(cls)
            if field.name != "budget"
        }
        return cls(**files, budget=read_budget(getattr(arguments, BUDGET_FILE, None)))


def read_budget(path: Path | None) -> PageBudget | None:
    """The budget of a command line, if it names one."""
    if path is None:
        return None
    from harness.study.budget import PageBudget

    return PageBudget.read(path)


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.paths import folder_of_report, run_folders

    asked = BesideReport.of(arguments)
    out = arguments.out or folder_of_report(arguments.runs[0])
    with run_folders(arguments.runs) as runs:
        return write(runs, out, asked)


def write(runs: Sequence[Path], out: Path | None = None, asked: BesideReport | None = None) -> int:
    """Write the report of the runs, and say where it is, what it leaves out and which claims do not hold.

    Returns the exit code: 1 when a claim or a limit of the budget fails, or has no data. MeasurementRefused when
    medians are asked for and no trial counts, and for a run of `coldload advise` that compares nothing.
    """
    from analysis.claims.claimresult import ClaimVerdict
    from analysis.report.advice import HTML as ADVICE
    from analysis.report.report import build
    from analysis.tables.publishedtable import summary

    asked = asked or BesideReport()
    with telling("tables, figures and page of the report") as tell:
        report = build(runs, out, asked.paper, read_as_known_today, asked.budget, tell)
    if report.provisional:
        say(f"provisional: {report.provisional}")
    if report.left_out:
        reasons = ", ".join(f"{count} {rule}" for rule, count in report.left_out.items())
        say(
            f"left out of the estimates: {sum(report.left_out.values())} of {report.recorded} attempts ({reasons})"
        )
    for row in report.claims:
        if row.expects and row.verdict is not ClaimVerdict.HOLDS:
            say(f"claim {row.claim.name}: {row.verdict}: {row.sentence}")
    if report.published:
        say(summary(report.published))
    write_files(report.results, asked)
    if report.paper:
        say(f"paper: {report.paper} (pdflatex, bibtex, pdflatex, pdflatex)")
    say(f"report: {report.path}")
    if report.advice is not None:
        for line in report.advice.lines():
            say(line)
        say(f"advice: {report.path.with_name(ADVICE)}")
        if report.advice.is_empty:
            why = ", ".join(f"{count} {rule}" for rule, count in report.left_out.items())
            raise MeasurementRefused(
                f"nothing counts yet that could be compared ({why or 'the time was up'}); the same `coldload advise` "
                "goes on, best on a quiet machine"
            )
    return 1 if any(row.went_wrong for row in report.claims) else 0


def read_as_known_today(directory: Path) -> Run:
    """A run with what is known today of a publication that ships; a note says so where its plan holds something else.

    What an original tells may have been read anew since, and is no part of what was measured.
    """
    from analysis.runs.rundirectory import load
    from harness.study.studyfile import published_today

    run = load(directory, records_cache())
    today = published_today(run.plan) if run.plan else None
    if run.plan is None or today is None or today == run.plan.published:
        return run
    return replace(run, plan=replace(run.plan, published=today), notes=(*run.notes, OTHER_CLAIMS))


def write_files(results: Results, asked: BesideReport, cases: Iterable[Case] | None = None) -> None:
    """The files that other programs want. `cases` for CI are those of the claims, unless others are given."""
    from analysis.claims import junit
    from analysis.report import answers, facts
    from analysis.tables.medians import medians, to_influx, to_otlp

    if asked.junit:
        of_claims = (junit.case_of(row, results.wording) for row in results.claims)
        told = of_claims if cases is None else cases
        asked.junit.write_bytes(junit.suite(told, facts.title(results)))
    if asked.summary:
        asked.summary.write_text(answers.to_markdown(results), encoding="utf-8")
    for path, made in ((asked.influx, to_influx), (asked.otlp, to_otlp)):
        if path:
            path.write_text(made(medians(results)), encoding="utf-8")

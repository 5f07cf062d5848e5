"""The arguments of `coldload compare`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_run
from harness.cli.arguments.report import add_junit
from harness.model.kind import Kind
from harness.model.metrics import main_metric


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Two runs, what of them is compared, and when that is a failure."""
    parser.description = (
        "Tell what changed from one run of a study to another: per condition the ratio B/A with its interval and a "
        "verdict; the settings and versions that differ; the claims with another verdict. Exit code 1: --fail-on."
    )
    parser.add_argument(
        "run_a",
        type=given_run,
        metavar="RUN_A",
        help="a run directory, its name, `latest`, or a pack: the reference",
    )
    parser.add_argument("run_b", type=given_run, metavar="RUN_B", help="another one: what is set against it")
    parser.add_argument(
        "--metric",
        metavar="METRIC",
        help="what is compared (default: the main metric of the runs' kind, "
        f"{', '.join(main_metric(kind) for kind in Kind)})",
    )
    parser.add_argument(
        "--margin",
        default="3",
        metavar="PERCENT",
        help="the difference that is declared not to matter (default 3)",
    )
    parser.add_argument(
        "--fail-on",
        metavar="PERCENT",
        help="end with 1 when a condition is worse in B (slower, or a lower rate) by more than this, or has no data "
        "there any more; 0: by anything that has a verdict",
    )
    add_junit(parser, "the conditions")
    parser.add_argument("--json", action="store_true", help="print it for programs")

"""The arguments of `coldload pack`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path, given_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A run, where its pack goes, and whether report and archives go with it."""
    parser.description = (
        "Make one file of a run: study, plan, records, environment, calibration, report, and of the pages what they "
        "hold by digest. `coldload report`, `compare`, `plan` and `run` take it as they take a run or a study."
    )
    parser.add_argument(
        "run", type=given_run, metavar="RUN", help="a run directory; its name, or `latest`, will do"
    )
    parser.add_argument(
        "--out", type=given_path, metavar="FILE", help="the pack (default: RUN.zip, beside the run)"
    )
    parser.add_argument(
        "--no-report",
        action="store_true",
        help="leave the report out, which is made anew from the pack: a tenth of the size",
    )
    parser.add_argument(
        "--with-archives",
        action="store_true",
        help="also put the archives in, with the bodies of all responses: for those who may pass them on",
    )
    parser.add_argument(
        "--with-series",
        action="store_true",
        help="of a crowd also put its long series in, a line per page and per second: ten times the size",
    )

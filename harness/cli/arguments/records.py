"""The arguments of `coldload records`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path, given_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A run, which of its records, as what, and where they go."""
    parser.description = (
        "Give out the records of a run as one flat table, a row per attempt at a trial: as CSV, or as Parquet for "
        "pandas, DuckDB, R and others. docs/records.md lists the columns."
    )
    parser.add_argument(
        "run",
        type=given_run,
        metavar="RUN",
        help="a run directory, or a pack of one; its name, or `latest`, will do",
    )
    parser.add_argument(
        "--where",
        metavar="EXPRESSION",
        help="only the records for which this is true, in DuckDB's SQL, as in \"protocol == 'h2' and plt_ms > 1000\"",
    )
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--csv", action="store_true", help="as CSV (default)")
    kinds.add_argument("--parquet", action="store_true", help="as Parquet")
    parser.add_argument(
        "--out", type=given_path, metavar="FILE", help="where they go (default: standard output)"
    )

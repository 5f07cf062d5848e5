"""The arguments of `coldload run`."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_path
from harness.cli.arguments.report import add_junit
from harness.cli.arguments.study import add_out, add_study


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """A study, and where its run goes."""
    parser.description = (
        "Run a study. The same command goes on where an interrupted run of the study stopped."
    )
    add_study(parser)
    add_out(parser)
    add_junit(parser)
    parser.add_argument(
        "--new", action="store_true", help="start anew even if an unfinished run of the study exists"
    )
    parser.add_argument(
        "--lanes",
        metavar="N|auto",
        help="measure in N enclosures side by side, each on cores of its own; auto: as many as "
        "`coldload doctor --lanes` found (default: one, on all cores)",
    )
    cluster = parser.add_argument_group("on other machines (docs/cluster.md)")
    cluster.add_argument(
        "--on",
        metavar="URL",
        help="run on the workers of this scheduler of Dask, as in tls://lab.example:8786; records are stored here",
    )
    cluster.add_argument(
        "--certificates",
        type=given_path,
        metavar="DIR",
        help="the certificates of the cluster, as `coldload cluster certificates DIR` makes them",
    )
    cluster.add_argument(
        "--insecure",
        action="store_true",
        help="take a scheduler without certificates that others could reach: they can run programs on all its machines",
    )
    cluster.add_argument(
        "--allow-mixed",
        action="store_true",
        help="take machines with other browsers and servers; the report treats every machine as a level anyway",
    )

"""The arguments of commands that take a study."""

from __future__ import annotations

import argparse

from harness.cli.arguments.paths import given_folder, study_or_path


def add_study(parser: argparse.ArgumentParser) -> None:
    """STUDY, --trials, --until, --without and --only."""
    parser.add_argument(
        "study",
        type=study_or_path,
        metavar="STUDY.toml",
        help="a study file, the name of a study that ships, or a pack",
    )
    parser.add_argument(
        "--trials", type=int, metavar="N", help="trials per condition, instead of the study's"
    )
    parser.add_argument(
        "--until",
        metavar="PERCENT",
        help="stop a condition once the half-width of its interval is this, as in '2 %%', at looks fixed beforehand "
        "(at most 60 trials, or the study's most)",
    )
    parser.add_argument(
        "--without",
        action="append",
        metavar="PAGE=FILTERS",
        default=[],
        help="leave these filters out of the variants of a page, instead of those that the study leaves out, as of one "
        "that they break; PAGE= measures it with all of them (may be repeated)",
    )
    parser.add_argument(
        "--only",
        action="append",
        metavar="KEY=VALUE",
        default=[],
        help="keep the conditions with page=, variant=, compression=, protocol=, link=, engine=, driver=, server=, "
        "cpu_slowdown= or cache= this value, or one of several with commas (one server at a time); of crowds and "
        "closed loops also users=, connections= or depth=; figure= those that a figure of the study needs (may be "
        "repeated: all of them must be so)",
    )


def add_out(parser: argparse.ArgumentParser) -> None:
    """--out."""
    parser.add_argument(
        "--out",
        type=given_folder,
        metavar="DIR",
        help="run directory (default: a new one under runs/; installed from a wheel, under "
        "$XDG_DATA_HOME/coldload/runs, ~/.local/share/coldload/runs)",
    )

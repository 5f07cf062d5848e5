"""`coldload demo`: the main job on the pages and the study that ship."""

from __future__ import annotations

import argparse

from harness.cli.studychoice import add_out


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--quick", action="store_true", help="one page, 2 round-trip times, 5 trials: a minute or two"
    )
    add_out(parser)


def run(arguments: argparse.Namespace) -> int:
    from harness.cli.run import run_and_report
    from harness.study.studyfile import read_study, shipped_studies

    path = shipped_studies()["demo-quick" if arguments.quick else "demo"]
    study = read_study(path)
    arguments.new = False
    return run_and_report(arguments, path, study)

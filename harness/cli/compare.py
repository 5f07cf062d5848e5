"""`coldload compare`: what changed between two runs of a study."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from harness.cli.paths import given_run
from harness.cli.plaintext import say
from harness.cli.report import add_junit
from harness.errors import UsageError
from harness.input.shown import printable, shown
from harness.model.kind import Kind, main_metric
from harness.system.folders import records_cache

if TYPE_CHECKING:
    from analysis.comparing.runpair import RunPair


MOST_PERCENT = 1_000.0


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


def run(arguments: argparse.Namespace) -> int:
    from analysis.claims import junit
    from analysis.comparing.runpair import to_json
    from harness.cli.comparelines import case_of, failed_text, lines

    margin = _percent("--margin", arguments.margin)
    if margin == 0:
        raise UsageError("--margin is 0; no two runs are that much alike, so give more, as in 3")
    if arguments.junit and arguments.fail_on is None:
        raise UsageError(
            "--junit without --fail-on: no condition could fail; say what is a failure, as in --fail-on 3"
        )
    limit = None if arguments.fail_on is None else _percent("--fail-on", arguments.fail_on)
    pair = _read(arguments, margin)
    failed = () if limit is None else (*pair.worse_by(limit), *pair.lost)
    told = "" if limit is None else failed_text(pair, limit, failed)
    if arguments.junit:
        title = f"{pair.runs[0].directory} against {pair.runs[1].directory}"
        arguments.junit.write_bytes(
            junit.suite((case_of(each, pair, failed) for each in pair.changes), title)
        )
    if arguments.json:
        said = {**to_json(pair), "fail_on": limit, "failed": bool(failed)}
        print(json.dumps(said, indent=1, allow_nan=False))
        if failed:
            print(printable(told), file=sys.stderr)
    else:
        for line in lines(pair):
            say(line)
        if told:
            say(told)
    return 1 if failed else 0


def _read(arguments: argparse.Namespace, margin: float) -> RunPair:
    """The two runs, called as the command line calls them."""
    from analysis.comparing.runpair import read_pair
    from harness.cli.paths import run_folders

    given = arguments.run_a, arguments.run_b
    with run_folders(given) as (run_a, run_b):
        pair = read_pair(run_a, run_b, arguments.metric, margin / 100, records_cache())
    first, second = (replace(run, directory=path) for run, path in zip(pair.runs, given, strict=True))
    return replace(pair, runs=(first, second))


def _percent(option: str, text: str) -> float:
    """A percentage, with its sign or without."""
    try:
        found = float(text.removesuffix("%"))
    except ValueError:
        found = math.nan
    if not 0 <= found <= MOST_PERCENT:
        raise UsageError(
            f"{option} is {shown(text)}; it must be a percentage from 0 to {MOST_PERCENT:g}, as in 3"
        )
    return found

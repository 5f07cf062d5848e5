"""`coldload compare`: what changed between two runs of a study."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.cli.paths import given_run, new_file, run_folders
from harness.cli.report import add_junit
from harness.cli.telling import say, telling
from harness.errors import UsageError
from harness.input.shown import printable, shown
from harness.model.kind import FELT
from harness.system.folders import records_cache

if TYPE_CHECKING:
    from pathlib import Path

    from analysis.comparing.answers import Answered
    from analysis.comparing.pair import RunPair
    from harness.study.budget import PageBudget


MOST_PERCENT = 1_000.0
CODES = (
    "Exit codes of --fail-on: 0 no difference is above the bound, 1 one is, 4 not known (an interval lies above the "
    "bound in part, there are too few trials, or B was not measured where A was)."
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Tell what changed from one run of a study to another: per condition a sentence for each metric that a visitor "
        f"feels, with its interval; the settings and versions that differ; the claims with another verdict. {CODES}"
    )
    parser.add_argument(
        "run_a",
        type=given_run,
        metavar="RUN_A",
        help="a run directory, its name, `latest`, or a pack: the reference",
    )
    parser.add_argument("run_b", type=given_run, metavar="RUN_B", help="another one: what is set against it")
    add_judging(parser)
    add_junit(parser, "the differences")


def add_judging(parser: argparse.ArgumentParser) -> None:
    """--metric, --margin, --fail-on, --html and --json."""
    parser.add_argument(
        "--metric",
        action="append",
        default=[],
        metavar="METRIC",
        help=f"compare this alone (may be repeated; default: {', '.join(FELT)}, of other kinds the main metric)",
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
        help="end with 1 when B is worse (slower, more, a lower rate) by more than this or has no data any more: when "
        "the whole interval of a difference lies above; with 4 when one lies above in part, or B was not measured "
        "where A was. A bound of 0 takes any worsening",
    )
    parser.add_argument(
        "--html", type=new_file, metavar="FILE", help="also write a page with waterfalls side by side"
    )
    parser.add_argument("--json", action="store_true", help="print it for programs")


@dataclass(frozen=True)
class Judging:
    """What is asked of a comparison: its metrics, the margin as a share, the bound in per cent, the budget of B."""

    metrics: tuple[str, ...]
    margin: float
    limit: float | None
    budget: PageBudget | None = None

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> Judging:
        """UsageError for what cannot be meant."""
        margin = _percent("--margin", arguments.margin)
        if margin == 0:
            raise UsageError("--margin is 0; no two runs are that much alike, so give more, as in 3")
        limit = None if arguments.fail_on is None else _percent("--fail-on", arguments.fail_on)
        return cls(tuple(arguments.metric), margin / 100, limit)


def run(arguments: argparse.Namespace) -> int:
    judging = Judging.of(arguments)
    if arguments.junit and judging.limit is None:
        raise UsageError(
            "--junit without --fail-on: no condition could fail; say what is a failure, as in --fail-on 3"
        )
    given = arguments.run_a, arguments.run_b
    pair = _compared(given, judging, arguments.html)
    from analysis.claims import junit
    from analysis.comparing.pair import to_json
    from harness.cli.comparelines import cases, compared

    if arguments.junit and judging.limit is not None:
        title = f"{given[0]} against {given[1]}"
        arguments.junit.write_bytes(junit.suite(cases(pair.answers, judging.limit), title))
    data = to_json(pair, judging.limit) if arguments.json else None
    return tell_answers(pair.answers, judging.limit, compared(pair, judging.limit), data)


def _compared(given: tuple[Path, Path], judging: Judging, page: Path | None) -> RunPair:
    """Compare them, and write the page. It is told of from the imports on, which take as long as two small runs."""
    with run_folders(given) as unpacked, telling("comparing the two runs") as tell:
        from analysis.comparing.page import page_of_pair, write
        from analysis.comparing.pair import compare_runs, load_pair

        runs = load_pair(unpacked, records_cache(), given)
        pair = compare_runs(runs, judging.metrics, judging.margin, tell)
        if page:
            write(page_of_pair(pair, judging.limit), page)
        return pair


def tell_answers(
    answers: Answered, limit: float | None, lines: Iterable[str], data: Mapping[str, Any] | None
) -> int:
    """Print the lines, or the data where a program asked for them; returns the exit code."""
    from analysis.comparing.answers import OUTCOMES
    from harness.cli.comparelines import wrapped

    last = "" if limit is None else answers.bound_text(limit)
    if data is None:
        for line in [*lines, *wrapped([last])]:
            say(line)
    else:
        print(json.dumps(data, indent=1, allow_nan=False))
        if last:
            print(printable(last), file=sys.stderr)
    return 0 if limit is None else OUTCOMES[answers.outcome(limit)]


def _percent(option: str, text: str) -> float:
    """A percentage, with its sign or without."""
    try:
        percentage = float(text.removesuffix("%"))
    except ValueError:
        percentage = math.nan
    if not 0 <= percentage <= MOST_PERCENT:
        raise UsageError(
            f"{option} is {shown(text)}; it must be a percentage from 0 to {MOST_PERCENT:g}, as in 3"
        )
    return percentage

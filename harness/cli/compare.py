"""`coldload compare`: what changed between two runs of a study."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import replace

from analysis.claims import junit
from analysis.claims.junit import Case, Ending
from analysis.comparing.between import Change
from analysis.comparing.pairjson import to_json
from analysis.comparing.runpair import RunPair, read_pair
from analysis.labels import metrics
from analysis.statistics.compare import Verdict
from analysis.statistics.verdicts import direction_text
from harness.cli.comparelines import lines, name_of, ratio_of, verdict_of
from harness.cli.plaintext import say
from harness.cli.runfolders import run_folders
from harness.errors import UsageError
from harness.input.shown import printable, shortened, shown
from harness.system.folders import records_cache

MOST_PERCENT = 1_000.0
NAMED = 3


def run(arguments: argparse.Namespace) -> int:
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
    told = "" if limit is None else _told(pair, limit, failed)
    if arguments.junit:
        title = f"{pair.runs[0].directory} against {pair.runs[1].directory}"
        arguments.junit.write_bytes(junit.suite((_case(each, pair, failed) for each in pair.changes), title))
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
    given = arguments.run_a, arguments.run_b
    with run_folders(given) as (run_a, run_b):
        pair = read_pair(run_a, run_b, arguments.metric, margin / 100, records_cache())
    first, second = (replace(run, directory=path) for run, path in zip(pair.runs, given, strict=True))
    return replace(pair, runs=(first, second))


def _told(pair: RunPair, limit: float, failed: tuple[Change, ...]) -> str:
    """What --fail-on found."""
    words = metrics.direction(pair.metric)
    worse = words.below if metrics.more_is_better(pair.metric) else words.above
    by = f"{worse} by more than {limit:g} %" if limit else worse
    said = f"--fail-on {limit:g}: {len(failed)} of {len(pair.changes)} conditions"
    if not failed:
        return f"{said} {by}"
    names = [
        f"{name_of(each.condition, pair)} ({f'B/A {each.comparison.ratio:.3f}' if each.n[1] else 'no data in B'})"
        for each in failed
    ]
    what = f"{by} or without data in B" if pair.lost else by
    return f"{said} {what}: {shortened(names, NAMED, separator='; ', noun='condition')}"


def _case(change: Change, pair: RunPair, failed: Sequence[Change]) -> Case:
    """A condition as a case for CI: it fails where --fail-on does, and is skipped while nothing is known."""
    if change in failed:
        ending = Ending.FAILED if change.n[1] else Ending.ERROR
    else:
        ending = Ending.SKIPPED if change.judgement.verdict is Verdict.UNKNOWN else Ending.PASSED
    said = f"B/A {ratio_of(change.comparison)}: {verdict_of(change, pair)}"
    return Case(
        name_of(change.condition, pair), ending, said, direction_text(change.judgement.verdict, pair.metric)
    )


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

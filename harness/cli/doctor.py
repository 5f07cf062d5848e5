"""`coldload doctor`: what is ready, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from harness.cli.telling import say
from harness.errors import ColdloadError, UsageError
from harness.system.folders import set_up_everything

if TYPE_CHECKING:
    from harness.lab.preflight import Check


USUAL_ROUNDS = 40
MOST = math.inf  # --lanes without a number: as many as there is room for


LATER = "not there yet: the first command that needs it makes it (`coldload setup` does so beforehand)"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "Looks for all that coldload needs. Exit code 3: something is missing. With --lanes it measures instead how "
        "many lanes the machine carries side by side."
    )
    parser.add_argument(
        "--lanes",
        type=int,
        nargs="?",
        const=MOST,
        metavar="N",
        help="measure how many lanes the machine carries, and store it for `coldload run --lanes auto`: the same loads "
        "in a lane alone and while all lanes are busy, which may differ by 1 %% at most; with N, measure that number "
        "alone (exit code 1: it is not carried, or that is not known yet)",
    )
    parser.add_argument(
        "--rounds",
        type=int,
        metavar="N",
        help="rounds of a measurement of lanes, each with two loads of every protocol "
        f"(default {USUAL_ROUNDS})",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.lanes is not None:
        from harness.cli.lanes import measure_lanes

        rounds = USUAL_ROUNDS if arguments.rounds is None else arguments.rounds
        return measure_lanes(arguments, None if arguments.lanes == MOST else arguments.lanes, rounds)
    if arguments.rounds is not None:
        raise UsageError("--rounds does nothing without --lanes; leave it out, or give --lanes, too")
    from harness.lab.preflight import checks, missing

    all_checks = [*checks(), _generator_check()]
    for check in all_checks:
        mark = "ok" if check.ok else ("limits" if check.optional else "MISSING")
        say(f"{mark:8} {check.what}: {check.found}")
        if not check.ok:
            say(f"{'':8} to mend it: {check.remedy}")
    lacking = missing(all_checks)
    if lacking:
        say(
            f"\n{len(lacking)} missing; `{set_up_everything()}` installs everything, or use the commands above."
        )
        return 3
    say("\nready; try `coldload demo --quick`")
    return 0


def _generator_check() -> Check:
    from harness.capacity.k6 import REMEDY, k6_program, k6_version
    from harness.lab.preflight import Check

    what = "k6: the generator of users"
    try:
        k6_program()
    except ColdloadError:
        return Check(what, False, LATER, REMEDY, optional=True)
    return Check(what, True, k6_version(), optional=True)

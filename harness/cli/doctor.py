"""`coldload doctor`: what is ready, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse

from harness.capacity.k6program import REMEDY, k6_program, k6_version
from harness.cli.plaintext import say
from harness.errors import ColdloadError
from harness.lab.preflight import Check, checks, missing
from harness.system.installation import set_up_everything


def run(arguments: argparse.Namespace) -> int:
    if arguments.lanes is not None:
        # Imports what this command looks for otherwise.
        from harness.cli.lanemeasuring import measure_lanes  # noqa: PLC0415

        return measure_lanes(arguments)
    found = [*checks(), _generator_check()]
    for check in found:
        mark = "ok" if check.ok else ("limits" if check.optional else "MISSING")
        say(f"{mark:8} {check.what}: {check.found}")
        if not check.ok:
            say(f"{'':8} to mend it: {check.remedy}")
    lacking = missing(found)
    if lacking:
        say(
            f"\n{len(lacking)} missing; `{set_up_everything()}` installs everything, or use the commands above."
        )
        return 3
    say("\nready; try `coldload demo --quick`")
    return 0


LATER = "not there yet: the first command that needs it makes it (`coldload setup` does so beforehand)"


def _generator_check() -> Check:
    what = "k6: the generator of users"
    try:
        k6_program()
    except ColdloadError:
        return Check(what, False, LATER, REMEDY, optional=True)
    return Check(what, True, k6_version(), optional=True)

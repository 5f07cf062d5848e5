"""`coldload doctor`: what is ready, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse

from harness.cli.plaintext import say
from harness.testbed.preflight import checks, missing


def run(_arguments: argparse.Namespace) -> int:
    found = checks()
    for check in found:
        mark = "ok" if check.ok else ("limits" if check.optional else "MISSING")
        say(f"{mark:8} {check.what}: {check.found}")
        if not check.ok:
            say(f"{'':8} to mend it: {check.remedy}")
    lacking = missing(found)
    if lacking:
        say(f"\n{len(lacking)} missing; `make setup` installs everything, or use the commands above.")
        return 3
    say("\nready; try `coldload demo --quick`")
    return 0

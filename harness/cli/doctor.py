"""`coldload doctor`: what is ready, what is missing, and the command that mends it."""

from __future__ import annotations

import argparse

from harness.cli.console import console
from harness.testbed.preflight import checks, missing


def run(_arguments: argparse.Namespace) -> int:
    found = checks()
    out = console()
    for check in found:
        mark = "ok" if check.ok else ("limits" if check.optional else "MISSING")
        out.print(f"{mark:8} {check.what}: {check.found}", markup=False)
        if not check.ok:
            out.print(f"{'':8} to mend it: {check.remedy}", markup=False)
    lacking = missing(found)
    if lacking:
        out.print(f"\n{len(lacking)} missing; `make setup` installs everything, or use the commands above.")
        return 3
    out.print("\nready; try `coldload demo --quick`")
    return 0

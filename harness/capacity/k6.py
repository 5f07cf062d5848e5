"""k6 as a generator of users."""

from __future__ import annotations

from pathlib import Path

from harness.capacity.k6program import SOURCES, k6_program, k6_version
from harness.capacity.usergenerator import UserGenerator
from harness.system.command import Command

# Nothing is asked for but the page: no reports of use, no page of results, no server of its own, no extensions.
QUIETLY = (
    "--quiet",
    "--no-color",
    "--no-usage-report",
    "--summary-mode=disabled",
    "--no-thresholds",
    "--address=",
)
# Go's collector runs when the heap has grown by so much. Against the default of 100 that saved 8 % of HTTP/2's CPU and
# none of HTTP/1.1's (one run each, busy machine). A thousand users took 0.7 GB.
COLLECT_PERCENT = "300"


def command(plan: Path, files: Path) -> Command:
    """What runs the crowd of a plan; `harness/capacity/k6/page/plan.go` has its keys."""
    words = Command.of(k6_program(), "run", *QUIETLY, SOURCES / "crowd.js")
    return words.with_environment(PLAN=str(plan), XDG_CONFIG_HOME=str(files), GOGC=COLLECT_PERCENT)


def version() -> str:
    """Name and version; EnvironmentLacks when it is not built."""
    k6_program()
    return k6_version()


K6 = UserGenerator("k6", command, version)

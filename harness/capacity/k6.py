"""Running k6 as the generator of users: a plan in, a line per page out."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from harness.capacity.k6program import SOURCES, k6_program
from harness.system.command import Command
from harness.system.netns import Host
from harness.system.process import Process, running

PLAN_NAME, LOG_NAME = "plan.json", "k6.log"
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


@contextlib.contextmanager
def generating(plan: Mapping[str, Any], host: Host, files: Path) -> Iterator[Process]:
    """A crowd on a host for the length of the block. It ends by itself when its time is over (`check_ended_well`).

    The plan says what is loaded, by whom and when; `harness/capacity/k6/page/plan.go` has its keys. The lines of the
    pages come to the plan's `lines`, each whole as its page ends. Plan and log are in `files`.
    """
    files.mkdir(parents=True, exist_ok=True)
    file = files / PLAN_NAME
    file.write_text(json.dumps(plan) + "\n", encoding="utf-8")
    command = (
        Command.of(k6_program(), "run", *QUIETLY, SOURCES / "crowd.js")
        .named("k6")
        .with_environment(PLAN=str(file), XDG_CONFIG_HOME=str(files), GOGC=COLLECT_PERCENT)
        .on(host.path)
        .dying_with_us()
    )
    with running(command, files / LOG_NAME) as process:
        yield process

"""The generators of users: a plan in, a line per page out.

Today's protocols have k6 with a page loader of ours. Those of 2012, on the gateway, have a generator of ours in Node,
on the gateway's own package; `node/` beside this file has its parts. It takes the plan that k6 takes and tells the same
lines, and speaks HTTP/1.1, too, so that the protocols on the gateway are compared by one generator.

What to know of its figures: a single thread of Node loads all pages, which cost two to three times what they cost k6.
A trial in which that thread was busy all the time does not count. No request of a page has priority over another.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.capacity.k6 import SOURCES, k6_program, k6_version
from harness.model.engine import Engine
from harness.system.netns import Host
from harness.system.process import Process, running
from harness.system.program import Command
from sites.servers.nodepackages import node, node_modules, refuse_unless_loadable

PLAN_NAME = "plan.json"
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


@dataclass(frozen=True)
class UserGenerator:
    """A generator as it is started.

    `command` takes the plan's file, and a folder for files of its own. `version` is name and version; EnvironmentLacks
    when it cannot run here. `threads` is how many of its threads load pages, None: as many as there are cores.
    """

    name: str
    command: Callable[[Path, Path], Command]
    version: Callable[[], str]
    threads: int | None = None

    def log(self, files: Path) -> Path:
        """What it said beside the lines of the pages."""
        return files / f"{self.name}.log"

    @contextlib.contextmanager
    def generating(self, plan: Mapping[str, Any], host: Host, files: Path) -> Iterator[Process]:
        """A crowd on a host for the length of the block. It ends by itself when its time is over (`check_ended_well`).

        The plan says what is loaded, by whom and when. The lines of the pages come to the plan's `lines`, each whole
        as its page ends. Plan and log are in `files`.
        """
        files.mkdir(parents=True, exist_ok=True)
        file = files / PLAN_NAME
        file.write_text(json.dumps(plan) + "\n", encoding="utf-8")
        command = self.command(file, files).named(self.name).on(host.path).dying_with_us()
        with running(command, self.log(files)) as process:
            yield process


def _k6(plan: Path, files: Path) -> Command:
    """What runs the crowd of a plan; `harness/capacity/k6/page/plan.go` has its keys."""
    words = Command.of(k6_program(), "run", *QUIETLY, SOURCES / "crowd.js")
    return words.with_environment(PLAN=str(plan), XDG_CONFIG_HOME=str(files), GOGC=COLLECT_PERCENT)


def _k6_version() -> str:
    """Name and version; EnvironmentLacks when it is not built."""
    k6_program()
    return k6_version()


def _spdy_client(plan: Path, _files: Path) -> Command:
    """What runs the crowd of a plan."""
    program = importlib.resources.files("harness.capacity").joinpath("node", "users.js")
    return Command.of(node(), str(program), plan).with_environment(NODE_PATH=str(node_modules()))


def _spdy_version() -> str:
    """Name and version; EnvironmentLacks when Node, or its package, is missing."""
    return f"spdy-client/Node {refuse_unless_loadable()}"


K6 = UserGenerator("k6", _k6, _k6_version)
SPDY_USERS = UserGenerator("spdy-client", _spdy_client, _spdy_version, threads=1)
GENERATORS: Mapping[Engine, UserGenerator] = {Engine.K6: K6, Engine.SPDY_CLIENT: SPDY_USERS}

"""Users by the protocols of 2012, on the gateway: a generator of ours in Node, on the gateway's own package.

It takes the plan that k6 takes and tells the same lines. It speaks HTTP/1.1, too, so that the protocols on the gateway
are compared by one generator. `node/` beside this file has its parts.

What to know of its figures: a single thread of Node loads all pages, which cost two to three times what they cost k6.
A trial in which that thread was busy all the time does not count. No request of a page has priority over another.
"""

from __future__ import annotations

import importlib.resources
from pathlib import Path

from harness.capacity.usergenerator import UserGenerator
from harness.system.command import Command
from sites.servers.nodepackages import node, node_modules, refuse_unless_loadable

PROGRAM = ("node", "users.js")


def command(plan: Path, _files: Path) -> Command:
    """What runs the crowd of a plan."""
    program = importlib.resources.files("harness.capacity").joinpath(*PROGRAM)
    return Command.of(node(), str(program), plan).with_environment(NODE_PATH=str(node_modules()))


def version() -> str:
    """Name and version; EnvironmentLacks when Node, or its package, is missing."""
    return f"spdy-client/Node {refuse_unless_loadable()}"


SPDY_USERS = UserGenerator("spdy-client", command, version, threads=1)

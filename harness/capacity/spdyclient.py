"""The client of ours for the protocols of 2012, on their gateway: a closed loop, and users.

No tool of today speaks SPDY. This one runs in Node on the gateway's own package (spdy-transport) and speaks HTTP/1.1,
too, pipelined or not, so that the protocols on the gateway are compared with one tool. Its users take the plan that k6
takes, and tell the same lines; `node/` beside this file has their parts.

What to know of the figures of users: a single thread of Node loads all pages, which cost two to three times what they
cost k6. A trial in which that thread was busy all the time does not count. No request of a page has priority over
another.

What to know of the figures of the loop: Node on one thread costs a hundred times what wrk costs for a request, and the
gateway, in Node as well, no less. They compare protocols on the gateway with each other, and with nothing else. Its
warm-up is its own; a latency begins when the request is written and ends with the answer, and is not corrected for
anything. Bytes are those on the sockets.
"""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

from harness.capacity.loadtool import ClosedLoop, RateReading, RateTool, UserGenerator, percentiles
from harness.errors import TestbedFailed
from harness.input.shown import shown
from harness.system.program import Command
from sites.servers.nodepackages import node, node_modules, node_version, refuse_unless_loadable

SCRIPT = "spdyclient.js"
COUNTS_FROM = "the warm-up is over"
RECONNECT_MS = 100
KEYS = frozenset({"requests", "errors", "bytes", "times", "protocol", "tls", "seconds"})


def command(loop: ClosedLoop, _folder: Path) -> Command:
    """What runs the loop after its warm-up."""
    refuse_unless_loadable()
    settings = {
        "url": loop.url,
        "wire": loop.protocol.wire,
        "encrypted": loop.protocol.encrypted,
        "connections": loop.connections,
        "depth": loop.depth,
        "seconds": loop.seconds,
        "warm_s": loop.warm_s,
        "accepted": loop.accepted,
        "counts_from": COUNTS_FROM,
        "again_ms": RECONNECT_MS,
    }
    script = importlib.resources.files("harness.capacity") / SCRIPT
    words = Command.of(node(), str(script), json.dumps(settings)).named("spdy-client")
    return words.with_environment(NODE_PATH=str(node_modules()))


def read(said: str, loop: ClosedLoop, _folder: Path) -> RateReading:
    """What its output says; TestbedFailed, with the line, when it is not understood."""
    lines = said.splitlines()
    strange = next((line for line in lines[:-1] if line != COUNTS_FROM), None)
    if strange is not None or len(lines) != 2:
        raise TestbedFailed(f"spdy-client printed a strange line: {shown(strange or said[-200:])}")
    told = _told(lines[-1])
    return RateReading(
        seconds=told["seconds"],
        requests=told["requests"],
        errors=told["errors"],
        bytes_read=told["bytes"],
        latency=percentiles({int(us): count for us, count in told["times"].items()})
        if told["times"]
        else None,
        protocol=told["protocol"] if loop.protocol.encrypted else None,
        tls=told["tls"],
    )


def _told(line: str) -> dict[str, Any]:
    """Its last line, which must be ours: the counts agree, and time has passed."""
    try:
        told = json.loads(line)
        good = set(told) == KEYS and told["seconds"] > 0 and sum(told["times"].values()) == told["requests"]
    except (ValueError, TypeError, AttributeError, KeyError):
        good = False
    if not good:
        raise TestbedFailed(f"spdy-client ended with a strange line: {shown(line)}")
    return dict(told)


SPDY_CLIENT = RateTool(
    "spdy-client", command, read, lambda: f"spdy-client/Node {node_version()}", COUNTS_FROM, threaded=False
)


def _users(plan: Path, _files: Path) -> Command:
    """What runs the crowd of a plan."""
    program = importlib.resources.files("harness.capacity").joinpath("node", "users.js")
    return Command.of(node(), str(program), plan).with_environment(NODE_PATH=str(node_modules()))


def _users_version() -> str:
    """Name and version; EnvironmentLacks when Node, or its package, is missing."""
    return f"spdy-client/Node {refuse_unless_loadable()}"


SPDY_USERS = UserGenerator("spdy-client", _users, _users_version, threads=1)

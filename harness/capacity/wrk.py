"""wrk, the tool of the study of 2012: HTTP/1.1 with and without TLS, pipelined to a depth by a script of ours.

What to know of its figures (wrk 4.1.0, src/wrk.c and src/stats.c):

- It has no warm-up: the seconds that do not count are a run of their own before, on connections of their own. The
  connections and TLS handshakes of the run that counts are within its seconds.
- Its latencies are corrected for coordinated omission: where an answer took more than twice as long as answers took on
  average, those that would have been asked for meanwhile are added.
- A batch of pipelined requests has one latency, that of its last answer. Those of requests are not known.
- What took more than two seconds is an error (`timeout`), though it was answered, and is in no latency.
"""

from __future__ import annotations

import importlib.resources
import json
import re
from pathlib import Path

from harness.capacity.loadtool import ClosedLoop, Latency, RateReading, RateTool, there_were, told_by
from harness.errors import TestbedFailed
from harness.input.shown import shown
from harness.system.program import Command, run

SCRIPT = "wrk.lua"
ERRORS = ("connect", "read", "write", "status", "timeout")
LATENCIES = ("p50_us", "p90_us", "p99_us", "p999_us")
NUMBERS = frozenset({"requests", "duration_us", "bytes", *ERRORS, *LATENCIES})
# Every line that it may print before that of our script.
LINES = tuple(
    re.compile(pattern)
    for pattern in (
        r"Running \S+ test @ \S+",
        r" +(?P<threads>\d+) threads and (?P<connections>\d+) connections",
        r" +Thread Stats +Avg +Stdev +Max +\+/- Stdev",
        r" +(Latency|Req/Sec) .*",
        r" +\d+ requests in \S+, \S+ read",
        r" +Socket errors: connect \d+, read \d+, write \d+, timeout \d+",
        r" +Non-2xx or 3xx responses: \d+",
        r"(Requests|Transfer)/sec: .*",
    )
)


def command(loop: ClosedLoop, _folder: Path) -> Command:
    """What runs the loop; wrk takes whole seconds."""
    script = importlib.resources.files("harness.capacity") / SCRIPT
    words = Command.of("wrk", "--threads", loop.threads, "--connections", loop.connections)
    words = words.plus("--duration", f"{max(1, round(loop.seconds))}s", "--script", str(script))
    return words.plus("--header", f"Accept-Encoding: {loop.accepted}", loop.url, "--", loop.depth)


def read(said: str, loop: ClosedLoop, _folder: Path) -> RateReading:
    """What its output says; TestbedFailed, with the line, when it is not understood."""
    *lines, last = said.splitlines() or [""]
    made = {name: int(value) for name, value in told_by("wrk", lines, LINES).items()}
    if made != {"threads": loop.threads, "connections": loop.connections}:
        raise TestbedFailed(f"wrk was to make {loop.connections} connections, but says: {shown(said[:200])}")
    told = _numbers(last)
    batch = _latency(told)
    return RateReading(
        seconds=told["duration_us"] / 1e6,
        requests=told["requests"] - told["status"],
        errors=there_were(**{kind: told[kind] for kind in ERRORS}),
        bytes_read=told["bytes"],
        latency=batch if loop.depth == 1 else None,
        batch=batch,
    )


def _numbers(line: str) -> dict[str, int]:
    """The line of our script."""
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    if not isinstance(told, dict) or set(told) != NUMBERS:
        raise TestbedFailed(f"wrk ended with a strange line: {shown(line)}")
    if not all(isinstance(value, int) and value >= 0 for value in told.values()) or (
        told["duration_us"] == 0 or told["status"] > told["requests"]
    ):
        raise TestbedFailed(f"wrk ended with numbers that cannot be: {shown(line)}")
    return told


def _latency(told: dict[str, int]) -> Latency | None:
    if told["requests"] <= told["timeout"]:
        return None  # none was measured
    return Latency(*(told[name] / 1000 for name in LATENCIES))


def version() -> str:
    """Its name and version, which it says with exit code 1."""
    found = re.search(r"wrk \S+", run(Command.of("wrk", "--version"), ok_codes=(0, 1), timeout_s=30))
    return found[0] if found else "wrk, version unknown"


WRK = RateTool("wrk", command, read, version)

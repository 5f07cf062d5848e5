"""h2load of nghttp2: HTTP/1.1, pipelined or not, and HTTP/2, each with TLS, by one tool.

What to know of its figures (h2load 1.52, src/h2load.cc):

- Its warm-up is its own: connections are made and used before the seconds that count.
- A latency begins when the request is handed to the connection and ends with the answer. It is not corrected for
  coordinated omission. The log of all of them costs the generator a write for each request.
- `depth` requests are under way on a connection: a new one goes out as soon as one is answered, where wrk sends whole
  batches.
- Its counts of header and body bytes include the warm-up, so that they are not used; the total does not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from harness.capacity.loadtool import (
    ClosedLoop,
    Latency,
    RateReading,
    RateTool,
    percentiles,
    there_were,
    told_by,
)
from harness.errors import TestbedFailed
from harness.input.shown import shown
from harness.model.protocol import Protocol
from harness.system.program import Command, version_line

TIMES = "times.tsv"
COUNTS_FROM = "Main benchmark duration is started for thread #0."
# Every line that it may print. What a group of one catches is read.
LINES = tuple(
    re.compile(pattern)
    for pattern in (
        r"",
        r"starting benchmark\.\.\.",
        r"spawning thread #\d+: \d+ total client\(s\)\. Timing-based test with .*",
        r"Warm-up started for thread #\d+\.",
        r"Warm-up phase is over for thread #\d+\.",
        r"progress: \d+% (of clients started|done)",
        r"Main benchmark duration is (started for thread #\d+|over for thread #\d+\. Stopping all clients)\.",
        r"Stopped all clients for thread #\d+",
        r"TLS Protocol: (?P<tls>\S+)",
        r"Cipher: \S+",
        r"Server Temp Key: .*",
        r"Application protocol: (?P<protocol>\S+)",
        r"client could not connect to host",
        r"Process Request Failure:\d+",
        r"finished in \S+, (?P<rate>[\d.]+) req/s, \S+/s",
        r"requests: \d+ total, \d+ started, (?P<done>\d+) done, (?P<succeeded>\d+) succeeded, "
        r"(?P<failed>\d+) failed, (?P<errored>\d+) errored, (?P<timeout>\d+) timeout",
        r"status codes: \d+ 2xx, \d+ 3xx, \d+ 4xx, \d+ 5xx",
        r"traffic: \S+ \((?P<bytes>\d+)\) total, \S+ \(\d+\) headers \(space savings [-\d.]+%\), \S+ \(\d+\) data",
        r" +min +max +mean +sd +\+/- sd",
        r"(time for request|time for connect|time to 1st byte|req/s {11}): .*",
    )
)
LOG_LINE = re.compile(rb"(\d+)\t(-?\d+)\t(\d+)")
SUMMARY = ("rate", "done", "succeeded", "failed", "errored", "timeout", "bytes")


class Logged(NamedTuple):
    """A request of the seconds that count: when it was handed to its connection, its status, until its answer ended."""

    start_us: int
    status: int
    taken_us: int


def command(loop: ClosedLoop, folder: Path) -> Command:
    """What runs the loop after its warm-up, and logs the time of each answer."""
    words = _asking(loop).plus("--log-file", folder / TIMES)
    return words.plus("--duration", _ms(loop.seconds), "--warm-up-time", _ms(loop.warm_s))


def few(loop: ClosedLoop, requests: int) -> Command:
    """What asks for so many in all, and ends."""
    return _asking(loop).plus("--requests", requests)


def _asking(loop: ClosedLoop) -> Command:
    words = Command.of("h2load", "--threads", loop.threads, "--clients", loop.connections)
    words = words.plus("--max-concurrent-streams", loop.depth)
    words = words.plus("--npn-list=h2" if loop.protocol is Protocol.H2 else "--h1")
    return words.plus("--header", f"accept-encoding: {loop.accepted}", loop.url)


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def read(said: str, loop: ClosedLoop, folder: Path) -> RateReading:
    """What its output and its log say; TestbedFailed, with the line, when one of them is not understood."""
    told = told_by("h2load", said.splitlines(), LINES)
    missing = [name for name in SUMMARY if name not in told]
    if missing:
        raise TestbedFailed(f"h2load ended without its {', '.join(missing)}: {shown(said[-200:])}")
    done, succeeded, failed, errored, timeout = (int(told[name]) for name in SUMMARY[1:6])
    logged = logged_in((folder / TIMES).read_bytes())
    if len(logged) != done:
        raise TestbedFailed(f"h2load counted {done} requests, but its log has the times of {len(logged)}")
    return RateReading(
        seconds=loop.seconds,
        requests=succeeded,
        errors=there_were(status=failed - errored, closed=errored - timeout, timeout=timeout),
        bytes_read=int(told["bytes"]),
        latency=latency_of(logged),
        under_way=under_way(logged),
        protocol=told.get("protocol"),
        tls=told.get("tls"),
    )


def logged_in(times: bytes) -> list[Logged]:
    """The requests of its log; TestbedFailed, with the line, when one is not understood."""
    found = []
    for line in times.splitlines():
        told = LOG_LINE.fullmatch(line)
        if told is None:
            raise TestbedFailed(f"h2load logged a strange line: {shown(line.decode('latin-1'))}")
        found.append(Logged(*map(int, told.groups())))
    return found


def latency_of(logged: Sequence[Logged]) -> Latency | None:
    """Of those with an answer that counts; None of none."""
    counts = Counter(each.taken_us for each in logged if 200 <= each.status < 400)
    return percentiles(counts) if counts else None


def under_way(logged: Sequence[Logged]) -> float | None:
    """How many requests were under way at once, on the average between the first end and the last. Those count that
    began in that time, so that it is at most one for each connection that has no other under way. None of no time.
    """
    ends = [each.start_us + each.taken_us for each in logged]
    first, last = min(ends, default=0), max(ends, default=0)
    if first == last:
        return None
    return sum(each.taken_us for each in logged if each.start_us >= first) / (last - first)


H2LOAD = RateTool("h2load", command, read, lambda: version_line("h2load", "--version"), COUNTS_FROM, few=few)

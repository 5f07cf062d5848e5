"""The tools of others that ask for one URL without a pause: wrk and h2load.

wrk is the tool of the study of 2012: HTTP/1.1 with and without TLS, pipelined to a depth by a script of ours. What to
know of its figures (wrk 4.1.0, src/wrk.c and src/stats.c):

- It has no warm-up: the seconds that do not count are a run of their own before, on connections of their own. The
  connections and TLS handshakes of the run that counts are within its seconds.
- It corrects latencies for coordinated omission: where one is more than twice the time between two answers of a
  connection, it adds those that would have been asked for meanwhile. Of a closed loop nothing is omitted, and a
  connection answers `depth` times for each latency of a batch, so that nearly all of these would be added to. What it
  adds is taken out again.
- A batch of pipelined requests has one latency, that of its last answer. Those of requests are not known.
- What took more than two seconds is an error (`timeout`), though it was answered, and is in no latency. So a percentile
  that such answers reach is not known.

h2load of nghttp2 asks by HTTP/1.1, pipelined or not, and by HTTP/2, each with TLS. What to know of its figures (h2load
1.52, src/h2load.cc):

- Its warm-up is its own: connections are made and used before the seconds that count.
- A latency begins when the request is handed to the connection and ends with the answer. It is not corrected for
  coordinated omission. The log of all of them costs the generator a write for each request.
- `depth` requests are under way on a connection: a new one goes out as soon as one is answered, where wrk sends whole
  batches.
- Its counts of header and body bytes include the warm-up, so that they are not used; the total does not.
"""

from __future__ import annotations

import importlib.resources
import itertools
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
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
from harness.system.program import Command, run, version_line

WRK_SCRIPT = "wrk.lua"
WRK_ERRORS = ("connect", "read", "write", "status", "timeout")
WRK_LATENCIES = "latencies_us"
WRK_NUMBERS = frozenset({"requests", "duration_us", "bytes", *WRK_ERRORS})
# Every line that it may print before that of our script.
WRK_LINES = tuple(
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


def wrk_command(loop: ClosedLoop, _folder: Path) -> Command:
    """What runs the loop; wrk takes whole seconds."""
    script = importlib.resources.files("harness.capacity") / WRK_SCRIPT
    words = Command.of("wrk", "--threads", loop.threads, "--connections", loop.connections)
    words = words.plus("--duration", f"{max(1, round(loop.seconds))}s", "--script", str(script))
    return words.plus("--header", f"Accept-Encoding: {loop.accepted}", loop.url, "--", loop.depth)


def read_wrk(said: str, loop: ClosedLoop, _folder: Path) -> RateReading:
    """What its output says; TestbedFailed, with the line, when it is not understood."""
    *lines, last = said.splitlines() or [""]
    made = {name: int(value) for name, value in told_by("wrk", lines, WRK_LINES).items()}
    if made != {"threads": loop.threads, "connections": loop.connections}:
        raise TestbedFailed(f"wrk was to make {loop.connections} connections, but says: {shown(said[:200])}")
    told, corrected = _wrk_numbers(last)
    measured = uncorrected(corrected, told["requests"] // loop.connections, told["duration_us"])
    _refuse_other_batches(told, measured, loop)
    batch = percentiles(measured, told["timeout"]) if measured else None
    return RateReading(
        seconds=told["duration_us"] / 1e6,
        requests=told["requests"] - told["status"],
        errors=there_were(**{kind: told[kind] for kind in WRK_ERRORS}),
        bytes_read=told["bytes"],
        latency=batch if loop.depth == 1 else None,
        batch=batch,
    )


def _wrk_numbers(line: str) -> tuple[dict[str, int], dict[int, int]]:
    """The line of our script: numbers by name, and how often there was each latency, in microseconds."""
    try:
        told = json.loads(line)
    except ValueError:
        told = None
    times = told.pop(WRK_LATENCIES, None) if isinstance(told, dict) else None
    if not isinstance(times, list) or set(told) != WRK_NUMBERS:
        raise TestbedFailed(f"wrk ended with a strange line: {shown(line)}")
    pairs = [(pair[0], pair[1]) for pair in times if isinstance(pair, list) and len(pair) == 2]
    values = itertools.chain(told.values(), *pairs)
    if not all(isinstance(value, int) and value >= 0 for value in values) or (
        len(pairs) != len(times) or told["duration_us"] == 0 or told["status"] > told["requests"]
    ):
        raise TestbedFailed(f"wrk ended with numbers that cannot be: {shown(line)}")
    return told, dict(pairs)


def uncorrected(corrected: Mapping[int, int], answers: int, duration_us: int) -> dict[int, int]:
    """Latencies without those that wrk added (`stats_correct`). `answers`: of each connection, in the whole duration.

    For each one of at least twice the time between two answers it adds one that is that time shorter, and so on, down
    to that time. So one that is longer than that time was added as often as there is another, that time longer.
    """
    if not answers:
        return dict(corrected)
    between = duration_us // answers
    left = {
        us: count - (corrected.get(us + between, 0) if us > between else 0) for us, count in corrected.items()
    }
    if any(count < 0 for count in left.values()):
        raise TestbedFailed("wrk corrected its latencies otherwise than wrk 4.1.0 does")
    return {us: count for us, count in left.items() if count}


def _refuse_other_batches(told: Mapping[str, int], measured: Mapping[int, int], loop: ClosedLoop) -> None:
    """TestbedFailed where latencies are not those of as many batches as there were requests for."""
    batches = sum(measured.values()) + told["timeout"]
    under_way = told["requests"] - loop.depth * batches  # when the time was up
    if not 0 <= under_way <= loop.depth * loop.connections and not (told["read"] or told["write"]):
        raise TestbedFailed(f"wrk tells the times of {batches} batches, and of {told['requests']} requests")


def _wrk_version() -> str:
    """Its name and version, which it says with exit code 1."""
    match = re.search(r"wrk \S+", run(Command.of("wrk", "--version"), ok_codes=(0, 1), timeout_s=30))
    return match[0] if match else "wrk, version unknown"


WRK = RateTool("wrk", wrk_command, read_wrk, _wrk_version)


H2LOAD_TIMES = "times.tsv"
H2LOAD_COUNTS_FROM = "Main benchmark duration is started for thread #0."
# Every line that it may print. What a group of one catches is read.
H2LOAD_LINES = tuple(
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
H2LOAD_LOG_LINE = re.compile(rb"(\d+)\t(-?\d+)\t(\d+)")
H2LOAD_SUMMARY = ("rate", "done", "succeeded", "failed", "errored", "timeout", "bytes")


class Logged(NamedTuple):
    """A request of the seconds that count: when it was handed to its connection, its status, until its answer ended."""

    start_us: int
    status: int
    taken_us: int


def h2load_command(loop: ClosedLoop, folder: Path) -> Command:
    """What runs the loop after its warm-up, and logs the time of each answer."""
    words = _h2load_asking(loop).plus("--log-file", folder / H2LOAD_TIMES)
    return words.plus("--duration", _ms(loop.seconds), "--warm-up-time", _ms(loop.warm_s))


def few(loop: ClosedLoop, requests: int) -> Command:
    """What asks for so many in all, and ends."""
    return _h2load_asking(loop).plus("--requests", requests)


def _h2load_asking(loop: ClosedLoop) -> Command:
    words = Command.of("h2load", "--threads", loop.threads, "--clients", loop.connections)
    words = words.plus("--max-concurrent-streams", loop.depth)
    words = words.plus("--npn-list=h2" if loop.protocol is Protocol.H2 else "--h1")
    return words.plus("--header", f"accept-encoding: {loop.accepted}", loop.url)


def _ms(seconds: float) -> str:
    return f"{round(seconds * 1000)}ms"


def read_h2load(said: str, loop: ClosedLoop, folder: Path) -> RateReading:
    """What its output and its log say; TestbedFailed, with the line, when one of them is not understood."""
    told = told_by("h2load", said.splitlines(), H2LOAD_LINES)
    missing = [name for name in H2LOAD_SUMMARY if name not in told]
    if missing:
        raise TestbedFailed(f"h2load ended without its {', '.join(missing)}: {shown(said[-200:])}")
    done, succeeded, failed, errored, timeout = (int(told[name]) for name in H2LOAD_SUMMARY[1:6])
    logged = logged_in((folder / H2LOAD_TIMES).read_bytes())
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
    requests = []
    for line in times.splitlines():
        told = H2LOAD_LOG_LINE.fullmatch(line)
        if told is None:
            raise TestbedFailed(f"h2load logged a strange line: {shown(line.decode('latin-1'))}")
        requests.append(Logged(*map(int, told.groups())))
    return requests


def latency_of(logged: Sequence[Logged]) -> Latency | None:
    """Of those with an answer that counts; None of none."""
    counts = Counter(request.taken_us for request in logged if 200 <= request.status < 400)
    return percentiles(counts) if counts else None


def under_way(logged: Sequence[Logged]) -> float | None:
    """How many requests were under way at once, on the average between the first end and the last. Those count that
    began in that time, so that it is at most one for each connection that has no other under way. None of no time.
    """
    ends = [request.start_us + request.taken_us for request in logged]
    first, last = min(ends, default=0), max(ends, default=0)
    if first == last:
        return None
    return sum(request.taken_us for request in logged if request.start_us >= first) / (last - first)


H2LOAD = RateTool(
    "h2load",
    h2load_command,
    read_h2load,
    lambda: version_line("h2load", "--version"),
    H2LOAD_COUNTS_FROM,
    few=few,
)

"""Requests a second of one nginx worker, with and without pipelining. Some minutes.

    .venv/bin/python -m benchmarks.rates [--runs 3] [--into DIR]

Only runs that would count in a study speak: those in which others had the cores, or the generator was the limit, are
counted and left out of the ratios. Without any left, nothing is said to be reached.

The shape of a study of 2012: with enough connections nginx answers far more requests a second when eight of them are
pipelined. Client and server stand side by side (the link `none`) and have cores of their own; one static file of 200
bytes is asked for. Each figure is the median of the runs with their range; depths are measured in turn.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks import common
from benchmarks.link import Row, Setting, program
from harness.capacity.limit import Bottleneck
from harness.capacity.ratetrial import RateOptions, run_rate_trial
from harness.errors import Outcome, TestbedFailed
from harness.lab.testbed import Testbed, testbed
from harness.model.engine import Driver, Engine
from harness.model.kind import Requests
from harness.model.link import NO_LINK
from harness.model.protocol import Protocol
from harness.model.serversettings import NginxSettings, Tuning
from harness.model.settings import Replay
from harness.model.soundness import FOREIGN_CPU_LIMIT
from harness.model.underload import RateObservation

FILE_BYTES = 200
NGINX = NginxSettings(worker_processes=1, keepalive_requests=10**9, sendfile=True, tcp_nopush=True)
CONNECTIONS = (16, 64, 256)
DEPTHS = (1, 8)
SECONDS, WARM_S = 4.0, 1.0
AT_LEAST = 2.0  # times the requests/s, at some number of connections

Cell = tuple[int, int]  # connections and depth


def measured(setting: Setting) -> dict[Cell, list[RateObservation]]:
    """Every cell once in each run, in turn."""
    cells = list(product(CONNECTIONS, DEPTHS))
    rates: dict[Cell, list[RateObservation]] = {cell: [] for cell in cells}
    with testbed(device=setting.device) as made, tempfile.TemporaryDirectory() as folder:
        page = common.html("https://site.example/file.html", b"x" * FILE_BYTES)
        archive = common.archived(Path(folder), "file", page)
        tuning = Tuning(NGINX, name="nginx")
        made.serve(archive, [Protocol.HTTP1], Replay.usual(Engine.WRK), "nginx", Engine.WRK, tuning)
        for _, cell in product(range(setting.runs), cells):
            rates[cell].append(one(made, *cell))
    return rates


def one(made: Testbed, connections: int, depth: int) -> RateObservation:
    """One trial; TestbedFailed when it would not count."""
    loop = Requests(connections=connections, depth=depth, seconds=SECONDS, warm_s=WARM_S)
    condition = common.condition("file", Protocol.HTTP1, NO_LINK, Driver.WRK)
    planned = common.planned(1, replace(condition, workload=loop))
    record = run_rate_trial(made, planned, RateOptions(NGINX), Path())
    seen = record.observation
    if record.outcome is not Outcome.OK or not isinstance(seen, RateObservation):
        raise TestbedFailed(f"{connections} connections x {depth}: {record.outcome}: {record.reason}")
    return seen


def rows(connections: int, depth: int, seen: list[RateObservation]) -> Iterator[Row | str]:
    """Thousands of requests a second of a cell, what one costs the server, and what ran out."""
    rates = [(observation.requests_per_s or 0) / 1e3 for observation in seen]
    yield Row(f"{connections} connections x {depth}", rates, "1000/s", "", reached=True)
    costs = statistics.median(observation.server_cpu_us_per_request or 0 for observation in seen)
    shares = statistics.median((observation.generator_cpu_s or 0) / SECONDS for observation in seen)
    limits = ", ".join(dict.fromkeys(observation.limited_by or "unknown" for observation in seen))
    yield f"    {costs:.1f} us of server CPU a request; generator {shares:.0%} of a core; limit: {limits}"


def pipelining(setting: Setting) -> Iterator[Row | str]:
    """Depth 8 against depth 1, over the number of connections."""
    rates = measured(setting)
    for cell, seen in rates.items():
        yield from rows(*cell, seen)
    best: list[float] = []
    for connections in CONNECTIONS:
        shallow, deep = (rates[connections, depth] for depth in DEPTHS)
        pairs = [pair for pair in zip(deep, shallow, strict=True) if all(map(counts, pair))]
        yield f"{connections} connections: {len(pairs)} of {len(deep)} pairs of runs count"
        if not pairs:
            continue
        ratios = [(each.requests_per_s or 0) / (other.requests_per_s or 1) for each, other in pairs]
        yield Row(f"depth 8 over depth 1, {connections} connections", ratios, "times", "", reached=True)
        costs = [
            (other.server_cpu_us_per_request or 0) / (each.server_cpu_us_per_request or 1)
            for each, other in pairs
        ]
        yield Row(f"    by nginx's CPU, {connections} connections", costs, "times", "", reached=True)
        best.append(statistics.median(ratios))
    if best:
        yield Row("the most of them", [max(best)], "times", f"at least {AT_LEAST:g}", max(best) >= AT_LEAST)
    else:
        yield f"no pair of runs counts, so nothing is known of the target, at least {AT_LEAST:g} times: MISSED"


def counts(seen: RateObservation) -> bool:
    """Whether the server alone can have been what a run measured."""
    others = seen.foreign_cpu_share
    return others is not None and others <= FOREIGN_CPU_LIMIT and seen.limited_by == Bottleneck.SERVER_CPU


def main() -> int:
    return program("rates", __doc__, {"pipelining": pipelining}, Engine.WRK)


if __name__ == "__main__":
    sys.exit(main())

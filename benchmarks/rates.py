"""Requests a second of one nginx worker, with and without pipelining, and protocol by protocol. Some minutes.

    .venv/bin/python benchmarks/rates.py [--runs 3] [--only pipelining protocols gateway]

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
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.link import Row, Setting, program
from harness.capacity.limit import Bottleneck
from harness.capacity.ratetrial import RateOptions, run_rate_trial
from harness.errors import TestbedFailed
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Condition, Origins
from harness.model.engine import Engine
from harness.model.kind import Requests
from harness.model.link import NO_LINK
from harness.model.protocol import Protocol
from harness.model.serversettings import NginxSettings, Tuning
from harness.model.settings import Replay
from harness.model.soundness import FOREIGN_CPU_LIMIT
from harness.model.trials import PlannedTrial
from harness.model.underload import RateObservation
from harness.outcome import Outcome
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About

START_URL = "https://site.example/file.html"
FILE_BYTES = 200
NGINX = NginxSettings(worker_processes=1, keepalive_requests=10**9, sendfile=True, tcp_nopush=True)
CONNECTIONS = (16, 64, 256)
DEPTHS = (1, 8)
SECONDS, WARM_S = 4.0, 1.0
AT_LEAST = 2.0  # times the requests/s, at some number of connections
MATRIX_CONNECTIONS, GATEWAY_CONNECTIONS = 64, 16

Rates = dict[tuple[Engine, Protocol, int, int], list[RateObservation]]  # by connections and depth


def one_file(folder: Path) -> Archive:
    """A page that is one file."""
    headers = (("Content-Type", "text/html"),)
    response = Response(url=START_URL, status=200, headers=headers, body=b"x" * FILE_BYTES)
    return write_archive(folder, "file", About(START_URL, "benchmark", "benchmark", ()), [response])


def measured(setting: Setting, server: str, cells: Sequence[tuple[Engine, Protocol, int, int]]) -> Rates:
    """Every cell once in each run, in turn."""
    rates: Rates = {cell: [] for cell in cells}
    with testbed(device=setting.device) as made, tempfile.TemporaryDirectory() as folder:
        archive = one_file(Path(folder))
        for engine in dict.fromkeys(engine for engine, *_ in cells):
            protocols = list(dict.fromkeys(protocol for each, protocol, *_ in cells if each is engine))
            tuning = Tuning(NGINX if server == "nginx" else None, name=server)
            made.serve(archive, protocols, Replay.usual(engine), server, engine, tuning)
        for _, cell in product(range(setting.runs), cells):
            rates[cell].append(one(made, server, cell))
    return rates


def one(made: Testbed, server: str, cell: tuple[Engine, Protocol, int, int]) -> RateObservation:
    """One trial; TestbedFailed when it would not count."""
    engine, protocol, connections, depth = cell
    condition = Condition(
        page="file",
        protocol=protocol,
        link=NO_LINK,
        engine=engine,
        driver=engine.drivers[0],
        origins=Origins.SINGLE,
        server=server,
        workload=Requests(connections=connections, depth=depth, seconds=SECONDS, warm_s=WARM_S),
    )
    settings = NGINX if server == "nginx" else None
    record = run_rate_trial(made, PlannedTrial("00001", 1, 1, condition), RateOptions(settings), Path())
    seen = record.observation
    if record.outcome is not Outcome.OK or not isinstance(seen, RateObservation):
        raise TestbedFailed(f"{condition}: {record.outcome}: {record.reason}")
    return seen


def rows(rates: Rates) -> Iterator[Row | str]:
    """Thousands of requests a second of each cell, what one costs the server, and what ran out."""
    for (engine, protocol, connections, depth), seen in rates.items():
        what = f"{engine}, {protocol}, {connections} connections x {depth}"
        yield Row(what, [(each.requests_per_s or 0) / 1e3 for each in seen], "1000/s", "", reached=True)
        costs = statistics.median(each.server_cpu_us_per_request or 0 for each in seen)
        shares = statistics.median((each.generator_cpu_s or 0) / SECONDS for each in seen)
        limits = ", ".join(dict.fromkeys(each.limited_by or "unknown" for each in seen))
        yield f"    {costs:.1f} us of server CPU a request; generator {shares:.0%} of a core; limit: {limits}"


def pipelining(setting: Setting) -> Iterator[Row | str]:
    """Depth 8 against depth 1, over the number of connections."""
    cells = [(Engine.WRK, Protocol.HTTP1, *cell) for cell in product(CONNECTIONS, DEPTHS)]
    rates = measured(setting, "nginx", cells)
    yield from rows(rates)
    best: list[float] = []
    for connections in CONNECTIONS:
        shallow, deep = (rates[Engine.WRK, Protocol.HTTP1, connections, depth] for depth in DEPTHS)
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
        yield Row("    the same by nginx's own CPU", costs, "times", "", reached=True)
        best.append(statistics.median(ratios))
    if best:
        yield Row("the most of them", [max(best)], "times", f"at least {AT_LEAST:g}", max(best) >= AT_LEAST)
    else:
        yield f"no pair of runs counts, so nothing is known of the target, at least {AT_LEAST:g} times: MISSED"


def counts(seen: RateObservation) -> bool:
    """Whether the server alone can have been what a run measured."""
    others = seen.foreign_cpu_share
    return others is not None and others <= FOREIGN_CPU_LIMIT and seen.limited_by == Bottleneck.SERVER_CPU


def protocols(setting: Setting) -> Iterator[Row | str]:
    """HTTP/1.1, with TLS, pipelined, both, and HTTP/2, by the tools that speak them."""
    spoken = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
    cells = [
        (engine, protocol, MATRIX_CONNECTIONS, depth)
        for engine, protocol, depth in product((Engine.WRK, Engine.H2LOAD), spoken, DEPTHS)
        if protocol in engine.traits.protocols
    ]
    yield from rows(measured(setting, "nginx", cells))


def gateway(setting: Setting) -> Iterator[Row | str]:
    """The protocols of 2012 on the gateway, by one client. Both are programs in Node, and the client costs as much."""
    tool = Engine.SPDY_CLIENT
    cells = [
        (tool, protocol, GATEWAY_CONNECTIONS, depth)
        for protocol, depth in product(tool.traits.protocols, DEPTHS)
    ]
    yield from rows(measured(setting, "spdy-gateway", cells))


MEASUREMENTS: dict[str, Callable[[Setting], Iterator[Row | str]]] = {
    "pipelining": pipelining,
    "protocols": protocols,
    "gateway": gateway,
}


def main() -> int:
    return program(__doc__, MEASUREMENTS)


if __name__ == "__main__":
    sys.exit(main())

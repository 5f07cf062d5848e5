"""Closed loops with the real tools on real servers: what their records say, what is proved, and who is to blame."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import pytest

from harness.capacity.ratetrial import RateOptions, run_rate_trial
from harness.errors import Outcome
from harness.lab.testbed import Testbed, testbed
from harness.model.condition import Condition, Served
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.kind import Requests
from harness.model.link import NO_LINK, Link
from harness.model.protocol import Protocol
from harness.model.rate import RateFormat, RecordedRate
from harness.model.serversettings import Tuning
from harness.model.settings import Replay
from harness.model.underload import RateObservation
from harness.records import Record
from harness.system.enclosure import WORKSPACE
from harness.system.processtree import family
from harness.system.program import find_program
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.warc import About
from tests.system.conftest import inside, planned, wait_until

pytestmark = pytest.mark.lengthy

START_URL = "https://site.example/text.html"
BODY = b"<!doctype html><title>t</title>" + b"x" * 2000
PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.H2)
SERVERS = ("nginx", "caddy", "apache")
DEPTHS = (1, 8)
TOOLS = (Engine.WRK, Engine.H2LOAD)
CELLS = [
    (tool, protocol, depth)
    for tool, protocol, depth in product(TOOLS, PROTOCOLS, DEPTHS)
    if protocol in tool.traits.protocols
]


def one_file(root: Path) -> Archive:
    headers = (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Last-Modified", "Sun, 01 Jan 2012 00:00:00 GMT"),
    )
    response = Response(url=START_URL, status=200, headers=headers, body=BODY)
    return write_archive(root, "one", About(START_URL, "test", "test", ()), [response])


def cell(tool: Engine, protocol: Protocol, server: str, load: Requests, link: Link = NO_LINK) -> Condition:
    return replace(Condition.usual("one", protocol, link, tool), server=server, workload=load)


def loop(depth: int = 1, seconds: float = 1.0, warm_s: float = 0.3) -> Requests:
    return Requests(connections=8, depth=depth, seconds=seconds, warm_s=warm_s)


def trial(made: Testbed, condition: Condition, keep: Sequence[str] = ()) -> Record:
    return run_rate_trial(made, planned(1, condition), RateOptions(keep=tuple(keep)), WORKSPACE / "kept")


def served(made: Testbed, server: str, tools: Sequence[Engine] = TOOLS) -> None:
    archive = one_file(WORKSPACE)
    for tool in tools:
        spoken = [protocol for protocol in PROTOCOLS if protocol in tool.traits.protocols]
        made.serve(archive, spoken, server=server, engine=tool, tuning=Tuning(name=server))


def rates(server: str) -> dict[tuple[Engine, Protocol, int], Record]:
    with testbed() as made:
        served(made, server)
        return {
            (tool, protocol, depth): trial(made, cell(tool, protocol, server, loop(depth)))
            for tool, protocol, depth in CELLS
        }


@pytest.mark.parametrize("server", SERVERS)
def test_every_protocol_depth_and_tool_gives_a_rate_that_counts(server: str) -> None:
    for (tool, protocol, depth), record in inside(lambda: rates(server)).items():
        what = f"{server} {tool} {protocol} {depth}: {record.reason}"
        assert record.outcome is Outcome.OK, what
        seen = record.observation
        assert isinstance(seen, RateObservation)
        assert seen.requests is not None
        assert seen.requests_per_s is not None
        assert seen.requests > 50, what
        assert 0.5 <= seen.requests / seen.requests_per_s <= 3, what
        assert seen.errors == {}, what
        assert seen.requests_by_protocol == {protocol.wire: seen.requests}, what
        assert set(seen.tls_versions) == ({"TLSv1.3"} if protocol.encrypted else set()), what
        assert seen.bytes_body is not None
        assert seen.bytes_body >= len(BODY) * seen.requests, what
        assert seen.bytes_per_s is not None
        assert seen.bytes_per_s >= seen.requests_per_s * len(BODY), what
        latencies = [seen.latency_p50_ms, seen.latency_p90_ms, seen.latency_p99_ms, seen.latency_p999_ms]
        assert ((seen.batch_p50_ms or 0) > 0) is (tool is Engine.WRK), what
        if tool is Engine.WRK and depth > 1:
            assert latencies == [None] * 4, what
        else:
            assert latencies == sorted(latencies, key=lambda ms: ms or 0), what
            assert (latencies[0] or 0) > 0, what
        assert 0 < (seen.server_cpu_us_per_request or 0) < 20_000, what
        assert (seen.generator_cpu_s or 0) > 0, what
        assert seen.link_reading is not None, what


GATEWAY_PROTOCOLS = (Protocol.HTTP1, Protocol.HTTPS1, Protocol.SPDY, Protocol.SPDY_PLAIN)


def rates_of_the_gateway() -> dict[tuple[Protocol, int], Record]:
    with testbed() as made:
        archive, tool = one_file(WORKSPACE), Engine.SPDY_CLIENT
        tuning = Tuning(name="spdy-gateway")
        made.serve(archive, GATEWAY_PROTOCOLS, Replay.usual(tool), "spdy-gateway", tool, tuning)
        return {
            (protocol, depth): trial(made, cell(tool, protocol, "spdy-gateway", loop(depth)))
            for protocol, depth in product(GATEWAY_PROTOCOLS, DEPTHS)
        }


def test_one_client_compares_the_protocols_of_the_gateway() -> None:
    for (protocol, depth), record in inside(rates_of_the_gateway).items():
        what = f"{protocol} {depth}: {record.reason}"
        assert record.outcome is Outcome.OK, what
        seen = record.observation
        assert isinstance(seen, RateObservation)
        assert (seen.requests or 0) > 20, what
        assert seen.errors == {}, what
        assert seen.requests_by_protocol == {protocol.wire: seen.requests}, what
        assert set(seen.tls_versions) == ({"TLSv1.2"} if protocol.encrypted else set()), what
        assert (seen.latency_p50_ms or 0) > 0, what
        assert (seen.bytes_per_s or 0) > (seen.requests_per_s or 0) * 100, what


def over_a_link() -> Record:
    with testbed() as made:
        served(made, "nginx", [Engine.WRK])
        link = Link.of(1, 100)
        return trial(made, cell(Engine.WRK, Protocol.HTTP1, "nginx", loop(seconds=3, warm_s=0), link))


def test_over_a_slow_link_the_link_is_what_limits() -> None:
    record = inside(over_a_link)
    assert record.outcome is Outcome.OK, record.reason
    seen = record.observation
    assert isinstance(seen, RateObservation)
    assert (seen.latency_p50_ms or 0) >= 100
    assert 0 < (seen.bytes_per_s or 0) < 125_000


def rates_behind_a_drop() -> list[Record]:
    """The link gets slow 2.5 s after its beginning; the warm-up takes longer."""
    steps = RecordedRate.of(RateFormat.STEPS, "s", "0 20\n2500 1\n")
    link = Link.of(20, 2)
    link = replace(link, down=replace(link.down, rate=steps))
    load = loop(seconds=2, warm_s=3)
    with testbed() as made:
        served(made, "nginx")
        return [trial(made, cell(tool, Protocol.HTTP1, "nginx", load, link)) for tool in TOOLS]


def test_a_rate_that_changes_begins_with_the_seconds_that_count() -> None:
    for record in inside(rates_behind_a_drop):
        assert record.outcome is Outcome.OK, record.reason
        seen = record.observation
        assert isinstance(seen, RateObservation)
        assert (seen.bytes_per_s or 0) > 500_000  # at 1 Mbit/s there are 125,000


@dataclass(frozen=True)
class Answer:
    """An answer without what differs by its moment."""

    head: tuple[str, ...]
    body: bytes


def native_and_scripted() -> list[Answer]:
    """What nginx answers to a closed loop, and to a browser."""
    with testbed() as made:
        archive = one_file(WORKSPACE)
        found = []
        for engine in (Engine.WRK, DEFAULT_ENGINE):
            made.serve(archive, [Protocol.HTTP1], server="nginx", engine=engine)
            endpoint = made.endpoints[Served("one", Protocol.HTTP1, engine)]
            assert endpoint.server.settings.get("closed_loop", False) is (engine is Engine.WRK)
            address = endpoint.address
            words = [find_program("curl"), "-sS", "-i", "--connect-to", f"::{address}:"]
            with made.server.entered():
                said = subprocess.run(
                    [*words, START_URL.replace("https", "http")], capture_output=True, check=True
                ).stdout
            head, _, body = said.partition(b"\r\n\r\n")
            lines = (line for line in head.decode().splitlines() if not line.startswith("Date:"))
            found.append(Answer(tuple(sorted(lines)), body))
        return found


def test_the_answer_without_a_script_is_the_recorded_one() -> None:
    native, scripted = inside(native_and_scripted)
    assert native == scripted
    assert "x" * 2000 in native.body.decode()
    assert "Last-Modified: Sun, 01 Jan 2012 00:00:00 GMT" in native.head


def killed(tool: Engine, victim: Callable[[Testbed], Sequence[int]]) -> tuple[Record, Record]:
    """The record of a trial in which processes are killed under way, and that of the next one."""
    with testbed() as made:
        served(made, "nginx", [tool])
        condition = cell(tool, Protocol.HTTP1, "nginx", loop(seconds=20, warm_s=1))
        killer = threading.Thread(target=kill, args=(made, victim))
        killer.start()
        record = trial(made, condition)
        killer.join()
    with testbed() as made:  # as a run renews its testbed
        served(made, "nginx", [tool])
        return record, trial(made, cell(tool, Protocol.HTTP1, "nginx", loop()))


def kill(made: Testbed, victim: Callable[[Testbed], Sequence[int]]) -> None:
    wait_until(lambda: bool(named("wrk") or named("h2load")), "the tool")
    time.sleep(2)  # past the warm-up of 1 s, far from the end after 20 s
    wait_until(lambda: bool(victim(made)), "what is to be killed")
    for pid in victim(made):
        os.kill(pid, signal.SIGKILL)


def named(name: str) -> list[int]:
    """The processes of ours with this name."""
    found = []
    for pid in family(os.getpid()):
        comm = Path(f"/proc/{pid}/comm")
        if comm.exists() and comm.read_text().strip() == name:
            found.append(pid)
    return found


@pytest.mark.parametrize("tool", TOOLS)
def test_a_tool_that_is_killed_is_no_rate(tool: Engine) -> None:
    record, following = inside(lambda: killed(tool, lambda _: named(tool.value)))
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert f"{tool} died (exit code -9)" in (record.reason or "")
    assert following.outcome is Outcome.OK, following.reason


@pytest.mark.parametrize("tool", TOOLS)
def test_a_server_that_is_killed_is_to_blame(tool: Engine) -> None:
    record, following = inside(lambda: killed(tool, lambda _: named("nginx")))
    assert record.outcome is Outcome.TESTBED_FAILED, record.reason
    assert "nginx died" in (record.reason or "")
    assert following.outcome is Outcome.OK, following.reason

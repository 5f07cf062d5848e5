"""Servers watched for the tests of their side: real ones, with real connections held open over a link."""

from __future__ import annotations

import contextlib
import http.client
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import psutil

from harness.capacity.series import Second
from harness.capacity.serverside import Sampler, Watched, sampling
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Testbed, testbed
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning, server_settings
from harness.model.settings import Replay
from harness.system.processtree import family
from sites.archive import Archive
from tests.system.conftest import wait_until

HELD = 12  # connections
ROUNDS = 6  # requests over each, two a second
WORKERS = 40
APACHE = {"ThreadsPerChild": 20, "MaxRequestWorkers": WORKERS, "KeepAliveTimeout": 30}
SERVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "worker": ("apache", {"mpm": "worker", **APACHE}),
    "event": ("apache", {"mpm": "event", **APACHE}),
    "prefork": ("apache", {"mpm": "prefork", "MaxRequestWorkers": WORKERS, "KeepAliveTimeout": 30}),
    "nginx": ("nginx", {"worker_processes": 3}),
    "caddy": ("caddy", {"metrics": True}),
    "gateway": ("spdy-gateway", {}),
}
LINK = Link.of(20, 20)


@dataclass
class Watch:
    """What was seen of a server, by the sampler and beside it."""

    seconds: Sequence[Second] = ()
    accounting: str = ""
    cost_s: float = 0.0
    lines: Sequence[Mapping[str, Any]] = ()
    requests: int = 0
    body_bytes: int = 0
    cpu_s: float = 0.0
    rss_bytes: int = 0
    threads: int = 0
    processes: int = 0
    mpm: str | None = None
    described: Mapping[str, object] = field(default_factory=dict)
    link_packets: int = 0

    def known(self, name: str) -> list[Any]:
        """What the lines tell of something, where it was known."""
        return [value for value in (getattr(each, name) for each in self.seconds) if value is not None]


@contextlib.contextmanager
def served(archive: Archive, name: str, replay: Replay | None = None) -> Iterator[tuple[Testbed, Endpoint]]:
    program, table = SERVERS[name]
    with testbed() as made:
        tuning = Tuning(server_settings(program, table), status=True)
        made.serve(archive, [Protocol.HTTP1], replay or Replay(), program, tuning=tuning)
        (endpoint,) = made.endpoints.values()
        yield made, endpoint


def connected(endpoint: Endpoint) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection(endpoint.address, 80, timeout=60)
    connection.connect()
    return connection


def asked(connection: http.client.HTTPConnection, **headers: str) -> tuple[http.client.HTTPResponse, bytes]:
    connection.request("GET", "/", headers={"Host": "site.example", **headers})
    answer = connection.getresponse()
    return answer, answer.read()


def watch(archive: Archive, name: str) -> Watch:
    """Twelve connections that stay open, asking twice a second, while the sampler reads."""
    found = Watch()
    with served(archive, name) as (made, endpoint), made.client(LINK) as client:
        file = made.folder / "seconds.jsonl"
        server = endpoint.server
        with made.server.entered(), sampling(Watched(server, made.server, client.link), file) as sampler:
            before = server.cpu_seconds() or 0.0
            with client.host.entered():
                held = [connected(endpoint) for _ in range(HELD)]
            for _ in range(ROUNDS):
                for connection in held:
                    asked(connection)
                time.sleep(0.5)
            found.rss_bytes, found.threads, found.processes = in_proc(server.programs.values())
            found.link_packets = client.link.reading()["down"]["packets_out"]
            status = server.telling.status
            if status:
                own = http.client.HTTPConnection(status.address, status.port)
                own.request("GET", status.target)
                found.mpm = status.parse(own.getresponse().read().decode()).mpm
                own.close()
            wait_until(lambda: hits(sampler) >= HELD * ROUNDS, "the hits in the lines")
            for connection in held:
                connection.close()
            found.cpu_s = (server.cpu_seconds() or 0.0) - before
        found.seconds, found.accounting, found.cost_s = sampler.seconds, sampler.accounting, sampler.cpu_s
        found.lines = [json.loads(line) for line in file.read_text().splitlines()]
        requests = list(sampler.requests())
        found.requests, found.body_bytes = len(requests), sum(each.body_bytes for each in requests)
        found.described = server.settings
    return found


def hits(sampler: Sampler) -> int:
    """What the lines tell so far."""
    return sum(each.server_hits or 0 for each in sampler.seconds)


def wait_for_lines(sampler: Sampler, more: int) -> None:
    there = len(sampler.seconds)
    wait_until(lambda: len(sampler.seconds) >= there + more, "lines")


def in_proc(roots: Any) -> tuple[int, int, int]:
    """Resident memory, threads and number of a server's processes, by psutil."""
    every = [psutil.Process(pid) for root in roots for pid in family(root)]
    return (
        sum(each.memory_info().rss for each in every),
        sum(each.num_threads() for each in every),
        len(every),
    )

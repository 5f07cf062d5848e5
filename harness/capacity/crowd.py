"""A crowd under way: how many users there are when, the generator on its client host, what is read once a second, and
whether all parts live.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from harness.capacity.loadtool import UserGenerator
from harness.capacity.recipe import PageRecipe
from harness.capacity.resources import PORTS, Cores, connections_per_host, placed, starting_on
from harness.capacity.series import PAGES_NAME, SECONDS_NAME, PageLine, Second
from harness.capacity.serverside import Sampler, Watched, sampling, wait_for_rest
from harness.capacity.watches import Tail
from harness.errors import TestbedFailed
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import Client, Testbed
from harness.model.kind import Users
from harness.model.link import Link
from harness.system.process import Process
from harness.system.processtree import ForeignCpu
from sites.servers.server import ServedRequest

LOOK_EVERY_S = 1.0
# How long a generator may go on after the crowd's time and the limit of a page: to start, to end, to end itself.
OVERTIME_S = 60.0
NO_TLS = "none"


def users_at(workload: Users, t_s: float) -> int:
    """The users that are there `t_s` seconds after the start: along the ramp, or on its step."""
    if workload.steps:
        step = int(t_s / (workload.step_s or 1.0))
        return workload.steps[min(max(step, 0), len(workload.steps) - 1)]
    start, to = workload.start or 1, workload.to or 1
    share = min(max(t_s / (workload.over_s or 1.0), 0.0), 1.0)
    return start + int((to - start) * share)


def first_pauses_ms(workload: Users, seed: int) -> list[float]:
    """How long users wait before their first page, by number.

    Those of a step, or at the start of a ramp, would all come at once. They are spread over a think time.
    """
    together = workload.most if workload.steps else workload.start or 1
    if together == 1:
        return []
    longest_ms = 1000 * min(workload.think_s, workload.step_s or workload.over_s or 0.0)
    source = random.Random(seed)  # noqa: S311  # a crowd that can be made again, not a secret
    return [round(source.uniform(0, longest_ms), 3) for _ in range(together)]


@dataclass
class CrowdSeen:
    """What has been seen of a crowd so far; None for what the trial did not get to."""

    pages: list[PageLine] = field(default_factory=list)
    seconds: Sequence[Second] = ()
    accounting: str | None = None
    link_reading: Mapping[str, Any] | None = None
    served: ServedCounts | None = None
    foreign_cpu_share: float | None = None


@dataclass(frozen=True)
class Crowd:
    """Users of one page at an endpoint.

    The series go to `files`. `each_second` is told of each second, with the pages that ended since the one before.
    `interrupted` is called when somebody ends it early, before anything is taken down.
    """

    testbed: Testbed
    endpoint: Endpoint
    generator: UserGenerator
    link: Link
    draw: int
    workload: Users
    recipe: PageRecipe
    cores: Cores
    files: Path
    each_second: Callable[[Second, Sequence[PageLine]], None]
    interrupted: Callable[[CrowdSeen], None]

    def measure(self, seen: CrowdSeen) -> None:
        """The whole crowd, from its client host to its end; raises TestbedFailed. What was seen is in `seen` anyhow."""
        with self._client() as client, placed(self.endpoint.server, client.link, self.cores):
            wait_for_rest(self.endpoint.server, self.testbed.server)
            foreign = ForeignCpu()
            client.link.begin()
            began_ns = time.monotonic_ns()
            watched = Watched(
                self.endpoint.server,
                self.testbed.server,
                client.link,
                partial(users_at, self.workload),
            )
            sampler, failed = None, None
            try:
                with sampling(watched, self.files / SECONDS_NAME, began_ns / 1e9) as sampler:
                    self._load(client, began_ns, sampler, seen)
            except TestbedFailed as failure:
                failed = failure
            seen.foreign_cpu_share = foreign.share()
            with contextlib.suppress(TestbedFailed):  # the proof tells of a link without a reading
                seen.link_reading = client.link.reading()
            if sampler is not None:
                seen.served = counted(sampler.requests(), frozenset(client.addresses))
            self.endpoint.server.empty_log()
            if failed is not None:
                raise failed

    @contextlib.contextmanager
    def _client(self) -> Iterator[Client]:
        with self.testbed.client(
            self.link, draw=self.draw, count=self.workload.most, tcp=self.endpoint.tcp
        ) as client:
            client.host.set_kernel({"ipv4.ip_local_port_range": f"{PORTS[0]} {PORTS[1]}"})
            yield client

    def _load(self, client: Client, began_ns: int, sampler: Sampler, seen: CrowdSeen) -> None:
        seen.seconds, seen.accounting = sampler.seconds, sampler.accounting
        told = _Told(Tail(self.files / PAGES_NAME, from_now=False), seen, self.each_second)
        try:
            with (
                starting_on(self.cores.generator),
                self.generator.generating(self.plan(client, began_ns), client.host, self.files) as generator,
            ):
                sampler.follow(generator.pid)
                try:
                    self._watch(generator, client, told)
                except KeyboardInterrupt:  # there is a moment, no more
                    generator.kill()
                    told.tell()
                    self.interrupted(seen)
                    raise
        finally:
            told.tell()

    def _watch(self, generator: Process, client: Client, told: _Told) -> None:
        """Until the generator has ended by itself. Whichever part has died is named, the server before the others."""
        limit_s = self.workload.seconds + self.workload.page_timeout_s + OVERTIME_S
        end = time.monotonic() + limit_s
        while not generator.ends_within(LOOK_EVERY_S):
            self._check(client)
            generator.check_not_stopped()  # it may end by itself at any moment
            told.tell()
            if time.monotonic() > end:
                raise TestbedFailed(f"{generator.name} went on for {limit_s:g} s: {generator.last_lines()}")
        self._check(client)
        generator.check_ended_well()

    def _check(self, client: Client) -> None:
        self.endpoint.check()
        client.link.check()

    def plan(self, client: Client, began_ns: int) -> dict[str, Any]:
        """What the generator is to do."""
        protocol, workload = self.endpoint.protocol, self.workload
        return {
            **self.recipe.to_json(),
            "hosts": {**self.endpoint.mentioned_addresses, **self.endpoint.local} or None,
            "resolver": self.endpoint.address,
            "protocol": protocol.value,
            "connections_per_host": connections_per_host(protocol),
            "timeout_ms": 1000 * workload.page_timeout_s,
            "tls": self.endpoint.replay.tls,
            "ca": str(self.testbed.authority.certificate_file),
            "addresses": list(client.addresses),
            "think_ms": 1000 * workload.think_s,
            "first_pauses_ms": first_pauses_ms(workload, self.link.seed + self.draw),
            "users": workload.to_json(),
            "lines": str(self.files / PAGES_NAME),
            "epoch_ns": began_ns,
        }


@dataclass
class _Told:
    """The pages and seconds that have come, and up to where somebody has been told of them."""

    lines: Tail
    seen: CrowdSeen
    each_second: Callable[[Second, Sequence[PageLine]], None]
    seconds: int = 0
    pages: int = 0

    def tell(self) -> None:
        """Take in what has come since, and tell of it; of pages that came without a second with the next one."""
        self.seen.pages += [PageLine(**json.loads(line)) for line in self.lines.gained().splitlines()]
        for second in self.seen.seconds[self.seconds :]:
            pages = self.seen.pages[self.pages :]
            self.seconds, self.pages = self.seconds + 1, len(self.seen.pages)
            self.each_second(second, pages)


@dataclass(frozen=True)
class ServedCounts:
    """How many requests of the crowd the server logged: by protocol (ALPN name), and by version of TLS."""

    requests: int
    by_protocol: Mapping[str, int]
    by_tls: Mapping[str, int]
    resumed: int = 0


def counted(requests: Iterable[ServedRequest], clients: Collection[str]) -> ServedCounts:
    """The requests of these addresses, but for handshakes of WebSockets, and for connections over which none came: of
    one that Apache gives up for that it logs a line with status 408.
    """
    protocols: Counter[str] = Counter()
    versions: Counter[str] = Counter()
    resumed = 0
    for request in requests:
        if request.client_address in clients and request.target and not request.websocket:
            protocols[request.protocol] += 1
            versions[request.tls or NO_TLS] += 1
            resumed += request.resumed
    return ServedCounts(protocols.total(), dict(protocols), dict(versions), resumed)

"""The arms of `benchmarks.mahimahi`: loads of one page over a link and from a server that are ours or Mahimahi's."""

from __future__ import annotations

import contextlib
import http.client
import math
import socket
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urlsplit

from benchmarks import common
from benchmarks.mahimahicauses import Arm, Took
from benchmarks.mahimahishells import ADDRESS, PORT, SETTLED_S, Mahimahi, asked_with
from harness.engines.browserlog import BrowserLog
from harness.engines.browsers import Browsers
from harness.errors import Outcome, TestbedFailed, TrialFailed
from harness.lab.emulated import Ends, LinkFiles
from harness.lab.endpoint import Endpoint
from harness.lab.link import joined, kernel_settings, route_options
from harness.lab.testbed import CLIENT
from harness.model.engine import DEFAULT_ENGINE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import ApacheSettings, Tuning
from harness.model.settings import Replay, TcpSettings, ThinkTime
from harness.probes.probe import TrialOptions
from harness.system.enclosure import WORKSPACE
from harness.system.netns import Host, host
from harness.system.program import Command, run
from harness.trial.trial import BrowserLab, run_observed
from harness.trial.venue import surroundings
from sites.archive import Archive

TIMEOUT_S = 120
CLIENT_ADDRESS = "10.127.0.1"  # beyond those that the testbed gives out
CONNECTS, CONNECT_GAP_S = 30, 0.05
ROUNDS = 3  # of asking for all that the page is made of
# As Mahimahi's Apache begins: 5 processes, and one more within a second of all being busy. What is beyond 5 ends
# between two loads.
PREFORK = ApacheSettings(
    mpm="prefork", server_limit=256, start_servers=5, min_spare_servers=1, max_spare_servers=5
)
OpenHost = contextlib.AbstractContextManager[Host]


@dataclass(frozen=True)
class Delays:
    """What a round trip of TCP and an answer take here and in Mahimahi, measured without a browser, in ms."""

    connect_here_ms: float
    connect_there_ms: float
    answer_here_ms: float
    answer_there_ms: float

    def to_json(self) -> dict[str, float]:
        return asdict(self)

    @property
    def farther_ms(self) -> float:
        """How much longer Mahimahi's round trip is."""
        return max(0.0, self.connect_there_ms - self.connect_here_ms)

    @property
    def slower_ms(self) -> float:
        """How much longer its server takes."""
        return max(0.0, self.answer_there_ms - self.answer_here_ms)


class Loads:
    """Loads of one page, by one driver: the host that its browsers run on is a link that is changed."""

    def __init__(
        self, opened: BrowserLab, stack: contextlib.ExitStack, archive: Archive, mahimahi: Mahimahi
    ) -> None:
        self._testbed, self._archive, self._mahimahi = opened.testbed, archive, mahimahi
        self._host = Path(stack.enter_context(TemporaryDirectory(dir=WORKSPACE)), "host")
        self._browsers = Browsers(self._host.parent, stack, self._host)
        self._link = mahimahi.link
        self._far_link = self._link
        self._condition = replace(common.condition(archive.name, Protocol.HTTP1, self._link), server="apache")
        # mm-webreplay gives its own name server the address that programs ask when it starts.
        self._use_names(self._endpoint())
        self._arms: dict[Arm, Callable[[str], Took | None]] = {
            Arm.HERE: self._trial,
            Arm.BARE: lambda name: self._load(name, self._ours, self._own_link),
            Arm.LINK: lambda name: self._load(name, self._ours, self._their_link),
            Arm.SERVER: lambda name: self._load(name, self._theirs, self._own_link),
            Arm.BOTH: lambda name: self._load(name, self._theirs, self._their_link),
            Arm.MAHIMAHI: lambda name: self._load(name, self._theirs, self._their_link_as_it_is),
            Arm.FAR: lambda name: self._load(name, self._ours, self._farther_link),
            Arm.SLOW: lambda name: self._load(name, self._ours, self._own_link, Arm.SLOW),
            Arm.PROCESSES: lambda name: self._load(name, self._ours, self._own_link, Arm.PROCESSES),
        }

    def prepare(self) -> Delays:
        """Measure what round trips and answers take, and serve the page so that they take as long here."""
        delays = self.delays()
        self._far_link = Link.of(
            self._link.down.rate.mean_mbps, round(self._link.rtt_ms + delays.farther_ms, 2)
        )
        usual = Replay.usual(DEFAULT_ENGINE)
        slow = replace(usual, think_time=ThinkTime(round(delays.slower_ms, 3)))
        self._serve(slow, Tuning(factor=Arm.SLOW))
        self._serve(usual, Tuning(PREFORK, factor=Arm.PROCESSES))
        return delays

    def _serve(self, replay: Replay, tuning: Tuning) -> None:
        self._testbed.serve(self._archive, [Protocol.HTTP1], replay, "apache", tuning=tuning)

    def took(self, arm: Arm, block: int) -> Took | None:
        """One load; None, and a line that says why, where it does not count."""
        try:
            return self._arms[arm](f"{arm}-{block}")
        except (TrialFailed, TestbedFailed) as failure:
            print(f"  not counted: {arm}-{block}: {failure}")
            return None

    def delays(self) -> Delays:
        """By TCP connects over each link to our server, and by asking each server for the page on its own host."""
        address = self._endpoint().address
        with self._own_link(self._testbed.server) as client:
            connect_here_ms = connect_ms(client, address)
        with self._their_link(self._testbed.server) as client:
            connect_there_ms = connect_ms(client, address)
        with self._theirs() as there:
            answer_there_ms = answer_ms(there, ADDRESS, self._archive)
        answer_here_ms = answer_ms(self._testbed.server, address, self._archive)
        return Delays(connect_here_ms, connect_there_ms, answer_here_ms, answer_there_ms)

    def congestion_control(self) -> dict[str, str]:
        """That of our hosts, and of Mahimahi's: namespaces have the machine's."""
        with self._theirs() as there, there.entered():
            theirs = Path("/proc/sys/net/ipv4/tcp_congestion_control").read_text().strip()
        return {"here": self._testbed.tcp.congestion_control, "there": theirs}

    def _endpoint(self, factor: str = "") -> Endpoint:
        return self._testbed.endpoint(replace(self._condition, factor=factor))

    def _use_names(self, endpoint: Endpoint) -> None:
        self._testbed.resolver.use(endpoint.address, endpoint.known_names)

    def _trial(self, name: str) -> Took | None:
        self._on(CLIENT)
        planned = common.planned(int(name.rpartition("-")[2]), self._condition)
        with TemporaryDirectory() as kept:
            record, evidence = run_observed(
                self._testbed, self._browsers, planned, TrialOptions(), Path(kept)
            )
        if record.outcome is not Outcome.OK or evidence is None:
            print(f"  not counted: {name}: {record.outcome}: {record.reason}")
            return None
        reading = record.observation.link_reading or {}
        lost = reading.get("down", {}).get("drops_queue")
        return took(record.observation.plt_ms or math.nan, evidence.of(BrowserLog), lost)

    def _load(
        self,
        name: str,
        served: Callable[[], OpenHost],
        linked: Callable[[Host], OpenHost],
        factor: str = "",
    ) -> Took | None:
        endpoint = self._endpoint(factor)
        self._use_names(endpoint)
        around = replace(surroundings(self._testbed, endpoint), inner_tls=None)
        self._browsers.prepare(self._condition)
        with served() as server, linked(server) as client:
            self._on(client)
            with self._browsers.fresh(name, self._condition, around, bodies=False) as fresh:
                with fresh.start() as browser:
                    browser.load(endpoint.start_url, TIMEOUT_S)
                    plt_ms = browser.timeline()["plt_ms"]
                log = fresh.read_log()
            time.sleep(self._link.rtt_ms / 1000)  # what it sent last comes to the server
        bad = [request for request in log.page_requests if request.failure or request.status != 200]
        if bad:
            print(f"  not counted: {name}: {len(bad)} requests failed, as {bad[0].url}: {bad[0].status}")
            return None
        return took(plt_ms, log)

    def _on(self, client: Host) -> None:
        self._host.unlink(missing_ok=True)
        self._host.symlink_to(client.path)

    @contextlib.contextmanager
    def _ours(self) -> Iterator[Host]:
        yield self._testbed.server

    def _theirs(self) -> OpenHost:
        return self._mahimahi.served()

    def _own_link(self, server: Host) -> OpenHost:
        return self._emulated(server, self._link)

    def _farther_link(self, server: Host) -> OpenHost:
        return self._emulated(server, self._far_link)

    @contextlib.contextmanager
    def _emulated(self, server: Host, link: Link) -> Iterator[Host]:
        if server == self._testbed.server:
            with self._testbed.client(link) as client:
                yield client.host
            return
        tcp, device = self._testbed.tcp, self._testbed.device
        with TemporaryDirectory(dir=WORKSPACE) as folder, host(CLIENT.name) as made:
            made.set_kernel(kernel_settings(tcp))
            ends = Ends(made, CLIENT_ADDRESS, server)
            with joined(link, ends, LinkFiles(Path(folder)), tcp=tcp, device=device):
                yield made

    @contextlib.contextmanager
    def _their_link_as_it_is(self, server: Host) -> Iterator[Host]:
        with self._mahimahi.linked(server, self._endpoint().address) as client:
            time.sleep(SETTLED_S)
            yield client

    @contextlib.contextmanager
    def _their_link(self, server: Host) -> Iterator[Host]:
        """With the congestion control that our links have."""
        with self._mahimahi.linked(server, self._endpoint().address) as client:
            give_routes(server, self._testbed.tcp)
            time.sleep(SETTLED_S)
            yield client


def give_routes(server: Host, tcp: TcpSettings) -> None:
    """Give the routes to the clients behind mm-delay the options that our own have."""
    routes = run(Command.of("ip", "-4", "route", "show").on(server.path)).splitlines()
    theirs = [route.strip() for route in routes if " dev delay-" in route]
    if not theirs:
        raise SystemExit(f"mm-delay made no route on its server's host, which has: {'; '.join(routes)}")
    server.configure(*(f"route replace {route} {route_options(tcp)}" for route in theirs))


def connect_ms(client: Host, address: str) -> float:
    """How long a TCP connect takes: the median of several."""
    times_ms = []
    with client.entered():
        for _ in range(CONNECTS):
            began = time.perf_counter()
            with socket.create_connection((address, PORT), TIMEOUT_S):
                times_ms.append((time.perf_counter() - began) * 1000)
            time.sleep(CONNECT_GAP_S)
    return statistics.median(times_ms)


def answer_ms(server: Host, address: str, archive: Archive) -> float:
    """From a request to the first of its answer, on the server's own host: the median over all that is archived."""
    times_ms = []
    with server.entered():
        made = http.client.HTTPConnection(address, PORT, TIMEOUT_S)
        made.connect()
        for _ in range(ROUNDS):
            for response in archive.responses():
                url = urlsplit(response.url)
                target = url.path + (f"?{url.query}" if url.query else "")
                began = time.perf_counter()
                made.request("GET", target, headers=dict(asked_with(url.netloc)))
                answer = made.getresponse()
                times_ms.append((time.perf_counter() - began) * 1000)
                answer.read()
                if answer.status != response.status:
                    raise SystemExit(f"{address}: {response.url} is answered by {answer.status}")
        made.close()
    return statistics.median(times_ms)


def took(plt_ms: float, log: BrowserLog, lost: int | None = None) -> Took:
    """The times of a load that its browser tells."""
    asked = ((request.answered_ms, request.exchange.sent_ms) for request in log.page_requests)
    waits = [first - sent for first, sent in asked if first is not None and sent is not None]
    connects = [made.connect_ms for made in log.connections if made.connect_ms is not None]
    return Took(plt_ms, statistics.median(waits), max(waits), statistics.median(connects), lost)

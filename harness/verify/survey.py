"""A look at a live page from here: which hosts it has and how far they are, how fast they send, how long they think.

The page is loaded as a trial loads one, on the machine's own network (harness.trial.venue.OnTheWeb): no enclosure has
that, so this runs outside of one. Then its hosts are measured (harness.lab.livehost).
"""

from __future__ import annotations

import contextlib
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from harness.engines.browserlog import BrowserLog
from harness.engines.browsers import Browsers
from harness.errors import EnvironmentLacks, MeasurementRefused, Outcome, UsageError
from harness.input.shown import Tell
from harness.lab.livehost import HANDSHAKES, HostRate, HostReading, Reached, host_readings, rate_reading
from harness.model.condition import Condition, Origins
from harness.model.engine import DEFAULT_ENGINE, Device
from harness.model.link import NO_LINK
from harness.model.protocol import Protocol
from harness.model.trials import PlannedTrial
from harness.probes.probe import TrialOptions
from harness.records import Record
from harness.study.metrics import unsound
from harness.system.netns import Host
from harness.trial.trial import run_at
from harness.trial.venue import OnTheWeb
from sites.urls import parse_url

ENGINE = DEFAULT_ENGINE
LOOKS = 3
TIMEOUT_S = 60.0
PLAIN = "plain http"
PREFLIGHT = "OPTIONS"
RATED = 3  # hosts whose rate is measured: those with the most bytes


@dataclass(frozen=True)
class Web:
    """The network of the live loads: the machine's own, or that of a namespace file. `trust` is an NSS database of
    authorities that vouch there; None: those that a browser knows.
    """

    network: Path | None = None
    trust: Path | None = None

    def entered(self) -> contextlib.AbstractContextManager[None]:
        return contextlib.nullcontext() if self.network is None else Host("live", self.network).entered()

    def venue(self, url: str, hosts: Iterable[str]) -> OnTheWeb:
        """Where the page at that URL is loaded; `hosts` are those of its archive."""
        return OnTheWeb(url, frozenset(hosts), self.network, self.trust)


@dataclass(frozen=True)
class Survey:
    """What was measured of a live page.

    `unmeasured` are hosts with the reason. `think_ms` is by URL, `look_up_ms` the median look-up of a name. `protocols`
    is how many requests each protocol carried, by its ALPN name; without TLS by PLAIN.
    """

    hosts: tuple[HostReading, ...]
    unmeasured: tuple[str, ...]
    rates: tuple[HostRate, ...]
    think_ms: Mapping[str, float]
    look_up_ms: float | None
    protocols: Mapping[str, int]

    @property
    def nearest_ms(self) -> float:
        return min(host.least_ms for host in self.hosts)

    @property
    def mbps(self) -> float | None:
        """The highest rate seen."""
        return max((rate.mbps for rate in self.rates if rate.mbps is not None), default=None)


class LiveLoads:
    """Loads of one live page, each by a fresh browser; what is kept meanwhile lies in a folder."""

    def __init__(self, browsers: Browsers, venue: OnTheWeb, name: str, device: Device, folder: Path) -> None:
        self.venue = venue
        self._browsers, self._folder = browsers, folder
        usual = Condition.usual(name, Protocol.H2, NO_LINK, ENGINE)  # and by all else that its servers speak
        self._condition = replace(usual, origins=Origins.RECORDED, server="live", device=device)
        self._count = 0

    def load(self) -> tuple[Record, BrowserLog]:
        """The record, with why it does not count, and what the browser did on the network."""
        self._count += 1
        planned = PlannedTrial(f"live-{self._count:05d}", 1, self._count, self._condition)
        record, evidence = run_at(self.venue, self._browsers, planned, TrialOptions(TIMEOUT_S), self._folder)
        log = evidence.get(BrowserLog) if evidence else None
        return replace(record, left_out=unsound(record.to_json())), log or BrowserLog((), ())


def surveyed(live: LiveLoads, web: Web, rate_s: float | None, tell: Tell) -> Survey:
    """Load the page LOOKS times, then measure its hosts; `rate_s` is for how long a rate is, None: not at all.

    MeasurementRefused when the page does not load, EnvironmentLacks when none of its hosts can be measured.
    """
    logs = []
    for number in range(1, LOOKS + 1):
        tell(f"look {number} of {LOOKS} at {live.venue.start_url}")
        record, log = live.load()
        if record.outcome is not Outcome.OK:
            raise MeasurementRefused(
                f"the live page does not load ({record.outcome}: {record.reason}); look at {live.venue.start_url} in a "
                "browser, or give its address after --live"
            )
        logs.append(log)
    reached = remotes(logs)
    tell(f"shaking hands with {len(reached)} hosts, {HANDSHAKES} times each")
    with web.entered():
        hosts, unmeasured = host_readings(reached)
        if not hosts:
            raise EnvironmentLacks(unmeasured[0] if unmeasured else "the browser tells no address of a host")
        at = {host.host: host.reached for host in hosts}
        rates = () if rate_s is None else tuple(_rates(largest(logs, at), at, rate_s, tell))
    return Survey(
        hosts=hosts,
        unmeasured=unmeasured,
        rates=rates,
        think_ms=thinking(logs, {host.host: host.least_ms for host in hosts}),
        look_up_ms=look_up_ms(logs[1:]),  # the first one fills the cache of the name server
        protocols=Counter(
            request.protocol if request.url.startswith("https:") else PLAIN
            for log in logs
            for request in log.page_requests
            if request.protocol
        ),
    )


def _rates(
    urls: Iterable[str], reached: Mapping[str, Reached], rate_s: float, tell: Tell
) -> Iterator[HostRate]:
    for url in urls:
        tell(f"asking for {url} over several connections")
        with contextlib.suppress(EnvironmentLacks, UsageError):  # another host may answer
            yield rate_reading(url, reached[parse_url(url).host], seconds=rate_s)


def remotes(logs: Iterable[BrowserLog]) -> dict[str, Reached]:
    """Where each host of the page was reached: by the connection that carried the most. Pure."""
    seen: dict[str, Counter[str]] = {}
    for log in logs:
        ends = {made.local: made.remote for made in log.connections}
        for request in log.page_requests:
            remote = ends.get(request.exchange.connection or "")
            if remote:
                seen.setdefault(request.host, Counter())[remote] += 1
    addresses = {}
    for host, counts in seen.items():
        address, _, port = counts.most_common(1)[0][0].rpartition(":")
        addresses[host] = address.strip("[]"), int(port)
    return addresses


def thinking(logs: Iterable[BrowserLog], round_trips_ms: Mapping[str, float]) -> dict[str, float]:
    """How long servers thought, by URL: from the request to the first of its answer, less a round trip; the least of
    all looks, as what waits in queues only adds to it. Pure.

    Of several methods and statuses of one URL that counts which an archive holds. A CORS question is the browser's own.
    """
    times_ms: dict[str, dict[tuple[str, int], float]] = {}
    for log in logs:
        for request in log.page_requests:
            sent, url = request.exchange.sent_ms, request.url.partition("#")[0]
            if sent is None or request.answered_ms is None or request.host not in round_trips_ms:
                continue
            if request.method == PREFLIGHT:
                continue
            took = max(0.0, request.answered_ms - sent - round_trips_ms[request.host])
            of_url, answer = times_ms.setdefault(url, {}), (request.method, request.status or 0)
            of_url[answer] = min(took, of_url.get(answer, took))
    return {url: took[min(took, key=_archived_first)] for url, took in times_ms.items()}


def _archived_first(answer: tuple[str, int]) -> tuple[bool, bool, bool]:
    """Which answers of one URL an archive holds before others: to GET, then success, then a redirect."""
    method, status = answer
    return method != "GET", not 200 <= status < 300, not 300 <= status < 400


def look_up_ms(logs: Iterable[BrowserLog]) -> float | None:
    """The median look-up of a name. Pure."""
    took = [span.ended_ms - span.began_ms for log in logs for spans in log.lookups.values() for span in spans]
    return statistics.median(took) if took else None


def largest(logs: Iterable[BrowserLog], reached: Mapping[str, Reached]) -> list[str]:
    """The largest answer of each of the hosts with the most bytes: what a rate is measured by. Pure."""
    of_hosts: dict[str, dict[str, int]] = {}
    for log in logs:
        for request in log.page_requests:
            if request.method == "GET" and request.status == 200 and request.host in reached:
                of_hosts.setdefault(request.host, {})[request.url.partition("#")[0]] = request.body_bytes or 0
    most = sorted(of_hosts.values(), key=lambda sizes: -sum(sizes.values()))[:RATED]
    return [max(sizes, key=lambda url: sizes[url]) for sizes in most]

"""Where a load is made: in the testbed, where a page is served over a link of ours, or on the web, where it is live.

A trial takes the same steps in both (`harness.trial.trial`), with the same browser. On the web nothing is ours but the
browser: no probe sees a link or a server, and nothing proves a protocol.
"""

from __future__ import annotations

import contextlib
import ssl
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from dnsredirect.names import Asking
from harness.engines.browser import InnerTls, Surroundings
from harness.engines.hop import Security
from harness.lab.endpoint import Endpoint
from harness.lab.testbed import CLIENT, Testbed
from harness.model.link import LinkAccount, Way
from harness.model.protocol import Protocol
from harness.model.settings import Replay
from harness.model.trials import PlannedTrial
from harness.probes.evidence import LoadSetup
from harness.probes.probe import MeasuredClient, MeasuredLink, ServedPage
from harness.system.netns import Host
from sites.servers.server import ServedRequest


class JoiningLink(MeasuredLink, Interface):
    """What joins the browser's host to the page."""

    def begin(self) -> None:
        """Time zero of rates that change with time is now."""

    def check(self) -> None:
        """Raise TestbedFailed when it has died or is stopped."""

    def examine(self) -> None:
        """`check`, and TestbedFailed when it does not answer at once."""


class BrowsersHost(MeasuredClient, Interface):
    """The host of one load's browser."""

    @property
    def link(self) -> JoiningLink:
        """What joins it to the page."""


class Venue(Interface):
    """Where one page is loaded."""

    @property
    def page(self) -> ServedPage: ...

    @property
    def start_url(self) -> str: ...

    @property
    def archive_digest(self) -> str | None: ...

    def setup(self, planned: PlannedTrial) -> LoadSetup:
        """What the load of a trial should be."""

    def surroundings(self) -> Surroundings:
        """What its browser finds around it."""

    def use_names(self, planned: PlannedTrial) -> None:
        """Names are looked up as here from now on, over the link of the trial."""

    def client(
        self, planned: PlannedTrial, pcap: Path | None = None
    ) -> contextlib.AbstractContextManager[BrowsersHost]:
        """The host of the browser for the length of the block."""

    def examine(self, client: BrowsersHost | None = None) -> None:
        """Ask all that a load depended on; TestbedFailed names the part that is dead, stopped or silent."""


@dataclass(frozen=True)
class InTestbed:
    """An endpoint of the testbed; each load has a fresh client host behind a fresh link."""

    testbed: Testbed
    page: Endpoint

    @property
    def start_url(self) -> str:
        return self.page.start_url

    @property
    def archive_digest(self) -> str:
        return self.page.archive.digest

    def setup(self, planned: PlannedTrial) -> LoadSetup:
        condition, replay = planned.condition, self.page.replay
        return LoadSetup(
            protocol=self.page.protocol,
            start_url=self.start_url,
            page_hosts=self.page.hosts,
            rtt_ms=condition.link.rtt_ms,
            distances_ms=self.page.distances_ms,
            tls=replay.tls,
            tls_resumption=replay.tls_resumption,
            h2_stream_window_bytes=replay.h2_stream_window_bytes,
            cache=condition.cache,
            delay_down_ms=condition.link.delay_ms(Way.DOWN),
            way_up_ms=condition.link.delay_ms(Way.UP) + condition.link.up.jitter_ms,
            since_1970_us=_since_1970_us(),
        )

    def surroundings(self) -> Surroundings:
        return surroundings(self.testbed, self.page)

    def use_names(self, planned: PlannedTrial) -> None:
        asking = Asking.over(planned.condition.link)
        self.testbed.resolver.use(self.page.address, self.page.known_names, asking=asking)

    @contextlib.contextmanager
    def client(self, planned: PlannedTrial, pcap: Path | None = None) -> Iterator[BrowsersHost]:
        with self.testbed.client(
            planned.condition.link,
            draw=planned.draw,
            pcap=pcap,
            tcp=self.page.tcp,
            distances_ms=self.page.distances_ms,
        ) as client:
            yield client

    def examine(self, client: BrowsersHost | None = None) -> None:
        self.page.examine()
        if client is not None:
            client.link.examine()


@dataclass(frozen=True)
class OnTheWeb:
    """A live page, over the network of the machine, or over that of the namespace file `network`.

    `hosts` are those of its archive: browsers are told so of the page in both places. `trust` is an NSS database of
    authorities that vouch for it; None: those that a browser knows.
    """

    start_url: str
    hosts: frozenset[str]
    network: Path | None = None
    trust: Path | None = None
    archive_digest: None = None

    @property
    def page(self) -> ServedPage:
        return _Elsewhere()

    def setup(self, planned: PlannedTrial) -> LoadSetup:
        return LoadSetup(
            protocol=planned.condition.protocol,
            start_url=self.start_url,
            page_hosts=self.hosts,
            rtt_ms=0.0,
            since_1970_us=_since_1970_us(),
            live=True,
        )

    def surroundings(self) -> Surroundings:
        return Surroundings(
            client=Host("live", self.network or Path("/proc/self/ns/net")),
            protocol=Protocol.H2,  # and all else that the page's servers speak
            replay=Replay(),
            start_url=self.start_url,
            hosts=self.hosts,
            secure_origins=(),
            local={},
            mentioned={},
            loopback_ports={},
            address="",
            trust=self.trust,
            authority=Path(ssl.get_default_verify_paths().cafile or "/etc/ssl/certs/ca-certificates.crt"),
            substitute=None,
            inner_tls=None,
        )

    def use_names(self, planned: PlannedTrial) -> None:
        """They are looked up as the machine does it."""

    @contextlib.contextmanager
    def client(self, planned: PlannedTrial, pcap: Path | None = None) -> Iterator[BrowsersHost]:
        del planned, pcap
        yield _Machine()

    def examine(self, client: BrowsersHost | None = None) -> None:
        """Nothing of it is ours."""


class _UnknownLink:
    """Whatever is between the machine and the web: nothing of it can be read."""

    def begin(self) -> None:
        """Nobody knows how it changes."""

    def check(self) -> None:
        """Nobody can."""

    def examine(self) -> None:
        """Nobody can."""

    def reading(self) -> Mapping[str, Any]:
        return {}

    def account(self) -> LinkAccount | None:
        return None


@dataclass(frozen=True)
class _Machine:
    """The machine, as a live load meets it."""

    address: str = ""
    link: JoiningLink = field(default_factory=_UnknownLink)


class _Elsewhere:
    """A page that others serve, and the server that does."""

    log_offset = 0
    programs: Mapping[str, int] = {}

    @property
    def server(self) -> _Elsewhere:
        return self

    def requests(self, since: int) -> Sequence[ServedRequest]:
        del since
        return ()

    def cpu_seconds(self) -> float | None:
        return None


def _since_1970_us() -> int:
    return (time.time_ns() - time.monotonic_ns()) // 1000


def surroundings(testbed: Testbed, endpoint: Endpoint) -> Surroundings:
    """Those of a browser on the client host that loads the page of an endpoint."""
    return Surroundings(
        client=CLIENT,
        protocol=endpoint.protocol,
        replay=endpoint.replay,
        start_url=endpoint.start_url,
        hosts=endpoint.hosts,
        secure_origins=endpoint.secure_origins,
        local=endpoint.local,
        mentioned=endpoint.mentioned_addresses,
        loopback_ports=endpoint.loopback_ports,
        address=endpoint.address,
        trust=testbed.trust,
        authority=testbed.authority.certificate_file,
        substitute=testbed.authority.substitute(endpoint.replay.chain),
        inner_tls=None if endpoint.protocol.encrypted else _inner_tls(testbed, endpoint),
    )


def _inner_tls(testbed: Testbed, endpoint: Endpoint) -> InnerTls:
    """TLS with certificates of the usual kind, in the names of an endpoint."""
    certificates = {name: str(file) for name, file in testbed.loopback_certificates(endpoint).items()}
    substitute = testbed.authority.substitute()
    files = str(substitute.certificate_file), str(substitute.key_file)
    security = Security(certificates, str(testbed.authority.key_file), files, endpoint.protocol.wire)
    return InnerTls(security, substitute)

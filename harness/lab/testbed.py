"""The private network of a run: a server host with name servers and replay servers, and a fresh client per trial.

    client host ──[ emulated link, fresh per trial ]── server host
    (browser)                                          10.0.x.y, one address per archive and protocol:
                                                       a replay server and a name server that answers with it

Everything is made on an ExitStack inside the enclosure and undone in reverse, whatever happens. The addresses of
clients, 10.64.0.0 to 10.127.255.255, are given out once each: no packet of an earlier trial finds its way to a later
one.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from ipaddress import IPv4Address
from pathlib import Path

from dnsredirect.names import NameServer, Resolver, name_server
from harness.errors import StudyError, TestbedFailed
from harness.lab.emulated import Ends, LinkDevice, LinkFiles, refuse_stale_emulator, usable_device
from harness.lab.endpoint import Endpoint, zone_of
from harness.lab.link import RunningLink, joined, kernel_settings
from harness.model.condition import Condition, Origins, Served
from harness.model.engine import DEFAULT_ENGINE, Engine
from harness.model.kind import Kind
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.model.serversettings import Tuning
from harness.model.settings import Replay, TcpSettings
from harness.study.rules import DEFAULT_SERVER, Combination, check_combination
from harness.system.enclosure import WORKSPACE, covered
from harness.system.netns import NETNS_FOLDER, Host, host
from sites.archive import Archive
from sites.archiveindex import round_trips
from sites.certificates import Authority, trust_database
from sites.coding import BROWSER_CODINGS
from sites.materialise import Site, materialise
from sites.servers.apache import APACHE
from sites.servers.caddy import CADDY
from sites.servers.nginx import NGINX
from sites.servers.server import Server, Service
from sites.servers.serving import Deployment, Program, serving
from sites.servers.spdygateway import SPDY_GATEWAY

# What each can do: harness.study.rules.
SERVERS = {"apache": APACHE, "caddy": CADDY, "nginx": NGINX, "spdy-gateway": SPDY_GATEWAY}
SERVER_NETWORK = "10.0"
# The host's own settings for servers: any user may take port 80, and no queue overflows in a burst of a page load.
SERVER_KERNEL = {"ipv4.ip_unprivileged_port_start": 0, "core.somaxconn": 4096}
CLIENT = Host("client", NETNS_FOLDER / "client")  # of the trial under way; each is fresh, by the same path
FIRST, NUMBER = IPv4Address("10.64.0.0"), 2**22  # of the addresses of clients
MAX_CLIENTS = 2**16  # as many as the emulator takes


@dataclass(frozen=True)
class Addresses:
    """The addresses of one client host: the first `count` of a network that is its own."""

    first: int
    count: int = 1

    @property
    def network(self) -> str:
        return f"{self[0]}/{32 - _bits(self.count)}"

    def __getitem__(self, number: int) -> str:
        if not 0 <= number < self.count:
            raise IndexError(number)
        return str(FIRST + (self.first + number) % NUMBER)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        return (self[number] for number in range(self.count))


class AddressPool:
    """Gives addresses out, anew only after four million."""

    def __init__(self) -> None:
        self._next = 1

    def take(self, count: int = 1) -> Addresses:
        """So many addresses. StudyError when no host can have as many."""
        refuse_count(count)
        size = 1 << _bits(count)
        first = -(-self._next // size) * size
        self._next = first + size
        return Addresses(first, count)


def refuse_count(count: int) -> None:
    """StudyError when no host can have so many clients."""
    if not 1 <= count <= MAX_CLIENTS:
        raise StudyError(f"{count:,} clients are asked for; it can be 1 to {MAX_CLIENTS:,}")


def _bits(count: int) -> int:
    """Of the host part of the smallest network with so many addresses."""
    return (count - 1).bit_length()


@dataclass(frozen=True)
class Client:
    """The client host of one trial and the link that joins it to the server host.

    `addresses` are all that it has: one, or one for each client of a crowd; `address` is the first.
    """

    host: Host
    addresses: Addresses
    link: RunningLink

    @property
    def address(self) -> str:
        return self.addresses[0]


class Testbed:
    """A running testbed. Made by `testbed`."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(
        self, server: Host, folder: Path, stack: contextlib.ExitStack, tcp: TcpSettings, device: LinkDevice
    ) -> None:
        self.server = server
        self.folder = folder
        self.tcp = tcp
        self._server_tcp = tcp
        self.device = device
        self.authority = Authority.create(folder / "authority")
        self.trust = trust_database(self.authority, folder / "trust")
        self.resolver = Resolver(
            folder / "resolver", lambda source, target: stack.enter_context(covered(target, by=source))
        )
        self._stack = stack
        self.endpoints: dict[Served, Endpoint] = {}
        self._loopback: dict[tuple[str, ...], dict[str, Path]] = {}
        self._server_numbers = itertools.count(1)
        self._addresses = AddressPool()

    def serve(
        self,
        archive: Archive,
        protocols: Sequence[Protocol],
        replay: Replay | None = None,
        server: str = DEFAULT_SERVER,
        engine: Engine = DEFAULT_ENGINE,
        tuning: Tuning | None = None,
    ) -> None:
        """Serve an archive to an engine by each of the protocols, each on addresses of its own.

        It may be called again for another compression, and for a server of another name or factor. `tuning` is by
        default that of page loads.
        """
        chosen, tuned = replay or Replay(), tuning or Tuning()
        for served_protocol in protocols:
            check_combination(
                Combination(
                    page=archive.name,
                    engine=engine,
                    protocol=served_protocol,
                    server=server,
                    replay=chosen,
                    hosts=archive.hosts,
                )
            )
            if tuned.settings is not None:
                tuned.settings.refuse_unless_spoken(served_protocol)
        schemes = sorted({served_protocol.scheme for served_protocol in protocols})
        # Browsers take fewer content codings over plain http; all protocols that are compared get the same bodies.
        codings = BROWSER_CODINGS["http" if chosen.over_http else schemes[0]] & engine.traits.codings
        sites = {scheme: _site(archive, scheme, codings, chosen) for scheme in schemes}
        groups = archive.address_groups if chosen.origins is Origins.RECORDED else ()
        distances = chosen.distance.of(archive.name, groups, round_trips(archive.entries))
        services = {
            served_protocol: self._services(served_protocol, sites[served_protocol.scheme], groups)
            for served_protocol in protocols
        }
        every = tuple(itertools.chain.from_iterable(services.values()))
        self.server.configure(*(f"addr add {service.address}/32 dev lo" for service in every))
        parent = self.folder / "servers" / engine / archive.name / str(chosen.compression)
        folder = parent / (tuned.name or server) / str(len(self.endpoints))
        deployment = Deployment(
            sites,
            every,
            chosen.tls,
            chosen.tls_resumption,
            tuned.settings,
            tuned.status,
            # A crowd's server tells its status, that of a closed loop does not.
            closed_loop=Kind.REQUESTS in engine.traits.kinds and not tuned.status,
            chain=chosen.chain,
        )
        running = self._started(SERVERS[server], deployment, folder)
        for protocol, of_protocol in services.items():
            key = Served(archive.name, protocol, engine, chosen.compression, tuned.name, tuned.factor)
            self.endpoints[key] = Endpoint(
                protocol=protocol,
                archive=archive,
                site=sites[protocol.scheme],
                services=of_protocol,
                replay=chosen,
                server=running,
                name_server=self._named(of_protocol, folder / f"dns-{protocol}.log"),
                tcp=self.tcp,
                distances_ms={
                    service.address: ms
                    for service, ms in zip(of_protocol[1:], distances, strict=bool(groups))
                    if ms
                },
            )

    def serve_also(self, served: Served, factor: str, tcp: TcpSettings) -> None:
        """Add an endpoint for this factor: the same servers as that of `served`, with these TCP settings."""
        self.endpoints[served._replace(factor=factor)] = replace(self.endpoints[served], tcp=tcp)

    def _services(
        self, protocol: Protocol, site: Site, groups: Sequence[tuple[str, ...]]
    ) -> tuple[Service, ...]:
        """The services of one protocol: first the one for every name that is in none of the groups, then theirs."""
        if not groups:
            return (Service(protocol, self._server_address()),)
        others = site.mentioned_hosts or site.hosts[:1]  # a service needs a certificate
        return tuple(Service(protocol, self._server_address(), hosts) for hosts in (others, *groups))

    def _server_address(self) -> str:
        number = next(self._server_numbers)
        if number >= 2**16:
            raise TestbedFailed("more than 65,535 addresses are needed; split the study")
        return f"{SERVER_NETWORK}.{number // 256}.{number % 256}"

    def _started(self, program: Program, deployment: Deployment, folder: Path) -> Server:
        """A replay server that runs as long as the testbed does."""
        self._stack.callback(shutil.rmtree, folder)
        return self._stack.enter_context(serving(program, deployment, self.authority, folder, self.server))

    def _named(self, services: Sequence[Service], log: Path) -> NameServer:
        """A name server that runs as long as the testbed does, on the address of the first service."""
        return self._stack.enter_context(
            name_server(zone_of(services), services[0].address, log, self.server)
        )

    def endpoint(self, condition: Condition) -> Endpoint:
        """Where the page of a condition is served; raises TestbedFailed when a program there has died or is stopped."""
        return self._working(condition.served)

    def endpoint_of(self, archive: str, protocol: Protocol) -> Endpoint:
        """`endpoint` by the archive's name, of the default engine, compressed as it was recorded."""
        return self._working(Served(archive, protocol, DEFAULT_ENGINE))

    def _working(self, served: Served) -> Endpoint:
        endpoint = self.endpoints[served]
        endpoint.check()
        return endpoint

    def check(self) -> None:
        """Raise TestbedFailed when a server or name server has died or is stopped."""
        for server in {endpoint.server for endpoint in self.endpoints.values()}:
            server.check()
        for endpoint in self.endpoints.values():
            endpoint.name_server.check()

    def examine(self, endpoint: Endpoint, client: Client | None = None) -> None:
        """Ask all that a load depended on; TestbedFailed names the part that is dead, stopped or silent.

        For a load that failed: it is the page's fault only when nothing here is. Takes about a second at most.
        """
        endpoint.examine()
        if client is not None:
            client.link.examine()

    def loopback_certificates(self, endpoint: Endpoint) -> Mapping[str, Path]:
        """Certificates of the names of an endpoint, for TLS that ends on the client host; made once."""
        if endpoint.names not in self._loopback:
            folder = self.folder / f"loopback-{len(self._loopback)}"
            folder.mkdir()
            self._loopback[endpoint.names] = self.authority.certificate_files(endpoint.names, folder)
        return self._loopback[endpoint.names]

    @contextlib.contextmanager
    def client(
        self,
        link: Link,
        *,
        draw: int = 0,
        pcap: Path | None = None,
        count: int = 1,
        tcp: TcpSettings | None = None,
        distances_ms: Mapping[str, float] | None = None,
    ) -> Iterator[Client]:
        """A fresh client host with `count` addresses behind a fresh link; never used before in this testbed.

        Both hosts have these settings of TCP, by default those of the testbed. A round trip to each of the servers in
        `distances_ms` takes so much longer than the link's.
        """
        chosen = tcp or self.tcp
        self._set_tcp_of_server(chosen)
        addresses = self._addresses.take(count)
        # A folder of its own: nothing of an earlier link, one that failed above all, can be taken for this one's.
        with (
            tempfile.TemporaryDirectory(prefix="client-", dir=self.folder) as folder,
            host(CLIENT.name) as made,
        ):
            made.set_kernel(kernel_settings(chosen))
            with joined(
                link,
                Ends(
                    made,
                    addresses[0],
                    self.server,
                    addresses.network if count > 1 else None,
                    distances_ms or {},
                ),
                LinkFiles(Path(folder), pcap),
                tcp=chosen,
                device=self.device,
                draw=draw,
            ) as running:
                yield Client(made, addresses, running)

    def _set_tcp_of_server(self, tcp: TcpSettings) -> None:
        """What its kernel is told; the route to each client tells the rest."""
        if tcp != self._server_tcp:
            self.server.set_kernel(kernel_settings(tcp))
            self._server_tcp = tcp


@contextlib.contextmanager
def testbed(tcp: TcpSettings | None = None, device: LinkDevice | None = None) -> Iterator[Testbed]:
    """A testbed with an empty server host; by default on the best devices there are. Must run inside an enclosure.

    EnvironmentLacks when its link would be that of other sources than these.
    """
    refuse_stale_emulator()
    settings, usable = tcp or TcpSettings(), device or usable_device()
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(host("server"))
        server.set_kernel({**SERVER_KERNEL, **kernel_settings(settings)})
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="testbed-", dir=WORKSPACE))
        yield Testbed(server, Path(folder), stack, settings, usable)


def _site(archive: Archive, scheme: str, codings: Collection[str], replay: Replay) -> Site:
    """An archive as it is served under a scheme."""
    return materialise(
        archive,
        scheme,
        codings,
        compression=replay.compression,
        determinism=replay.determinism,
        think_time=replay.think_time,
    )

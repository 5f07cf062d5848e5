"""The private network of a run: a server host with name servers and replay servers, and a fresh client per trial.

    client host ──[ emulated link, fresh per trial ]── server host
    (browser)                                          10.0.x.y, one address per archive and protocol:
                                                       a replay server and a name server that answers with it

Everything is made on an ExitStack inside the enclosure and undone in reverse, whatever happens.
"""

from __future__ import annotations

import contextlib
import itertools
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dnsredirect.dnsmasq import NameServer, name_server
from dnsredirect.resolver import Resolver
from dnsredirect.zone import Zone
from harness.errors import TestbedFailed
from harness.link.emulated import Address, RunningLink, joined, kernel_settings, usable_backend
from harness.model.condition import RECORDED_COMPRESSION, Condition, Origins
from harness.model.engine import Engine
from harness.model.link import Backend, Link
from harness.model.protocol import Protocol
from harness.model.settings import Replay, TcpSettings
from harness.model.variant import served_name
from harness.study.abilities import DEFAULT_SERVER, refuse_unless_able, refuse_unless_reached
from harness.system import syscalls
from harness.system.enclosure import WORKSPACE
from harness.system.netns import NETNS_FOLDER, Host, host
from sites.archive import Archive
from sites.certificates import Authority, trust_database
from sites.coding import BROWSER_CODINGS, CODINGS_OF_2012
from sites.materialise import Site, materialise
from sites.origins import address_groups
from sites.servedrequest import ServedRequest
from sites.servers.apache import APACHE
from sites.servers.caddy import CADDY
from sites.servers.nginx import NGINX
from sites.servers.server import Server, Service
from sites.servers.serving import serving
from sites.servers.spdygateway import SPDY_GATEWAY
from sites.urls import is_local, loopback_address, parse_url

# What each can do: harness.servers.
SERVERS = {"apache": APACHE, "caddy": CADDY, "nginx": NGINX, "spdy-gateway": SPDY_GATEWAY}
SERVER_NETWORK = "10.0"
# The host's own settings for servers: any user may take port 80, and no queue overflows in a burst of a page load.
SERVER_KERNEL = {"ipv4.ip_unprivileged_port_start": 0, "core.somaxconn": 4096}


CLIENT = Host("client", NETNS_FOLDER / "client")  # the fresh one of the trial under way

Key = tuple[str, Protocol, Engine, str]  # of an endpoint: archive, protocol, engine and compression


@dataclass(frozen=True)
class Endpoint:
    """Where one archive is served by one protocol.

    `hosts` are archived, `names` also those that are only mentioned. `address` is the name server's, and the replay
    server's for every name in none of the `groups`: hosts that have an address of their own together. `local` is where
    those hosts are that browsers do not ask DNS for.
    """

    protocol: Protocol
    archive: Archive
    start_url: str
    hosts: frozenset[str]
    names: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    replay_notes: tuple[str, ...]
    tls: str
    tls_resumption: bool
    address: str
    server: Server
    name_server: NameServer
    local: Mapping[str, str]

    @property
    def secure_origins(self) -> tuple[str, ...]:
        """The origins that were secure contexts when recorded and are served over plain http."""
        if self.protocol.scheme == "https" or parse_url(self.archive.start_url).scheme == "http":
            return ()
        found = {parse_url(entry.url).under("http").authority for entry in self.archive.entries}
        return tuple(f"http://{authority}" for authority in sorted(found))

    @property
    def loopback_ports(self) -> dict[tuple[str, int], str]:
        """The ports of a browser's own loopback addresses where it would look for hosts of the archive, by either."""
        urls = [parse_url(entry.url).under(self.protocol.scheme) for entry in self.archive.entries]
        found = [(loopback_address(url.host), url) for url in urls]
        return {(address, url.port): url.host for address, url in found if address is not None}

    @property
    def programs(self) -> dict[str, int]:
        """The main process of each program that answers a load here, by name."""
        return {**self.server.programs, self.name_server.process.name: self.name_server.process.pid}

    def check(self) -> None:
        """Raise TestbedFailed, with the name, when one of them has died or is stopped."""
        with self._named():
            self.server.check()
            self.name_server.check()

    def examine(self) -> None:
        """`check`, and ask each of them; takes some ms, or a second where one does not answer."""
        with self._named():
            self.name_server.examine()
            self.server.examine(self.protocol)

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except TestbedFailed as failure:
            raise TestbedFailed(
                f"{failure} (it serves {self.archive.name} over {self.protocol})"
            ) from failure


@dataclass(frozen=True)
class Client:
    """The client host of one trial and the link that joins it to the server host."""

    host: Host
    address: str
    link: RunningLink


class Testbed:
    """A running testbed. Made by `testbed`."""

    __test__ = False  # not a test class, whatever pytest thinks of its name

    def __init__(
        self, server: Host, folder: Path, stack: contextlib.ExitStack, tcp: TcpSettings, backend: Backend
    ) -> None:
        self.server = server
        self.folder = folder
        self.tcp = tcp
        self.backend = backend
        self.authority = Authority.create(folder / "authority")
        self.trust = trust_database(self.authority, folder / "trust")
        self.resolver = Resolver(folder / "resolver", partial(_cover, stack))
        self._stack = stack
        self.endpoints: dict[Key, Endpoint] = {}
        self._loopback: dict[tuple[str, ...], dict[str, Path]] = {}
        self._server_numbers = itertools.count(1)
        self._client_numbers = itertools.count(1)

    def serve(
        self,
        archive: Archive,
        protocols: Sequence[Protocol],
        replay: Replay | None = None,
        server: str = DEFAULT_SERVER,
        engine: Engine = Engine.CHROMIUM,
    ) -> None:
        """Serve an archive to an engine by each of the protocols, each on addresses of its own.

        It may be called again for another compression.
        """
        chosen = replay or Replay()
        refuse_unless_able(server, protocols, chosen)
        refuse_unless_reached(engine, archive.name, archive.hosts)
        chosen.refuse_unless_for(protocols, engine)
        schemes = sorted({each.scheme for each in protocols})
        codings = CODINGS_OF_2012 if engine is Engine.QTWEBKIT else BROWSER_CODINGS[schemes[0]]
        # Browsers take fewer content codings over plain http; all protocols that are compared get the same bodies.
        sites = {
            scheme: materialise(
                archive,
                scheme,
                codings,
                compression=chosen.compression,
                determinism=chosen.determinism,
                think_time=chosen.think_time,
            )
            for scheme in schemes
        }
        groups = address_groups(archive) if chosen.origins is Origins.RECORDED else ()
        services = {each: self._services(each, sites[each.scheme], groups) for each in protocols}
        addresses = [service.address for each in services.values() for service in each]
        self.server.configure(*(f"addr add {address}/32 dev lo" for address in addresses))
        compression = str(chosen.compression)
        folder = self.folder / "servers" / engine / archive.name / compression
        self._stack.callback(shutil.rmtree, folder)
        running = self._stack.enter_context(
            serving(
                SERVERS[server],
                sites,
                [service for each in services.values() for service in each],
                self.authority,
                folder,
                network=self.server.path,
                on_host=self.server.entered,
                tls=chosen.tls,
                tls_resumption=chosen.tls_resumption,
            )
        )
        for protocol, (elsewhere, *others) in services.items():
            site = sites[protocol.scheme]
            known = {host: service.address for service in others for host in service.hosts or ()}
            local = {host: known.get(host, elsewhere.address) for host in site.hosts if is_local(host)}
            names = {host: address for host, address in known.items() if host not in local}
            self.endpoints[archive.name, protocol, engine, compression] = Endpoint(
                protocol=protocol,
                archive=archive,
                start_url=site.start_url,
                hosts=frozenset(site.hosts),
                names=site.names,
                groups=groups,
                replay_notes=site.notes,
                tls=chosen.tls,
                tls_resumption=chosen.tls_resumption,
                address=elsewhere.address,
                server=running,
                name_server=self._stack.enter_context(
                    name_server(
                        Zone(elsewhere.address, names),
                        elsewhere.address,
                        folder / f"dns-{protocol}.log",
                        network=self.server.path,
                        on_host=self.server.entered,
                    )
                ),
                local=local,
            )

    def _services(self, protocol: Protocol, site: Site, groups: Sequence[tuple[str, ...]]) -> list[Service]:
        """The services of one protocol: first the one for every name that is in none of the groups, then theirs."""
        if not groups:
            return [Service(protocol, self._server_address())]
        others = site.mentioned_hosts or site.hosts[:1]  # a service needs a certificate
        return [Service(protocol, self._server_address(), hosts) for hosts in (others, *groups)]

    def endpoint(self, condition: Condition) -> Endpoint:
        """Where the page of a condition is served; raises TestbedFailed when a program there has died or is stopped."""
        page = served_name(condition.page, condition.variant)
        return self.endpoint_of(page, condition.protocol, condition.engine, condition.compression)

    def endpoint_of(
        self,
        page: str,
        protocol: Protocol,
        engine: Engine = Engine.CHROMIUM,
        compression: str = RECORDED_COMPRESSION,
    ) -> Endpoint:
        """`endpoint` by the archive's name."""
        found = self.endpoints[page, protocol, engine, compression]
        found.check()
        return found

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
    def client(self, link: Link, *, block: int = 0, pcap: Path | None = None) -> Iterator[Client]:
        """A fresh client host behind a fresh link. Its address was never used before in this testbed."""
        address = str(Address(next(self._client_numbers)))
        # A folder of its own: nothing of an earlier link, one that failed above all, can be taken for this one's.
        with (
            tempfile.TemporaryDirectory(prefix="client-", dir=self.folder) as folder,
            host(CLIENT.name) as made,
        ):
            made.set_kernel(kernel_settings(self.tcp))
            with joined(
                link,
                made,
                self.server,
                Path(folder),
                address=address,
                tcp=self.tcp,
                backend=self.backend,
                block=block,
                pcap=pcap,
            ) as running:
                yield Client(made, address, running)

    def replay_notes(self, page: str) -> dict[str, list[str]]:
        """What was changed of an archive so that it can be replayed, by scheme and compression."""
        return {
            _with(compression, endpoint.protocol.scheme): list(endpoint.replay_notes)
            for (name, _, _, compression), endpoint in self.endpoints.items()
            if name == page
        }

    def groups(self, page: str) -> tuple[tuple[str, ...], ...]:
        """The hosts of a page that have an address of their own together; () when all names have the same one."""
        return next(endpoint.groups for (name, *_), endpoint in self.endpoints.items() if name == page)

    def server_settings(self, engine: Engine) -> dict[str, Mapping[str, object]]:
        """The settings that matter of the replay servers for an engine, by archive and compression."""
        return {
            _with(compression, name): endpoint.server.settings
            for (name, _, served, compression), endpoint in self.endpoints.items()
            if served is engine
        }

    def _server_address(self) -> str:
        number = next(self._server_numbers)
        if number >= 2**16:
            raise TestbedFailed("more than 65,535 addresses are needed; split the study")
        return f"{SERVER_NETWORK}.{number // 256}.{number % 256}"


@contextlib.contextmanager
def testbed(tcp: TcpSettings | None = None, backend: Backend | None = None) -> Iterator[Testbed]:
    """A testbed with an empty server host; by default on the best backend there is. Must run inside an enclosure."""
    settings, usable = tcp or TcpSettings(), usable_backend(backend)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(host("server"))
        server.set_kernel({**SERVER_KERNEL, **kernel_settings(settings)})
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="testbed-", dir=WORKSPACE))
        yield Testbed(server, Path(folder), stack, settings, usable)


def client_network_path() -> Path:
    """The namespace file of the client host, the same for each trial's fresh one."""
    return CLIENT.path


def _with(compression: str, what: str) -> str:
    """As in `agency, gzip-6`; what is compressed as it was recorded goes without saying."""
    return what if compression == RECORDED_COMPRESSION else f"{what}, {compression}"


def _cover(stack: contextlib.ExitStack, source: Path, target: Path) -> None:
    """Cover a file with another one in the enclosure's own mount namespace, for as long as the testbed stands."""
    try:
        syscalls.mount(str(source), str(target), "", syscalls.MS_BIND)
    except OSError as error:
        raise TestbedFailed(f"cannot cover {target}: {error}") from error
    stack.callback(syscalls.unmount, str(target))


def served_to(requests: Iterable[ServedRequest], client: str) -> tuple[ServedRequest, ...]:
    """The requests of one client: of one trial, as each has an address of its own."""
    return tuple(request for request in requests if request.client_address == client)

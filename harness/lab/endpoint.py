"""Where one archive is served by one protocol, and all that is known of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dnsredirect.names import NameServer, Zone
from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from harness.model.settings import NameSide, Replay, TcpSettings
from sites.archive import Archive
from sites.materialise import Site
from sites.servers.server import Server, Service
from sites.urls import ip_address_of, is_local, loopback_address, parse_url


@dataclass(frozen=True)
class Endpoint:
    """Where one archive is served by one protocol.

    The first of the `services` is for every name in none of the `groups`: hosts that have an address of their own
    together. The name server is on its address, too. `tcp` are the settings of both hosts while it is loaded from.
    `distances_ms` are what a round trip to an address takes longer than the link's, by address; others take nothing.
    """

    protocol: Protocol
    archive: Archive
    site: Site
    services: tuple[Service, ...]
    replay: Replay
    server: Server
    name_server: NameServer
    tcp: TcpSettings
    distances_ms: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def start_url(self) -> str:
        return self.site.start_url

    @property
    def hosts(self) -> frozenset[str]:
        """The hosts that are archived."""
        return frozenset(self.site.hosts)

    @property
    def names(self) -> tuple[str, ...]:
        """Those, and hosts that are only mentioned."""
        return self.site.names

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        return tuple(service.hosts or () for service in self.services[1:])

    @property
    def address(self) -> str:
        return self.services[0].address

    @property
    def local(self) -> dict[str, str]:
        """The addresses of the archived hosts that browsers do not ask DNS for."""
        own = _own_addresses(self.services)
        return {host: own.get(host, self.address) for host in self.site.hosts if is_local(host)}

    @property
    def known_names(self) -> dict[str, str]:
        """The addresses of the names that the client need not ask for."""
        if self.replay.dns is NameSide.SERVER:
            return {}
        own = _own_addresses(self.services)
        asked = (host for host in self.names if not is_local(host) and ip_address_of(host) is None)
        return {host: own.get(host, self.address) for host in asked}

    @property
    def mentioned_addresses(self) -> dict[str, str]:
        """Where IP addresses are that the page names and the archive does not hold: here, where they get a 404."""
        named = (host for host in self.names if host not in self.hosts and ip_address_of(host))
        return {host: self.address for host in named if loopback_address(host) is None}

    @property
    def secure_origins(self) -> tuple[str, ...]:
        """The origins that were secure contexts when recorded and are served over plain http."""
        if self.protocol.scheme == "https" or parse_url(self.archive.start_url).scheme == "http":
            return ()
        authorities = {parse_url(entry.url).under("http").authority for entry in self.archive.entries}
        return tuple(f"http://{authority}" for authority in sorted(authorities))

    @property
    def loopback_ports(self) -> dict[tuple[str, int], str]:
        """The ports of a browser's own loopback addresses where it would look for hosts of the archive, by either."""
        urls = [parse_url(entry.url).under(self.protocol.scheme) for entry in self.archive.entries]
        addresses = [(loopback_address(url.host), url) for url in urls]
        return {(address, url.port): url.host for address, url in addresses if address is not None}

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
        """`check`, and ask each of them; takes some ms, or some seconds where one does not answer."""
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


def zone_of(services: Sequence[Service]) -> Zone:
    """What the name server of an endpoint answers; browsers ask no DNS for local names."""
    own = _own_addresses(services)
    return Zone(services[0].address, {name: at for name, at in own.items() if not is_local(name)})


def _own_addresses(services: Sequence[Service]) -> dict[str, str]:
    """The addresses of the hosts that share not the first service's."""
    return {host: service.address for service in services[1:] for host in service.hosts or ()}

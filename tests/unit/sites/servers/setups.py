"""What a server's configuration is made of, for the tests of each server."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from harness.model.protocol import Protocol
from harness.model.serversettings import ServerSettings
from harness.study.rules import ABILITIES
from sites.certificates import Substitute
from sites.materialise import Site
from sites.servers.server import Service
from sites.servers.serving import Setup


def spoken_by(server: str) -> tuple[Protocol, ...]:
    return tuple(protocol for protocol in Protocol if protocol in ABILITIES[server].protocols)


def site(scheme: str, *ports: int) -> Site:
    """A site of two hosts without any response."""
    return Site(f"{scheme}://site.example/", scheme, ("site.example", "cdn.example"), (), ports, (), (), ())


def setup_of(
    protocols: Iterable[Protocol],
    *sites: Site,
    tls: str = "1.3",
    settings: ServerSettings | None = None,
    status: bool = False,
) -> Setup:
    """The protocols on the addresses 10.0.0.1, 10.0.0.2, ... from the folder /x."""
    names = dict.fromkeys(name for site in sites for name in site.names)
    return Setup(
        folder=Path("/x"),
        sites={site.scheme: site for site in sites},
        services=[Service(protocol, f"10.0.0.{number}") for number, protocol in enumerate(protocols, 1)],
        certificates={name: Path(f"/x/{name}.pem") for name in names},
        key_file=Path("/x/hosts.key"),
        substitute=Substitute(Path("/x/unknown.pem"), Path("/x/unknown.key"), "pin"),
        tls=tls,
        settings=settings,
        status=status,
    )

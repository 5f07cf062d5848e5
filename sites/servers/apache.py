"""Apache httpd as the replay server of one archive, on one address per protocol.

Each response is a file that mod_asis sends and mod_rewrite finds, see `apachefiles`. The settings that matter
stand, explained, in configs/servers/apache.template.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import jinja2

from harness.command import Command
from harness.errors import EnvironmentLacks
from harness.model import TLS_VERSIONS, Protocol
from harness.process import run, running
from sites.certificates import Authority
from sites.materialise import Site
from sites.servers import Server, Service, names_at, refuse_without_site
from sites.servers.apachefiles import STEPS, write_answers, write_other_answers
from sites.servers.apachelog import LOG_FORMAT, parse_line
from sites.servers.probe import all_answer
from sites.urls import DEFAULT_PORTS

MODULE_FOLDER = Path("/usr/lib/apache2/modules")
MODULES = ("mpm_event", "authz_core", "rewrite", "headers", "asis", "ssl", "http2")
# Run for each request before it is answered; the environment variable is set by the rewrite rules.
THINK = """function think(r)
    local us = r.subprocess_env["THINK_US"]
    if us then r.usleep(tonumber(us)) end
    return apache2.DECLINED
end
"""
READY_TIMEOUT_S = 60.0  # enough to read thousands of certificates


@dataclass(frozen=True)
class Settings:
    """What may be set; the template says what each is for."""

    workers: int = 256
    timeout_s: int = 300
    keep_alive_timeout_s: int = 300
    request_line_bytes: int = 65536
    h2_window_bytes: int = 65535
    h2_streams: int = 100
    h2_workers: int = 64


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
    """Serve the sites (by scheme) on the services; every file of the server lies in `folder`.

    `on_host` moves the calling thread to the host the server runs on, for the probe that proves it ready.
    """
    settings = Settings()
    refuse_without_site(sites, services)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    write_other_answers(folder)
    (folder / "think.lua").write_text(THINK)
    for scheme, site in sites.items():
        write_answers(folder / scheme, site)
    certificates = authority.certificate_files(sites["https"].names if "https" in sites else (), folder)
    text = configuration(
        folder, sites, services, certificates, key_file=authority.key_file, settings=settings, tls=tls
    )
    (folder / "httpd.conf").write_text(text, encoding="utf-8")
    log = folder / "access.log"
    log.touch()

    def ready() -> bool:
        with on_host():
            answered = all_answer(services, sites, authority)
        # A foreign server on one of the addresses would lack the certificates, or leave this log empty.
        return answered and (log.stat().st_size > 0 or all(each.protocol is Protocol.H2 for each in services))

    command = Command.of("apache2", "-DFOREGROUND", "-d", folder, "-f", folder / "httpd.conf")
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
    """The text of httpd.conf. `certificates` are the files by host name."""
    modules = (*MODULES, "lua") if _thinks(sites) else MODULES
    for module in modules:
        if not (MODULE_FOLDER / f"mod_{module}.so").is_file():
            raise EnvironmentLacks(
                f"Apache's mod_{module} is not in {MODULE_FOLDER}; install the Debian package apache2-bin"
            )
    template = importlib.resources.files("configs") / "servers" / "apache.template"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701 - not HTML
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        folder=folder,
        modules=modules,
        thinking=_thinks(sites),
        module_folder=MODULE_FOLDER,
        settings=settings,
        tls=tls,
        key_file=key_file.resolve(),
        log_format=LOG_FORMAT,
        steps=STEPS,
        services=[
            {
                "protocol": service.protocol,
                "address": f"[{service.address}]" if ":" in service.address else service.address,
                "scheme": service.protocol.scheme,
                "wire": service.protocol.wire,
                "keep_alive": service.protocol.keep_alive,
                "ports": (DEFAULT_PORTS[service.protocol.scheme], *sites[service.protocol.scheme].ports),
                "certificates": {
                    name: certificates[name]
                    for name in names_at(service, sites[service.protocol.scheme])
                    if service.protocol.scheme == "https"
                },
            }
            for service in services
        ],
    )


def _thinks(sites: Mapping[str, Site]) -> bool:
    """Whether any response is to be waited for."""
    return any(served.think_ms for site in sites.values() for served in site.objects)


def version() -> str:
    """Apache's name and version."""
    said = run(Command.of("apache2", "-v"), timeout_s=30)
    found = re.search(r"Apache/\S+", said)
    return found[0] if found else "Apache, version unknown"

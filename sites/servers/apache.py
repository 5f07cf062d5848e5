"""Apache httpd as the replay server of one archive, on one address per protocol.

Each response is a file that mod_asis sends; mod_rewrite finds it by the SHA-1 of host and request target. The
settings that matter stand, explained, in configs/servers/apache.template.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from http import HTTPStatus
from pathlib import Path

import jinja2

from harness.command import Command
from harness.errors import EnvironmentLacks, TestbedFailed
from harness.model import Protocol
from harness.process import Process, run, running
from harness.processtree import cpu_seconds
from sites.certificates import Authority
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers import ServedRequest, Service
from sites.servers.apachelog import LOG_FORMAT, parse_line
from sites.servers.probe import answers
from sites.urls import DEFAULT_PORTS, parse_url

__all__ = ["ServedRequest", "Server", "Service", "Settings", "serving"]

MODULE_FOLDER = Path("/usr/lib/apache2/modules")
MODULES = ("mpm_event", "authz_core", "rewrite", "headers", "asis", "ssl", "http2")
READY_TIMEOUT_S = 60.0  # enough to read thousands of certificates
BODILESS = frozenset({204, 304})
MISS_HEADERS = (("Access-Control-Allow-Origin", "*"), ("Timing-Allow-Origin", "*"))
PREFLIGHT_HEADERS = (("Access-Control-Allow-Credentials", "true"),)


@dataclass(frozen=True)
class Settings:
    """What may be set; the template says what each is for."""

    workers: int = 256
    timeout_s: int = 300
    keep_alive_timeout_s: int = 300
    request_line_bytes: int = 65536
    tls: str = "TLSv1.3"
    h2_window_bytes: int = 65535
    h2_streams: int = 100
    h2_workers: int = 64


class Server:
    """A running Apache. Made by `serving`."""

    def __init__(self, process: Process, log: Path, settings: Mapping[str, object]) -> None:
        self.process = process
        self.log = log
        self.settings = settings

    @property
    def log_offset(self) -> int:
        """The present end of the request log, to read from later."""
        return self.log.stat().st_size

    def requests(self, since: int = 0) -> list[ServedRequest]:
        """The requests logged from the byte offset `since` on, in the order in which they ended."""
        with self.log.open("rb") as log:
            log.seek(since)
            return [parse_line(line.decode("latin-1")) for line in log if line.endswith(b"\n")]

    def cpu_seconds(self) -> float | None:
        """User and system CPU seconds of the whole server since its start, in steps of 10 ms."""
        return cpu_seconds(self.process.pid)


@contextlib.contextmanager
def serving(
    sites: Mapping[str, Site],
    services: Sequence[Service],
    authority: Authority,
    folder: Path,
    *,
    network: Path | None,
    on_host: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext,
    settings: Settings | None = None,
) -> Iterator[Server]:
    """Serve the sites (by scheme) on the services; every file of the server lies in `folder`.

    `on_host` moves the calling thread to the host the server runs on, for the probe that proves it ready.
    """
    chosen = settings or Settings()
    for service in services:
        if service.protocol.scheme not in sites:
            raise TestbedFailed(
                f"{service.protocol} needs the {service.protocol.scheme} site; materialise it"
            )
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _write_answers(folder, sites)
    certificates = _write_certificates(folder, sites, authority)
    text = configuration(folder, sites, services, certificates, key_file=authority.key_file, settings=chosen)
    (folder / "httpd.conf").write_text(text, encoding="utf-8")
    log = folder / "access.log"
    log.touch()

    def ready() -> bool:
        with on_host():
            answered = all(
                answers(service, parse_url(sites[service.protocol.scheme].start_url).host, authority)
                for service in services
            )
        # A foreign server on one of the addresses would lack the certificates, or leave this log empty.
        return answered and (log.stat().st_size > 0 or all(each.protocol is Protocol.H2 for each in services))

    command = Command.of("apache2", "-DFOREGROUND", "-d", folder, "-f", folder / "httpd.conf")
    with running(
        command.on(network).as_ordinary_user(),
        folder / "error.log",
        ready=ready,
        ready_timeout_s=READY_TIMEOUT_S,
    ) as process:
        yield Server(process, log, {"server": version(), "certificates": len(certificates), **asdict(chosen)})


def configuration(
    folder: Path,
    sites: Mapping[str, Site],
    services: Sequence[Service],
    certificates: Mapping[str, Path],
    *,
    key_file: Path,
    settings: Settings,
) -> str:
    """The text of httpd.conf. `certificates` are the files by host name."""
    for module in MODULES:
        if not (MODULE_FOLDER / f"mod_{module}.so").is_file():
            raise EnvironmentLacks(
                f"Apache's mod_{module} is not in {MODULE_FOLDER}; install the Debian package apache2-bin"
            )
    template = importlib.resources.files("configs") / "servers" / "apache.template"
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)  # noqa: S701 - not HTML
    return environment.from_string(template.read_text(encoding="utf-8")).render(
        folder=folder,
        modules=MODULES,
        module_folder=MODULE_FOLDER,
        settings=settings,
        key_file=key_file.resolve(),
        log_format=LOG_FORMAT,
        services=[
            {
                "protocol": service.protocol,
                "address": f"[{service.address}]" if ":" in service.address else service.address,
                "scheme": service.protocol.scheme,
                "wire": service.protocol.wire,
                "keep_alive": service.protocol.keep_alive,
                "ports": (DEFAULT_PORTS[service.protocol.scheme], *sites[service.protocol.scheme].ports),
                "certificates": certificates if service.protocol.scheme == "https" else {},
            }
            for service in services
        ],
    )


def object_name(host: str, target: str) -> str:
    """The file name of the answer to a request: what the template's rewrite rule computes."""
    return hashlib.sha1(f"{host.lower()}{target}".encode("latin-1", "replace")).hexdigest()  # noqa: S324 - a name


def as_is(served: ServedObject, scheme: str) -> bytes:
    """A response as mod_asis reads it: status, headers, empty line, body."""
    headers = [
        (name, _absolute(value, served.host, scheme) if name.lower() == "location" else value)
        for name, value in served.headers
    ]
    return _file(served.status, headers, b"" if served.status in BODILESS else served.body)


def version() -> str:
    """Apache's name and version."""
    said = run(Command.of("apache2", "-v"), timeout_s=30)
    found = re.search(r"Apache/\S+", said)
    return found[0] if found else "Apache, version unknown"


def _write_answers(folder: Path, sites: Mapping[str, Site]) -> None:
    (folder / "miss").write_bytes(_file(404, MISS_HEADERS, b""))
    (folder / "preflight").write_bytes(_file(204, PREFLIGHT_HEADERS, b""))
    for scheme, site in sites.items():
        objects = folder / "objects" / scheme
        objects.mkdir(parents=True, exist_ok=True)
        for served in site.objects:
            (objects / object_name(served.host, served.target)).write_bytes(as_is(served, scheme))


def _write_certificates(folder: Path, sites: Mapping[str, Site], authority: Authority) -> dict[str, Path]:
    """A certificate file per host of the https site; the first, the page's own, also serves unknown names."""
    if "https" not in sites:
        return {}
    site = sites["https"]
    (folder / "certificates").mkdir(exist_ok=True)
    made: dict[str, Path] = {}
    for host in dict.fromkeys((parse_url(site.start_url).host, *site.hosts, *site.mentioned_hosts)):
        made[host] = folder / "certificates" / f"{len(made)}.pem"
        made[host].write_bytes(authority.certificate_for(host))
    return made


def _file(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"Status: {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    if status not in BODILESS:
        lines.append(f"Content-Length: {len(body)}")  # Apache would find it out for GET, but not for HEAD
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _absolute(location: str, host: str, scheme: str) -> str:
    """A Location that starts with a slash is one that mod_asis would follow itself instead of sending it."""
    if location.startswith("//"):
        return f"{scheme}:{location}"
    return f"{scheme}://{host}{location}" if location.startswith("/") else location

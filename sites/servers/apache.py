"""Apache httpd as the replay server of one archive, on one address per protocol.

Each response is a file that mod_asis sends; mod_rewrite finds it by the SHA-1 of host and request target. The
settings that matter stand, explained, in configs/servers/apache.template.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import re
import socket
import ssl
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
from sites.urls import DEFAULT_PORTS, parse_url

__all__ = ["ServedRequest", "Server", "Service", "Settings", "serving"]

MODULE_FOLDER = Path("/usr/lib/apache2/modules")
MODULES = ("mpm_event", "authz_core", "rewrite", "headers", "asis", "ssl", "http2")
OnHost = Callable[[], contextlib.AbstractContextManager[None]]
PROBE_TIMEOUT_S = 2.0
READY_TIMEOUT_S = 60.0  # thousands of certificates are read within this
BODILESS = frozenset({204, 304})
MISS_HEADERS = (("Access-Control-Allow-Origin", "*"), ("Timing-Allow-Origin", "*"))
PREFLIGHT_HEADERS = (("Access-Control-Allow-Credentials", "true"),)

# Log fields, in the order of ServedRequest's where they are one to one.
LOG_FIELDS = {
    "started_us": "%{usec}t",
    "duration_us": "%D",
    "client_address": "%a",
    "client_port": "%{remote}p",
    "server_address": "%A",
    "server_port": "%{local}p",
    "protocol": "%H",
    "host": "%{Host}i",
    "status": "%>s",
    "body_bytes": "%B",
    "bytes_sent": "%O",
    "bytes_received": "%I",
    "requests_before": "%k",
    "tls": "%{SSL_PROTOCOL}x",
    "resumed": "%{SSL_SESSION_RESUMED}x",
    "answer": "%>{ANSWER}e",
    "request": "%r",
}
WIRE_NAMES = {"HTTP/1.0": "http/1.0", "HTTP/1.1": "http/1.1", "HTTP/2.0": "h2"}
_ESCAPE = re.compile(r'\\(?:x([0-9a-f]{2})|([\\"tnrbvf]))')
_ESCAPED = {"\\": "\\", '"': '"', "t": "\t", "n": "\n", "r": "\r", "b": "\b", "v": "\v", "f": "\f"}


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
            return [parse_log_line(line.decode("latin-1")) for line in log if line.endswith(b"\n")]

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
    on_host: OnHost = contextlib.nullcontext,
    settings: Settings | None = None,
) -> Iterator[Server]:
    """Serve the sites (by scheme) on the services; every file of the server lies in `folder`.

    `on_host` moves the calling thread to the host the server runs on, for the probe that proves it ready.
    """
    chosen = settings or Settings()
    for service in services:
        if service.protocol.scheme not in sites:
            raise TestbedFailed(
                f"no site was made for {service.protocol} ({service.protocol.scheme}); make one"
            )
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    _write_answers(folder, sites)
    certificates = _write_certificates(folder, sites, authority)
    (folder / "httpd.conf").write_text(
        configuration(folder, sites, services, certificates, authority, chosen)
    )
    log = folder / "access.log"
    log.touch()
    command = Command.of("apache2", "-DFOREGROUND", "-d", folder, "-f", folder / "httpd.conf")

    def ready() -> bool:
        with on_host():
            return all(_answers(service, sites[service.protocol.scheme], authority) for service in services)

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
    authority: Authority,
    settings: Settings,
) -> str:
    """The text of httpd.conf."""
    for module in MODULES:
        if not (MODULE_FOLDER / f"mod_{module}.so").is_file():
            raise EnvironmentLacks(
                f"Apache's module mod_{module} is not in {MODULE_FOLDER}; install the Debian package apache2-bin"
            )
    template = (
        importlib.resources.files("configs").joinpath("servers/apache.template").read_text(encoding="utf-8")
    )
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined, autoescape=False, keep_trailing_newline=True
    )  # noqa: S701 - no HTML
    return environment.from_string(template).render(
        folder=folder,
        modules=MODULES,
        module_folder=MODULE_FOLDER,
        settings=settings,
        key_file=authority.key_file.resolve(),
        log_format=r"\t".join(LOG_FIELDS.values()),
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
    """A response as mod_asis reads it."""
    headers = [
        (name, _absolute(value, served.host, scheme) if name.lower() == "location" else value)
        for name, value in served.headers
    ]
    return _file(served.status, headers, b"" if served.status in BODILESS else served.body)


def parse_log_line(line: str) -> ServedRequest:
    """One line of the request log; TestbedFailed when it is not one."""
    values = dict(zip(LOG_FIELDS, line.rstrip("\n").split("\t"), strict=False))
    try:
        method, _, rest = _unescaped(values["request"]).partition(" ")
        target, _, _ = rest.rpartition(" ")
        return ServedRequest(
            started_us=int(values["started_us"]),
            duration_us=int(values["duration_us"]),
            client_address=values["client_address"],
            client_port=int(values["client_port"]),
            server_address=values["server_address"],
            server_port=int(values["server_port"]),
            protocol=WIRE_NAMES.get(values["protocol"], values["protocol"]),
            method=method,
            host=_unescaped(values["host"]).lower(),
            target=target or rest,
            status=int(values["status"]) if values["status"] != "-" else 0,
            body_bytes=int(values["body_bytes"]),
            bytes_sent=int(values["bytes_sent"]),
            bytes_received=int(values["bytes_received"]),
            requests_before=int(values["requests_before"]),
            tls=None if values["tls"] == "-" else values["tls"],
            resumed=values["resumed"] == "Resumed",
            hit=values["answer"] in ("hit", "preflight"),
            preflight=values["answer"] == "preflight",
        )
    except (KeyError, ValueError) as error:
        raise TestbedFailed(
            f"Apache's request log holds a line of another form ({error}): {line[:200]!r}"
        ) from error


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
    """A certificate file for each host of the https site. The first, the page's own, serves unknown names."""
    if "https" not in sites:
        return {}
    site = sites["https"]
    (folder / "certificates").mkdir(exist_ok=True)
    made: dict[str, Path] = {}
    for host in dict.fromkeys((parse_url(site.start_url).host, *site.hosts, *site.mentioned_hosts)):
        path = folder / "certificates" / f"{len(made)}.pem"
        path.write_bytes(authority.certificate_for(host))
        made[host] = path
    return made


def _file(status: int, headers: Sequence[tuple[str, str]], body: bytes) -> bytes:
    try:
        phrase = HTTPStatus(status).phrase
    except ValueError:
        phrase = "Status"
    lines = [f"Status: {status} {phrase}", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + body


def _absolute(location: str, host: str, scheme: str) -> str:
    """mod_asis answers a Location that starts with a slash itself instead of sending it."""
    if location.startswith("//"):
        return f"{scheme}:{location}"
    return f"{scheme}://{host}{location}" if location.startswith("/") else location


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else _ESCAPED[found[2]], text)


def _answers(service: Service, site: Site, authority: Authority) -> bool:
    """Whether a service answers a real request by its protocol."""
    name = parse_url(site.start_url).host
    port = DEFAULT_PORTS[service.protocol.scheme]
    try:
        with contextlib.ExitStack() as stack:
            plain = stack.enter_context(socket.create_connection((service.address, port), PROBE_TIMEOUT_S))
            connection = plain
            if service.protocol.scheme == "https":
                context = ssl.create_default_context(cafile=authority.certificate_file)
                context.set_alpn_protocols([service.protocol.wire])
                secure = stack.enter_context(context.wrap_socket(plain, server_hostname=name))
                if secure.selected_alpn_protocol() != service.protocol.wire:
                    raise TestbedFailed(f"Apache does not offer {service.protocol.wire} on {service.address}")
                connection = secure
            if service.protocol is Protocol.H2:
                connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0)))
                return connection.recv(9)[3:4] == b"\x04"  # the server's SETTINGS frame
            connection.sendall(b"HEAD /ready HTTP/1.1\r\nHost: coldload.invalid\r\nConnection: close\r\n\r\n")
            return connection.recv(12) == b"HTTP/1.1 404"
    except ssl.SSLError as error:
        raise TestbedFailed(f"Apache's TLS on {service.address} does not work: {error}") from error
    except OSError:
        return False

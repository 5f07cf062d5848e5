"""Starting a replay server, and proving by a real request that it answers: what all of them do alike.

A server's own module describes it as a `Program`.
"""

from __future__ import annotations

import contextlib
import importlib.resources
import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import jinja2
from jinja2.sandbox import ImmutableSandboxedEnvironment

from harness.errors import EnvironmentLacks, StudyError, TestbedFailed
from harness.input.shown import one_line
from harness.model.condition import Compression
from harness.model.protocol import Protocol
from harness.model.serversettings import ServerSettings, ServerTemplate
from harness.model.settings import ONE_CERTIFICATE, TLS_VERSIONS, CertificateChain
from harness.system.netns import Host
from harness.system.process import running
from harness.system.program import Command
from sites.certificates import SUBSTITUTE_NAME, Authority, Substitute, sent_bytes
from sites.materialise import Site
from sites.servers.server import ServedRequest, Server, Service, Status, StatusPage, Telling, status_address
from sites.urls import DEFAULT_PORTS, OWN_HOST, is_local

READY_TIMEOUT_S = 60.0  # enough to read thousands of certificates
READY_S_PER_RESPONSE = 0.01  # Caddy takes 0.4 ms of processor, and may have little of it
STATUS_KEEP_ALIVE_S = 86_400  # of a status page's connection: longer than any study's step
LOG_NAME = "access.log"
ERROR_LOG_NAME = "error.log"
PROBE_TIMEOUT_S = 2.0
PROBE_HOST = (
    OWN_HOST  # asked for by the harness itself, in HTTP/1.1: no site has it, so that the answer is a miss
)
HTTP1_REQUEST = f"HEAD /ready HTTP/1.1\r\nHost: {PROBE_HOST}\r\nConnection: close\r\n\r\n".encode()
HTTP1_MISS = b"HTTP/1.1 404"
H2_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))  # and empty SETTINGS
H2_SETTINGS = 4
SPDY_VERSION = bytes((0x80, 3))  # how each control frame of SPDY/3 begins
SPDY_PING = SPDY_VERSION + bytes((0, 6, 0, 0, 0, 4, 0, 0, 0, 1))
# A long-header packet of a version nobody speaks, of the least size a server answers: it must name its versions
# (RFC 9000, 6.1 and 17.2.1).
QUIC_PROBE = bytes((0xC0, 0x1A, 0x2A, 0x3A, 0x4A, 8, *b"coldload", 8, *b"probing.")).ljust(1200, b"\0")
QUIC_V1 = bytes((0, 0, 0, 1))
Settings = TypeVar("Settings", bound=ServerSettings)


@dataclass(frozen=True)
class ListeningAddress:
    """Where a server listens and what it serves there, as configurations need it.

    `address` is as in a URL (IPv6 in brackets), `scheme` names the site, `certificates` are files by host name, all
    with the key in `key_file`; every other name gets the `substitute`. Without that there is no TLS.
    """

    protocol: Protocol
    address: str
    scheme: str
    ports: tuple[int, ...]
    certificates: Mapping[str, Path] = field(default_factory=dict)
    key_file: Path | None = None
    substitute: Substitute | None = None

    @property
    def unnamed(self) -> str:
        """The name whose certificate is sent in a handshake that names no host, as none to an IP address does."""
        first = next(iter(self.certificates), SUBSTITUTE_NAME)
        return first if is_local(first) else SUBSTITUTE_NAME

    @property
    def virtual_hosts(self) -> list[VirtualHost]:
        """One for each certificate; the first is for handshakes that name no host."""
        if self.substitute is None:
            return [VirtualHost(PROBE_HOST, None, None)]
        others = VirtualHost(SUBSTITUTE_NAME, self.substitute.certificate_file, self.substitute.key_file)
        named = [VirtualHost(name, file, self.key_file) for name, file in self.certificates.items()]
        return [others, *named] if self.unnamed == SUBSTITUTE_NAME else [*named, others]


@dataclass(frozen=True)
class VirtualHost:
    """A name, the certificate that is sent for it, and its key; None without TLS."""

    name: str
    certificate: Path | None
    key: Path | None

    @property
    def is_for_others(self) -> bool:
        """Whether it is for every name that has no virtual host of its own."""
        return self.name == SUBSTITUTE_NAME


@dataclass(frozen=True)
class Deployment:
    """What a server is to serve: the sites by scheme, the addresses of each protocol, the one version of TLS, and the
    certificates that it sends.

    Its `settings` are by default those of page loads. With `status` it tells its workers and hits on a page of its own.
    With `closed_loop` the document of each site is asked for without a pause. A server that can then answers it by its
    own means alone, and logs only as much as proves by what protocol.
    """

    sites: Mapping[str, Site]
    services: Sequence[Service]
    tls: str = TLS_VERSIONS[0]
    tls_resumption: bool = False
    settings: ServerSettings | None = None
    status: bool = False
    closed_loop: bool = False
    chain: CertificateChain = ONE_CERTIFICATE

    def __post_init__(self) -> None:
        for service in self.services:
            if service.protocol.scheme not in self.sites:
                raise TestbedFailed(
                    f"{service.protocol} needs the {service.protocol.scheme} site; materialise it"
                )

    def settings_of(self, kind: type[Settings]) -> Settings:
        """The settings for a server that takes settings of this kind."""
        if self.settings is None:
            return kind()
        if not isinstance(self.settings, kind):
            raise TestbedFailed(
                f"{type(self.settings).__name__} given to a server that takes {kind.__name__}"
            )
        return self.settings

    def status_page(self, parse: Callable[[str], Status]) -> StatusPage | None:
        """Where the server is to tell its status, if it is."""
        return StatusPage(status_address(self.services[0].address), parse) if self.status else None

    @property
    def compression(self) -> Compression:
        """Of all the sites."""
        return next(iter(self.sites.values())).compression

    @property
    def coded_types(self) -> tuple[str, ...]:
        """The media types to compress while sending."""
        return tuple(sorted({mime for site in self.sites.values() for mime in site.coded_types}))


@dataclass(frozen=True, kw_only=True)
class Setup(Deployment):
    """A deployment with the files for it: the server's own in `folder`, certificates by host name and for others."""

    folder: Path
    certificates: Mapping[str, Path]
    key_file: Path
    substitute: Substitute

    @property
    def listeners(self) -> list[ListeningAddress]:
        """One per service, on the default port and those that the archive has, too."""
        return [self._listener(service, self.sites[service.protocol.scheme]) for service in self.services]

    def _listener(self, service: Service, site: Site) -> ListeningAddress:
        encrypted = service.protocol.encrypted
        names = service.certified(site.names) if encrypted else ()
        return ListeningAddress(
            protocol=service.protocol,
            address=in_url(service.address),
            scheme=site.scheme,
            ports=(DEFAULT_PORTS[site.scheme], *site.ports),
            certificates={name: self.certificates[name] for name in names},
            key_file=self.key_file if encrypted else None,
            substitute=self.substitute if encrypted else None,
        )


@dataclass(frozen=True)
class Program:
    """A replay server: how it is described to itself, started and read.

    `described` gives the settings that may change a figure. `write_answers` lays out a site in a folder of its own,
    `configure` gives the texts of the other files by name. `commands` start its processes, which share the folder;
    the request log is LOG_NAME in it. `body_bytes` finds the bytes of a body in a line of it.
    `status` says where a server with a set-up tells its status, if it does.
    """

    described: Callable[[Setup], Mapping[str, Any]]
    write_answers: Callable[[Path, Site], None]
    configure: Callable[[Setup], Mapping[str, str]]
    commands: Callable[[Path], Sequence[Command]]
    version: Callable[[], str]
    parse_line: Callable[[str], ServedRequest]
    body_bytes: re.Pattern[bytes]
    status: Callable[[Setup], StatusPage | None] = lambda _: None


@contextlib.contextmanager
def serving(
    program: Program, deployment: Deployment, authority: Authority, folder: Path, host: Host
) -> Iterator[Server]:
    """A server on a host for the length of the block; every file of it lies in `folder`."""
    sites, services = deployment.sites, deployment.services
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = sites["https"].names if "https" in sites else ()
    certificates = authority.certificate_files(names, folder, deployment.chain)
    key_file = authority.issuer(deployment.chain).key_file.resolve()
    setup = Setup(
        **vars(deployment),
        folder=folder,
        certificates=certificates,
        key_file=key_file,
        substitute=authority.substitute(deployment.chain),
    )
    for scheme, site in sites.items():
        program.write_answers(folder / scheme, site)
    for name, text in program.configure(setup).items():
        (folder / name).write_text(text, encoding="utf-8")
    responses = sum(len(site.objects) for site in sites.values())
    ready_timeout_s = READY_TIMEOUT_S + READY_S_PER_RESPONSE * responses
    log = folder / LOG_NAME
    log.touch()
    logs = setup.settings is None or setup.settings.logs_requests

    def ready() -> bool:
        with host.entered():
            answered = all_answer(services, sites, authority)
        # A foreign server on one of the addresses would lack the certificates, or leave this log empty.
        proof = logs and any(_probe_is_logged(service) for service in services)
        return answered and (log.stat().st_size > 0 or not proof)

    def answers(protocol: Protocol, timeout_s: float) -> bool:
        asked = [service for service in services if service.protocol is protocol]
        with host.entered():
            return all_answer(asked, sites, authority, timeout_s)

    with contextlib.ExitStack() as stack:
        *others, last = [
            command.on(host.path).as_ordinary_user().with_all_descriptors()
            for command in program.commands(folder)
        ]
        log_of_errors = folder / ERROR_LOG_NAME
        processes = [stack.enter_context(running(command, log_of_errors)) for command in others]
        processes.append(
            stack.enter_context(running(last, log_of_errors, ready=ready, ready_timeout_s=ready_timeout_s))
        )
        described = {
            "server": program.version(),
            "certificates": len(certificates),
            **_sent(setup),
            "tls": setup.tls,
            "tls_resumption": setup.tls_resumption,
            "compression": str(setup.compression),
            **program.described(setup),
            **({"closed_loop": True} if setup.closed_loop else {}),
        }
        telling = Telling(log_of_errors, program.body_bytes if logs else None, program.status(setup))
        yield Server(processes, log, described, program.parse_line, answers, telling)


def _sent(setup: Setup) -> dict[str, Any]:
    """What is sent of certificates in a handshake for the page's own host; nothing without TLS."""
    files = list(setup.certificates.values())[:1]
    return {
        key: value
        for file in files
        for key, value in (
            ("certificate_chain", setup.chain.length),
            ("certificate_key", str(setup.chain.key)),
            ("certificate_bytes", sent_bytes(file.read_bytes())),
        )
    }


def _probe_is_logged(service: Service) -> bool:
    return service.protocol.wire == Protocol.HTTP1.wire  # the others' probes are no requests


def rendered(template: str, own: ServerTemplate | None = None, **values: object) -> str:
    """A template of configs/servers, or the user's own one, filled in; StudyError when that cannot be."""
    text = (
        own.text if own else (importlib.resources.files("configs") / "servers" / template).read_text("utf-8")
    )
    kind = ImmutableSandboxedEnvironment if own else jinja2.Environment  # a pack may have brought it
    environment = kind(undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    try:
        return environment.from_string(text).render(**values)
    except (jinja2.TemplateError, TypeError, ValueError) as error:
        if own is None:
            raise
        raise StudyError(f"the template {own.file} cannot be filled in: {one_line(str(error))}") from error


def required(file: Path, server: str, remedy: str) -> Path:
    """The path of a file that a server cannot do without; EnvironmentLacks when it is not there."""
    if not file.is_file():
        raise EnvironmentLacks(f"the server {server} needs {file}, which is not there; {remedy}")
    return file


def in_url(address: str) -> str:
    """An address as it stands before a port."""
    return f"[{address}]" if ":" in address else address


def all_answer(
    services: Sequence[Service],
    sites: Mapping[str, Site],
    authority: Authority,
    timeout_s: float = PROBE_TIMEOUT_S,
) -> bool:
    """Whether each of the services `answers`; the first that does not ends it."""
    return all(
        answers(service, service.certified(sites[service.protocol.scheme].names)[0], authority, timeout_s)
        for service in services
    )


def answers(service: Service, host: str, authority: Authority, timeout_s: float = PROBE_TIMEOUT_S) -> bool:
    """False while nobody listens; TestbedFailed when somebody does with another certificate or protocol.

    The caller must be on a host from which the service is reached. `host` has a certificate there.
    """
    address = (service.address, DEFAULT_PORTS[service.protocol.scheme])
    if service.protocol.over_quic:
        return _answers_quic(address, timeout_s)
    try:
        with contextlib.ExitStack() as stack:
            connection = stack.enter_context(socket.create_connection(address, timeout_s))
            if service.protocol.encrypted:
                connection = stack.enter_context(_secured(connection, service, host, authority))
            if service.protocol is Protocol.H2:
                connection.sendall(H2_PREFACE)
                return connection.recv(9)[3:4] == bytes((H2_SETTINGS,))
            if service.protocol.wire == Protocol.SPDY.wire:
                connection.sendall(SPDY_PING)
                return connection.recv(len(SPDY_VERSION)) == SPDY_VERSION
            connection.sendall(HTTP1_REQUEST)
            return connection.recv(len(HTTP1_MISS)) == HTTP1_MISS
    except ssl.SSLError as error:
        raise TestbedFailed(
            f"TLS on {service.address} ({service.protocol}) does not work: {error}"
        ) from error
    except OSError:
        return False


def _answers_quic(address: tuple[str, int], timeout_s: float) -> bool:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as datagrams:
        datagrams.settimeout(timeout_s)
        try:
            datagrams.connect(address)
            datagrams.send(QUIC_PROBE)
            answer = datagrams.recv(1500)
        except OSError:
            return False
    return answer[1:5] == bytes(4) and QUIC_V1 in answer


def _secured(plain: socket.socket, service: Service, host: str, authority: Authority) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=str(authority.certificate_file))
    context.set_alpn_protocols([service.protocol.wire])
    secure = context.wrap_socket(plain, server_hostname=host)
    if secure.selected_alpn_protocol() != service.protocol.wire:
        offered = secure.selected_alpn_protocol() or "nothing"
        secure.close()
        raise TestbedFailed(f"{service.address} is to speak {service.protocol.wire}, but offers {offered}")
    return secure

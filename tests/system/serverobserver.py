"""One replay server on a host of its own in an enclosure, asked everything by curl: what test_servers.py judges."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import subprocess
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.lab.testbed import SERVERS
from harness.model.protocol import Protocol
from harness.model.serversettings import ServerSettings
from harness.model.settings import ONE_CERTIFICATE, CertificateChain
from harness.study.rules import ABILITIES
from harness.system.enclosure import WORKSPACE
from harness.system.netns import Host, host
from harness.system.processtree import family
from harness.system.program import find_program
from sites.certificates import Authority
from sites.materialise import Site, materialise
from sites.servers.server import ServedRequest, Server, Service
from sites.servers.serving import PROBE_HOST, Deployment, serving
from tests.system.conftest import wait_until
from tests.system.serverrecording import (
    CLOSEST,
    DATE,
    MISSES,
    RENAMED,
    SPELLED,
    TAG,
    recording,
    site_of,
)

CLOSING = ("/broken",)  # after these Apache closes an HTTP/1.1 connection
# Debian's curl has no HTTP/3 (tests/system/test_trial.py has the browser), and none has SPDY (test_spdy_gateway.py).
NO_CURL = frozenset({Protocol.H3, Protocol.SPDY, Protocol.SPDY_PLAIN})
TLS = {"apache": "1.3", "caddy": "1.3", "nginx": "1.3", "spdy-gateway": "1.2"}
SERVERS_OWN = {"date", "server", "connection", "content-length"}
HEAD = ("--head", "--dump-header", os.devnull)  # its headers are its output
# Parts that a browser asks for in case what it has kept is the same: target, If-Range, and whether it is.
PARTS = (
    ("/kept?tag", TAG, True),
    ("/kept?tag", DATE, True),
    ("/kept?tag", '"other"', False),
    ("/kept/date?x", DATE, True),
    ("/kept/date?x", "Wed, 21 Oct 2015 07:28:01 GMT", False),
    ("/kept/date?x", TAG, False),
    ("/kept/weak?x", f"W/{TAG}", False),  # only a strong ETag says that all bytes are the same
)
# What a browser asks by that has kept an answer, recorded under that address or another: target, header and value.
KEPT = (
    ("/kept?tag", "If-None-Match", TAG),
    ("/%6bept?tag", "If-None-Match", TAG),
    ("/kept?other", "If-None-Match", TAG),
    ("/kept/date?other", "If-Modified-Since", DATE),
    ("/kept/weak?other", "If-None-Match", f"W/{TAG}"),
)
PREFLIGHT = ("-H", "Origin: https://o.example", "-H", "Access-Control-Request-Method: PUT")


@dataclass(frozen=True)
class Answer:
    """What curl got."""

    status: int
    http: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    certificates: int

    def header(self, name: str) -> str | None:
        found = [value for key, value in self.headers if key.lower() == name]
        return ", ".join(found) if found else None


@dataclass(frozen=True)
class Expected:
    """What the archive holds for a URL."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@dataclass(frozen=True)
class Seen:
    """All that was observed of one server."""

    name: str
    protocols: tuple[Protocol, ...]
    expected: dict[tuple[Protocol, str], Expected]
    answers: dict[tuple[Protocol, str], Answer]
    spelled: dict[tuple[Protocol, str], Answer]
    closest: dict[tuple[Protocol, str], Answer]
    misses: dict[tuple[Protocol, str], Answer]
    renamed: dict[tuple[Protocol, str], Answer]
    kept: dict[tuple[Protocol, str], tuple[Answer, Answer]]
    parts: dict[tuple[Protocol, str, str], Answer]
    methods: dict[tuple[Protocol, str], Answer]
    other: dict[str, Answer]
    log: tuple[ServedRequest, ...]
    reused: tuple[ServedRequest, ...]
    threads: tuple[int, int]
    cpu_s: tuple[float, float]
    tls_resumed: bool
    other_tls_refused: bool
    settings: dict[str, object]


def curl(made: Host, service: Service, authority: Authority, url: str, *options: str) -> list[Answer]:
    """One call of curl on the server host; several URLs may stand in `url`, separated by spaces."""
    words = [
        find_program("curl"),
        "--silent",
        "--show-error",
        "--globoff",
        "--path-as-is",
        "--max-time",
        "20",
    ]
    words += [
        "--cacert",
        str(authority.certificate_file),
        "--connect-to",
        f"::{service.address}:",
        "--dump-header",
        "-",
    ]
    words += ["--http2" if service.protocol is Protocol.H2 else "--http1.1", *options]
    words += [
        "--write-out",
        "%{stderr}%{http_code} %{http_version} %{size_header} %{size_download} %{num_certs}\n",
    ]
    with made.entered():
        done = subprocess.run([*words, *url.split(" ")], capture_output=True, check=False)
    assert done.returncode == 0, (service, url, done.stderr)
    answers, at = [], 0
    for line in done.stderr.decode().splitlines():
        status, version, head_bytes, body_bytes, certificates = line.split()
        head = done.stdout[at : at + int(head_bytes)].decode("latin-1").rpartition("HTTP/")[2].split("\r\n")
        at += int(head_bytes)
        pairs = tuple(
            (name, value.strip()) for name, _, value in (each.partition(":") for each in head[1:] if each)
        )
        answers.append(
            Answer(int(status), version, pairs, done.stdout[at : at + int(body_bytes)], int(certificates))
        )
        at += int(body_bytes)
    return answers


class Observer:
    """Asks one running server everything."""

    def __init__(
        self, name: str, made: Host, services: list[Service], sites: dict[str, Site], authority: Authority
    ) -> None:
        self.name = name
        self.made = made
        self.services = services
        self.sites = sites
        self.authority = authority

    def ask(self, service: Service, target: str, *options: str, at: str = "site.example") -> Answer:
        url = f"{service.protocol.scheme}://{at}{target}"
        if target.endswith("?"):  # curl of today leaves an empty query out
            options = (*options, "--request-target", target)
        return curl(self.made, service, self.authority, url, *options)[0]

    def everything(self) -> dict[tuple[Protocol, str], Answer]:
        return {
            (service.protocol, each.host + each.target): self.ask(service, each.target, at=each.host)
            for service in self.services
            for each in self.sites[service.protocol.scheme].objects
        }

    def expected(self) -> dict[tuple[Protocol, str], Expected]:
        return {
            (service.protocol, each.host + each.target): Expected(each.status, each.headers, each.body)
            for service in self.services
            for each in self.sites[service.protocol.scheme].objects
        }

    def all_of(self, targets: Iterable[str]) -> dict[tuple[Protocol, str], Answer]:
        return {
            (service.protocol, target): self.ask(service, target)
            for service in self.services
            for target in targets
        }

    def methods(self) -> dict[tuple[Protocol, str], Answer]:
        found = {}
        for service in self.services:
            for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MADEUP"):
                found[service.protocol, method] = self.ask(service, "/x?y=1", "-X", method)
            found[service.protocol, "preflight"] = self.ask(service, "/x?y=1", "-X", "OPTIONS", *PREFLIGHT)
            found[service.protocol, "HEAD"] = self.ask(service, "/i.png", *HEAD, at="cdn.example")
            found[service.protocol, "POST to nothing"] = self.ask(service, "/nowhere", "-X", "POST")
            found[service.protocol, "range"] = self.ask(service, "/i.png", "-r", "10-19", at="cdn.example")
        return found

    def kept(self) -> dict[tuple[Protocol, str], tuple[Answer, Answer]]:
        """The answers to who has kept a response, and to who has kept another."""
        return {
            (service.protocol, target): (
                self.ask(service, target, "-H", f"{header}: {value}"),
                self.ask(service, target, "-H", f"{header}: x{value}"),
            )
            for service in self.services
            for target, header, value in KEPT
        }

    def parts(self) -> dict[tuple[Protocol, str, str], Answer]:
        return {
            (service.protocol, target, said): self.ask(
                service, target, "-r", "10-19", "-H", f"If-Range: {said}"
            )
            for service in self.services
            for target, said, _ in PARTS
        }

    def other(self, folder: Path) -> dict[str, Answer]:
        posted = folder / "posted"
        posted.write_bytes(b"x" * 500_000)
        by = {service.protocol: service for service in self.services}
        post = ("-H", "Expect:", "--data-binary", f"@{posted}")
        return {
            "large post": self.ask(by[Protocol.HTTP1], "/x?y=1", *post),
            "unknown host": self.ask(by[Protocol.HTTP1], "/x", at="unknown.example"),
            "mentioned host": self.ask(by[Protocol.HTTPS1], "/x", at="elsewhere.example"),
        }

    def reused(self, server: Server) -> Iterator[ServedRequest]:
        """Two requests in one call of curl, which keeps the connection if it may."""
        for service in self.services:
            offset = server.log_offset
            base = f"{service.protocol.scheme}://site.example"
            targets = ("/x?y=1", "/x?y=2")
            answers = curl(self.made, service, self.authority, " ".join(base + each for each in targets))
            assert [answer.body for answer in answers] == [b"answer 8", b"answer 9"]
            yield from logged(server, offset, 2, {(service.address, each) for each in targets})

    def tls_resumed(self, address: str) -> bool:
        context = ssl.create_default_context(cafile=str(self.authority.certificate_file))
        session, reused = None, False
        with self.made.entered():
            for _ in range(2):
                with (
                    socket.create_connection((address, 443), 5) as plain,
                    context.wrap_socket(plain, server_hostname="site.example", session=session) as secure,
                ):
                    secure.sendall(b"GET /x HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n")
                    while secure.recv(65536):
                        pass
                    session, reused = secure.session, secure.session_reused or False
        return reused

    def other_tls_refused(self, address: str, version: str) -> bool:
        other = ssl.TLSVersion.TLSv1_2 if version == "1.3" else ssl.TLSVersion.TLSv1_3
        context = ssl.create_default_context(cafile=str(self.authority.certificate_file))
        context.minimum_version = context.maximum_version = other
        with self.made.entered(), socket.create_connection((address, 443), 5) as plain:
            try:
                context.wrap_socket(plain, server_hostname="site.example").close()
            except ssl.SSLError:
                return True
        return False


def logged(
    server: Server, offset: int, count: int, asked: Collection[tuple[str, str]] | None = None
) -> list[ServedRequest]:
    """The requests since `offset`, waited for: a line is written once its answer has been sent.

    Those by which the server was asked whether it is ready are not among the `count`. `asked` are address and target of
    those that are looked for: the line of an earlier request may come late.
    """
    found: list[ServedRequest] = []

    def complete() -> bool:
        found[:] = (
            each
            for each in server.requests(offset)
            if asked is None or (each.server_address, each.target) in asked
        )
        return sum(each.host != PROBE_HOST for each in found) >= count

    wait_until(complete, f"{count} logged requests")
    return found


def _threads(server: Server) -> int:
    pids = [pid for process in server.processes for pid in family(process.pid)]
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)


@contextlib.contextmanager
def served(
    name: str,
    sites: Mapping[str, Site],
    protocols: Sequence[Protocol],
    authority: Authority,
    tls: str = "1.3",
    *,
    settings: ServerSettings | None = None,
    chain: CertificateChain = ONE_CERTIFICATE,
) -> Iterator[tuple[Host, Server, list[Service]]]:
    """A server on a host of its own, each protocol on an address of its own: 127.1.0.1, 127.1.0.2, ..."""
    services = [Service(protocol, f"127.1.0.{number}") for number, protocol in enumerate(protocols, 1)]
    with host("server") as made:
        made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
        folder = WORKSPACE / name
        deployment = Deployment(sites, services, tls, settings=settings, chain=chain)
        with serving(SERVERS[name], deployment, authority, folder, made) as server:
            yield made, server, services


def observe(name: str) -> Seen:
    """Everything about one server."""
    archive = site_of(recording())
    sites = {scheme: materialise(archive, scheme) for scheme in ("http", "https")}
    protocols = tuple(each for each in Protocol if each in ABILITIES[name].protocols - NO_CURL)
    authority = Authority.create(WORKSPACE / "authority")
    with served(name, sites, protocols, authority, TLS[name]) as (made, server, services):
        addresses = {service.protocol: service.address for service in services}
        watch = Observer(name, made, services, sites, authority)
        threads, cpu = _threads(server), server.cpu_seconds() or 0.0
        answers = watch.everything()
        closest, misses, renamed = watch.all_of(CLOSEST), watch.all_of(MISSES), watch.all_of(RENAMED)
        spelled = watch.all_of(SPELLED)
        asked = (answers, closest, misses, renamed, spelled)
        log = logged(server, 0, sum(map(len, asked)))
        return Seen(
            name=name,
            protocols=protocols,
            expected=watch.expected(),
            answers=answers,
            spelled=spelled,
            closest=closest,
            misses=misses,
            renamed=renamed,
            kept=watch.kept(),
            parts=watch.parts(),
            methods=watch.methods(),
            other=watch.other(WORKSPACE),
            log=tuple(log),
            reused=tuple(watch.reused(server)),
            threads=(threads, _threads(server)),
            cpu_s=(cpu, server.cpu_seconds() or 0.0),
            tls_resumed=watch.tls_resumed(addresses[Protocol.HTTPS1]),
            other_tls_refused=watch.other_tls_refused(addresses[Protocol.HTTPS1], TLS[name]),
            settings=dict(server.settings),
        )

"""Each server serves an archive as it was recorded: every answer over every protocol, compared byte by byte.

One server on a host of its own in an enclosure; real requests by curl. What was seen is judged outside.
"""

from __future__ import annotations

import gzip
import os
import socket
import ssl
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from harness.enclosure import WORKSPACE
from harness.model import Protocol, ThinkTime
from harness.netns import Host, host
from harness.process import find_program
from harness.processtree import family
from harness.servers import ABILITIES
from harness.testbed import SERVERS
from sites.archive import Response, write_archive
from sites.certificates import Authority
from sites.materialise import Site, materialise
from sites.servers import Match, ServedRequest, Server, Service
from sites.servers.apache import serving
from sites.urls import canonical_url
from tests.system.conftest import inside

SITE = "https://site.example"
HTML = (("Content-Type", "text/html; charset=utf-8"),)
TEXT = (("Content-Type", "text/plain"),)
LONG_TARGET = "/q?" + "x" * 4000
LARGE_BODY = bytes(range(256)) * 12_000  # 3 MB
TARGETS = (
    "/a/b", "/a%2Fb", "/a%2fb", "/A/b", "/dir//x", "/;p=1", "/x", "/x?", "/x?y=1", "/x?y=2",
    "/x?y=1&y=%27%20",
    "/100%", "/%zz", "/%00x", "/%C3%A9", "/..%2f..%2fetc%2fpasswd", "/a\\b|^`", '/q"uote', "/.htaccess",
    "/miss", "/path/http://other.example/", LONG_TARGET,
)  # fmt: skip
# Broken percent-encodings, and more that a server refuses before any rule: only Apache has a way round that.
BROKEN = ("/100%", "/%zz")
REFUSED = {"apache": (), "caddy": BROKEN, "nginx": (*BROKEN, "/%00x", "/..%2f..%2fetc%2fpasswd", "/..")}
CLOSING = (*BROKEN, "/broken")  # after these Apache closes an HTTP/1.1 connection
NO_CURL = frozenset({Protocol.H3})  # Debian's curl has no HTTP/3; tests/system/test_trial.py has the browser
MISSES = ("/nowhere", "/objects", "/..", "/a%2FB", "/100%25", "/x/", "/nowhere?y=1")
CLOSEST = {  # what is asked for: whose answer is given
    "/x?y=3": "/x?y=1",
    "/x?y=1&": "/x?y=1&y=%27%20",
    "/x?y=22": "/x?y=2",
    "/x?z": "/x?",
    "/a%2Fb?": "/a%2Fb",
    "/q": LONG_TARGET,
    LONG_TARGET[:-1] + "y": LONG_TARGET,
    "/q?" + "x" * 60_000: LONG_TARGET,
}
SERVERS_OWN = {"date", "server", "connection", "content-length"}
HEAD = ("--head", "--dump-header", os.devnull)  # its headers are its output
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
    closest: dict[tuple[Protocol, str], Answer]
    misses: dict[tuple[Protocol, str], Answer]
    methods: dict[tuple[Protocol, str], Answer]
    other: dict[str, Answer]
    log: tuple[ServedRequest, ...]
    reused: tuple[ServedRequest, ...]
    threads: tuple[int, int]
    cpu_s: tuple[float, float]
    tls_resumed: bool
    tls12_refused: bool
    left_behind: tuple[str, ...]
    settings: dict[str, object]


def recording() -> Iterator[Response]:
    page = b'<img src="https://cdn.example/i.png"><a href="https://elsewhere.example/">'
    yield Response(f"{SITE}/", 200, (*HTML, ("Content-Encoding", "gzip")), gzip.compress(page))
    for number, target in enumerate(TARGETS):
        yield Response(SITE + target, 200, (*TEXT, ("X-Number", str(number))), f"answer {number}".encode())
    yield Response("https://cdn.example/i.png", 200, (("Content-Type", "image/png"),), LARGE_BODY)
    yield Response("https://under_score.example/", 200, TEXT, b"underscore")
    yield Response("https://cdn.example:8443/x", 200, TEXT, b"other port")
    yield Response(f"{SITE}/relative", 302, (("Location", "/x?y=1"),), b"")
    yield Response(f"{SITE}/absolute", 301, (("Location", "https://cdn.example/i.png"),), b"moved")
    yield Response(f"{SITE}/gone", 404, HTML, b"<h1>recorded error page</h1>")
    yield Response(f"{SITE}/broken", 503, (("Retry-After", "5"),), b"later")
    yield Response(f"{SITE}/odd", 599, TEXT, b"odd status")
    yield Response(f"{SITE}/refused", 405, (("Allow", "GET"),), b"")
    yield Response(f"{SITE}/nothing", 204, (), b"")
    yield Response(f"{SITE}/empty", 200, (("Content-Type", "text/css"),), b"")
    yield Response(f"{SITE}/untyped", 200, (), b"no type")
    many = (
        ("Link", "</a>; rel=preload"),
        ("Link", "</b>; rel=preload"),
        ("ETag", '"e"'),
        ("Cache-Control", "no-store"),
    )
    dated = (
        ("Last-Modified", "Wed, 21 Oct 2015 07:28:00 GMT"),
        ("Expires", "-1"),
        ("Content-Language", "de"),
    )
    yield Response(
        f"{SITE}/headers", 200, (*TEXT, *many, *dated, ("Status", "500"), ("Server", "other")), b"h"
    )


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
        return curl(self.made, service, self.authority, url, *options)[0]

    def everything(self) -> dict[tuple[Protocol, str], Answer]:
        return {
            (service.protocol, each.host + each.target): self.ask(service, each.target, at=each.host)
            for service in self.services
            for each in self.sites[service.protocol.scheme].objects
            if self.served(each.target)
        }

    def served(self, target: str) -> bool:
        return target not in REFUSED[self.name]

    def expected(self) -> dict[tuple[Protocol, str], Expected]:
        return {
            (service.protocol, each.host + each.target): Expected(each.status, each.headers, each.body)
            for service in self.services
            for each in self.sites[service.protocol.scheme].objects
            if self.served(each.target)
        }

    def all_of(self, targets: Iterable[str]) -> dict[tuple[Protocol, str], Answer]:
        return {
            (service.protocol, target): self.ask(service, target)
            for service in self.services
            for target in targets
            if self.served(target)
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

    def other(self, folder: Path) -> dict[str, Answer]:
        posted = folder / "posted"
        posted.write_bytes(b"x" * 500_000)
        by = {service.protocol: service for service in self.services}
        post = ("-H", "Expect:", "--data-binary", f"@{posted}")
        return {
            "large post": self.ask(by[Protocol.HTTP1], "/x?y=1", *post),
            "unknown host": self.ask(by[Protocol.HTTP1], "/x", at="unknown.example"),
            "mentioned host": self.ask(by[Protocol.H2], "/x", at="elsewhere.example"),
        }

    def reused(self, server: Server) -> Iterator[ServedRequest]:
        """Two requests in one call of curl, which keeps the connection if it may."""
        for service in self.services:
            offset = server.log_offset
            base = f"{service.protocol.scheme}://site.example"
            answers = curl(self.made, service, self.authority, f"{base}/x?y=1 {base}/x?y=2")
            assert [answer.body for answer in answers] == [b"answer 8", b"answer 9"]
            yield from _logged(server, offset, 2)

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

    def tls12_refused(self, address: str) -> bool:
        context = ssl.create_default_context(cafile=str(self.authority.certificate_file))
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with self.made.entered(), socket.create_connection((address, 443), 5) as plain:
            try:
                context.wrap_socket(plain, server_hostname="site.example").close()
            except ssl.SSLError:
                return True
        return False


def _logged(server: Server, offset: int, count: int) -> list[ServedRequest]:
    """The requests since `offset`, waited for: a line is written once its answer has been sent."""
    for _ in range(2000):
        found = server.requests(offset)
        if len(found) >= count:
            return found
        os.sched_yield()
    raise AssertionError(f"{len(found)} of {count} requests logged")


def _threads(server: Server) -> int:
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in family(server.process.pid))


def observe(name: str) -> Seen:
    archive = write_archive(
        WORKSPACE / "a", "site", f"{SITE}/", recording(), captured_with="test", user_agent="test"
    )
    sites = {scheme: materialise(archive, scheme) for scheme in ("http", "https")}
    protocols = tuple(each for each in Protocol if each in ABILITIES[name].protocols - NO_CURL)
    services = [Service(protocol, f"127.1.0.{number}") for number, protocol in enumerate(protocols, 1)]
    addresses = {service.protocol: service.address for service in services}
    authority = Authority.create(WORKSPACE / "authority")
    with host("server") as made:
        made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
        watch = Observer(name, made, services, sites, authority)
        folder = WORKSPACE / name
        start = SERVERS[name]
        with start(sites, services, authority, folder, network=made.path, on_host=made.entered) as server:
            threads, cpu = _threads(server), server.cpu_seconds() or 0.0
            answers = watch.everything()
            closest, misses = watch.all_of(CLOSEST), watch.all_of(MISSES)
            log = _logged(server, 0, len(answers) + len(closest) + len(misses))
            seen = Seen(
                name=name,
                protocols=protocols,
                expected=watch.expected(),
                answers=answers,
                closest=closest,
                misses=misses,
                methods=watch.methods(),
                other=watch.other(WORKSPACE),
                log=tuple(log),
                reused=tuple(watch.reused(server)),
                threads=(threads, _threads(server)),
                cpu_s=(cpu, server.cpu_seconds() or 0.0),
                tls_resumed=watch.tls_resumed(addresses[Protocol.HTTPS1]),
                tls12_refused=watch.tls12_refused(addresses[Protocol.HTTPS1]),
                left_behind=(),
                settings=dict(server.settings),
            )
    return seen


@pytest.fixture(scope="module", params=list(SERVERS))
def seen(request: pytest.FixtureRequest) -> Seen:
    return inside(partial(observe, request.param))


def test_every_answer_is_the_recorded_one_over_every_protocol(seen: Seen) -> None:
    assert seen.answers.keys() == seen.expected.keys()
    hosts_and_targets = {canonical_url(SITE + target).removeprefix("https://") for target in TARGETS}
    hosts_and_targets -= {f"site.example{target}" for target in REFUSED[seen.name]}
    assert {
        (protocol, each) for protocol in seen.protocols for each in hosts_and_targets
    } <= seen.answers.keys()
    for key, expected in seen.expected.items():
        answer = seen.answers[key]
        assert (key, answer.status) == (key, expected.status)
        assert (key, answer.http) == (key, "2" if key[0] is Protocol.H2 else "1.1")
        assert answer.body == expected.body, key


def test_every_header_is_the_recorded_one(seen: Seen) -> None:
    for key, expected in seen.expected.items():
        answer, scheme = seen.answers[key], key[0].scheme
        wanted: dict[str, str] = {}
        for name, value in expected.headers:
            wanted[name.lower()] = ", ".join(filter(None, (wanted.get(name.lower()), value)))
        if seen.name == "apache" and wanted.get("location", "").startswith("/"):  # sent as an absolute URL
            wanted["location"] = f"{scheme}://site.example{wanted['location']}"
        own = SERVERS_OWN | ({"accept-ranges"} if seen.name == "nginx" else set())
        got = {name.lower() for name, _ in answer.headers} - own
        assert {name: answer.header(name) for name in got} == wanted, key


def test_lengths_are_announced_and_nothing_is_chunked(seen: Seen) -> None:
    for key, answer in seen.answers.items():
        assert answer.header("transfer-encoding") is None, key
        if answer.status != 204:
            assert answer.header("content-length") == str(len(answer.body)), key
        assert (answer.header("server") or "").lower() == seen.name
        if not key[1].endswith(CLOSING):
            assert (answer.header("connection") == "close") == (not key[0].keep_alive), key


def test_the_page_links_by_the_scheme_it_is_served_by(seen: Seen) -> None:
    for protocol in seen.protocols:
        text = gzip.decompress(seen.answers[protocol, "site.example/"].body).decode()
        assert text.count(f"{protocol.scheme}://") == 2


def test_a_query_that_was_not_recorded_gets_the_closest_answer(seen: Seen) -> None:
    for (protocol, target), answer in seen.closest.items():
        recorded = seen.answers[protocol, canonical_url(SITE + CLOSEST[target]).removeprefix("https://")]
        assert (target[:20], answer.status, answer.body) == (target[:20], 200, recorded.body)
        assert answer.header("x-number") == recorded.header("x-number")


def test_what_is_not_archived_is_an_empty_404(seen: Seen) -> None:
    for key, answer in seen.misses.items():
        assert (key, answer.status, answer.body) == (key, 404, b"")
        assert answer.header("content-type") is None
        assert answer.header("timing-allow-origin") == "*"
    for what in ("unknown host", "mentioned host"):
        assert (seen.other[what].status, seen.other[what].body) == (404, b"")


def test_every_method_is_answered_by_url(seen: Seen) -> None:
    for protocol in seen.protocols:
        for method in ("PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MADEUP"):
            answer = seen.methods[protocol, method]
            assert (method, answer.status, answer.body) == (method, 200, b"answer 8")
        head = seen.methods[protocol, "HEAD"]
        assert (head.status, head.header("content-length")) == (200, str(len(LARGE_BODY)))
        missed = seen.methods[protocol, "POST to nothing"]
        assert (missed.status, missed.body) == (404, b"")
    posted = seen.other["large post"]
    assert (posted.status, posted.body) == (200, b"answer 8")
    assert posted.header("connection") in (None, "keep-alive")


def test_cross_origin_questions_are_answered_with_yes(seen: Seen) -> None:
    for protocol in seen.protocols:
        answer = seen.methods[protocol, "preflight"]
        assert (answer.status, answer.body) == (204, b"")
        assert answer.header("access-control-allow-origin") == "https://o.example"
        assert answer.header("access-control-allow-methods") == "PUT"
        assert answer.header("access-control-allow-credentials") == "true"


def test_parts_of_a_body_are_served(seen: Seen) -> None:
    for protocol in seen.protocols:
        answer = seen.methods[protocol, "range"]
        assert (answer.status, answer.body) == (206, LARGE_BODY[10:20])


def test_the_log_names_protocol_and_match_of_every_request(seen: Seen) -> None:
    requests = [request for request in seen.log if request.host != "coldload.invalid"]
    assert len(requests) == len(seen.answers) + len(seen.closest) + len(seen.misses)
    addresses = {f"127.1.0.{number}": protocol for number, protocol in enumerate(seen.protocols, 1)}
    for request in requests:
        protocol = addresses[request.server_address]
        key = protocol, request.host + request.target
        assert request.protocol == protocol.wire, request
        assert request.url == f"{protocol.scheme}://{request.host}{request.target}"
        assert request.tls == ("TLSv1.3" if protocol.scheme == "https" else None)
        assert not request.resumed
        if request.match is Match.EXACT:
            answer = seen.answers[key]
        else:
            found = seen.closest if request.match is Match.CLOSEST else seen.misses
            answer = found[protocol, request.target]
        assert (request.status, request.body_bytes) == (answer.status, len(answer.body)), request
        if seen.name != "caddy":  # it does not log them
            assert (request.bytes_sent or 0) > request.body_bytes
            assert (request.bytes_received or 0) > 0


def test_connections_are_kept_or_closed_as_the_protocol_says(seen: Seen) -> None:
    for protocol, first, second in zip(seen.protocols, seen.reused[::2], seen.reused[1::2], strict=True):
        assert (first.connection == second.connection) == protocol.keep_alive
        if protocol.wire == "http/1.1" and first.requests_before is not None:
            assert (first.requests_before, second.requests_before) == (0, int(protocol.keep_alive))


def test_tls_is_one_certificate_one_version_and_never_resumed(seen: Seen) -> None:
    for (protocol, _), answer in seen.answers.items():
        assert answer.certificates == (1 if protocol.scheme == "https" else 0)
    assert not seen.tls_resumed
    assert seen.tls12_refused


def test_no_thread_starts_under_load_and_cpu_is_counted(seen: Seen) -> None:
    before, after = seen.threads
    if seen.name == "apache":
        assert before == after > 256
    assert seen.cpu_s[1] > seen.cpu_s[0]
    assert str(seen.settings["server"]).lower().startswith(f"{seen.name}/")


def test_a_taken_address_and_a_killed_server_are_named() -> None:
    def take_and_kill() -> tuple[str, str, list[str]]:
        archive = write_archive(
            WORKSPACE / "a", "site", f"{SITE}/", recording(), captured_with="test", user_agent="test"
        )
        sites = {"http": materialise(archive, "http")}
        service = Service(Protocol.HTTP1, "127.1.0.1")
        authority = Authority.create(WORKSPACE / "authority")
        taken = killed = ""
        with host("server") as made:
            made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})

            def server(name: str):  # type: ignore[no-untyped-def]  # serving's own type
                return serving(
                    sites, [service], authority, WORKSPACE / name, network=made.path, on_host=made.entered
                )

            with server("first") as first:
                try:
                    with server("second"):
                        pass
                except Exception as error:
                    taken = f"{type(error).__name__}: {error}"
                first.process.kill()
                try:
                    first.process.check()
                except Exception as error:
                    killed = f"{type(error).__name__}: {error}"
            names = [Path(f"/proc/{pid}/comm").read_text().strip() for pid in family(os.getpid())]
        return taken, killed, names

    taken, killed, names = inside(take_and_kill)
    assert "TestbedFailed: apache2 died" in taken
    assert "ddress already in use" in taken or "no listening sockets" in taken
    assert "TestbedFailed: apache2 died (exit code -9)" in killed
    assert "apache2" not in names


def test_the_server_thinks_as_long_as_it_is_told_to_all_at_once() -> None:
    """Ninety answers over as many connections, each a second away: they sleep side by side."""

    def think() -> list[ServedRequest]:
        recorded = [
            Response(f"{SITE}/", 200, HTML, b"<html>"),
            *(Response(f"{SITE}/{number}?x", 200, TEXT, b"slow", wait_ms=1000.0) for number in range(90)),
        ]
        archive = write_archive(
            WORKSPACE / "a", "site", f"{SITE}/", recorded, captured_with="test", user_agent="test"
        )
        sites = {"https": materialise(archive, "https", think_time=ThinkTime(recorded=True))}
        service = Service(Protocol.HTTPS1, "127.1.0.1")
        authority = Authority.create(WORKSPACE / "authority")
        urls = [f"{SITE}/{number}?{'x' if number % 2 else 'closest'}" for number in range(90)]
        with host("server") as made:
            made.set_kernel({"ipv4.ip_unprivileged_port_start": 0})
            folder = WORKSPACE / "apache"
            with serving(
                sites, [service], authority, folder, network=made.path, on_host=made.entered
            ) as server:
                words = [find_program("curl"), "--silent", "--http1.1", "--parallel", "--parallel-max", "90"]
                words += [
                    "--cacert",
                    str(authority.certificate_file),
                    "--connect-to",
                    f"::{service.address}:",
                ]
                with made.entered():
                    subprocess.run([*words, *urls, f"{SITE}/"], stdout=subprocess.DEVNULL, check=True)
                return _logged(server, 0, len(urls) + 2)

    requests = [request for request in inside(think) if request.host == "site.example"]
    slow = [request for request in requests if request.duration_us >= 1_000_000]
    assert {request.target for request in requests} - {request.target for request in slow} == {"/"}
    span_us = max(each.started_us + each.duration_us for each in slow) - min(each.started_us for each in slow)
    assert span_us < sum(each.duration_us for each in slow) / 10

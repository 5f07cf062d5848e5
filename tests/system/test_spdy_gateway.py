"""The gateway of the protocols of 2012, asked by what speaks them: pipelined sockets, and a SPDY client under Node."""

from __future__ import annotations

import contextlib
import hashlib
import json
import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from harness.capacity.rateproof import data_packets
from harness.model.protocol import Protocol
from harness.model.serversettings import GatewaySettings
from harness.system.enclosure import WORKSPACE
from harness.system.netns import Host
from harness.system.program import Command, run
from sites.certificates import Authority
from sites.materialise import materialise
from sites.response import Response
from sites.servers.nodepackages import node, node_modules
from sites.servers.server import Match, ServedRequest, Service
from tests.system.conftest import inside
from tests.system.serverobserver import logged, served
from tests.system.serverrecording import HTML, LARGE_BODY, SITE, TEXT, site_of

pytestmark = pytest.mark.side_by_side

PIPELINED = (Protocol.HTTP1_PIPELINED, Protocol.HTTPS1_PIPELINED)
SPDY = (Protocol.SPDY, Protocol.SPDY_PLAIN)
OBJECTS = 300
LARGE = "/large"
HOSTS = ("site.example", "cdn.example")
CLIENT_WINDOW = 2**20  # what spdy-transport has by default
UNREAD = Path(__file__).parent / "spdyunread.js"
CLIENT = Path(__file__).parent / "spdyclient.js"
TWO_KINDS = Path(__file__).parent / "spdypriority.js"


@dataclass(frozen=True)
class Seen:
    """Per protocol: what the client got, by host, and the lines of the log."""

    answers: dict[Protocol, dict[str, Any]]
    log: dict[Protocol, list[ServedRequest]]
    cpu_s: tuple[float, float]


def body(number: int) -> bytes:
    """The body of an object: from nothing to 60 kB, so that many are larger than a frame."""
    return bytes([number % 251]) * (number * 200)


def recording() -> Iterator[Response]:
    yield Response(f"{SITE}/", 200, HTML, b"<html>")
    for name in HOSTS:
        for number in range(OBJECTS):
            yield Response(
                f"https://{name}/{number}", 200, (*TEXT, ("Link", "<a>"), ("Link", "<b>")), body(number)
            )
    yield Response(SITE + LARGE, 200, TEXT, LARGE_BODY)


@contextlib.contextmanager
def connected(made: Host, service: Service, authority: Authority) -> Iterator[socket.socket]:
    """A connection to the site's first host, by TLS where the protocol has it; it takes in little at a time."""
    with made.entered(), socket.socket() as plain:
        plain.settimeout(20)
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16384)
        plain.connect((service.address, 443 if service.protocol.encrypted else 80))
        if not service.protocol.encrypted:
            yield plain
            return
        context = ssl.create_default_context(cafile=str(authority.certificate_file))
        with context.wrap_socket(plain, server_hostname=HOSTS[0]) as secure:
            yield secure


def request(target: str) -> bytes:
    return b"GET %b HTTP/1.1\r\nHost: site.example\r\n\r\n" % target.encode()


def bodies(stream: BinaryIO, count: int) -> list[bytes]:
    """The bodies of the next answers in their order."""
    found = []
    for _ in range(count):
        assert stream.readline().startswith(b"HTTP/1.1 200")
        lines = list(iter(stream.readline, b"\r\n"))
        (length,) = (int(line.split()[1]) for line in lines if line.lower().startswith(b"content-length"))
        found.append(stream.read(length))
    return found


def pipelined(made: Host, service: Service, authority: Authority, targets: list[str]) -> list[bytes]:
    """Several requests in one packet on one connection; the bodies of the answers in their order."""
    with connected(made, service, authority) as connection:
        connection.sendall(b"".join(request(each) for each in targets))
        return bodies(connection.makefile("rb"), len(targets))


def behind_a_large_answer(
    made: Host, service: Service, authority: Authority, targets: list[str]
) -> list[bytes]:
    """As `pipelined`, but each request a TLS record of its own, while the server waits to send a large body."""
    with connected(made, service, authority) as connection:
        connection.sendall(request(LARGE))
        stream = connection.makefile("rb")
        stream.peek(1)  # what we take in beside this is far less than the body: the server must wait
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
        for each in targets:
            connection.sendall(request(each))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
        return bodies(stream, 1 + len(targets))


def spdy(made: Host, service: Service, authority: Authority, name: str) -> Any:
    """Every object of a host and a large one that is given up, over one connection."""
    targets = [LARGE, *(f"/{number}" for number in range(OBJECTS)), "/missing"]
    ca = authority.certificate_file if service.protocol.encrypted else "-"
    client = Command.of(node(), CLIENT, service.address, 443, name, ca, LARGE, *targets)
    return json.loads(
        run(client.on(made.path).with_environment(NODE_PATH=str(node_modules())), timeout_s=120)
    )


def observe() -> Seen:
    archive = site_of(recording())
    sites = {scheme: materialise(archive, scheme, determinism=False) for scheme in ("http", "https")}
    authority = Authority.create(WORKSPACE / "authority")
    answers: dict[Protocol, dict[str, Any]] = {}
    log: dict[Protocol, list[ServedRequest]] = {}
    with served("spdy-gateway", sites, (*PIPELINED, *SPDY), authority, "1.2") as (made, server, services):
        before = server.cpu_seconds() or 0.0
        for service in services:
            since = server.log_offset
            if service.protocol in SPDY:
                answers[service.protocol] = {name: spdy(made, service, authority, name) for name in HOSTS}
                count = len(HOSTS) * (OBJECTS + 2)
            else:
                targets = [f"/{number}" for number in range(100, 108)]
                answers[service.protocol] = {HOSTS[0]: pipelined(made, service, authority, targets)}
                count = len(targets)
            log[service.protocol] = logged(server, since, count)
        server.check()
        return Seen(answers, log, (before, server.cpu_seconds() or 0.0))


@pytest.fixture(scope="module")
def seen() -> Seen:
    return inside(observe)


@pytest.mark.parametrize("protocol", PIPELINED)
def test_pipelined_requests_are_answered_in_order_and_their_depth_is_logged(
    seen: Seen, protocol: Protocol
) -> None:
    assert seen.answers[protocol][HOSTS[0]] == [body(number) for number in range(100, 108)]
    log = seen.log[protocol]
    assert [request.target for request in log] == [f"/{number}" for number in range(100, 108)]
    assert [request.depth for request in log] == list(range(1, 9))
    assert [request.requests_before for request in log] == list(range(8))
    assert len({request.connection for request in log}) == 1
    assert {request.tls for request in log} == {"TLSv1.2" if protocol.encrypted else None}


@pytest.mark.parametrize("protocol", SPDY)
def test_spdy_carries_300_objects_and_survives_a_reset_stream(seen: Seen, protocol: Protocol) -> None:
    for name in HOSTS:
        told = seen.answers[protocol][name]
        assert told["secure"] == (["TLSv1.2", "spdy/3"] if protocol.encrypted else None)
        for number in range(OBJECTS):
            answer = told["answers"][f"/{number}"]
            assert answer["status"] == 200, number
            assert answer["sha256"] == hashlib.sha256(body(number)).hexdigest(), number
            assert answer["headers"]["link"] == "<a>, <b>"
            assert "coldload-answer" not in answer["headers"]
            assert "connection" not in answer["headers"]
        assert told["answers"]["/missing"]["status"] == 404
    given_up = seen.answers[protocol][HOSTS[0]]["answers"][LARGE]
    assert 0 < given_up["bytes"] < len(LARGE_BODY)
    assert given_up["sha256"] is None


@pytest.mark.parametrize("protocol", SPDY)
def test_the_log_proves_spdy(seen: Seen, protocol: Protocol) -> None:
    for name in HOSTS:
        log = [request for request in seen.log[protocol] if request.host == name]
        assert len(log) == OBJECTS + 2
        assert {request.protocol for request in log} == {"spdy/3"}
        assert {request.tls for request in log} == {"TLSv1.2" if protocol.encrypted else None}
        assert not any(request.resumed for request in log)
        assert len({request.connection for request in log}) == 1
        frames = sorted(request.requests_before for request in log if request.requests_before is not None)
        assert frames == list(range(OBJECTS + 2))
        assert max(request.depth or 0 for request in log) > 1
        assert {request.target for request in log if request.match is Match.MISS} <= {"/missing", LARGE}
        assert all(request.url.startswith("https://") for request in log)


FETCHES = 5


def packets_of_an_answer() -> tuple[int, int]:
    """How many packets with data an object costs by SPDY without TLS: one of two frames, and one of none.

    Each is fetched some times: the last packet of a fetch may be sent when its client has gone.
    """
    sites = {scheme: materialise(site_of(recording()), scheme) for scheme in ("http", "https")}
    authority = Authority.create(WORKSPACE / "authority")
    with served("spdy-gateway", sites, (Protocol.SPDY_PLAIN,), authority, "1.2") as (made, _, (service,)):
        counts = []
        for target in ("/60", "/0"):
            before = data_packets(made)
            command = Command.of(node(), CLIENT, service.address, 443, HOSTS[0], "-", LARGE, target)
            for _ in range(FETCHES):
                run(command.on(made.path).with_environment(NODE_PATH=str(node_modules())), timeout_s=20)
            counts.append(round((data_packets(made) - before) / FETCHES))
        return counts[0], counts[1]


def test_no_ticket_follows_a_handshake_of_tls_1_3() -> None:
    """Nothing resumes, and tickets would take from the initial window. The client tells of those that it got."""

    def has_ticket() -> bool:
        sites = {"https": materialise(site_of(recording()), "https")}
        authority = Authority.create(WORKSPACE / "authority")
        with (
            served("spdy-gateway", sites, [Protocol.HTTPS1], authority, "1.3") as (made, _, (service,)),
            connected(made, service, authority) as connection,
        ):
            connection.sendall(request("/1"))
            assert bodies(connection.makefile("rb"), 1) == [body(1)]
            assert isinstance(connection, ssl.SSLSocket)
            assert connection.version() == "TLSv1.3"
            assert connection.session is not None
            return connection.session.has_ticket

    assert not inside(has_ticket)


def test_frames_that_are_ready_together_leave_in_one_piece() -> None:
    of_two_frames, of_none = inside(packets_of_an_answer)
    assert len(body(60)) > 8192  # more than a frame
    assert of_two_frames == of_none


def test_requests_that_come_while_a_large_answer_waits_to_be_sent_are_answered() -> None:
    targets = ["/1", "/2", "/3"]

    def ask() -> list[list[bytes]]:
        sites = {scheme: materialise(site_of(recording()), scheme) for scheme in ("http", "https")}
        authority = Authority.create(WORKSPACE / "authority")
        with served("spdy-gateway", sites, PIPELINED, authority, "1.2") as (made, _, services):
            return [behind_a_large_answer(made, service, authority, targets) for service in services]

    assert inside(ask) == [[LARGE_BODY, body(1), body(2), body(3)]] * len(PIPELINED)


@pytest.mark.parametrize("limited", [True, False])
def test_what_is_sent_is_limited_by_the_clients_window_unless_a_study_says_otherwise(limited: bool) -> None:
    """A client that reads nothing of a large answer has it whole without flow control, and one window of it with."""

    def ask() -> int:
        sites = {"https": materialise(site_of(recording()), "https")}
        authority = Authority.create(WORKSPACE / "authority")
        settings = GatewaySettings(spdy_flow_control=limited)
        with served("spdy-gateway", sites, [Protocol.SPDY_PLAIN], authority, "1.2", settings=settings) as (
            made,
            _,
            (service,),
        ):
            window = [CLIENT_WINDOW] if limited else []
            client = Command.of(node(), UNREAD, service.address, 443, HOSTS[0], LARGE, "/1", *window).on(
                made.path
            )
            return int(run(client.with_environment(NODE_PATH=str(node_modules())), timeout_s=120))

    assert inside(ask) == (CLIENT_WINDOW if limited else len(LARGE_BODY))


@pytest.mark.parametrize("settled", [True, False])
def test_a_style_sheet_overtakes_a_picture_where_a_study_says_so(settled: bool) -> None:
    """By default their frames take turns; with priorities those of the picture wait, but where the style sheet does."""
    picture = LARGE_BODY * 8  # more than the sockets hold: the rest waits when the style sheet is asked for

    def ask() -> dict[str, int]:
        recorded = [
            Response(f"{SITE}/", 200, HTML, b"<html>"),
            Response(f"{SITE}/i.png", 200, (("Content-Type", "image/png"),), picture),
            Response(f"{SITE}/s.css", 200, (("Content-Type", "text/css"),), LARGE_BODY),
        ]
        sites = {"https": materialise(site_of(recorded), "https", determinism=False)}
        authority = Authority.create(WORKSPACE / "authority")
        settings = GatewaySettings(spdy_flow_control=False, spdy_priorities=settled)
        with served("spdy-gateway", sites, [Protocol.SPDY_PLAIN], authority, "1.2", settings=settings) as (
            made,
            _,
            (service,),
        ):
            client = Command.of(node(), TWO_KINDS, service.address, 443, HOSTS[0], "/i.png", "/s.css")
            told = run(client.on(made.path).with_environment(NODE_PATH=str(node_modules())), timeout_s=60)
            return dict(json.loads(told))

    frames = inside(ask)
    assert frames["style"] > len(LARGE_BODY) / 8192
    assert (frames["between"] < frames["style"] / 5) == settled


def test_nginx_by_itself_proves_pipelining() -> None:
    def observe_nginx() -> list[list[ServedRequest]]:
        archive = site_of(recording())
        sites = {scheme: materialise(archive, scheme) for scheme in ("http", "https")}
        authority = Authority.create(WORKSPACE / "authority")
        with served("nginx", sites, PIPELINED, authority) as (made, server, services):
            logs = []
            for service in services:  # one after the other: a worker of nginx may write its line late
                since = server.log_offset
                pipelined(made, service, authority, ["/1", "/2", "/3"])
                logs.append(logged(server, since, 3))
            return logs

    for log in inside(observe_nginx):
        assert [(request.target, request.depth) for request in log] == [("/1", None), ("/2", 2), ("/3", 2)]


def test_cpu_seconds_are_those_of_gateway_and_nginx(seen: Seen) -> None:
    assert seen.cpu_s[1] - seen.cpu_s[0] > 0.1


def test_the_gateway_outlives_nginx_and_says_so() -> None:
    def kill_nginx() -> tuple[int, int, str, bool]:
        sites = {"http": materialise(site_of(recording()), "http")}
        authority = Authority.create(WORKSPACE / "authority")
        with served("spdy-gateway", sites, [Protocol.HTTP1], authority, "1.2") as (made, server, (service,)):
            good = status(made, service)
            server.processes[0].kill()
            bad = status(made, service)
            try:
                server.check()
            except Exception as error:
                return good, bad, str(error), server.processes[1].alive
        return good, bad, "", False

    def status(made: Host, service: Service) -> int:
        with made.entered(), socket.create_connection((service.address, 80), 20) as connection:
            connection.sendall(b"GET /1 HTTP/1.1\r\nHost: site.example\r\nConnection: close\r\n\r\n")
            return int(connection.makefile("rb").readline().split()[1])

    good, bad, said, alive = inside(kill_nginx)
    assert (good, bad, alive) == (200, 502, True)
    assert said.startswith("nginx died (exit code -9)")


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"GET /" + b"u" * 200_000, 431),
        (b"GET /1 HTTP/1.1\r\nX: " + b"x" * 200_000, 431),
        (b"no request", 400),
    ],
)
def test_what_is_too_long_is_told_so_by_a_status_that_proofs_know(line: bytes, status: int) -> None:
    """`harness.probes.proofs.TOO_LONG`."""

    def ask() -> int:
        sites = {"http": materialise(site_of(recording()), "http")}
        authority = Authority.create(WORKSPACE / "authority")
        with (
            served("spdy-gateway", sites, [Protocol.HTTP1], authority, "1.2") as (made, _, (service,)),
            made.entered(),
            socket.create_connection((service.address, 80), 20) as connection,
        ):
            connection.sendall(line + b"\r\n\r\n")
            return int(connection.makefile("rb").readline().split()[1])

    assert inside(ask) == status

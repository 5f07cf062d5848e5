"""Each server serves an archive as it was recorded: every answer over every protocol, compared byte by byte.

The requests are those of serverobserver.py; what was seen is judged here, outside the enclosure.
"""

from __future__ import annotations

import gzip
import os
import resource
import socket
import ssl
import struct
import subprocess
from functools import partial
from pathlib import Path

import pytest

from harness.lab.testbed import SERVERS
from harness.model.protocol import Protocol
from harness.model.settings import CertificateChain, CertificateKey, ThinkTime
from harness.system.enclosure import WORKSPACE
from harness.system.processtree import family
from harness.system.program import find_program
from sites.certificates import Authority
from sites.materialise import materialise
from sites.response import Response
from sites.servers.apache import APACHE
from sites.servers.caddy import BUILT_IN
from sites.servers.server import Match, ServedRequest
from sites.servers.serving import H2_PREFACE, PROBE_HOST, Deployment, serving
from sites.urls import canonical_url
from tests.system.conftest import inside
from tests.system.serverobserver import (
    CLOSING,
    KEPT,
    PARTS,
    SERVERS_OWN,
    TLS,
    Seen,
    curl,
    logged,
    observe,
    served,
)
from tests.system.serverrecording import (
    CLOSEST,
    HTML,
    KEPT_BODY,
    LARGE_BODY,
    REFUSED,
    RENAMED,
    SITE,
    SPELLED,
    TARGETS,
    TEXT,
    recording,
    site_of,
)

STREAMS_AT_A_TIME = 3  # HTTP/2's name of the setting (RFC 9113, 6.5.2)
GO_COPIES = 32768  # bytes at a time
pytestmark = pytest.mark.side_by_side


@pytest.fixture(scope="module", params=list(SERVERS))
def seen(request: pytest.FixtureRequest) -> Seen:
    return inside(partial(observe, request.param))


def answerer(seen: Seen) -> str:
    """Which server's answers these are."""
    return "nginx" if seen.name == "spdy-gateway" else seen.name


def test_every_answer_is_the_recorded_one_over_every_protocol(seen: Seen) -> None:
    assert seen.answers.keys() == seen.expected.keys()
    hosts_and_targets = {canonical_url(SITE + target).removeprefix("https://") for target in TARGETS}
    hosts_and_targets -= {f"site.example{target}" for target in REFUSED}
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
        own = SERVERS_OWN | ({"accept-ranges"} if answerer(seen) == "nginx" else set())
        got = {name.lower() for name, _ in answer.headers} - own
        assert {name: answer.header(name) for name in got} == wanted, key


def test_lengths_are_announced_and_nothing_is_chunked(seen: Seen) -> None:
    for key, answer in seen.answers.items():
        assert answer.header("transfer-encoding") is None, key
        if answer.status != 204:
            assert answer.header("content-length") == str(len(answer.body)), key
        assert (answer.header("server") or "").lower() == answerer(seen)
        if not key[1].endswith(CLOSING):
            assert (answer.header("connection") == "close") == (not key[0].keep_alive), key


def test_the_page_links_by_the_scheme_it_is_served_by(seen: Seen) -> None:
    for protocol in seen.protocols:
        text = gzip.decompress(seen.answers[protocol, "site.example/"].body).decode()
        assert text.count(f"{protocol.scheme}://") == 2


def test_an_address_in_another_spelling_gets_the_recorded_answer(seen: Seen) -> None:
    assert len(seen.spelled) == len(SPELLED) * len(seen.protocols)
    for (protocol, target), answer in seen.spelled.items():
        recorded = seen.answers[protocol, canonical_url(SITE + SPELLED[target]).removeprefix("https://")]
        assert (target, answer.status, answer.body) == (target, 200, recorded.body)
        assert answer.header("x-number") == recorded.header("x-number")


def test_a_query_that_was_not_recorded_gets_the_closest_answer(seen: Seen) -> None:
    for (protocol, target), answer in seen.closest.items():
        recorded = seen.answers[protocol, canonical_url(SITE + CLOSEST[target]).removeprefix("https://")]
        assert (target[:20], answer.status, answer.body) == (target[:20], 200, recorded.body)
        assert answer.header("x-number") == recorded.header("x-number")


def test_a_script_calls_the_function_it_is_asked_for(seen: Seen) -> None:
    for (protocol, target), answer in seen.renamed.items():
        assert (target, answer.status, answer.body) == (target, 200, RENAMED[target])
        recorded = seen.expected[
            protocol, f"site.example/jsonp?f={'old&u=1' if 'u=1' in target else 'other&u=3'}"
        ]
        wanted = {name.lower(): value for name, value in recorded.headers}
        assert wanted.pop("content-encoding", "gzip") == "gzip"
        got = {name.lower(): value for name, value in answer.headers if name.lower() not in SERVERS_OWN}
        assert got == wanted
        assert answer.header("content-length") == str(len(answer.body))


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
            if (
                method == "MADEUP" and seen.name == "spdy-gateway"
            ):  # Node's parser knows the registered ones only
                assert answer.status == 400
                continue
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
        assert answer.header("access-control-max-age") == "7200"


def test_parts_of_a_body_are_served(seen: Seen) -> None:
    for protocol in seen.protocols:
        answer = seen.methods[protocol, "range"]
        assert (answer.status, answer.body) == (206, LARGE_BODY[10:20])


def test_a_browser_is_told_that_what_it_has_kept_still_holds(seen: Seen) -> None:
    """Also where the address is spelled in another way, or was not recorded and has the closest answer."""
    assert len(seen.kept) == len(KEPT) * len(seen.protocols)
    for (protocol, target), (holds, other) in seen.kept.items():
        assert (protocol, target, holds.status, holds.body) == (protocol, target, 304, b"")
        assert (protocol, target, other.status, other.body) == (protocol, target, 200, KEPT_BODY)


def test_a_part_of_what_a_browser_has_kept_is_sent_if_it_is_still_the_same(seen: Seen) -> None:
    for protocol in seen.protocols:
        for target, said, same in PARTS:
            answer = seen.parts[protocol, target, said]
            # nginx also takes an equal ETag that is weak, with which no browser asks so.
            part = same or (said.startswith("W/") and answerer(seen) == "nginx")
            wanted = (206, KEPT_BODY[10:20]) if part else (200, KEPT_BODY)
            assert (target, said, answer.status, answer.body) == (target, said, *wanted)


def test_the_log_names_protocol_and_match_of_every_request(seen: Seen) -> None:
    requests = [request for request in seen.log if request.host != PROBE_HOST]
    found = seen.closest | seen.renamed
    assert len(requests) == len(seen.answers) + len(seen.spelled) + len(found) + len(seen.misses)
    addresses = {f"127.1.0.{number}": protocol for number, protocol in enumerate(seen.protocols, 1)}
    for request in requests:
        protocol = addresses[request.server_address]
        key = protocol, request.host + request.target
        assert request.protocol == protocol.wire, request
        assert request.url == f"{protocol.scheme}://{request.host}{request.target}"
        assert request.tls == (f"TLSv{TLS[seen.name]}" if protocol.encrypted else None)
        assert not request.resumed
        if request.match is Match.EXACT:
            answer = seen.answers.get(key) or seen.spelled[protocol, request.target]
        else:
            answers = found if request.match is Match.CLOSEST else seen.misses
            answer = answers[protocol, request.target]
        sizes = {len(answer.body)}
        if seen.name == "caddy":  # its client may be gone before Go knows that the last piece was sent
            sizes.add(len(answer.body) // GO_COPIES * GO_COPIES)
        assert request.status == answer.status, request
        assert request.body_bytes in sizes, request


def test_connections_are_kept_or_closed_as_the_protocol_says(seen: Seen) -> None:
    for protocol, first, second in zip(seen.protocols, seen.reused[::2], seen.reused[1::2], strict=True):
        assert (first.connection == second.connection) == protocol.keep_alive
        if protocol.wire == "http/1.1" and first.requests_before is not None:
            assert (first.requests_before, second.requests_before) == (0, int(protocol.keep_alive))


def test_tls_is_one_certificate_one_version_and_never_resumed(seen: Seen) -> None:
    for (protocol, _), answer in seen.answers.items():
        assert answer.certificates == (1 if protocol.scheme == "https" else 0)
    assert not seen.tls_resumed
    assert seen.other_tls_refused


@pytest.mark.parametrize("name", list(SERVERS))
def test_a_chain_of_certificates_is_sent_whole(name: str) -> None:
    """Curl trusts the root alone and counts what it gets."""

    def ask() -> tuple[list[int], dict[str, object]]:
        sites = {"https": materialise(site_of(recording()), "https")}
        authority = Authority.create(WORKSPACE / "authority")
        chain = CertificateChain(3, CertificateKey.RSA_2048)
        with served(name, sites, [Protocol.HTTPS1], authority, TLS[name], chain=chain) as (
            made,
            server,
            (service,),
        ):
            answers = curl(made, service, authority, f"{SITE}/x?y=1")
            return [each.certificates for each in answers], dict(server.settings)

    counted, settings = inside(ask)
    assert counted == [3]
    assert (settings["certificate_chain"], settings["certificate_key"]) == (3, "rsa-2048")
    assert 2000 < int(str(settings["certificate_bytes"])) < 3000


def test_no_thread_starts_under_load_and_cpu_is_counted(seen: Seen) -> None:
    before, after = seen.threads
    if seen.name == "apache":
        assert before == after > 256
    assert seen.cpu_s[1] > seen.cpu_s[0]
    assert str(seen.settings["server"]).lower().startswith(f"{seen.name}/")


def test_a_taken_address_and_a_killed_server_are_named() -> None:
    def take_and_kill() -> tuple[str, str, list[str]]:
        sites = {"http": materialise(site_of(recording()), "http")}
        authority = Authority.create(WORKSPACE / "authority")
        taken = killed = ""
        with served("apache", sites, [Protocol.HTTP1], authority) as (made, first, services):
            try:
                with serving(APACHE, Deployment(sites, services), authority, WORKSPACE / "second", made):
                    pass
            except Exception as error:
                taken = f"{type(error).__name__}: {error}"
            first.processes[0].kill()
            try:
                first.check()
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
        archive = site_of(
            [
                Response(f"{SITE}/", 200, HTML, b"<html>"),
                *(Response(f"{SITE}/{number}?x", 200, TEXT, b"slow", wait_ms=1000.0) for number in range(90)),
            ]
        )
        sites = {"https": materialise(archive, "https", think_time=ThinkTime(recorded=True))}
        authority = Authority.create(WORKSPACE / "authority")
        urls = [f"{SITE}/{number}?{'x' if number % 2 else 'closest'}" for number in range(90)]
        with served("apache", sites, [Protocol.HTTPS1], authority) as (made, server, (service,)):
            words = [find_program("curl"), "--silent", "--http1.1", "--parallel", "--parallel-max", "90"]
            words += ["--cacert", str(authority.certificate_file), "--connect-to", f"::{service.address}:"]
            with made.entered():
                subprocess.run([*words, *urls, f"{SITE}/"], stdout=subprocess.DEVNULL, check=True)
            return logged(server, 0, len(urls) + 1)

    requests = [request for request in inside(think) if request.host == "site.example"]
    slow = [request for request in requests if request.duration_us >= 1_000_000]
    assert {request.target for request in requests} - {request.target for request in slow} == {"/"}
    span_us = max(each.started_us + each.duration_us for each in slow) - min(each.started_us for each in slow)
    assert span_us < sum(each.duration_us for each in slow) / 10


@pytest.mark.parametrize("name", list(SERVERS))
def test_what_was_recorded_as_a_part_or_an_error_is_sent_whatever_part_is_asked_for(name: str) -> None:
    """The archive also holds what tells that a server is ready, which must not keep it from being so."""
    part = (*TEXT, ("Content-Range", "bytes 0-9/100"), ("ETag", '"e"'))

    def ask() -> dict[tuple[str, tuple[str, ...]], tuple[int, bytes, str | None]]:
        archive = site_of(
            [
                Response(f"{SITE}/", 200, HTML, b"<html>"),
                Response(f"{SITE}/part", 206, part, b"0123456789"),
                Response(f"{SITE}/gone", 404, HTML, b"<p>not here</p>"),
                Response(f"https://{PROBE_HOST}/ready", 200, TEXT, b"ready"),
                Response(f"https://www.{PROBE_HOST}/", 200, TEXT, b"ready"),
            ]
        )
        sites = {"http": materialise(archive, "http")}
        authority = Authority.create(WORKSPACE / "authority")
        with served(name, sites, [Protocol.HTTP1], authority, TLS[name]) as (made, _, (service,)):
            asked = {
                (target, options): curl(made, service, authority, f"http://site.example{target}", *options)[0]
                for target in ("/part", "/gone")
                for options in ((), ("-r", "3-5"), ("-r", "50-60"), ("-r", "0-", "-H", 'If-Range: "e"'))
            }
        return {
            key: (answer.status, answer.body, answer.header("content-range")) for key, answer in asked.items()
        }

    for (target, options), answer in inside(ask).items():
        wanted = (
            (206, b"0123456789", "bytes 0-9/100") if target == "/part" else (404, b"<p>not here</p>", None)
        )
        assert (target, options, *answer) == (target, options, *wanted)


@pytest.mark.parametrize("name", list(SERVERS))
def test_a_server_may_open_as_many_files_as_the_hard_limit_says(name: str) -> None:
    def limits() -> set[tuple[str, str]]:
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (512, hard))  # as little as a shell may have
        sites = {"http": materialise(site_of(recording()), "http")}
        authority = Authority.create(WORKSPACE / "authority")
        with served(name, sites, [Protocol.HTTP1], authority, TLS[name]) as (_, server, _):
            pids = [pid for process in server.processes for pid in family(process.pid)]
            texts = [Path(f"/proc/{pid}/limits").read_text() for pid in pids]
        lines = [line.split() for text in texts for line in text.splitlines() if "open files" in line]
        return {(soft, hard) for *_, soft, hard, _ in lines}

    found = inside(limits)
    assert found
    assert all(soft == hard != "512" for soft, hard in found)


@pytest.mark.parametrize("name", ["apache", "nginx"])
def test_what_cannot_be_read_is_an_error_and_no_miss(name: str) -> None:
    def ask() -> list[int]:
        sites = {"http": materialise(site_of(recording()), "http")}
        authority = Authority.create(WORKSPACE / "authority")
        with served(name, sites, [Protocol.HTTP1], authority) as (made, _, (service,)):
            urls = "http://site.example/x?closest http://site.example/nowhere"
            before = curl(made, service, authority, urls)
            for file in (WORKSPACE / name / "http" / "closest").iterdir():
                file.chmod(0)
            return [answer.status for answer in (*before, *curl(made, service, authority, urls))]

    assert inside(ask) == [200, 404, 500, 404]


def test_caddy_takes_as_many_streams_as_is_told_of_it() -> None:
    def ask() -> tuple[dict[int, int], dict[str, object]]:
        sites = {"https": materialise(site_of(recording()), "https")}
        authority = Authority.create(WORKSPACE / "authority")
        context = ssl.create_default_context(cafile=str(authority.certificate_file))
        context.set_alpn_protocols(["h2"])
        with (
            served("caddy", sites, [Protocol.H2], authority) as (made, server, (service,)),
            made.entered(),
            socket.create_connection((service.address, 443), 5) as plain,
            context.wrap_socket(plain, server_hostname="site.example") as secure,
        ):
            secure.sendall(H2_PREFACE)
            with secure.makefile("rb") as frames:
                length = int.from_bytes(frames.read(9)[:3])
                return dict(struct.iter_unpack(">HI", frames.read(length))), dict(server.settings)

    settings, told = inside(ask)
    assert settings[STREAMS_AT_A_TIME] == told["h2_streams"] == BUILT_IN["h2_streams"]

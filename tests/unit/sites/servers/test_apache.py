"""Apache's configuration, its files of answers and its log, without a running server."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import TestbedFailed
from harness.model.condition import Compression
from harness.model.protocol import Protocol
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.apache import (
    BODY_BYTES,
    FIELDS,
    as_is,
    configuration,
    parse_line,
    write_answers,
)
from sites.servers.closestfiles import file_name
from sites.servers.server import Match
from tests.unit.sites.servers.setups import setup_of, site, spoken_by

PROTOCOLS = spoken_by("apache")


def served(status: int = 200, *headers: tuple[str, str], body: bytes = b"body") -> ServedObject:
    return ServedObject("site.example", "/", status, headers, lambda: body)


def conf(*protocols: Protocol) -> str:
    return configuration(setup_of(protocols, site("http"), site("https", 8443)))


def virtual_hosts(text: str) -> list[list[str]]:
    return [
        [line.strip() for line in part.partition("</VirtualHost>")[0].splitlines()]
        for part in text.split("<VirtualHost ")[1:]
    ]


def test_each_protocol_has_an_address_of_its_own() -> None:
    text = conf(*PROTOCOLS)
    for number, protocol in enumerate(PROTOCOLS, 1):
        port = 80 if protocol.scheme == "http" else 443
        assert f"Listen 10.0.0.{number}:{port} {protocol.scheme}" in text
    hosts = virtual_hosts(text)
    plain = [host for host in hosts if "SSLEngine On" not in host]
    secure = [host for host in hosts if "SSLEngine On" in host]
    assert len(plain) == sum(protocol.scheme == "http" for protocol in PROTOCOLS)
    assert len(secure) == 3 * sum(protocol.scheme == "https" for protocol in PROTOCOLS)


def test_protocol_and_keep_alive_are_those_of_the_service() -> None:
    (close,) = virtual_hosts(conf(Protocol.HTTP1_CLOSE))
    assert {"KeepAlive Off", "Protocols http/1.1"} <= set(close)
    others, first, second = virtual_hosts(conf(Protocol.H2))
    assert 'SSLCertificateKeyFile "/x/unknown.key"' in others
    assert {"KeepAlive On", "Protocols h2", "ServerName site.example"} <= set(first)
    assert 'SSLCertificateFile "/x/cdn.example.pem"' in second
    assert first[0] == "10.0.0.1:443 10.0.0.1:8443>"


def test_an_address_comes_first_and_names_without_a_certificate_last() -> None:
    made = Site("https://site.example/", "https", ("site.example", "2001:db8::1"), (), (), (), (), ())
    local, named, others = virtual_hosts(configuration(setup_of([Protocol.H2], made)))
    assert {"ServerName 2001-db8--1", "ServerAlias 2001:db8::1 [2001:db8::1]"} <= set(local)
    assert "ServerName site.example" in named
    assert ["ServerAlias coldload.invalid" in host for host in (local, named, others)] == [True, False, False]
    assert "ServerAlias *" in others


def test_settings_reach_the_configuration() -> None:
    lines = conf(Protocol.HTTPS1).splitlines()
    assert {"ThreadsPerChild 256", "SSLProtocol -all +TLSv1.3", "KeepAliveTimeout 300"} <= set(lines)


def test_names_of_answers_depend_on_host_and_target_as_sent() -> None:
    assert file_name("Site.Example", "/a?b") == hashlib.sha1(b"site.example/a?b").hexdigest()  # noqa: S324 - a name
    names = {file_name("h", target) for target in ("/a?b=1", "/a?b=2", "/a%2F", "/a%2f", "/A", "/a")}
    assert len(names) == 6


def test_an_answer_is_status_headers_and_body() -> None:
    made = as_is(served(404, ("Content-Type", "text/html"), ("X", "é"), body=b"\r\n\r\ngone"), "http")
    assert (
        made == b"Status: 404 Not Found\r\nContent-Type: text/html\r\nX: \xe9\r\nContent-Length: 8\r\n\r\n"
        b"\r\n\r\ngone"
    )
    assert as_is(served(599), "http").startswith(b"Status: 599 ")
    assert as_is(served(204), "http").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("compression", "headers", "asked"),
    [
        ("recorded", {"ETag": '"x"'}, {'"x"'}),
        ("gzip-6", {"ETag": '"x"'}, {'"x"'}),
        ("gzip-6-dynamic", {"ETag": '"x"'}, {'"x"', '"x-gzip"'}),
        ("brotli-5-dynamic", {"ETag": 'W/"x"'}, {'W/"x"', 'W/"x-br"'}),
        ("gzip-6-dynamic", {"Last-Modified": "a day"}, {"a day"}),
        ("gzip-6-dynamic", {}, set()),
    ],
)
def test_a_browser_asks_with_the_tag_as_apache_sent_it(
    compression: str, headers: dict[str, str], asked: set[str], tmp_path: Path
) -> None:
    made = replace(
        site("http"),
        objects=(served(200, *headers.items()),),
        compression=Compression.parse(compression),
    )
    write_answers(tmp_path / "http", made)
    name = file_name("site.example", "/")
    found = {file.name for file in (tmp_path / "http" / "kept").iterdir()}
    assert found == {file_name("", f"{name} {value}") for value in asked}


@pytest.mark.parametrize(
    ("location", "sent"),
    [
        ("/home", "https://site.example/home"),
        ("//cdn.example/x", "https://cdn.example/x"),
        ("https://a.example/", "https://a.example/"),
        ("home", "home"),
    ],
)
def test_a_redirect_is_sent_never_followed(location: str, sent: str) -> None:
    assert f"location: {sent}\r\n".encode() in as_is(served(302, ("location", location)), "https")


LINE = {
    "started_us": "1795230815760162",
    "duration_us": "204",
    "client_address": "10.1.0.2",
    "client_port": "58874",
    "server_address": "10.0.0.1",
    "server_port": "443",
    "protocol": "HTTP/1.1",
    "host": "Site.Example",
    "status": "200",
    "body_bytes": "4325",
    "requests_before": "3",
    "tls": "TLSv1.3",
    "resumed": "Initial",
    "answer": "exact",
    "upgrade": "-",
    "request": r"GET /a?q=\"x\"\\\xc3\xa9 HTTP/1.1",
}


def log_line(**changes: str) -> str:
    return "\t".join({**LINE, **changes}[name] for name in FIELDS) + "\n"


def test_a_line_of_the_log_is_a_request() -> None:
    request = parse_line(log_line())
    assert (request.method, request.target) == ("GET", '/a?q="x"\\\xc3\xa9')
    assert request.url == 'https://site.example/a?q="x"\\\xc3\xa9'
    assert (request.protocol, request.tls, request.requests_before) == ("http/1.1", "TLSv1.3", 3)
    assert request.connection == ("10.1.0.2", 58874, "10.0.0.1", 443)
    assert request.match is Match.EXACT
    assert not request.resumed


def test_the_bytes_of_bodies_are_found_without_reading_lines() -> None:
    lines = log_line() + log_line(body_bytes="7", request=r"GET /\t9\t9 HTTP/1.1")
    assert BODY_BYTES.findall(lines.encode()) == [b"4325", b"7"]


def test_what_a_log_can_hold_beside_ordinary_requests() -> None:
    plain = parse_line(log_line(tls="-", answer="miss", protocol="HTTP/1.0"))
    assert (plain.url[:7], plain.match, plain.protocol) == ("http://", Match.MISS, "http/1.0")
    multiplexed = parse_line(log_line(protocol="HTTP/2.0", request="OPTIONS /x HTTP/2.0", answer="preflight"))
    assert (multiplexed.protocol, multiplexed.requests_before) == ("h2", None)
    assert multiplexed.match is Match.PREFLIGHT
    assert parse_line(log_line(resumed="Resumed")).resumed
    assert parse_line(log_line(upgrade="WebSocket")).websocket
    unread = parse_line(log_line(request="-", status="408", answer="-"))
    assert (unread.target, unread.match) == ("", Match.MISS)


@pytest.mark.parametrize("line", ["", "one\ttwo\n", log_line(status="ok")])
def test_a_strange_line_is_shown(line: str) -> None:
    with pytest.raises(TestbedFailed, match="strange line"):
        parse_line(line)


def test_a_service_without_its_site_is_refused() -> None:
    with pytest.raises(TestbedFailed, match="h2 needs the https site"):
        setup_of([Protocol.H2], site("http"))

"""nginx's configuration, files, log, and the documents that it answers without the script."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from sites.match import closest_rules
from sites.materialise import Site
from sites.served import ServedObject
from sites.servers.closestfiles import file_name
from sites.servers.nginx import (
    BODY_BYTES,
    EARLY_REQUESTS,
    FIELDS,
    configuration,
    native_document,
    parse_line,
    write_answers,
)
from sites.servers.server import Match
from tests.unit.sites.servers.setups import setup_of, spoken_by

PROTOCOLS = spoken_by("nginx")


def site(scheme: str, *objects: ServedObject) -> Site:
    rules = closest_rules(objects, scheme)
    return Site(
        f"{scheme}://site.example/", scheme, ("site.example",), ("cdn.example",), (), objects, rules, ()
    )


def conf(tls: str = "1.3") -> str:
    return configuration(setup_of(PROTOCOLS, site("http"), site("https"), tls=tls))


def test_each_protocol_has_an_address_of_its_own() -> None:
    parts = conf().split("# --- ")
    for number, protocol in enumerate(PROTOCOLS, 1):
        (text,) = (part for part in parts if part.startswith(f"{protocol}\n"))
        port = 443 if protocol.scheme == "https" else 80
        assert f"listen 10.0.0.{number}:{port}" in text
        assert (" http2" in text) == (protocol is Protocol.H2)
        assert text.count("server {") == (3 if protocol.scheme == "https" else 1)
        assert ("keepalive_timeout 0;" in text) == (not protocol.keep_alive)


def test_tls_is_one_version_and_never_resumed() -> None:
    assert {"ssl_protocols TLSv1.2;", "ssl_session_cache off;", "ssl_session_tickets off;"} <= {
        line.strip() for line in conf("1.2").splitlines()
    }


def test_a_response_is_a_head_and_a_body(tmp_path: Path) -> None:
    headers = (("Link", "<a>"), ("Link", "<b>"))
    slow = ServedObject("site.example", "/a?b", 404, headers, lambda: b"gone", think_ms=1.5)
    write_answers(tmp_path, site("https", slow))
    name = file_name("site.example", "/a?b")
    assert (tmp_path / "heads" / name).read_text() == "404 1500\nLink: <a>\nLink: <b>\n"
    assert (tmp_path / "bodies" / name).read_bytes() == b"gone"
    assert (tmp_path / "closest" / file_name("", "site.example/a")).read_text() == name


LINE = dict.fromkeys(FIELDS, "1") | {
    "ended_s": "2.000",
    "duration_s": "0.500",
    "protocol": "HTTP/2.0",
    "tls": "TLSv1.3",
    "reused": ".",
    "answer": "exact",
    "upgrade": "",
    "pipelined": ".",
    "request": "GET /a b HTTP/2.0",
    "host": "Site.example",
}


def test_a_line_of_the_log() -> None:
    request = parse_line(json.dumps(LINE))
    assert (request.protocol, request.tls, request.resumed) == ("h2", "TLSv1.3", False)
    assert (request.started_us, request.duration_us, request.match) == (1_500_000, 500_000, Match.EXACT)
    assert request.url == "https://site.example/a b"
    assert parse_line(json.dumps({**LINE, "reused": "r", "answer": ""})).resumed


def test_the_bytes_of_bodies_are_found_without_reading_lines() -> None:
    tricky = {**LINE, "body_bytes": "12", "request": 'GET /"body_bytes":"9" HTTP/1.1'}
    compact = json.dumps(tricky, separators=(",", ":"))
    assert BODY_BYTES.findall(compact.encode()) == [b"12"]


def test_nginx_tells_whether_a_request_was_pipelined() -> None:
    over_http1 = {**LINE, "protocol": "HTTP/1.1"}
    assert parse_line(json.dumps(LINE)).depth is None
    assert parse_line(json.dumps(over_http1)).depth is None
    assert parse_line(json.dumps({**over_http1, "pipelined": "p"})).depth == 2


@pytest.mark.parametrize("line", ["", "{}", "[]", json.dumps({**LINE, "status": "x"})])
def test_a_strange_line_is_refused(line: str) -> None:
    with pytest.raises(TestbedFailed, match="strange line"):
        parse_line(line)


HTML = ("Content-Type", "text/html; charset=utf-8")


def served(
    *headers: tuple[str, str], target: str = "/a.html", status: int = 200, think_ms: float = 0
) -> ServedObject:
    return ServedObject("site.example", target, status, headers, lambda: b"text", think_ms)


def site_with(document: ServedObject, scheme: str = "http", asked: str = "/a.html") -> Site:
    return Site(f"{scheme}://site.example{asked}", scheme, ("site.example",), (), (), (document,), (), ())


def test_a_plain_document_is_given_with_its_headers() -> None:
    found = native_document(site_with(served(HTML, ("X-Quoted", 'a "b" \\ {c};'))))
    assert found is not None
    assert (found.host, found.path) == ("site.example", "/a.html")
    assert (found.mime, found.charset) == ("text/html", "utf-8")
    assert found.headers == (("X-Quoted", '"a \\"b\\" \\\\ {c};"'),)


@pytest.mark.parametrize(
    "odd",
    [
        served(HTML, status=404),
        served(HTML, think_ms=5),
        served(),
        served(("Content-Type", "text/html; charset=utf-8; x=y")),
        served(HTML, ("X-Cost", "5 $host")),
        served(HTML, ("X-Name", "caf\u00e9")),
        served(HTML, ("Link", "<a>"), ("Link", "<b>")),
    ],
)
def test_what_nginx_would_not_give_as_recorded_is_left_to_the_script(odd: ServedObject) -> None:
    assert native_document(site_with(odd)) is None


@pytest.mark.parametrize("target", ["/a?b", "/a%20b", "//a", "/../a", "/.a", "/a;b", "/a b", "/{a}"])
def test_so_is_a_path_that_nginx_would_not_take_as_it_stands(target: str) -> None:
    assert native_document(site_with(served(HTML, target=target), asked=target)) is None
    assert native_document(site_with(served(HTML, target="/other"))) is None


@pytest.mark.parametrize("target", ["/", "/a", "/a/b-c_d.e/", "/10kb.html"])
def test_plain_paths_are_taken(target: str) -> None:
    assert native_document(site_with(served(HTML, target=target), asked=target)) is not None


def test_only_a_closed_loop_is_configured_so() -> None:
    setup = setup_of(
        (Protocol.HTTP1, Protocol.HTTPS1), site_with(served(HTML)), site_with(served(HTML), "https")
    )
    usual, loop = configuration(setup), configuration(replace(setup, closed_loop=True))
    assert "location = " not in usual
    assert "$early" not in usual
    assert loop.count("location = /a.html {") == 2
    assert "coldload if=$early;" in loop
    assert f"\n        {EARLY_REQUESTS} 1;\n    }}" in loop
    backend = configuration(replace(setup, closed_loop=True), listeners=setup.listeners, is_backend=True)
    assert "$early" not in backend
    assert "access_log off;" in backend

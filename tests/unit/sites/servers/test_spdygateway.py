"""The gateway's configuration, that of nginx behind it, and its log."""

from __future__ import annotations

import json
from typing import Any

import pytest

from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from sites.materialise import Site
from sites.servers.server import Match
from sites.servers.spdygateway import configure, parse_line
from tests.unit.sites.servers.setups import setup_of, site, spoken_by

PROTOCOLS = spoken_by("spdy-gateway")


def conf(*protocols: Protocol, ports: tuple[int, ...] = ()) -> tuple[dict[str, Any], str]:
    """The gateway's configuration and nginx's."""
    files = configure(setup_of(protocols, site("http"), site("https", *ports), tls="1.2"))
    return json.loads(files["gateway.json"]), files["nginx.conf"]


def test_each_protocol_has_an_address_of_its_own() -> None:
    made, _ = conf(*PROTOCOLS)
    assert len(made["listeners"]) == len(PROTOCOLS) == 8
    for number, (protocol, listener) in enumerate(zip(PROTOCOLS, made["listeners"], strict=True), 1):
        assert (listener["address"], listener["wire"]) == (f"10.0.0.{number}", protocol.wire)
        assert listener["port"] == (443 if protocol.scheme == "https" else 80)
        assert listener["encrypted"] is protocol.encrypted
        assert listener["keep_alive"] is protocol.keep_alive
        assert bool(listener["certificates"]) is protocol.encrypted


def test_a_handshake_without_a_name_gets_the_certificate_of_the_address() -> None:
    hosts = ("0.site.example", "192.0.2.7", "site.example")
    made = Site("https://site.example/", "https", hosts, (), (), (), (), ())
    gateway = json.loads(configure(setup_of([Protocol.SPDY], made, tls="1.2"))["gateway.json"])
    (listener,) = gateway["listeners"]
    assert (listener["unnamed"], listener["others"]) == ("192.0.2.7", "unknown.coldload.invalid")
    assert listener["certificates"]["192.0.2.7"] == {"certificate": "/x/192.0.2.7.pem", "key": "/x/hosts.key"}
    (without_addresses,) = conf(Protocol.SPDY)[0]["listeners"]
    assert without_addresses["unnamed"] == "unknown.coldload.invalid"


def test_spdy_without_tls_serves_the_https_site_without_certificates() -> None:
    made, nginx = conf(Protocol.SPDY_PLAIN)
    (listener,) = made["listeners"]
    assert (listener["scheme"], listener["port"], listener["certificates"]) == ("https", 443, {})
    assert "ssl_certificate " not in nginx


def test_all_protocols_of_a_scheme_have_one_backend_on_a_port_of_its_own() -> None:
    made, nginx = conf(*PROTOCOLS, ports=(8001, 8443))
    first_secure = 1 + PROTOCOLS.index(Protocol.HTTPS1_CLOSE)
    assert made["backends"] == {
        "http": {"host": "10.0.0.1", "port": 8001},
        "https": {"host": f"10.0.0.{first_secure}", "port": 8002},
    }
    assert nginx.count("server {") == 2
    assert "listen 10.0.0.1:8001 backlog=4096;" in nginx
    assert f"add_header {made['answer_header']} $answer always;" in nginx
    assert "access_log off;" in nginx
    assert {listener["port"] for listener in made["listeners"]} == {80, 443, 8001, 8443}


LINE: dict[str, Any] = {
    "started_us": 2_000_000,
    "duration_us": 500,
    "client_address": "10.64.0.1",
    "client_port": 5000,
    "server_address": "10.0.0.1",
    "server_port": 443,
    "protocol": "spdy/3",
    "tls": None,
    "resumed": False,
    "method": "GET",
    "target": "/a?b",
    "host": "Site.example",
    "upgrade": "",
    "status": 200,
    "answer": "exact",
    "body_bytes": 10,
    "requests_before": 3,
    "depth": 2,
}


def test_a_line_of_the_log() -> None:
    request = parse_line(json.dumps(LINE))
    assert request.url == "https://site.example/a?b"  # without TLS on the link, too
    assert (request.protocol, request.tls, request.match) == ("spdy/3", None, Match.EXACT)
    assert (request.requests_before, request.depth) == (3, 2)
    assert parse_line(json.dumps({**LINE, "protocol": "http/1.1"})).url == "http://site.example/a?b"
    assert parse_line(json.dumps({**LINE, "status": 400, "answer": ""})).match is Match.MISS


@pytest.mark.parametrize("line", ["", "{}", "[]", json.dumps({**LINE, "answer": "perhaps"})])
def test_a_strange_line_is_refused(line: str) -> None:
    with pytest.raises(TestbedFailed, match="strange line"):
        parse_line(line)

"""The generator of users on real servers: what a page costs in connections, requests and time, by the server's word."""

from __future__ import annotations

import json
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from harness.capacity.k6 import K6, SOURCES
from harness.errors import TestbedFailed
from harness.lab.testbed import testbed
from harness.model.condition import Served
from harness.model.engine import DEFAULT_ENGINE
from harness.model.link import Link
from harness.model.protocol import Protocol
from harness.system.processtree import living
from sites.archive import Archive, write_archive
from sites.response import Response
from sites.servers.server import ServedRequest
from sites.warc import About
from tests.system.conftest import html, inside

pytestmark = pytest.mark.lengthy

SITE = "http://icons.example/"
ICONS = 50
USERS = 3
LINK = replace(Link.of(20, 85, 20, delays_ms=(40, 45)), per_client=True)
# Round trips that no page takes less than: name, connection, document, then rounds of at most so many objects at once.
LEAST_ROUND_TRIPS = {"http1": 12, "http1-close": 20, "https1": 14, "h2": 5, "h3": 4}
CONNECTIONS = {"http1": 6, "http1-close": 1 + ICONS, "https1": 6, "h2": 1, "h3": 1}
SPOKEN = [
    *(("caddy", protocol) for protocol in CONNECTIONS),
    *(("apache", protocol) for protocol in ("http1", "https1", "h2")),
]


def icons(root: Path) -> Archive:
    """A page of some 9 kB and fifty pictures of 1.7 kB."""
    body = "".join(f'<img src="icon{number:02d}.png" alt="{"x" * 150}">' for number in range(ICONS))
    picture = (("Content-Type", "image/png"),)
    objects = [
        Response(f"{SITE}icon{number:02d}.png", 200, picture, b"\x89PNG" + bytes(1700))
        for number in range(ICONS)
    ]
    return write_archive(root, "icons", About(SITE, "test", "test", ()), [html(SITE, body), *objects])


@dataclass(frozen=True)
class Came:
    """The lines of the pages, what the server logged, and what the generator said beside."""

    pages: list[dict[str, Any]]
    served: list[ServedRequest]
    said: str
    addresses: tuple[str, ...]


def crowd(root: Path, server: str, protocol: Protocol, **asked: Any) -> Came:
    """Three users for two seconds, behind a link each; `asked` are further keys of the plan."""
    site = icons(root)
    files = root / "files"
    with testbed() as made:
        made.serve(site, [protocol], server=server)
        endpoint = made.endpoints[Served(site.name, protocol, DEFAULT_ENGINE)]
        url = endpoint.start_url
        with made.client(LINK, count=USERS) as client:
            plan = {
                "document": url,
                "objects": [{"url": f"{url}icon{number:02d}.png", "after": [-1]} for number in range(ICONS)],
                "resolver": endpoint.address,
                "protocol": protocol.value,
                "connections_per_host": 6,
                "timeout_ms": 30_000,
                "tls": endpoint.replay.tls,
                "ca": str(made.authority.certificate_file),
                "addresses": list(client.addresses),
                "think_ms": 300,
                "users": {"steps": [USERS], "step_s": 2},
                "lines": str(files / "pages.jsonl"),
                "epoch_ns": time.monotonic_ns(),
                **asked,
            }
            with K6.generating(plan, client.host, files) as generator:
                while not generator.ends_within(1):
                    generator.check_running()
                generator.check_ended_well()
                assert living(generator.pid) == []
            pages = [json.loads(line) for line in (files / "pages.jsonl").read_text().splitlines()]
            return Came(pages, endpoint.server.requests(), K6.log(files).read_text(), tuple(client.addresses))


@pytest.mark.parametrize(("server", "name"), SPOKEN)
def test_a_page_takes_the_connections_and_the_time_of_a_browser(
    server: str, name: str, tmp_path: Path
) -> None:
    protocol = Protocol(name)
    came = inside(lambda: crowd(tmp_path, server, protocol))
    assert came.said == ""
    assert {page["error"] for page in came.pages} == {None}
    assert {page["user"] for page in came.pages} == set(range(USERS))
    assert {page["connections"] for page in came.pages} == {CONNECTIONS[name]}
    assert {page["protocol"] for page in came.pages} == {protocol.wire}
    assert {page["tls"] for page in came.pages} == {"TLS 1.3" if protocol.encrypted else None}
    assert all(0 < page["document_ms"] < page["ms"] for page in came.pages)
    assert all(page["bytes"] > ICONS * 1700 + 9000 for page in came.pages)
    assert max(page["users"] for page in came.pages) == USERS
    # The server saw each user's pages whole, from an address of their own, by new connections for each page.
    served = [each for each in came.served if each.client_address in came.addresses]
    assert {each.protocol for each in served} == {protocol.wire}
    assert {each.status for each in served} == {200}
    assert not any(each.resumed for each in served)
    loaded = Counter(page["user"] for page in came.pages)
    for user, address in enumerate(came.addresses):
        own = [each for each in served if each.client_address == address]
        assert Counter(each.target for each in own) == Counter(
            dict.fromkeys(("/", *(f"/icon{number:02d}.png" for number in range(ICONS))), loaded[user])
        )
        assert len({each.connection for each in own}) == loaded[user] * CONNECTIONS[name]
    best = min(page["ms"] for page in came.pages)
    one_by_one = ICONS * LINK.rtt_ms  # on a busy machine, too, a page comes faster than that
    assert LEAST_ROUND_TRIPS[name] * LINK.rtt_ms <= best < one_by_one


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        ({"resolver": "10.0.0.1:54"}, "dns"),
        ({"document": "http://icons.example:81/"}, "connect"),
        ({"document": "http://elsewhere.example/"}, "status"),
        ({"timeout_ms": 100}, "timeout"),
    ],
)
def test_a_page_that_fails_is_told_by_the_kind_of_its_failure(
    asked: dict[str, Any], error: str, tmp_path: Path
) -> None:
    came = inside(lambda: crowd(tmp_path, "caddy", Protocol.HTTP1, **asked))
    assert {(page["error"], page["ms"], page["failed"]) for page in came.pages} == {(error, None, 1)}
    assert f"{error}: " in came.said


def test_an_authority_that_did_not_sign_is_not_believed(tmp_path: Path) -> None:
    wrong = SOURCES / "page" / "testdata" / "another.pem"
    came = inside(lambda: crowd(tmp_path, "caddy", Protocol.H2, ca=str(wrong)))
    assert {(page["error"], page["protocol"]) for page in came.pages} == {("tls", None)}


def test_a_plan_that_makes_no_sense_ends_the_generator_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(TestbedFailed, match=r"k6 died .*plan.json: tls: unknown"):
        inside(lambda: crowd(tmp_path, "caddy", Protocol.H2, tls="1.1"))

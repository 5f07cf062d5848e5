"""What went through the hop, in the log of the browser that sent it there."""

from __future__ import annotations

import json
from dataclasses import replace

from harness.engines.browserlog import BrowserLog, Connection, Request
from harness.engines.relay import as_travelled

HOP = "127.0.0.1:1080"


def request(url: str, status: int | None = 200) -> Request:
    return Request(url, "GET", True, False, 0, "http/1.1" if status else None, status, None, 10)


def test_relayed_requests_are_those_the_server_got_and_connections_those_of_the_link() -> None:
    seen = BrowserLog(
        (
            request("http://site.example/"),
            request("https://site.example/x.js?u=https://site.example/"),
            request("https://site.example:8443/y.js"),
            request("https://nobody.example/", None),
            replace(
                request("https://site.example/late", None), protocol="http/1.1"
            ),  # sent, and not answered
        ),
        (
            Connection("10.0.0.1:80", "10.64.0.1:4000", None, None, None, 20),
            Connection(HOP, "127.0.0.1:4001", "TLS 1.3", "http/1.1", False, 0),
        ),
    )
    made = {"name": "site.example", "remote": "10.0.0.1:80", "local": "10.64.0.1:4002", "connect_ms": 20.5}
    made |= {"began_ms": 1000.0, "lookup_ms": 10.0}
    log = "".join(json.dumps(line) + "\n" for line in ({"listening": 1080}, made)) + '{"cut off'
    travelled = as_travelled(seen, log)
    assert [(each.url, each.relayed) for each in travelled.requests] == [
        ("http://site.example/", False),
        ("http://site.example/x.js?u=https://site.example/", True),
        ("http://site.example:8443/y.js", True),
        ("https://nobody.example/", False),
        ("http://site.example/late", True),
    ]
    assert [(each.local, each.tls, each.connect_ms) for each in travelled.connections] == [
        ("10.64.0.1:4000", None, 20),
        ("10.64.0.1:4002", None, 20.5),
    ]

"""What our client for the gateway prints, as values; and what it does not print, refused."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.capacity.loadtool import ClosedLoop, Latency
from harness.capacity.spdyclient import COUNTS_FROM, command, read
from harness.errors import TestbedFailed
from harness.model.protocol import Protocol
from harness.system.program import run

LOOP = ClosedLoop("https://site.example/", Protocol.SPDY, 4, 8, 1.0)
TOLD: dict[str, Any] = {
    "requests": 4,
    "errors": {"closed": 1},
    "bytes": 1000,
    "times": {"500": 3, "9000": 1},
    "protocol": "spdy/3",
    "tls": "TLSv1.2",
    "seconds": 1.5,
}


def test_the_start_url_is_asked_for_with_its_query(tmp_path: Path) -> None:
    asked: list[str] = []

    class Page(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/index.php?page=1&b=%20#top"
        loop = ClosedLoop(url, Protocol.HTTP1, 1, 1, 0.2, warm_s=0.1)
        reading = read(run(command(loop, tmp_path), timeout_s=60), loop, tmp_path)
        server.shutdown()
    assert reading.requests > 0
    assert set(asked) == {"/index.php?page=1&b=%20"}


def said(**changes: Any) -> str:
    return f"{COUNTS_FROM}\n{json.dumps({**TOLD, **changes})}\n"


def test_a_reading_holds_all_it_says() -> None:
    reading = read(said(), LOOP, Path())
    assert (reading.requests, reading.seconds, reading.errors) == (4, 1.5, {"closed": 1})
    assert (reading.protocol, reading.tls, reading.bytes_read) == ("spdy/3", "TLSv1.2", 1000)
    assert reading.latency == Latency(0.5, 9.0, 9.0, 9.0)
    assert read(said(requests=0, times={}), LOOP, Path()).latency is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        COUNTS_FROM,
        f"{COUNTS_FROM}\nError: no\n",
        f"Error: no\n{said()}",
        said(requests=5),
        said(seconds=0),
        said(more=1),
        said(times=3),
    ],
)
def test_what_is_not_understood_is_refused(text: str) -> None:
    with pytest.raises(TestbedFailed, match=r"spdy-client (printed|ended with) a strange line"):
        read(text, LOOP, Path())

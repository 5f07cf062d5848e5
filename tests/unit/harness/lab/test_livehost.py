"""Round trips and rates of a host by our own packets, on the loopback device."""

from __future__ import annotations

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from harness.errors import EnvironmentLacks, UsageError
from harness.lab.livehost import (
    LEAST_BYTES,
    host_reading,
    host_readings,
    rate_of,
    rate_reading,
    resolved,
)

BODY = b"x" * 300_000


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/" else 302)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, *_: object) -> None:
        return


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_: object) -> None:
        """A client that has what it wants goes."""


@pytest.fixture
def port() -> Iterator[int]:
    with Quiet(("127.0.0.1", 0), Site) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture
def closed() -> int:
    """A port where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return int(taken.getsockname()[1])


def test_a_handshake_takes_a_round_trip(port: int) -> None:
    reading = host_reading("site", ("127.0.0.1", port), 4)
    assert len(reading.round_trips_ms) == 4
    assert reading.unanswered == 0
    assert 0 < reading.least_ms <= reading.median_ms < 100


def test_a_host_that_never_answers_is_told_in_one_line(closed: int) -> None:
    with pytest.raises(EnvironmentLacks, match=r"site \(127.0.0.1, port \d+\) .*: Connection refused"):
        host_reading("site", ("127.0.0.1", closed))


def test_hosts_that_cannot_be_measured_are_told_beside_those_that_can(port: int, closed: int) -> None:
    hosts, others = host_readings({"a": ("127.0.0.1", closed), "b": ("127.0.0.1", port)})
    assert [each.host for each in hosts] == ["b"]
    assert len(others) == 1
    assert others[0].startswith("a (127.0.0.1")


def test_a_name_that_leads_nowhere() -> None:
    with pytest.raises(EnvironmentLacks, match=r"nowhere\.invalid has no address here"):
        resolved("nowhere.invalid", 443)


@pytest.mark.thorough
def test_bytes_that_come_are_counted_over_several_connections(port: int) -> None:
    reading = rate_reading(f"http://site.example:{port}/", ("127.0.0.1", port), 2, 0.6)
    assert reading.received_bytes > len(BODY)
    assert reading.mbps is not None
    assert reading.mbps > 8 * LEAST_BYTES / 0.6 / 1e6


def test_what_is_no_object_is_refused(port: int, closed: int) -> None:
    with pytest.raises(UsageError, match="is answered with 302"):
        rate_reading(f"http://site.example:{port}/moved", ("127.0.0.1", port), 1, 0.2)
    with pytest.raises(EnvironmentLacks, match=r"does not come from 127\.0\.0\.1"):
        rate_reading(f"http://site.example:{closed}/", ("127.0.0.1", closed), 1, 0.2)


def test_the_highest_rate_over_a_window_counts() -> None:
    """2 MB a second once the connections are up, with a pause; IP packets carry 1448 of 1500 bytes."""
    slow = [(0.01 * step, 5_000 * step) for step in range(20)]
    fast = [(0.2 + 0.01 * step, 100_000 + 20_000 * step) for step in range(50)]
    pause = [(0.7 + 0.01 * step, fast[-1][1]) for step in range(30)]
    assert rate_of([*slow, *fast, *pause]) == pytest.approx(16 * 1500 / 1448, rel=0.001)


@pytest.mark.parametrize("samples", [[], [(0.0, 0), (0.5, LEAST_BYTES - 1)], [(0.0, 0), (0.2, 10**7)]])
def test_too_little_tells_no_rate(samples: list[tuple[float, int]]) -> None:
    assert rate_of(samples) is None

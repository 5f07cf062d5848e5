"""The emulated link beside mm-delay and mm-link: error of the round trip, and what one TCP stream gets through.

A turn is a setting here and in Mahimahi. Ours runs as root, with real-time scheduling where the kernel grants it, and
Mahimahi as an ordinary user, as it ships. An echo is answered by the kernel of the far host, and both ends are stamped
by the kernel. The queue is as long on both sides. A stream in Mahimahi has the congestion control of ours, and in lines
of their own that of the machine, as it ships. Over either link the client connects, as Mahimahi's shells hide it behind
an address of theirs; the server sends.
"""

from __future__ import annotations

import contextlib
import math
import socket
import statistics
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.headline.row import Figure, Found, Size, in_enclosure, in_order
from benchmarks.headline.shells import ALIKE, AS_IT_SHIPS, mahimahi
from benchmarks.link import ECHO_GAP_S, ECHOES, real_time, with_queue
from benchmarks.mahimahiloads import give_routes
from benchmarks.mahimahishells import OUTSIDE, SETTLED_S, delaying, limiting, shell, write_trace
from harness.errors import TestbedFailed
from harness.lab.calibrate import TCP_SHARE
from harness.lab.calibration import PROBE_ADDRESS
from harness.lab.passages import ECHO_BYTES, PORT, echoes
from harness.lab.testbed import Testbed, testbed
from harness.model.link import Link
from harness.model.settings import TcpSettings
from harness.system.netns import Host

TITLE, TURNS, MINUTES = "The link", 5, 11
RTTS_MS, RATES_MBPS = (50, 100), (10, 100, 1000)
RATE_MBPS = 1000  # of the link whose round trip is measured
STREAM_RTT_MS = 20
SETTLE_S, STREAM_S = 3.0, 6.0
BLOCK_BYTES = 256 << 10
TIMEOUT_S = 60
DELAY, BOTH = "mm-delay", "mm-delay with mm-link inside"


def error_ms(client: Host, link: Link, *, shaped: bool) -> tuple[float, float]:
    """Median and 99th percentile of the error of a round trip, without the time that the rate takes."""
    with real_time():
        seen = echoes(client, (PROBE_ADDRESS,), ECHOES + 1, ECHO_GAP_S, 3)
    own_ms = 2 * ECHO_BYTES * 8 / (link.down.rate.mean_mbps * 1e3) if shaped else 0.0
    errors = sorted(abs(echo.ms - own_ms - link.rtt_ms) for echo in seen[1:])
    if not errors:
        raise TestbedFailed("no echo was answered")
    return statistics.median(errors), errors[math.ceil(0.99 * len(errors)) - 1]


def download_mbps(server: Host, client: Host, settle_s: float, seconds: float) -> float:
    """Payload rate of a TCP stream over `seconds`, after `settle_s`. The client connects, the server sends."""
    with server.entered():
        listener = socket.create_server((PROBE_ADDRESS, PORT))
    with listener, client.entered():
        near = socket.create_connection((PROBE_ADDRESS, PORT), timeout=TIMEOUT_S)
        far, _ = listener.accept()

    def send() -> None:
        with contextlib.suppress(OSError):  # the client has closed: the measurement is over
            while True:
                far.sendall(bytes(BLOCK_BYTES))

    sender = threading.Thread(target=send)
    sender.start()
    try:
        return received_mbps(near, settle_s, seconds)
    finally:
        near.close()
        with contextlib.suppress(OSError):  # it may have heard of that already
            far.shutdown(socket.SHUT_RDWR)
        sender.join()
        far.close()


def received_mbps(near: socket.socket, settle_s: float, seconds: float) -> float:
    """From the first arrival after settling to the first one `seconds` later."""
    begin, count = time.monotonic() + settle_s, 0
    first: float | None = None
    buffer = bytearray(1 << 20)
    while size := near.recv_into(buffer):
        now = time.monotonic()
        if first is None:
            first = now if now >= begin else None
            continue
        count += size
        if now >= first + seconds:
            return count * 8 / (now - first) / 1e6
    raise TestbedFailed("the TCP stream over the link broke off")


class Links:
    """The same link here and there, new for each measurement."""

    def __init__(self, made: Testbed, programs: Path, folder: Path) -> None:
        self._testbed, self._programs, self._folder = made, programs, folder
        made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
        OUTSIDE.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")

    @contextlib.contextmanager
    def here(self, link: Link) -> Iterator[tuple[Host, Host]]:
        with self._testbed.client(link) as client:
            yield self._testbed.server, client.host

    @contextlib.contextmanager
    def delay(self, link: Link) -> Iterator[tuple[Host, Host]]:
        """A round trip alone."""
        with shell(self._programs, OUTSIDE, *delaying(link)) as inner:
            time.sleep(SETTLED_S)
            yield OUTSIDE, inner

    @contextlib.contextmanager
    def there(self, link: Link) -> Iterator[tuple[Host, Host]]:
        """Rate, queue and round trip."""
        rate, limit = link.down.rate.mean_mbps, link.down.queue.limit_bytes
        trace = self._folder / f"{rate:g}"
        write_trace(rate, trace)
        queue = () if limit is None else ("=droptail", f"-args=bytes={limit}")
        limited = [f"--{way}link-queue{what}" for way in ("down", "up") for what in queue]
        with (
            shell(self._programs, OUTSIDE, *delaying(link)) as between,
            shell(self._programs, between, *limiting(trace, *limited)) as inner,
        ):
            time.sleep(SETTLED_S)
            yield OUTSIDE, inner

    @contextlib.contextmanager
    def alike(self, link: Link) -> Iterator[tuple[Host, Host]]:
        """The same with the congestion control that our server has."""
        with self.there(link) as (server, client):
            give_routes(server, self._testbed.tcp)
            yield server, client


def round_trips(links: Links, turns: int) -> Iterator[Figure]:
    for rtt_ms in RTTS_MS:
        link = Link.of(RATE_MBPS, rtt_ms)
        sides = {"here": links.here, DELAY: links.delay, BOTH: links.there}
        seen: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
        for turn in range(turns):
            for side, opened in in_order(sides, turn):
                with opened(link) as (_, client):
                    seen[side].append(error_ms(client, link, shaped=side != DELAY))
        for index, name in enumerate(("median", "99th percentile")):
            for peer in (DELAY, BOTH):
                pairs = [(one[index], two[index]) for one, two in zip(seen["here"], seen[peer], strict=True)]
                front = peer == BOTH
                yield Figure(f"error of a round trip of {rtt_ms} ms, {name}", "ms", peer, pairs, front=front)


def goodput(links: Links, turns: int) -> Iterator[Figure]:
    for rate in RATES_MBPS:
        link = with_queue(Link.of(rate, STREAM_RTT_MS), max(45_000, rate * 2500))
        sides = {"here": links.here, ALIKE: links.alike, AS_IT_SHIPS: links.there}
        rates: dict[str, list[float]] = {side: [] for side in sides}
        for turn in range(turns):
            for side, opened in in_order(sides, turn):
                with opened(link) as (server, client):
                    rates[side].append(download_mbps(server, client, SETTLE_S, STREAM_S))
        what = f"goodput of a link of {rate} Mbit/s ({rate * TCP_SHARE:.1f} are possible)"
        for peer in (ALIKE, AS_IT_SHIPS):
            pairs = list(zip(rates["here"], rates[peer], strict=True))
            yield Figure(what, "Mbit/s", f"{BOTH}, {peer}", pairs, front=True)


def measure(size: Size) -> Mapping[str, object]:
    programs = mahimahi()

    def inside() -> Found:
        with testbed(TcpSettings("cubic")) as made, TemporaryDirectory(dir="/var/tmp") as folder:
            Path(folder).chmod(0o755)
            links = Links(made, programs.folder, Path(folder))
            figures = [*round_trips(links, size.turns), *goodput(links, size.turns)]
        return Found(figures, {"Mahimahi": programs.version})

    return in_enclosure(inside)

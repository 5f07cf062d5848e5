"""How far a host of the live web is and how fast it sends, by our own packets alone.

The round trip is that of TCP handshakes as the kernel times them (TCP_INFO): from SYN to SYN and ACK, so that a process
that waits for a core adds nothing. The shortest is the distance; what others take longer was waiting in queues.

The rate is that of one object, asked for again and again over one connection or several: the highest over WINDOW_S, as
the kernel counts the bytes that come. Connections begin slowly, and pause between two answers.

What that cannot know: a proxy or a cache near by may answer a handshake in the name of a host that is far. A rate is
the least that the way can carry; the server, or others on the way, may be what limits it. Nothing tells the rate up,
how long the queues are, or what is lost.
"""

from __future__ import annotations

import contextlib
import http.client
import socket
import ssl
import statistics
import struct
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from harness.errors import EnvironmentLacks, UsageError
from harness.model.link import MTU_BYTES
from sites.urls import Url, parse_url

HANDSHAKES = 10
AT_ONCE = 16  # hosts
TIMEOUT_S = 3.0
MEND = "see the name and the network: a live host is reached over the internet"
GAP_S = 0.02
RATE_S = 2.0
CONNECTIONS = 6  # of a browser to a host, by HTTP/1.1
SAMPLE_S = 0.01
WINDOW_S = 0.3
LEAST_BYTES = 50_000  # in such a window
CHUNK_BYTES = 1 << 16
SEGMENT_BYTES = 1448  # of the payload of a full packet over IPv4 with time stamps
HEADERS = {"User-Agent": "Mozilla/5.0 coldload", "Accept": "*/*", "Accept-Encoding": "gzip, br"}
# struct tcp_info (linux/tcp.h): the smoothed round trip in us, all retransmissions, bytes received.
TCP_INFO_BYTES = 136
ROUND_TRIP_US, RETRANSMISSIONS, RECEIVED = (struct.Struct(form) for form in ("@68xI", "@100xI", "@128xQ"))

Reached = tuple[str, int]  # address and port
Samples = Sequence[tuple[float, int]]  # seconds, bytes so far


@dataclass(frozen=True)
class HostReading:
    """A host at an address, and the round trips of so many handshakes."""

    host: str
    """name of the host"""
    reached: Reached
    """address and port"""
    round_trips_ms: tuple[float, ...]
    """round trip of each handshake"""
    unanswered: int = 0
    """handshakes that had no answer in time"""

    @property
    def least_ms(self) -> float:
        return min(self.round_trips_ms)

    @property
    def median_ms(self) -> float:
        return statistics.median(self.round_trips_ms)


@dataclass(frozen=True)
class HostRate:
    """What came of an object over so many connections."""

    url: str
    """URL of the object"""
    connections: int
    """connections at a time"""
    seconds: float
    """how long they took"""
    received_bytes: int
    """bytes that came"""
    mbps: float | None
    """rate of IP packets; null: too little came"""


def resolved(host: str, port: int) -> Reached:
    """The address that a host's name leads to; EnvironmentLacks with one line where it leads nowhere."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EnvironmentLacks(f"{host} has no address here ({_why(error)}); {MEND}") from error
    return str(addresses[0][4][0]), port


def host_reading(host: str, reached: Reached, count: int = HANDSHAKES) -> HostReading:
    """Shake hands with a host so many times; EnvironmentLacks when it never answers."""
    took: list[float] = []
    refused: OSError | None = None
    for number in range(count):
        if number:
            time.sleep(GAP_S)
        try:
            with socket.create_connection(reached, TIMEOUT_S) as made:
                info = _info(made)
        except OSError as error:
            refused = error
            if not took and number:
                break
            continue
        if (
            RETRANSMISSIONS.unpack_from(info)[0] == 0
        ):  # of a SYN that was sent again nobody knows which was answered
            took.append(ROUND_TRIP_US.unpack_from(info)[0] / 1e3)
    if not took:
        why = _why(refused) if refused else "every handshake lost a packet"
        raise EnvironmentLacks(f"{host} ({reached[0]}, port {reached[1]}) cannot be measured: {why}; {MEND}")
    return HostReading(host, reached, tuple(took), count - len(took))


def host_readings(reached: Mapping[str, Reached]) -> tuple[tuple[HostReading, ...], tuple[str, ...]]:
    """Hosts at once, and why others cannot be measured, a line each."""

    def read(host: str) -> HostReading | str:
        try:
            return host_reading(host, reached[host])
        except EnvironmentLacks as error:
            return str(error)

    with ThreadPoolExecutor(AT_ONCE) as hands:
        told = list(hands.map(read, reached))
    return (
        tuple(reading for reading in told if isinstance(reading, HostReading)),
        tuple(reason for reason in told if isinstance(reason, str)),
    )


def rate_reading(
    url: str, reached: Reached, connections: int = CONNECTIONS, seconds: float = RATE_S
) -> HostRate:
    """Ask for an object again and again for so long.

    EnvironmentLacks when nothing comes, UsageError when the answer is no object.
    """
    source, streams = parse_url(url), [_Stream() for _ in range(connections)]
    end = time.monotonic() + seconds
    threads = [
        threading.Thread(target=stream.ask, args=(source, reached, end), daemon=True) for stream in streams
    ]
    for thread in threads:
        thread.start()
    samples = [(time.monotonic(), 0)]
    while any(thread.is_alive() for thread in threads) and time.monotonic() < end + TIMEOUT_S:
        time.sleep(SAMPLE_S)
        samples.append((time.monotonic(), sum(stream.received() for stream in streams)))
    for failure in (stream.failed for stream in streams):
        if isinstance(failure, UsageError):
            raise failure
        if failure is not None and not samples[-1][1]:
            raise EnvironmentLacks(
                f"{url} does not come from {reached[0]}, port {reached[1]}: {failure}; {MEND}"
            )
    until = [sample for sample in samples if sample[0] <= end]
    return HostRate(url, connections, seconds, until[-1][1], rate_of(until))


def rate_of(samples: Samples) -> float | None:
    """The highest rate over WINDOW_S, in 10^6 bit/s of IP packets; None when too little came to tell. Pure."""
    best, first = 0.0, 0
    for last, (now, received) in enumerate(samples):
        while first < last and now - samples[first + 1][0] >= WINDOW_S:
            first += 1
        since, before = samples[first]
        if now - since >= WINDOW_S and received - before >= LEAST_BYTES:
            best = max(best, (received - before) / (now - since))
    return 8 * best / 1e6 * MTU_BYTES / SEGMENT_BYTES if best else None


class _Stream:
    """One connection after the other on which an object is asked for. `failed` is why there are no more."""

    def __init__(self) -> None:
        self.failed: OSError | http.client.HTTPException | UsageError | None = None
        self._socket: socket.socket | None = None
        self._before = self._last = 0

    def received(self) -> int:
        """Bytes of TCP so far, with TLS and headers."""
        if self._socket is not None:
            with contextlib.suppress(OSError):  # closed meanwhile
                self._last = RECEIVED.unpack_from(_info(self._socket))[0]
        return self._before + self._last

    def ask(self, source: Url, reached: Reached, end: float) -> None:
        try:
            while time.monotonic() < end:
                self._ask_on_one(source, reached, end)
        except (OSError, http.client.HTTPException, UsageError) as error:
            self.failed = error

    def _ask_on_one(self, source: Url, reached: Reached, end: float) -> None:
        """Until the server closes it, or the time is over."""
        with _connected(source, reached) as made:
            self._socket = made
            connection = http.client.HTTPConnection(*reached)
            connection.sock = made
            closed = False
            while not closed and time.monotonic() < end:
                connection.request("GET", source.target, headers={**HEADERS, "Host": source.authority})
                with connection.getresponse() as response:
                    closed = self._read(response, source, end)
            self._before, self._last, self._socket = self.received(), 0, None

    def _read(self, response: http.client.HTTPResponse, source: Url, end: float) -> bool:
        """Take in an answer; whether the connection is of no use after it."""
        if not 200 <= response.status < 300:
            raise UsageError(
                f"{source} is answered with {response.status} {response.reason}; give the URL of an object that comes "
                "at once"
            )
        while response.read(CHUNK_BYTES):
            if time.monotonic() >= end:
                return True
        return bool(response.will_close)


def _connected(source: Url, reached: Reached) -> socket.socket:
    made = socket.create_connection(reached, TIMEOUT_S)
    if source.scheme == "http":
        return made
    try:
        return _UNCHECKED.wrap_socket(made, server_hostname=source.host)
    except BaseException:
        made.close()
        raise


def _unchecked() -> ssl.SSLContext:
    """Nothing is taken from who answers but the number of its bytes: no certificate is looked at."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


_UNCHECKED = _unchecked()


def _info(made: socket.socket) -> bytes:
    return made.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, TCP_INFO_BYTES)


def _why(error: OSError) -> str:
    return str(error.strerror or error)

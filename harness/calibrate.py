"""Does the link do what it is configured to do? Measured through the whole path, client host to server host.

Round-trip time: ICMP echoes answered by the server host's kernel, send to kernel receive time stamp. Rate: a train of
full packets sent back to back; the spread of their arrival times gives the rate of the bottleneck (packet-train
dispersion, Dovrolis et al., INFOCOM 2001). Both take well under a second, so every run does it before its first
trial, over a link of its own made just as a trial's.
"""

from __future__ import annotations

import math
import os
import select
import socket
import statistics
import struct
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from harness.errors import MeasurementRefused, TestbedFailed
from harness.model import MTU_BYTES, Link
from harness.netns import Host
from harness.testbed import SERVER_NETWORK, Client, Testbed

CALIBRATION_SCHEMA = 1
PROBES = 20
PROBE_GAP_S = 0.01
ICMP_HEADER = struct.Struct("!BBHHH")
IP_HEADER_BYTES = 20
UDP_OVERHEAD_BYTES = 28
TRAIN_PORT = 5201
TRAIN_SECONDS = 0.4
TRAIN_PACKETS = (10, 120)
SO_TIMESTAMPNS = 35
PROBE_ADDRESS = f"{SERVER_NETWORK}.255.254"

# How far a reading may be off before the run stops. The scheduler of an ordinary user is coarser than the
# emulator's accuracy, hence the absolute parts.
RTT_TOLERANCE_MS = 1.0
RTT_TOLERANCE_SHARE = 0.02
RATE_TOLERANCE_SHARE = 0.02


@dataclass(frozen=True)
class Figure:
    """One configured figure and its measurement. `p99` of the round-trip time, else None."""

    configured: float
    measured: float
    n: int
    p99: float | None = None

    @property
    def error(self) -> float:
        return self.measured - self.configured


@dataclass(frozen=True)
class LinkReading:
    """What one calibration saw. `rtt_ms` is without the probe's own serialisation time."""

    link: Link
    backend: str
    scheduling: str | None
    rtt_ms: Figure
    down_mbps: Figure
    up_mbps: Figure
    taken_utc: str

    @property
    def complaints(self) -> tuple[str, ...]:
        """Each figure that is out of tolerance, in words; nothing when the link may be used."""
        found = []
        allowed = max(RTT_TOLERANCE_MS, RTT_TOLERANCE_SHARE * self.link.rtt_ms)
        if abs(self.rtt_ms.error) > allowed:
            found.append(
                f"round-trip time {self.rtt_ms.measured:.2f} ms instead of {self.rtt_ms.configured:g} ms "
                f"(tolerance {allowed:g} ms)"
            )
        for way, figure in (("down", self.down_mbps), ("up", self.up_mbps)):
            if abs(figure.error) > RATE_TOLERANCE_SHARE * figure.configured:
                found.append(
                    f"{way} rate {figure.measured:.3f} Mbit/s instead of {figure.configured:g} "
                    f"(tolerance {RATE_TOLERANCE_SHARE:.0%})"
                )
        return tuple(found)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": CALIBRATION_SCHEMA,
            "link": asdict(self.link),
            "backend": self.backend,
            "scheduling": self.scheduling,
            "rtt_ms": asdict(self.rtt_ms),
            "down_mbps": asdict(self.down_mbps),
            "up_mbps": asdict(self.up_mbps),
            "ok": not self.complaints,
            "complaints": list(self.complaints),
            "taken_utc": self.taken_utc,
        }


def calibrate(testbed: Testbed, link: Link) -> LinkReading:
    """Measure a link that was made for this purpose, exactly as one for a trial is made."""
    testbed.server.configure(f"addr replace {PROBE_ADDRESS}/32 dev lo")
    with testbed.client(link) as client:
        rtt = _round_trip(client, link)
        down = _rate(testbed.server, client.host, client.address, link.down_mbps, link.queue_down_bytes)
        up = _rate(client.host, testbed.server, PROBE_ADDRESS, link.up_mbps, link.queue_up_bytes)
        scheduling = client.link.reading()["scheduling"]
    return LinkReading(
        link=link,
        backend=testbed.backend.value,
        scheduling=scheduling,
        rtt_ms=rtt,
        down_mbps=down,
        up_mbps=up,
        taken_utc=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
    )


def refuse_if_off(readings: Sequence[LinkReading]) -> None:
    """Raise MeasurementRefused when any link is out of tolerance; says which and by how much."""
    off = [
        f"{reading.link.name}: {'; '.join(reading.complaints)}" for reading in readings if reading.complaints
    ]
    if off:
        raise MeasurementRefused(
            f"the emulated link is not what it should be, nothing was measured over it ({' | '.join(off)}); "
            "free the machine of other work and try again"
        )


def _round_trip(client: Client, link: Link) -> Figure:
    """The first echo is not counted. Serialising the probe (28 bytes) takes its own, known time each way."""
    times = _echo_times(client, PROBES + 1, link.rtt_ms / 1e3 + 5)[1:]
    bits = (IP_HEADER_BYTES + ICMP_HEADER.size) * 8
    own_ms = bits / (link.down_mbps * 1e3) + bits / (link.up_mbps * 1e3)
    without = sorted(each * 1e3 - own_ms for each in times)
    p99 = without[math.ceil(0.99 * len(without)) - 1]
    return Figure(link.rtt_ms, statistics.median(without), len(without), p99)


def _echo_times(client: Client, count: int, timeout_s: float) -> list[float]:
    """Seconds from sending each ICMP echo to the kernel's time stamp of its answer; one echo every PROBE_GAP_S."""
    sent: dict[int, int] = {}
    received: dict[int, int] = {}
    with client.host.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as probe:
        probe.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        probe.connect((PROBE_ADDRESS, 0))
        start = time.monotonic()
        while len(received) < count:
            now = time.monotonic() - start
            if now > timeout_s:
                raise TestbedFailed(
                    f"the link answered {len(received)} of {count} echoes within {timeout_s:.1f} s"
                )
            due = len(sent) * PROBE_GAP_S
            if len(sent) < count and now >= due:
                request = _echo_request(len(sent))
                sent[len(sent)] = time.clock_gettime_ns(time.CLOCK_REALTIME)
                probe.send(request)
            elif select.select([probe], [], [], due - now if len(sent) < count else timeout_s - now)[0]:
                number, stamp = _answer(probe)
                received.setdefault(number, stamp)
    return [(received[number] - sent[number]) / 1e9 for number in range(count)]


def _echo_request(number: int) -> bytes:
    identity = os.getpid() & 0xFFFF
    total = 0x0800 + identity + number
    total = (total & 0xFFFF) + (total >> 16)
    return ICMP_HEADER.pack(8, 0, ~total & 0xFFFF, identity, number)


def _answer(probe: socket.socket) -> tuple[int, int]:
    """The number of the echo that the next packet answers, and the kernel's receive time in ns."""
    data, extra, _, _ = probe.recvmsg(2048, 128)
    _, _, _, _, number = ICMP_HEADER.unpack_from(data, IP_HEADER_BYTES)
    return number, _time_stamp(extra)


def _time_stamp(extra: Sequence[tuple[int, int, bytes]]) -> int:
    for level, kind, value in extra:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", value[:16])
            return int(seconds * 1_000_000_000 + nanoseconds)
    raise TestbedFailed("the kernel gave no receive time stamp")


def _rate(sender: Host, receiver: Host, address: str, rate_mbps: float, queue_bytes: int) -> Figure:
    """The rate at which a train of full packets leaves the link."""
    fitting = int(queue_bytes / MTU_BYTES)
    wanted = int(rate_mbps * 1e6 / 8 * TRAIN_SECONDS / MTU_BYTES)
    count = max(2, min(fitting, max(TRAIN_PACKETS[0], min(wanted, TRAIN_PACKETS[1]))))
    with receiver.entered():
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sender.entered():
        source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with sink, source:
        sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        sink.bind((address, TRAIN_PORT))
        payload = bytes(MTU_BYTES - UDP_OVERHEAD_BYTES)
        for _ in range(count):
            source.sendto(payload, (address, TRAIN_PORT))
        arrivals = _arrivals(sink, count, timeout_s=10 + count * MTU_BYTES * 8 / (rate_mbps * 1e6))
    seconds = (arrivals[-1] - arrivals[0]) / 1e9
    bits = (len(arrivals) - 1) * MTU_BYTES * 8
    return Figure(rate_mbps, bits / seconds / 1e6, len(arrivals))


def _arrivals(sink: socket.socket, count: int, timeout_s: float) -> list[int]:
    """Kernel receive times in ns of the packets of a train."""
    arrivals: list[int] = []
    deadline = time.monotonic() + timeout_s
    while len(arrivals) < count and (left := deadline - time.monotonic()) > 0:
        if select.select([sink], [], [], left)[0]:
            _, extra, _, _ = sink.recvmsg(2048, 128)
            arrivals.append(_time_stamp(extra))
    if len(arrivals) < count:
        raise TestbedFailed(f"the link lost {count - len(arrivals)} of {count} packets that fit its queue")
    return arrivals


def as_row(reading: LinkReading) -> Mapping[str, str]:
    """A reading in words, for a table: configured and measured with the error."""
    rtt, down, up = reading.rtt_ms, reading.down_mbps, reading.up_mbps
    return {
        "link": reading.link.name,
        "RTT ms": f"{rtt.configured:g}",
        "measured ": f"{rtt.measured:.2f} ({rtt.error:+.2f})",
        "down Mbit/s": f"{down.configured:g}",
        "measured": f"{down.measured:.3f} ({down.error / down.configured:+.2%})",
        "up Mbit/s": f"{up.configured:g}",
        " measured": f"{up.measured:.3f} ({up.error / up.configured:+.2%})",
        "verdict": "ok" if not reading.complaints else "OFF",
    }

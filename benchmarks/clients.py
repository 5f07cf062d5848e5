"""What each of many clients gets of a link to itself, and what the emulator spends on it. A minute or two.

    .venv/bin/python benchmarks/clients.py [--backend tun|veth] [--runs 3] [--only truth packets]

Each client has 5 Mbit/s, 40 ms down and 45 ms up. Every figure is printed beside what it should reach, as the median of
the runs with their range.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.link import UDP_SEGMENT, Row, at_most, cpu_share
from harness.link.emulated import usable_backend
from harness.link.manyways import IP_PKTINFO, PACKET_INFO
from harness.model.direction import Way
from harness.model.link import Backend, Link
from harness.system.enclosure import enclosed
from harness.system.netns import Host
from harness.testbed.calibrate import PROBE_ADDRESS
from harness.testbed.calibrateclients import calibrate_clients
from harness.testbed.environment import describe_machine
from harness.testbed.testbed import Client, Testbed, testbed

EACH = replace(Link.of(5, 85, delays_ms=(40, 45)), per_client=True)
NUMBERS = (1, 50, 500)
CROWD = 200
OFFERED_PER_S = {Way.DOWN: 18_000, Way.UP: 18_000}
PACKET_BYTES = {Way.DOWN: 1000, Way.UP: 100}
BURST = 9  # packets cut from one send
SETTLE_S, SECONDS = 1.0, 4.0
UDP_OVERHEAD_BYTES = 28
DISCARD = 9


def truth(backend: Backend | None, runs: int) -> Iterator[Row]:
    """How far off rate, delay and fairness of 1, 50 and 500 clients are."""
    for number in NUMBERS:
        taken = []
        with testbed(backend=backend) as made:
            for _ in range(runs):
                taken.append(calibrate_clients(made, EACH, number).figures)
        for way in Way:
            who = f"{number} clients {way}"
            rate, delay, fair = f"client_{way}_mbps", f"client_delay_{way}_ms", f"fairness_{way}"
            errors = [100 * abs(each[rate].error) / each[rate].configured for each in taken]
            yield at_most(f"{who}, rate error of the median one", errors, "%", 1)
            worst = [each[f"client_{way}_off_percent"].measured for each in taken]
            yield Row(f"{who}, rate error of the worst one", worst, "%", "", reached=True)
            tails = [each[delay].p99 or 0.0 for each in taken]
            late = [abs(each[delay].error) for each in taken]
            yield at_most(f"{who}, delay error, median", late, "ms", 0.5)
            yield Row(f"{who}, delay, p99", tails, "ms", "", reached=True)
            indices = [each[fair].measured for each in taken]
            reached = statistics.median(indices) >= 0.999
            yield Row(f"{who}, Jain's index", indices, "", "at least 0.999", reached)


@dataclass(frozen=True)
class Load:
    """What the emulator did under a load of packets."""

    packets_per_s: float
    lost_outside: float
    lost_inside: float
    cpu_percent: float
    us_per_packet: float
    late_percent: float


def packets(backend: Backend | None, runs: int) -> Iterator[Row]:
    """Packets a second with 200 clients, and what each costs beside one with a single client (in the same run)."""
    crowd, alone = [], []
    with testbed(backend=backend) as made:
        made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
        for _ in range(runs):
            crowd.append(loaded(made, EACH, CROWD))
            alone.append(loaded(made, Link.of(1000, 85, delays_ms=(40, 45)), 1))
    rates = [each.packets_per_s / 1e3 for each in crowd]
    yield Row(f"packets with {CROWD} clients", rates, "1000/s", "at least 30", statistics.median(rates) >= 30)
    lost = [each.lost_outside for each in crowd]
    yield Row("lost outside the model", lost, "packets", "0", max(lost) == 0)
    yield Row("dropped by the model", [each.lost_inside for each in crowd], "packets", "", reached=True)
    yield Row("emulator's CPU", [each.cpu_percent for each in crowd], "% of a core", "", reached=True)
    yield Row("CPU of a packet", [each.us_per_packet for each in crowd], "us", "", reached=True)
    times = [one.us_per_packet / other.us_per_packet for one, other in zip(crowd, alone, strict=True)]
    yield Row("CPU of a packet, of one of a single client", times, "times", "", reached=True)
    late = [each.late_percent for each in crowd]
    yield Row("deliveries more than 1 ms late", late, "%", "", reached=True)


def loaded(made: Testbed, link: Link, count: int) -> Load:
    """Packets both ways between the server and so many clients, at a steady rate."""
    with (
        made.client(link, count=count) as client,
        stream(made, client, Way.DOWN),
        stream(made, client, Way.UP),
    ):
        time.sleep(SETTLE_S)
        before = client.link.reading()
        time.sleep(SECONDS)
        after = client.link.reading()

    def passed(*keys: str) -> float:
        return float(sum(after[way][key] - before[way][key] for way in Way for key in keys))

    share, seconds = cpu_share(before, after), after["elapsed_s"] - before["elapsed_s"]
    out = passed("packets_out")
    return Load(
        packets_per_s=out / seconds,
        lost_outside=passed("drops_device", "write_errors", "oversize", "malformed"),
        lost_inside=passed("drops_queue", "drops_loss", "drops_codel"),
        cpu_percent=100 * share,
        us_per_packet=1e6 * share * seconds / out,
        late_percent=100 * passed("late_1ms") / out,
    )


@contextlib.contextmanager
def stream(made: Testbed, client: Client, way: Way) -> Iterator[None]:
    """Bursts of packets from or to each client in turn. The sinks are never read: what they drop has arrived."""
    sender, receiver = (made.server, client.host) if way is Way.DOWN else (client.host, made.server)
    pairs = [
        (PROBE_ADDRESS, address) if way is Way.DOWN else (address, PROBE_ADDRESS)
        for address in client.addresses
    ]
    stop = threading.Event()
    with socket_on(receiver) as sink, socket_on(sender) as source:
        sink.bind(("", DISCARD))
        payload = PACKET_BYTES[way] - UDP_OVERHEAD_BYTES
        source.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, payload)
        thread = threading.Thread(
            target=send_bursts, args=(source, pairs, bytes(BURST * payload), OFFERED_PER_S[way] / BURST, stop)
        )
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


@contextlib.contextmanager
def socket_on(host: Host) -> Iterator[socket.socket]:
    with host.entered():
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with opened:
        yield opened


def send_bursts(
    source: socket.socket,
    pairs: Sequence[tuple[str, str]],
    burst: bytes,
    bursts_per_s: float,
    stop: threading.Event,
) -> None:
    """One burst after the other at this rate, over the pairs in turn."""
    ways: list[tuple[list[tuple[int, int, bytes]], Any]] = [
        (
            [(socket.IPPROTO_IP, IP_PKTINFO, PACKET_INFO.pack(0, socket.inet_aton(near), bytes(4)))],
            (far, DISCARD),
        )
        for near, far in pairs
    ]
    start, number = time.monotonic(), 0
    while not stop.is_set():
        if (wait := start + number / bursts_per_s - time.monotonic()) > 0:
            time.sleep(wait)
        info, address = ways[number % len(ways)]
        source.sendmsg([burst], info, 0, address)
        number += 1


MEASUREMENTS: dict[str, Callable[[Backend | None, int], Iterator[Row]]] = {"truth": truth, "packets": packets}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--backend", type=Backend, choices=list(Backend), metavar="|".join(Backend))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(MEASUREMENTS), default=list(MEASUREMENTS))
    arguments = parser.parse_args()

    def measure() -> int:
        machine = describe_machine()
        print(
            ", ".join(
                f"{key} {machine[key]}" for key in ("system", "kernel", "processor", "cores", "as_root")
            )
        )
        print(f"backend {usable_backend(arguments.backend)}; load average {os.getloadavg()[0]:.1f}")
        for name in arguments.only:
            for row in MEASUREMENTS[name](arguments.backend, arguments.runs):
                print(row, flush=True)
        print(f"load average at the end {os.getloadavg()[0]:.1f}")
        return 0

    return enclosed(measure)


if __name__ == "__main__":
    sys.exit(main())

"""What each of many clients gets of a link to itself, and what the emulator spends on it. A minute or two.

    .venv/bin/python benchmarks/clients.py [--device tun|veth] [--runs 3] [--only truth packets]

Each client has 5 Mbit/s, 40 ms down and 45 ms up. Every figure is printed beside what it should reach, as the median of
the runs with their range. A run in which the host of this virtual machine took its cores away is counted and repeated.
"""

from __future__ import annotations

import contextlib
import socket
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import psutil

from benchmarks.link import UDP_SEGMENT, Row, Setting, at_most, cpu_share, program
from harness.lab.calibrateclients import calibrate_clients
from harness.lab.calibration import PROBE_ADDRESS
from harness.lab.passages import IP_PKTINFO, PACKET_INFO
from harness.lab.testbed import Client, Testbed, testbed
from harness.model.link import Link, Way
from harness.system.netns import Host

Kind = TypeVar("Kind")
EACH = replace(Link.of(5, 85, delays_ms=(40, 45)), per_client=True)
NUMBERS = (1, 50, 500)
CROWD = 200
OFFERED_PER_S = {Way.DOWN: 18_000, Way.UP: 18_000}
PACKET_BYTES = {Way.DOWN: 1000, Way.UP: 100}
BURST = 9  # packets cut from one send
FAST = Link.of(1000, 85, delays_ms=(40, 45))
MANY_AND_FEW = tuple((replace(Link.of(50, 85), per_client=True), count) for count in (1000, 10))
STOLEN_SHARE, MOST_RUNS = 0.01, 2  # of the cores
SETTLE_S, SECONDS = 0.7, 2.5
UDP_OVERHEAD_BYTES = 28
DISCARD = 9


def truth(setting: Setting) -> Iterator[Row | str]:
    """How far off rate, delay and fairness of 1, 50 and 500 clients are."""
    for number in NUMBERS:
        with testbed(device=setting.device) as made:
            taken, said = undisturbed(partial(calibrate_clients, made, EACH, number), setting.runs)
        figures = [calibration.figures for calibration in taken]
        yield f"{number} clients: {said}"
        for way in Way:
            rate, delay = f"client_{way}_mbps", f"client_delay_{way}_ms"
            errors = [
                100 * abs(run_figures[rate].error) / run_figures[rate].configured for run_figures in figures
            ]
            yield at_most(f"{number}, {way}, rate error of the median client", errors, "%", 1)
            worst = [run_figures[f"client_{way}_off_percent"].measured for run_figures in figures]
            yield Row(f"{number}, {way}, rate error of the worst client", worst, "%", "", reached=True)
            late = [abs(run_figures[delay].error) for run_figures in figures]
            yield at_most(f"{number}, {way}, delay error, median", late, "ms", 0.5)
            beyond = [
                (run_figures[delay].p99 or 0.0) - run_figures[delay].configured for run_figures in figures
            ]
            yield Row(f"{number}, {way}, delay error, p99", beyond, "ms", "", reached=True)
            indices = [run_figures[f"fairness_{way}"].measured for run_figures in figures]
            fair = statistics.median(indices) >= 0.999
            yield Row(f"{number}, {way}, Jain's index", indices, "", "at least 0.999", fair)


def undisturbed(measure: Callable[[], Kind], runs: int) -> tuple[list[Kind], str]:
    """What came of so many runs in which the machine's host left it its cores, and how many it disturbed.

    At most `MOST_RUNS` times as many are tried; then disturbed ones count.
    """
    calm: list[Kind] = []
    disturbed: list[tuple[float, Kind]] = []
    while len(calm) < runs and len(calm) + len(disturbed) < MOST_RUNS * runs:
        before, began = psutil.cpu_times().steal, time.monotonic()
        made = measure()
        cores = time.monotonic() - began
        taken = (psutil.cpu_times().steal - before) / (cores * (psutil.cpu_count() or 1))
        if taken > STOLEN_SHARE:
            disturbed.append((taken, made))
        else:
            calm.append(made)
    shares = ", ".join(f"{100 * share:.0f} %" for share, _ in disturbed) or "none"
    used = (calm + [made for _, made in sorted(disturbed, key=lambda each: each[0])])[:runs]
    said = f"{len(calm)} runs, and {len(disturbed)} in which the host took the cores away ({shares})"
    return used, said


@dataclass(frozen=True)
class Load:
    """What the emulator did under a load of packets."""

    packets_per_s: float
    lost_outside: float
    lost_inside: float
    cpu_percent: float
    us_per_packet: float
    late_percent: float


def packets(setting: Setting) -> Iterator[Row | str]:
    """Packets a second with 200 clients, what they cost, and what more clients cost (in the same run)."""

    def measure() -> tuple[Load, ...]:
        return tuple(
            loaded(made, link, count)
            for link, count in ((EACH, CROWD), (FAST, 1), (replace(FAST, per_client=True), 1), *MANY_AND_FEW)
        )

    with testbed(device=setting.device) as made:
        made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
        taken, said = undisturbed(measure, setting.runs)
    yield f"packets: {said}"
    crowd, single, one, many, few = zip(*taken, strict=True)
    rates = [load.packets_per_s / 1e3 for load in crowd]
    enough = statistics.median(rates) >= 30
    yield Row(f"packets with {CROWD} clients", rates, "1000/s", "at least 30", enough)
    lost = [load.lost_outside for load in crowd]
    yield Row("lost outside the model", lost, "packets", "0", max(lost) == 0)
    yield Row("dropped by the model", [load.lost_inside for load in crowd], "packets", "", reached=True)
    late = [load.late_percent for load in crowd]
    yield Row("deliveries more than 1 ms late", late, "%", "", reached=True)
    yield Row("emulator's CPU", [load.cpu_percent for load in crowd], "% of a core", "", reached=True)
    yield Row("CPU of a packet", [load.us_per_packet for load in crowd], "us", "", reached=True)
    for what, these, those in (
        ("1,000 clients, in units of 10", many, few),
        ("a link per client, in units of one link", one, single),
    ):
        ratios = [this.us_per_packet / that.us_per_packet for this, that in zip(these, those, strict=True)]
        yield Row(f"CPU of a packet, {what}", ratios, "times", "", reached=True)


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
    targets: list[tuple[list[tuple[int, int, bytes]], Any]] = [
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
        info, address = targets[number % len(targets)]
        source.sendmsg([burst], info, 0, address)
        number += 1


MEASUREMENTS: dict[str, Callable[[Setting], Iterator[Row | str]]] = {
    "truth": truth,
    "packets": packets,
}


def main() -> int:
    return program("clients", __doc__, MEASUREMENTS)


if __name__ == "__main__":
    sys.exit(main())

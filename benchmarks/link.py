"""How true the emulated link is, and what it costs. Prints every figure beside what it should reach.

    .venv/bin/python -m benchmarks.link [--device tun|veth] [--runs 3] [--only rtt parts goodput ...] [--into DIR]

Everything goes through the whole path, client host to server host. A figure is the median of the runs, its spread their
range. Run it as root, and as an ordinary user to see what a link without real-time scheduling reaches.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import socket
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchmarks import common, quoted
from benchmarks.parts import Share, Split, Waits, carried, passed, shares, split, tap
from harness.lab.calibrate import TCP_SHARE, calibrate
from harness.lab.calibration import PROBE_ADDRESS
from harness.lab.emulated import EmulatedLink, Ends, LinkDevice, LinkFiles, usable_device
from harness.lab.environment import describe_machine
from harness.lab.link import joined, kernel_settings
from harness.lab.passages import ECHO_BYTES, OneWay, echoes, goodput_mbps
from harness.lab.testbed import Client, Testbed, testbed
from harness.model.engine import Engine
from harness.model.link import Discipline, GilbertElliott, Link, Loss, Queue, RandomLoss
from harness.model.rate import MAX_RATE_MBPS
from harness.model.settings import TcpSettings
from harness.system.enclosure import enclosed
from harness.system.netns import Host, host

ECHOES, ECHO_GAP_S = 300, 0.0103
TCP_SECONDS = 6.0
FASTEST_MBPS = 1000
FLOOD_BYTES = 100
ROOM = (
    64 << 20
)  # bytes that TCP may buffer: Linux's 4 MB are less than what a sender needs at 1000 Mbit/s and 20 ms
TCP_BUFFERS = {"ipv4.tcp_wmem": f"4096 16384 {ROOM}", "ipv4.tcp_rmem": f"4096 131072 {ROOM}"}
CLIENT_ADDRESS = "10.127.0.1"
UDP_SEGMENT = 103  # linux/udp.h
PROBER_PRIORITY = 10  # below the emulator's 50: the prober must not be what is late


@dataclass(frozen=True)
class Row:
    """One figure: the runs' values, and the limit that their median should keep."""

    what: str
    values: Sequence[float]
    unit: str
    target: str
    reached: bool

    @property
    def spread(self) -> str:
        return common.spread(self.values, 3)

    @property
    def verdict(self) -> str:
        return "ok" if self.reached else "MISSED"

    def __str__(self) -> str:
        return f"{self.what:46} {f'{self.spread} {self.unit}':40} {self.target:20} {self.verdict}"

    def quoted(self) -> dict[str, str]:
        """A row of the figures that documents quote."""
        told = {"figure": self.what, "reached": self.spread, "unit": self.unit, "target": self.target}
        return told | {"verdict": self.verdict if self.target else ""}


@dataclass(frozen=True)
class Setting:
    """What all measurements share."""

    device: LinkDevice | None
    runs: int

    def each_run(
        self, link: Link, measure: Callable[[Testbed, Client], float], tcp: str = "cubic"
    ) -> list[float]:
        """One value per run, each over a link of its own."""
        values = []
        with testbed(TcpSettings(tcp), self.device) as made:
            made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
            for _ in range(self.runs):
                with made.client(link) as client:
                    values.append(measure(made, client))
        return values


def at_most(what: str, values: Sequence[float], unit: str, limit: float) -> Row:
    return Row(what, values, unit, f"at most {limit:g}", statistics.median(values) <= limit)


def with_queue(link: Link, size: int) -> Link:
    """The link with a drop-tail queue of so many bytes each way."""
    queue = Queue(Discipline.DROP_TAIL, size)
    return replace(link, down=replace(link.down, queue=queue), up=replace(link.up, queue=queue))


def round_trips(setting: Setting) -> Iterator[Row]:
    """Error of the round-trip time: median and 99th percentile of 300 echoes, on an idle and on a half-busy machine."""
    for busy, rtt in itertools.product((False, True), (0, 10, 20, 50, 100, 200)):
        with hog() if busy else contextlib.nullcontext():
            runs = list(zip(*echo_errors(setting, Link.of(1000, rtt)), strict=True))
        where = f"RTT error at {rtt} ms{', one core busy' if busy else ''}"
        yield at_most(f"{where}, median", runs[0], "ms", 0.15)
        yield at_most(f"{where}, p99", runs[1], "ms", 0.5)


def echo_errors(setting: Setting, link: Link) -> list[tuple[float, float]]:
    """Median and 99th percentile of each run's absolute errors in ms."""
    pairs: list[tuple[float, float]] = []

    def measure(_: Testbed, client: Client) -> float:
        with real_time():
            seen = echoes(client.host, (PROBE_ADDRESS,), ECHOES + 1, ECHO_GAP_S, 3)
        own_ms = 2 * ECHO_BYTES * 8 / (link.down.rate.mean_mbps * 1e3)
        errors = sorted(abs(echo.ms - own_ms - link.rtt_ms) for echo in seen[1:])
        pairs.append((statistics.median(errors), errors[math.ceil(0.99 * len(errors)) - 1]))
        return 0.0

    setting.each_run(link, measure)
    return pairs


def parts_of_round_trips(setting: Setting) -> Iterator[Share | str]:
    """Where the error of a round trip arises: every stage of an echo's way, idle and half-busy."""
    link = Link.of(1000, 50)
    for busy in (False, True):
        splits: list[Split] = []
        waits = Waits(0, 0, 0)
        with hog() if busy else contextlib.nullcontext():
            for _ in range(setting.runs):
                run_splits, waited = parts_of_one_run(setting, link)
                splits += run_splits
                waits += waited
        where = ", one core busy" if busy else ""
        yield f"{len(splits)} echoes at 50 ms{where}: median, p99, most in ms; share of what the slowest 1 % took more"
        yield from shares(splits, where)
        yield (
            f"  waited for a core: emulator {waits.emulator:.1f} ms, prober {waits.prober:.1f} ms;"
            f" taken by the host from all cores {waits.stolen:.0f} ms"
        )


def parts_of_one_run(setting: Setting, link: Link) -> tuple[list[Split], Waits]:
    tcp = TcpSettings()
    with testbed(tcp, setting.device) as made, host("client") as client:
        made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
        client.set_kernel(kernel_settings(tcp))
        times = made.folder / "times.csv"
        with (
            joined(
                link,
                Ends(client, CLIENT_ADDRESS, made.server),
                LinkFiles(made.folder, times=times),
                tcp=tcp,
                device=made.device,
            ) as running,
            tap(client) as near,
            tap(made.server) as far,
            real_time(),
        ):
            assert isinstance(running, EmulatedLink)
            before = Waits.until_now(running.pid)
            seen = echoes(client, (PROBE_ADDRESS,), ECHOES + 1, ECHO_GAP_S, 3)
            waited = Waits.until_now(running.pid) - before
            near_stamps, far_stamps = passed(near), passed(far)
        splits = split(seen, near_stamps, far_stamps, carried(times, "up"), carried(times, "down"))
        return splits[1:], waited


def goodput(setting: Setting) -> Iterator[Row]:
    """TCP goodput down against rate x 1448/1500, and what the emulator needs of a core for it."""
    for rate, tcp in itertools.product((1, 10, 50, 100, FASTEST_MBPS), ("cubic", "bbr")):
        link = with_queue(Link.of(rate, 20), max(45_000, rate * 2500))
        cpu: list[float] = []

        def measure(made: Testbed, client: Client, rate: int = rate, cpu: list[float] = cpu) -> float:
            if rate == FASTEST_MBPS:
                made.server.set_kernel(TCP_BUFFERS)
                client.host.set_kernel(TCP_BUFFERS)
            before = client.link.reading()
            got = goodput_mbps(
                OneWay(made.server, client.host, client.address), settle_s=3, seconds=TCP_SECONDS
            )
            cpu.append(100 * cpu_share(before, client.link.reading()))
            return 100 * (got / (rate * TCP_SHARE) - 1)

        errors = setting.each_run(link, measure, tcp)
        limit = 1.0 if rate == FASTEST_MBPS else 0.5
        middle = abs(statistics.median(errors))
        yield Row(f"TCP goodput at {rate} Mbit/s, {tcp}", errors, "%", f"within {limit:g}", middle <= limit)
        if rate in (10, 100) and tcp == "cubic":
            yield at_most(f"emulator's CPU at {rate} Mbit/s", cpu, "% of a core", {10: 6, 100: 25}[rate])


def packet_rate(setting: Setting) -> Iterator[Row]:
    """Small UDP packets down, as many as the kernel can make, over a link whose rate is far above what it can carry.

    And, for comparison, the packets both ways of one TCP stream, whose receiver costs the emulator's core, too.
    """
    link = with_queue(Link.of(MAX_RATE_MBPS, 0), 8_000_000)

    def small(made: Testbed, client: Client) -> float:
        with flood(made.server, client):
            return delivered(client)

    def stream(made: Testbed, client: Client) -> float:
        rates: list[float] = []
        watcher = threading.Thread(target=lambda: rates.append(delivered(client)))
        watcher.start()
        goodput_mbps(OneWay(made.server, client.host, client.address), settle_s=1, seconds=TCP_SECONDS)
        watcher.join()
        return rates[0]

    values = setting.each_run(link, small)
    reached = statistics.median(values) >= 200
    yield Row(f"UDP packets of {FLOOD_BYTES} bytes, no rate limit", values, "1000/s", "at least 200", reached)
    yield Row("TCP packets, no rate limit", setting.each_run(link, stream), "1000/s", "", reached=True)


def delivered(client: Client) -> float:
    """Thousands of packets per second that the emulator hands over, both ways."""
    time.sleep(1)
    before = client.link.reading()
    time.sleep(3)
    after = client.link.reading()
    packets = sum(after[way]["packets_out"] - before[way]["packets_out"] for way in ("down", "up"))
    return float(packets / (after["elapsed_s"] - before["elapsed_s"]) / 1e3)


@contextlib.contextmanager
def flood(server: Host, client: Client) -> Iterator[None]:
    """Small packets from the server; the kernel cuts each send into 64 of them (UDP segmentation offload)."""
    with client.host.entered():
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with server.entered():
        source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stop = threading.Event()
    payload = FLOOD_BYTES - 28

    def send() -> None:
        while not stop.is_set():
            source.sendto(bytes(64 * payload), (client.address, 9))

    with sink, source:
        sink.bind((client.address, 9))
        source.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, payload)
        thread = threading.Thread(target=send)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def queue_and_loss(setting: Setting) -> Iterator[Row]:
    """A full queue's delay, and the share of packets lost, from the long form of the calibration."""
    link = with_queue(Link.of(10, 20), 100_000)
    packet_ms = 1500 * 8 / 10e3
    taken = [figures(setting, link) for _ in range(setting.runs)]
    for way in ("down", "up"):
        errors = [run_figures[f"queue_{way}_ms"].error for run_figures in taken]
        reached = abs(statistics.median(errors)) <= packet_ms + 0.5
        yield Row(f"delay of a full queue of 100 kB, {way}", errors, "ms off", "within 1.7", reached)
    kinds: tuple[Loss, ...] = (RandomLoss(1), RandomLoss(5), GilbertElliott(0.01, 0.3))
    for loss in kinds:
        lossy = replace(link, down=replace(link.down, loss=loss))
        taken_losses = [figures(setting, lossy)["loss_down_percent"] for _ in range(setting.runs)]
        # The calibration tolerates about 4 standard deviations. Each measurement has a draw of its own.
        sigmas = [4 * figure.error / figure.tolerance for figure in taken_losses]
        kind = f"{loss.mean_percent:.3g} %{', in bursts' if loss.correlation else ''}"
        reached = abs(statistics.median(sigmas)) <= 1.96
        yield Row(f"loss of {kind}, {taken_losses[0].n} packets", sigmas, "sigma off", "within 1.96", reached)


def figures(setting: Setting, link: Link) -> dict[str, Any]:
    """The long form of the calibration, over a link of its own."""
    with testbed(device=setting.device) as made:
        return dict(calibrate(made, link, thorough=True).figures)


def building(setting: Setting) -> Iterator[Row]:
    """Both hosts and the link made and removed again: 20 rounds per run."""
    values = []
    with testbed(device=setting.device) as made:
        for _ in range(setting.runs * 20):
            began = time.perf_counter()
            with host("another-server"), made.client(Link.of(10, 20)):
                pass
            values.append(1e3 * (time.perf_counter() - began))
    yield at_most("network built and removed", values, "ms", 100)


MEASUREMENTS: dict[str, Callable[[Setting], Iterator[Row] | Iterator[Share | str]]] = {
    "building": building,
    "rtt": round_trips,
    "parts": parts_of_round_trips,
    "goodput": goodput,
    "packets": packet_rate,
    "queue": queue_and_loss,
}


def cpu_share(before: dict[str, Any], after: dict[str, Any]) -> float:
    """The emulator's share of one core between two readings."""
    used = sum(after[key] - before[key] for key in ("cpu_user_s", "cpu_system_s"))
    return float(used / (after["elapsed_s"] - before["elapsed_s"]))


@contextlib.contextmanager
def hog() -> Iterator[None]:
    """One core kept busy by an ordinary process."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def real_time() -> Iterator[None]:
    """Real-time scheduling for the prober, where it is permitted."""
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PROBER_PRIORITY))
    try:
        yield
    finally:
        if os.sched_getscheduler(0) == os.SCHED_FIFO:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def main() -> int:
    return program("link", __doc__, MEASUREMENTS)


def program(
    name: str,
    description: str | None,
    measurements: Mapping[str, Callable[[Setting], Iterator[Row | Share | str]]],
    *engines: Engine,
) -> int:
    """Make the measurements that the command line asks for, print what they give below the machine, and keep it.

    `engines` load pages or ask for them, if anything does.
    """
    parser = common.parser(description)
    parser.add_argument("--device", type=LinkDevice, choices=list(LinkDevice), metavar="|".join(LinkDevice))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=list(measurements), default=list(measurements))
    quoted.add_into(parser)
    arguments = parser.parse_args()
    setting = Setting(arguments.device, arguments.runs)

    def measure() -> int:
        machine = describe_machine()
        print(
            ", ".join(
                f"{key} {machine[key]}" for key in ("system", "kernel", "processor", "cores", "as_root")
            )
        )
        print(f"device {arguments.device or usable_device()}; load average {os.getloadavg()[0]:.1f}")
        for measurement in arguments.only:
            part, figures = quoted.Part(name, measurement, *engines), []
            for row in measurements[measurement](setting):
                print(row, flush=True)
                if not isinstance(row, str):
                    figures.append(row.quoted())
            if arguments.into and figures:
                part.keep(arguments.into, figures, ["figure"])
        print(f"load average at the end {os.getloadavg()[0]:.1f}")
        return 0

    return enclosed(measure)


if __name__ == "__main__":
    sys.exit(main())

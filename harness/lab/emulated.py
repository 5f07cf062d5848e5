"""The emulated access link: one `linkem` process between two hosts, its device, and its own counters.

The emulator counts IP bytes (no link-layer headers). Its model is described in harness/linkem/README.md.
"""

from __future__ import annotations

import contextlib
import json
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from harness.errors import EnvironmentLacks, StudyError, TestbedFailed
from harness.lab.account import LinkAccount, spans_since
from harness.lab.direct import direct_link
from harness.lab.needs import linkem_program, refuse_without_tun
from harness.lab.netem import netem_link, refuse_without_netem
from harness.model.direction import MTU_BYTES, Direction, GilbertElliott, Way
from harness.model.link import Backend, Link, default_queue
from harness.model.rate import ConstantRate
from harness.model.settings import TcpSettings
from harness.system.command import Command
from harness.system.netns import Host, host
from harness.system.process import Process, running

DEVICE = "link0"
TAIL_LOSS_PROBE = 3  # of tcp_early_retrans: Linux's own value
EXAMINATION_S = 5.0  # within which it tells its counters, also on a very busy machine
DEVICE_PACKETS = 10_000  # room for a burst while the emulator waits for a core; the emulated queue is its own
# Both ends of the veth path share one hardware address and do no ARP: no packet but the traffic itself
# crosses the link, and the first one waits for nobody.
SHARED_MAC = "02:00:00:00:00:01"


def route_options(tcp: TcpSettings) -> str:
    """The options of a route that give its connections these settings, also where sysctls may not be set."""
    return f"congctl {tcp.congestion_control} initcwnd {tcp.initial_window} mtu {MTU_BYTES}"


def kernel_settings(tcp: TcpSettings) -> dict[str, str | int]:
    """Sysctls below net. No metrics are kept between connections; IPv6 would add its own chatter."""
    return {
        "ipv4.tcp_no_metrics_save": 1,
        "ipv4.tcp_slow_start_after_idle": int(tcp.slow_start_after_idle),
        "ipv4.tcp_early_retrans": TAIL_LOSS_PROBE if tcp.tail_loss_probe else 0,
        "ipv6.conf.all.disable_ipv6": 1,
        "ipv6.conf.default.disable_ipv6": 1,
    }


def usable_backend(wanted: Backend | None = None) -> Backend:
    """The wanted backend, or EnvironmentLacks; by default TUN where its device may be opened, else veth."""
    if wanted is Backend.NETEM:
        refuse_without_netem()
    if wanted not in (None, Backend.TUN):
        return wanted
    try:
        refuse_without_tun()
    except EnvironmentLacks:
        if wanted is Backend.TUN:
            raise
        return Backend.VETH
    return Backend.TUN


def specification(direction: Direction, delay_ms: float, seed: int, folder: Path) -> str:
    """One direction in the emulator's words; a trace or step list is written to `folder` for it."""
    words = [f"{_rate(direction, folder)},delay_ms={delay_ms:.6f},jitter_ms={direction.jitter_ms:.6f}"]
    queue, loss = direction.queue, direction.loss
    size = "" if queue.limit_bytes is None else f":{queue.limit_bytes}"
    words.append(f"queue={queue.discipline}{size}")
    if isinstance(loss, GilbertElliott):
        words.append("loss_ge=" + ":".join(f"{each:.6f}" for each in (loss.p, loss.r, loss.h, loss.k)))
    else:
        words.append(f"loss={loss.percent / 100:.6f}")
    return ",".join([*words, f"seed={seed}"])


def _rate(direction: Direction, folder: Path) -> str:
    if isinstance(direction.rate, ConstantRate):
        return f"rate_mbps={direction.rate.mean_mbps:.6f}"
    file = folder / f"{direction.way}.{direction.rate.format}"
    file.write_text(direction.rate.text, encoding="ascii")
    return f"{direction.rate.format}={file}"


class RunningLink(Interface):
    """A link between two hosts, whatever emulates it."""

    @property
    def epoch_ns(self) -> int:
        """Time zero of traces and step lists, CLOCK_MONOTONIC."""
        ...

    @property
    def alive(self) -> bool: ...

    def check(self) -> None:
        """Raise TestbedFailed when the link has died or is stopped."""
        ...

    def examine(self) -> None:
        """`check`, and TestbedFailed when it does not tell its counters at once."""
        ...

    def reading(self) -> dict[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""
        ...

    def account(self) -> LinkAccount | None:
        """When each way was busy so far; None where nothing tells."""
        ...


class EmulatedLink:
    """A link of our own emulator. `seed` is what its random losses and jitter were drawn with."""

    def __init__(self, process: Process, backend: Backend, seed: int) -> None:
        self._process = process
        self.backend = backend
        self.seed = seed
        self.ready: Mapping[str, Any] = {}
        self._told: dict[str, list[dict[str, Any]]] = {}
        self._read_up_to = 0  # of its log

    @property
    def epoch_ns(self) -> int:
        return int(self.ready["epoch_ns"])

    def is_ready(self) -> bool:
        lines = self._events("ready")
        if lines:
            self.ready = lines[-1]
        return bool(lines)

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> Path:
        """Where it tells its counters, a line each time it gets SIGUSR1."""
        return self._process.log

    @property
    def alive(self) -> bool:
        return self._process.alive

    def check(self) -> None:
        """Raise TestbedFailed when the emulator has died or is stopped."""
        with self._named():
            self._process.check_running()

    def examine(self) -> None:
        """`check`, and TestbedFailed when it does not tell its counters at once."""
        self.check()
        self.reading(timeout_s=EXAMINATION_S)

    def reading(self, timeout_s: float = 5.0) -> dict[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""
        before = len(self._events("stats"))
        self._process.signal(signal.SIGUSR1)
        with self._named():
            self._process.wait_until(
                lambda: len(self._events("stats")) > before, timeout_s, "did not tell its counters"
            )
        return self._described(self._events("stats")[-1])

    def accounts(self, timeout_s: float = 5.0) -> dict[str, list[dict[str, Any]]]:
        """The counters of each client now, by direction; it holds packets up for some ms."""
        before = len(self._events("clients"))
        self._process.signal(signal.SIGUSR2)
        with self._named():
            self._process.wait_until(
                lambda: len(self._events("clients")) > before, timeout_s, "did not tell its clients' counters"
            )
        told = self._events("clients")[-1]
        return {way: told[way] for way in Way}

    def account(self, timeout_s: float = 5.0) -> LinkAccount:
        """When each way was busy so far; it holds packets up for some ms."""
        before = len(self._events("busy"))
        self._process.signal(signal.SIGUSR2)
        with self._named():
            self._process.wait_until(
                lambda: len(self._events("busy")) > before, timeout_s, "did not tell when it was busy"
            )
        told = self._events("busy")[-1]
        return LinkAccount(*(spans_since(self.epoch_ns, told[way]) for way in (Way.DOWN, Way.UP)))

    @contextlib.contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except TestbedFailed as failure:
            raise TestbedFailed(f"the link emulator {failure}") from failure

    def _described(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in counters.items() if key != "event"}
        scheduling = self.ready.get("scheduling")
        arrivals = self.ready.get("arrivals")
        told = {"backend": self.backend.value, "scheduling": scheduling, "arrivals": arrivals}
        return {**told, "seed": self.seed, **kept}

    def _events(self, kind: str) -> list[dict[str, Any]]:
        """What it has told so far of this kind. Each line of its log is read once, however often it is asked."""
        with self._process.log.open("rb") as log:
            log.seek(self._read_up_to)
            text = log.read()
        whole = text[: text.rfind(b"\n") + 1]
        self._read_up_to += len(whole)
        for line in whole.splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict):
                    self._told.setdefault(event.get("event", ""), []).append(event)
        return self._told.get(kind, [])


@dataclass(frozen=True)
class Ends:
    """What a link joins: the client host, which gets the address, and the server host.

    With a `network` the client host has all its addresses, as of a crowd; `address` is one of them.
    """

    client: Host
    address: str
    server: Host
    network: str | None = None


@dataclass(frozen=True)
class LinkFiles:
    """Where the emulator writes: its own files into `folder`, the packets, and when each came, was due and left."""

    folder: Path
    pcap: Path | None = None
    times: Path | None = None


@contextlib.contextmanager
def joined(
    link: Link, ends: Ends, files: LinkFiles, *, tcp: TcpSettings, backend: Backend, block: int = 0
) -> Iterator[RunningLink]:
    """Join client and server by the link; the client's default route crosses it.

    `block` moves the link's seed on, so that blocks differ in their random losses and conditions of a block do not.
    """
    with contextlib.ExitStack() as undo:
        made: RunningLink
        if not link.emulated or backend is Backend.NETEM:
            if files.pcap is not None or files.times is not None:
                what = "netem" if link.emulated else f"the link {link.name}"
                raise StudyError(f"{what} captures no packets; leave pcap out of `keep`")
            if link.emulated:
                made = undo.enter_context(netem_link(link, ends.client, ends.server, DEVICE, SHARED_MAC))
            else:
                made = undo.enter_context(direct_link(ends.client, ends.server, DEVICE, SHARED_MAC))
        else:
            made = undo.enter_context(_emulated_link(link, ends, files, backend, link.seed + block))
        try:
            _route(ends, tcp)
        except TestbedFailed:
            made.examine()  # its device goes with it
            raise
        yield made


@contextlib.contextmanager
def _emulated_link(
    link: Link, ends: Ends, files: LinkFiles, backend: Backend, seed: int
) -> Iterator[EmulatedLink]:
    with contextlib.ExitStack() as undo:
        command = _linkem(link, files, seed).plus("--backend", backend.value, "--device", DEVICE)
        command = command.plus("--client-ns", ends.client.path, "--server-ns", ends.server.path)
        if backend is Backend.VETH:
            middle = undo.enter_context(_veth_pairs(ends.client, ends.server))
            command = command.plus("--middle-ns", middle.path)
            command = command.plus("--client-peer", "client", "--server-peer", "server")
        process = undo.enter_context(running(command, files.folder / "link.log"))
        emulated = EmulatedLink(process, backend, seed)
        process.wait_until(emulated.is_ready)
        yield emulated


def _linkem(link: Link, files: LinkFiles, seed: int) -> Command:
    """The emulator with its model of the link and its files, not yet between hosts."""
    command = Command.of(linkem_program())
    for direction in link.directions:
        said = specification(direction, link.delay_ms(direction.way), seed, files.folder)
        command = command.plus(f"--{direction.way}", said)
    if link.per_client:
        command = command.plus("--per-client")
    for way in Way:
        shared = link.shared_mbps(way)
        if shared is not None:
            common = Direction(way, ConstantRate(shared), default_queue(shared, link.rtt_ms))
            command = command.plus(f"--shared-{way}", specification(common, 0, seed, files.folder))
    if files.pcap is not None:
        command = command.plus("--pcap", files.pcap)
    if files.times is not None:
        command = command.plus("--times", files.times)
    return command


@contextlib.contextmanager
def _veth_pairs(client: Host, server: Host) -> Iterator[Host]:
    """A middle host with a cable to each side; removing the server's end at once frees its name."""
    with host("middle") as middle:
        for side in (client, server):
            near = f"{DEVICE} address {SHARED_MAC} mtu {MTU_BYTES} arp off netns {side.name}"
            middle.configure(f"link add {near} type veth peer name {side.name}")
        try:
            yield middle
        finally:
            with contextlib.suppress(TestbedFailed):  # gone already when making it failed
                server.configure(f"link del {DEVICE}")


def _route(ends: Ends, tcp: TcpSettings) -> None:
    device = f"link set {DEVICE} up mtu {MTU_BYTES} txqueuelen {DEVICE_PACKETS}"
    ends.client.configure(
        device,
        f"addr add {ends.address}/32 dev {DEVICE}",
        f"route add default dev {DEVICE} src {ends.address} {route_options(tcp)}",
    )
    if ends.network is None:
        to_client = ends.address
    else:
        # A local route gives a host thousands of addresses at once. By one gateway the server needs one neighbour.
        ends.client.configure(f"route add local {ends.network} dev {DEVICE}")
        to_client = f"{ends.network} via {ends.address} onlink"
    ends.server.configure(device, f"route add {to_client} dev {DEVICE} {route_options(tcp)}")

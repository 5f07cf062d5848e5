"""The emulated access link: one `linkem` process between two hosts, its device, and its own counters.

The emulator counts IP bytes (no link-layer headers). Its model is described in harness/linkem/README.md.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from harness.command import Command
from harness.errors import EnvironmentLacks, TestbedFailed
from harness.model import Link, TcpSettings
from harness.netns import Host, host
from harness.process import Process, running

LINKEM_FOLDER = Path(__file__).parent / "linkem"
TUN_DEVICE = Path("/dev/net/tun")
MTU = 1500
DEVICE_PACKETS = 10_000  # room for a burst while the emulator waits for a core; the emulated queue is its own
# Both ends of the veth path share one hardware address and do no ARP: no packet but the traffic itself
# crosses the link, and the first one waits for nobody.
SHARED_MAC = "02:00:00:00:00:01"


class Backend(StrEnum):
    """How packets get to the emulator."""

    TUN = "tun"
    VETH = "veth"


def route_options(tcp: TcpSettings) -> str:
    """The options of a route that give its connections these settings, also where sysctls may not be set."""
    return f"congctl {tcp.congestion_control} initcwnd {tcp.initial_window} mtu {MTU}"


def kernel_settings(tcp: TcpSettings) -> dict[str, str | int]:
    """Sysctls below net. No metrics are kept between connections; IPv6 would add its own chatter."""
    return {
        "ipv4.tcp_no_metrics_save": 1,
        "ipv4.tcp_slow_start_after_idle": int(tcp.slow_start_after_idle),
        "ipv6.conf.all.disable_ipv6": 1,
        "ipv6.conf.default.disable_ipv6": 1,
    }


def linkem_program() -> Path:
    """The emulator that the package's build made."""
    for place in (LINKEM_FOLDER / "bin" / "linkem", LINKEM_FOLDER / "target" / "release" / "linkem"):
        if place.is_file():
            return place
    raise EnvironmentLacks(f"the link emulator is not built (looked in {LINKEM_FOLDER}); run `make setup`")


def usable_backend() -> Backend:
    """TUN where its device may be opened, else veth (ordinary users)."""
    try:
        os.close(os.open(TUN_DEVICE, os.O_RDWR | os.O_CLOEXEC))
    except OSError:
        return Backend.VETH
    return Backend.TUN


def direction(link: Link, way: str) -> str:
    """One direction of a link in the emulator's words."""
    rate, queue = {
        "down": (link.down_mbps, link.queue_down_bytes),
        "up": (link.up_mbps, link.queue_up_bytes),
    }[way]
    return f"rate_mbps={rate:.6f},delay_ms={link.rtt_ms / 2:.6f},queue=droptail:{queue}"


class EmulatedLink:
    """A running link. `reading()` gives its counters so far, `final` those of its whole life once ended."""

    def __init__(self, process: Process, backend: Backend) -> None:
        self._process = process
        self.backend = backend
        self.ready: Mapping[str, Any] = {}

    def is_ready(self) -> bool:
        lines = self._events("ready")
        if lines:
            self.ready = lines[-1]
        return bool(lines)

    @property
    def alive(self) -> bool:
        return self._process.alive

    def check(self) -> None:
        """Raise TestbedFailed when the emulator has died."""
        self._process.check()

    def reading(self) -> dict[str, Any]:
        """The counters now: packets, IP bytes, drops and lateness per direction."""
        before = len(self._events("stats"))
        self._process.signal(signal.SIGUSR1)
        self._process.wait_until(lambda: len(self._events("stats")) > before, timeout_s=5)
        return self._described(self._events("stats")[-1])

    @property
    def final(self) -> dict[str, Any] | None:
        """The counters of the whole life; None when the emulator was killed."""
        lines = self._events("final")
        return self._described(lines[-1]) if lines else None

    def _described(self, counters: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: value for key, value in counters.items() if key != "event"}
        return {"backend": self.backend.value, "scheduling": self.ready.get("scheduling"), **kept}

    def _events(self, kind: str) -> list[dict[str, Any]]:
        found = []
        for line in self._process.log.read_text(errors="replace").splitlines():
            with contextlib.suppress(ValueError):
                event = json.loads(line)
                if isinstance(event, dict) and event.get("event") == kind:
                    found.append(event)
        return found


@dataclass(frozen=True)
class Address:
    """The client's address, unique per trial: no packet of an earlier trial finds its way to a later one."""

    number: int

    def __str__(self) -> str:
        return f"10.{64 + self.number // 65536 % 64}.{self.number // 256 % 256}.{self.number % 256}"


@contextlib.contextmanager
def emulated_link(
    link: Link,
    client: Host,
    server: Host,
    folder: Path,
    *,
    address: str,
    tcp: TcpSettings,
    backend: Backend,
    pcap: Path | None = None,
) -> Iterator[EmulatedLink]:
    """Join client and server by the link; the client has `address`, its default route crosses the link."""
    device = "link0"
    with contextlib.ExitStack() as undo:
        command = Command.of(linkem_program(), "--backend", backend.value)
        command = command.plus("--client-ns", client.path, "--server-ns", server.path, "--device", device)
        if backend is Backend.VETH:
            middle = undo.enter_context(_veth_pairs(client, server, device))
            command = command.plus(
                "--middle-ns", middle.path, "--client-peer", "client", "--server-peer", "server"
            )
        command = command.plus("--down", direction(link, "down"), "--up", direction(link, "up"))
        if pcap is not None:
            command = command.plus("--pcap", pcap)
        process = undo.enter_context(running(command, folder / "link.log"))
        emulated = EmulatedLink(process, backend)
        process.wait_until(emulated.is_ready)
        _route(client, server, device, address, tcp)
        yield emulated


@contextlib.contextmanager
def _veth_pairs(client: Host, server: Host, device: str) -> Iterator[Host]:
    """A middle host with a cable to each side; removing the server's end at once frees its name."""
    with host("middle") as middle:
        for side in (client, server):
            near = f"{device} address {SHARED_MAC} mtu {MTU} arp off netns {side.name}"
            middle.configure(f"link add {near} type veth peer name {side.name}")
        try:
            yield middle
        finally:
            with contextlib.suppress(TestbedFailed):  # gone already when making it failed
                server.configure(f"link del {device}")


def _route(client: Host, server: Host, device: str, address: str, tcp: TcpSettings) -> None:
    client.configure(
        f"link set {device} up mtu {MTU} txqueuelen {DEVICE_PACKETS}",
        f"addr add {address}/32 dev {device}",
        f"route add default dev {device} src {address} {route_options(tcp)}",
    )
    server.configure(
        f"link set {device} up mtu {MTU} txqueuelen {DEVICE_PACKETS}",
        f"route add {address}/32 dev {device} {route_options(tcp)}",
    )

"""The link between client and server host, and their settings: emulated, or none at all."""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from typing import Protocol as Interface

from harness.errors import StudyError, TestbedFailed
from harness.lab.emulated import DEVICE, SHARED_MAC, Ends, LinkDevice, LinkFiles, emulated_link
from harness.model.link import MTU_BYTES, Link, LinkAccount, Way
from harness.model.settings import TcpSettings
from harness.system.netns import Host
from harness.system.program import Command, run

TAIL_LOSS_PROBE = 3  # of tcp_early_retrans: Linux's own value
DEVICE_PACKETS = 10_000  # room for a burst while the emulator waits for a core; the emulated queue is its own
ETHERNET_BYTES = 14
SIOCGIFFLAGS = 0x8913
IFF_UP_AND_RUNNING = 0x41
IPV6_SETTINGS = Path("/proc/sys/net/ipv6/conf")  # not there with `ipv6.disable=1`
NOT_THERE = ("drops_queue", "drops_loss", "drops_codel")  # nothing waits, and nothing is dropped on purpose
NOT_KNOWN = ("oversize", "write_errors", "lateness_p50_us", "lateness_p99_us", "stalled_us")


class RunningLink(Interface):
    """A link between two hosts, whatever emulates it."""

    @property
    def epoch_ns(self) -> int:
        """Time zero of traces and step lists, CLOCK_MONOTONIC: the last `begin`, before that when the link was made."""
        ...

    def begin(self) -> None:
        """Time zero of rates that change with time is now; nothing else changes."""
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


@contextlib.contextmanager
def joined(
    link: Link, ends: Ends, files: LinkFiles, *, tcp: TcpSettings, device: LinkDevice, draw: int = 0
) -> Iterator[RunningLink]:
    """Join client and server by the link; the client's default route crosses it.

    `draw` moves the link's seed on (`PlannedTrial.draw`).
    """
    with contextlib.ExitStack() as undo:
        made: RunningLink
        if link.emulated:
            made = undo.enter_context(emulated_link(link, ends, files, device, link.seed + draw))
        else:
            if files.pcap is not None or files.times is not None:
                raise StudyError(f"the link {link.name} captures no packets; leave pcap out of `keep`")
            if ends.distances_ms:
                raise StudyError(f"the link {link.name} adds no distances; leave distance out")
            made = undo.enter_context(_direct_link(ends.client, ends.server))
        try:
            _route(ends, tcp)
        except TestbedFailed:
            made.examine()  # its device goes with it
            raise
        yield made


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


def route_options(tcp: TcpSettings) -> str:
    """The options of a route that give its connections these settings, also where sysctls may not be set."""
    return f"congctl {tcp.congestion_control} initcwnd {tcp.initial_window} mtu {MTU_BYTES}"


def kernel_settings(tcp: TcpSettings, ipv6: Path = IPV6_SETTINGS) -> dict[str, str | int]:
    """Sysctls below net. IPv6 would add its own chatter; a kernel without it has no such settings."""
    silent = {"ipv6.conf.all.disable_ipv6": 1, "ipv6.conf.default.disable_ipv6": 1}
    return {
        "ipv4.tcp_no_metrics_save": int(not tcp.remembers_destinations),
        **({"ipv4.tcp_no_ssthresh_metrics_save": 0} if tcp.remembers_destinations else {}),
        "ipv4.tcp_slow_start_after_idle": int(tcp.slow_start_after_idle),
        "ipv4.tcp_early_retrans": TAIL_LOSS_PROBE if tcp.tail_loss_probe else 0,
        **(silent if ipv6.is_dir() else {}),
    }


class DirectLink:
    """No link at all: a veth pair, for what is to be limited by the server alone.

    Nothing is delayed, queued or lost. Packets have at most 1500 bytes and are counted, as on an emulated link.
    """

    epoch_ns = 0  # there is no rate that changes with time

    def __init__(self, client: Host, server: Host) -> None:
        self._senders = {Way.DOWN: server, Way.UP: client}

    def begin(self) -> None:
        """Nothing of it changes with time."""

    @property
    def alive(self) -> bool:
        return all(self._is_up(host) for host in self._senders.values())

    def check(self) -> None:
        """Raise TestbedFailed when somebody has taken the pair away, or down."""
        if not self.alive:
            raise TestbedFailed("the veth pair between client and server is gone, or down")

    def examine(self) -> None:
        """`check`: the kernel always answers."""
        self.check()

    def reading(self) -> dict[str, Any]:
        """The kernel's counters now, as our own emulator names them."""
        told = {way: self._told_by(host)["stats64"] for way, host in self._senders.items()}
        ways = {way: self._account(told[way], told[Way.UP if way is Way.DOWN else Way.DOWN]) for way in told}
        return {"backend": "none", "scheduling": "kernel", **{way.value: ways[way] for way in ways}}

    def account(self) -> LinkAccount:
        """Nothing ever waits for the link."""
        return LinkAccount((), ())

    def _is_up(self, host: Host) -> bool:
        """By a call into the kernel: a program to ask it would take time from what is measured."""
        request = struct.pack("16sH14x", DEVICE.encode(), 0)
        with host.entered(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            try:
                answer = fcntl.ioctl(control, SIOCGIFFLAGS, request)
            except OSError:  # there is none
                return False
        flags = int.from_bytes(answer[16:18], sys.byteorder)
        return flags & IFF_UP_AND_RUNNING == IFF_UP_AND_RUNNING

    def _account(self, sender: dict[str, Any], receiver: dict[str, Any]) -> dict[str, Any]:
        sent = sender["tx"]
        return {
            "packets_out": sent["packets"],
            "bytes_out": sent["bytes"] - ETHERNET_BYTES * sent["packets"],
            "drops_device": sent["dropped"] + receiver["rx"]["dropped"],
            **dict.fromkeys(NOT_THERE, 0),
            **dict.fromkeys(NOT_KNOWN),
        }

    def _told_by(self, host: Host) -> dict[str, Any]:
        said = run(Command.of("ip", "-s", "-j", "link", "show", "dev", DEVICE).on(host.path))
        return dict(json.loads(said)[0])


@contextlib.contextmanager
def _direct_link(client: Host, server: Host) -> Iterator[DirectLink]:
    """A veth pair between the hosts; it vanishes with them. Segments are cut by the sender's kernel (no offload)."""
    ends = f"address {SHARED_MAC} mtu {MTU_BYTES} arp off gso_max_segs 1"
    client.configure(f"link add {DEVICE} {ends} type veth peer name {DEVICE} {ends} netns {server.name}")
    try:
        yield DirectLink(client, server)
    finally:
        with contextlib.suppress(TestbedFailed):  # gone already when making it failed
            client.configure(f"link del {DEVICE}")

"""No link at all: the hosts joined by a veth pair, for what is to be limited by the server alone.

Nothing is delayed, queued or lost. Packets have at most 1500 bytes and are counted, as on an emulated link.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import socket
import struct
import sys
from collections.abc import Iterator
from typing import Any

from harness.errors import TestbedFailed
from harness.lab.account import LinkAccount
from harness.model.direction import MTU_BYTES, Way
from harness.system.command import Command
from harness.system.netns import Host
from harness.system.program import run

ETHERNET_BYTES = 14
SIOCGIFFLAGS = 0x8913
IFF_UP_AND_RUNNING = 0x41
NOT_THERE = ("drops_queue", "drops_loss", "drops_codel")  # nothing waits, and nothing is dropped on purpose
NOT_KNOWN = ("oversize", "write_errors", "lateness_p50_us", "lateness_p99_us", "stalled_us")


class DirectLink:
    """A veth pair between two hosts. Made by `direct_link`."""

    epoch_ns = 0  # there is no rate that changes with time

    def __init__(self, client: Host, server: Host, device: str) -> None:
        self._senders = {Way.DOWN: server, Way.UP: client}
        self._device = device

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
        request = struct.pack("16sH14x", self._device.encode(), 0)
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
        said = run(Command.of("ip", "-s", "-j", "link", "show", "dev", self._device).on(host.path))
        return dict(json.loads(said)[0])


@contextlib.contextmanager
def direct_link(client: Host, server: Host, device: str, mac: str) -> Iterator[DirectLink]:
    """A veth pair between the hosts; it vanishes with them. Segments are cut by the sender's kernel (no offload)."""
    ends = f"address {mac} mtu {MTU_BYTES} arp off gso_max_segs 1"
    client.configure(f"link add {device} {ends} type veth peer name {device} {ends} netns {server.name}")
    try:
        yield DirectLink(client, server, device)
    finally:
        with contextlib.suppress(TestbedFailed):  # gone already when making it failed
            client.configure(f"link del {device}")

"""Trains of packets over many ways at once: to or from each client of a host with many addresses.

As in harness.lab.probes the kernel stamps what arrives. Nothing is received while packets are sent, so that one
thread can keep many trains going: the sockets hold a train of `TRAIN_PACKETS` until it is read.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.lab.probes import (
    PORT,
    RECEIVE_BUFFER_BYTES,
    SEQUENCE,
    SO_TIMESTAMPNS,
    UDP_OVERHEAD_BYTES,
    Passage,
    time_stamp,
)
from harness.system.netns import Host

TRAIN_PACKETS = 60
MOST_WAYS = 500  # each needs a socket, and a process may have 1,024 files by default
PACKET_INFO = struct.Struct("=i4s4s")  # struct in_pktinfo: the source address of one packet
IP_PKTINFO = 8


@dataclass(frozen=True)
class Pair:
    """One way from an address of the sending host to one of the receiving host."""

    source: str
    destination: str


@dataclass(frozen=True)
class ManyWays:
    """Ways between two hosts, at most `MOST_WAYS`."""

    sender: Host
    receiver: Host
    pairs: Sequence[Pair]

    def trains(self, count: int, *, size_bytes: int, gap_s: float, patience_s: float) -> list[list[Passage]]:
        """`count` UDP packets of `size_bytes` IP bytes over each way, in turn, one of any way every `gap_s`.

        Lost packets are left out. Waits up to `patience_s` without an arrival for what is still under way.
        """
        with contextlib.ExitStack() as opened:
            sinks = self._sinks(opened)
            with self.sender.entered():
                source = opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            sent = self._send(source, count, size_bytes, gap_s)
            arrivals = _received(sinks, count, patience_s)
        return [
            [Passage(number, times[number], stamp) for number, stamp in sorted(arrived.items())]
            for times, arrived in zip(sent, arrivals, strict=True)
        ]

    def _sinks(self, opened: contextlib.ExitStack) -> list[socket.socket]:
        """A socket for each way; the number of the way is in its port."""
        with self.receiver.entered():
            sinks = [
                opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in self.pairs
            ]
        for number, (sink, pair) in enumerate(zip(sinks, self.pairs, strict=True)):
            sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            sink.setblocking(False)
            sink.bind((pair.destination, PORT + number))
        return sinks

    def _send(self, source: socket.socket, count: int, size_bytes: int, gap_s: float) -> list[list[int]]:
        """When each packet of each way was sent."""
        padding = bytes(size_bytes - UDP_OVERHEAD_BYTES - SEQUENCE.size)
        ways = [
            (
                [
                    (
                        socket.IPPROTO_IP,
                        IP_PKTINFO,
                        PACKET_INFO.pack(0, socket.inet_aton(pair.source), bytes(4)),
                    )
                ],
                (pair.destination, PORT + number),
            )
            for number, pair in enumerate(self.pairs)
        ]
        sent: list[list[int]] = [[] for _ in ways]
        start, before = time.monotonic(), 0
        for number in range(count):
            packet = [SEQUENCE.pack(number), padding]
            for (info, address), times in zip(ways, sent, strict=True):
                if (wait := start + before * gap_s - time.monotonic()) > 0:
                    time.sleep(wait)
                times.append(time.time_ns())
                source.sendmsg(packet, info, 0, address)
                before += 1
        return sent


def _received(sinks: Sequence[socket.socket], count: int, patience_s: float) -> list[dict[int, int]]:
    """Numbers and times of arrival of what comes, by sink."""
    arrivals: list[dict[int, int]] = [{} for _ in sinks]
    waiting = {sink.fileno(): number for number, sink in enumerate(sinks)}
    poll = select.epoll()
    for each in waiting:
        poll.register(each, select.EPOLLIN)
    quiet_since = time.monotonic()
    with poll:
        while waiting and time.monotonic() < quiet_since + patience_s:
            for file, _ in poll.poll(0.05):
                number = waiting[file]
                _read(sinks[number], arrivals[number])
                quiet_since = time.monotonic()
                if len(arrivals[number]) == count:
                    poll.unregister(file)
                    del waiting[file]
    return arrivals


def _read(sink: socket.socket, arrivals: dict[int, int]) -> None:
    """Take all that has come."""
    while True:
        try:
            data, extra, _, _ = sink.recvmsg(SEQUENCE.size, 128)
        except BlockingIOError:
            return
        arrivals.setdefault(SEQUENCE.unpack_from(data)[0], time_stamp(extra))

"""What is sent over a link to find out what it does: echoes, trains of packets, streams of TCP.

Everything is stamped by the kernel on arrival, echoes also when they are sent: a sender that waits for a core adds
nothing to what the link took. All hosts share the machine's clock, and what was lost shows as such.
Times are nanoseconds of CLOCK_REALTIME.

Trains between many pairs of addresses at once go to or from each client of a host with many addresses. Nothing is
received while they are sent, so that one thread can keep many going: the sockets hold a train of `TRAIN_PACKETS` until
it is read.
"""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass

from harness.errors import TestbedFailed
from harness.system.netns import Host

ICMP_HEADER = struct.Struct("!BBHHH")
ECHO_REPLY = 0
SEQUENCE = struct.Struct("!I")
IP_HEADER_BYTES = 20
UDP_OVERHEAD_BYTES = 28
ECHO_BYTES = IP_HEADER_BYTES + ICMP_HEADER.size
PORT = 5201
SO_TIMESTAMPNS = 35
SO_TIMESTAMPING = 37
# linux/net_tstamp.h: a stamp on entering the device's queue, without the packet, read from the error queue.
STAMP_SENDING = 1 << 8 | 1 << 4 | 1 << 11  # TX_SCHED, SOFTWARE, OPT_TSONLY
SO_RCVBUFFORCE = 33  # beyond net.core.rmem_max, for root
RECEIVE_BUFFER_BYTES = 16 << 20  # a train of full packets, while the receiver waits for a core
NS = 1_000_000_000
TRAIN_PACKETS = 60
MOST_PAIRS = 500  # each needs a socket, and a process may have 1,024 files by default
PACKET_INFO = struct.Struct("=i4s4s")  # struct in_pktinfo: the source address of one packet
IP_PKTINFO = 8


@dataclass(frozen=True)
class Passage:
    """One packet that arrived: its number in the order of sending, when it was sent and when it was there."""

    number: int
    sent_ns: int
    arrived_ns: int

    @property
    def ms(self) -> float:
        return (self.arrived_ns - self.sent_ns) / 1e6


@dataclass(frozen=True)
class Echo(Passage):
    """An echo that was answered. Besides the kernel's stamps: when the sender asked for it, and saw the answer."""

    asked_ns: int
    seen_ns: int


@dataclass(frozen=True)
class OneWay:
    """From one host to another, which has this address."""

    sender: Host
    receiver: Host
    address: str


def echoes(
    client: Host, addresses: tuple[str, ...], count: int, gap_s: float, patience_s: float
) -> list[Echo]:
    """`count` ICMP echoes answered by the kernel at the `addresses` in turn, one every `gap_s`; lost ones are left out.

    Waits up to `patience_s` after the last one for answers that are still due. Number n is of address n modulo their
    number; there are at most 65,536.
    """
    sent: list[tuple[int, int]] = []
    received: dict[int, tuple[int, int]] = {}
    with client.entered(), socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP) as probe:
        probe.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        probe.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, STAMP_SENDING)
        start = time.monotonic()
        end = start + count * gap_s + patience_s
        while len(received) < count and (now := time.monotonic()) < end:
            due = start + len(sent) * gap_s
            if len(sent) < count and now >= due:
                request = _echo_request(len(sent))
                asked = time.time_ns()
                probe.sendto(request, (addresses[len(sent) % len(addresses)], 0))
                sent.append((asked, _sending_time(probe)))
            elif select.select([probe], [], [], (due if len(sent) < count else end) - now)[0]:
                number, stamp = _answer(probe)
                if number is not None and number < len(sent):
                    received.setdefault(number, (stamp, time.time_ns()))
    return [
        Echo(number, sent_ns=sent[number][1], arrived_ns=stamp, asked_ns=sent[number][0], seen_ns=seen)
        for number, (stamp, seen) in sorted(received.items())
    ]


def train(
    way: OneWay, count: int, *, size_bytes: int, gap_s: float = 0.0, patience_s: float
) -> list[Passage]:
    """UDP packets of `size_bytes` IP bytes, back to back or one every `gap_s`; lost ones are left out.

    Waits up to `patience_s` without an arrival for what is still under way.
    """
    with way.receiver.entered():
        sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with way.sender.entered():
        source = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sent: list[int] = []

    def send() -> None:
        padding = bytes(size_bytes - UDP_OVERHEAD_BYTES - SEQUENCE.size)
        start = time.monotonic()
        for number in range(count):
            if gap_s and (wait := start + number * gap_s - time.monotonic()) > 0:
                time.sleep(wait)
            sent.append(time.time_ns())
            try:
                source.sendto(SEQUENCE.pack(number) + padding, (way.address, PORT))
            except OSError:  # the link has gone with its device; what is sent no more counts as lost
                return

    with sink, source:
        sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        _make_room(sink)
        sink.bind((way.address, PORT))
        thread = threading.Thread(target=send)
        thread.start()
        arrivals: dict[int, int] = {}
        quiet_since = time.monotonic()
        while len(arrivals) < count and (thread.is_alive() or time.monotonic() < quiet_since + patience_s):
            if select.select([sink], [], [], 0.05)[0]:
                data, extra, _, _ = sink.recvmsg(2048, 128)
                arrivals.setdefault(SEQUENCE.unpack_from(data)[0], time_stamp(extra))
                quiet_since = time.monotonic()
            elif thread.is_alive():
                quiet_since = time.monotonic()
        thread.join()
    return [Passage(number, sent[number], stamp) for number, stamp in sorted(arrivals.items())]


def _make_room(sink: socket.socket) -> None:
    """As much room for what waits to be read as may be had; an ordinary user gets no more than net.core.rmem_max."""
    try:
        sink.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
    except PermissionError:
        sink.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)


def goodput_mbps(way: OneWay, *, settle_s: float, seconds: float) -> float:
    """Payload rate of one TCP stream over `seconds`, after `settle_s` for it to fill the link."""
    with way.receiver.entered():
        listener = socket.create_server((way.address, PORT))
    with way.sender.entered():
        near = socket.create_connection((way.address, PORT), timeout=60)
    far, _ = listener.accept()
    stop = threading.Event()

    def send() -> None:
        block = bytes(256 << 10)
        near.settimeout(1)
        while not stop.is_set():
            try:
                near.send(block)
            except TimeoutError:  # the link is slow; ask again whether to stop
                continue
            except OSError:  # the receiver has closed: the measurement is over
                return

    with listener, near, far:
        far.settimeout(60)
        thread = threading.Thread(target=send)
        thread.start()
        try:
            return _received_mbps(far, settle_s, seconds)
        finally:
            stop.set()
            far.close()
            thread.join()


def _received_mbps(far: socket.socket, settle_s: float, seconds: float) -> float:
    """From the first arrival after settling to the first one `seconds` later."""
    buffer = bytearray(1 << 20)
    begin = time.monotonic() + settle_s
    first: float | None = None
    count = 0
    while True:
        size = far.recv_into(buffer)
        now = time.monotonic()
        if size == 0:
            raise TestbedFailed("the TCP stream over the link broke off")
        if first is None:
            if now >= begin:
                first = now
            continue
        count += size
        if now >= first + seconds:
            return count * 8 / (now - first) / 1e6


def _echo_request(number: int) -> bytes:
    identity = os.getpid() & 0xFFFF
    total = 0x0800 + identity + number
    total = (total & 0xFFFF) + (total >> 16)
    return ICMP_HEADER.pack(8, 0, ~total & 0xFFFF, identity, number)


def _answer(probe: socket.socket) -> tuple[int | None, int]:
    """The number of our echo that the next packet answers, None of any other, and the kernel's receive time."""
    data, extra, _, _ = probe.recvmsg(2048, 128)
    kind, _, _, identity, number = ICMP_HEADER.unpack_from(data, IP_HEADER_BYTES)
    ours = (kind, identity) == (ECHO_REPLY, os.getpid() & 0xFFFF)
    return number if ours else None, time_stamp(extra)


def _sending_time(probe: socket.socket) -> int:
    """When the packet sent last entered the device's queue; the kernel has noted it before the send returns."""
    try:
        _, extra, _, _ = probe.recvmsg(0, 256, socket.MSG_ERRQUEUE)
    except BlockingIOError as error:
        raise TestbedFailed("the kernel gave no time stamp of sending") from error
    return time_stamp(extra)


def time_stamp(extra: Sequence[tuple[int, int, bytes]]) -> int:
    """The kernel's stamp that came with a packet, from a socket with SO_TIMESTAMPNS."""
    for level, kind, value in extra:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS:
            seconds, nanoseconds = struct.unpack("qq", value[:16])
            return int(seconds * NS + nanoseconds)
    raise TestbedFailed("the kernel gave no receive time stamp")


@dataclass(frozen=True)
class Pair:
    """An address of the sending host and one of the receiving host."""

    source: str
    destination: str


@dataclass(frozen=True)
class ManyPairs:
    """Pairs of addresses of two hosts, at most `MOST_PAIRS`."""

    sender: Host
    receiver: Host
    pairs: Sequence[Pair]

    def trains(self, count: int, *, size_bytes: int, gap_s: float, patience_s: float) -> list[list[Passage]]:
        """`count` UDP packets of `size_bytes` IP bytes for each pair, the pairs in turn, one of any pair every `gap_s`.

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
        """A socket for each pair; the number of the pair is in its port."""
        with self.receiver.entered():
            sinks = [
                opened.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) for _ in self.pairs
            ]
        for number, (sink, pair) in enumerate(zip(sinks, self.pairs, strict=True)):
            sink.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            _make_room(sink)
            sink.setblocking(False)
            sink.bind((pair.destination, PORT + number))
        return sinks

    def _send(self, source: socket.socket, count: int, size_bytes: int, gap_s: float) -> list[list[int]]:
        """When each packet of each pair was sent."""
        padding = bytes(size_bytes - UDP_OVERHEAD_BYTES - SEQUENCE.size)
        targets = [
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
        sent: list[list[int]] = [[] for _ in targets]
        start, before = time.monotonic(), 0
        for number in range(count):
            packet = [SEQUENCE.pack(number), padding]
            for (info, address), times in zip(targets, sent, strict=True):
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
    for descriptor in waiting:
        poll.register(descriptor, select.EPOLLIN)
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

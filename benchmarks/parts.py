"""Where the time of an echo goes that the link should not have taken: one reading at every stage of its way.

Packet sockets on both hosts stamp an echo in the kernel as it passes their devices, and the emulator tells when it
came, was due and left. The parts between these times add up to the error of the round trip: what is late has a name.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import math
import os
import socket
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.lab.emulated import DEVICE
from harness.lab.passages import ICMP_HEADER, IP_HEADER_BYTES, SO_TIMESTAMPNS, Echo, time_stamp
from harness.system.netns import Host

ETH_P_ALL = 3
SO_RCVBUFFORCE = 33
RECEIVE_BUFFER_BYTES = 16 << 20
REQUEST, REPLY = 8, 0  # types of ICMP

# In the order of the way. The first and the last are the prober's own and not part of the round trip.
PARTS = {
    "asked": "prober to client's queue",
    "queue": "client's queue to its device",
    "read_up": "client's device to arrival at the emulator",
    "late_up": "emulator beyond due, up",
    "write_up": "emulator to server's kernel",
    "echo": "server's kernel, until the answer's device",
    "read_down": "server's device to arrival at the emulator",
    "late_down": "emulator beyond due, down",
    "write_down": "emulator to client's kernel",
    "seen": "client's kernel to prober",
}
OUTSIDE = ("asked", "seen")


@dataclass(frozen=True)
class Carried:
    """A packet inside the emulator: when it came, was due and left, ns of CLOCK_REALTIME."""

    arrived_ns: int
    due_ns: int
    left_ns: int


@dataclass(frozen=True)
class Split:
    """One echo's parts in ms, and the error of its round trip, which is the sum of those inside."""

    parts: Mapping[str, float]

    @property
    def error_ms(self) -> float:
        return sum(ms for name, ms in self.parts.items() if name not in OUTSIDE)


@contextlib.contextmanager
def tap(host: Host) -> Iterator[socket.socket]:
    """A packet socket that keeps a copy of whatever passes the host's end of the link, either way."""
    with host.entered():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        with made:
            made.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, RECEIVE_BUFFER_BYTES)
            made.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            made.bind((DEVICE, ETH_P_ALL))
            made.setblocking(False)
            yield made


def passed(tap: socket.socket) -> dict[tuple[int, int], int]:
    """When each echo passed, by its ICMP type and number."""
    stamps: dict[tuple[int, int], int] = {}
    with contextlib.suppress(BlockingIOError):
        while True:
            data, extra, _, _ = tap.recvmsg(2048, 128)
            if data[9] == socket.IPPROTO_ICMP:
                kind, _, _, _, number = ICMP_HEADER.unpack_from(data, IP_HEADER_BYTES)
                stamps.setdefault((kind, number), time_stamp(extra))
    return stamps


def carried(file: Path, way: str) -> list[Carried]:
    """What the emulator wrote with --times, in order."""
    offset = time.time_ns() - time.monotonic_ns()
    with file.open(encoding="ascii") as lines:
        rows = [row for row in csv.DictReader(lines) if row["way"] == way]
    return [Carried(*(int(row[key]) + offset for key in ("arrived_ns", "due_ns", "left_ns"))) for row in rows]


def split(
    echoes: Sequence[Echo],
    client: Mapping[tuple[int, int], int],
    server: Mapping[tuple[int, int], int],
    up: Sequence[Carried],
    down: Sequence[Carried],
) -> list[Split]:
    """The parts of each echo. Nothing else was sent and nothing lost, so an echo's number is its place in the log."""
    if not len(echoes) == len(up) == len(down):
        raise ValueError(f"{len(echoes)} echoes, but the emulator carried {len(up)} up and {len(down)} down")
    splits = []
    for each, there, back in zip(echoes, up, down, strict=True):
        stages = (
            each.asked_ns,
            each.sent_ns,
            client[REQUEST, each.number],
            (there.arrived_ns, there.due_ns),
            there.left_ns,
            server[REQUEST, each.number],
            server[REPLY, each.number],
            (back.arrived_ns, back.due_ns),
            back.left_ns,
            each.arrived_ns,
            each.seen_ns,
        )
        # Where a stage has two times, the link took what lies between them, as it should.
        ends = [stage if isinstance(stage, tuple) else (stage, stage) for stage in stages]
        spans = [(later[0] - former[1]) / 1e6 for former, later in itertools.pairwise(ends)]
        splits.append(Split(dict(zip(PARTS, spans, strict=True))))
    return splits


@dataclass(frozen=True)
class Waits:
    """How long the emulator and this thread waited for a core so far, and what the host took of all (steal), in ms."""

    emulator: float
    prober: float
    stolen: float

    @classmethod
    def until_now(cls, emulator: int) -> Waits:
        """The host's share is told in ticks of 10 ms, over all cores."""
        ticks = int(Path("/proc/stat").read_text(encoding="ascii").split(maxsplit=9)[8])
        stolen = 1000 * ticks / os.sysconf("SC_CLK_TCK")
        return cls(_run_delay(f"{emulator}/task/{emulator}"), _run_delay("thread-self"), stolen)

    def __sub__(self, other: Waits) -> Waits:
        return Waits(self.emulator - other.emulator, self.prober - other.prober, self.stolen - other.stolen)

    def __add__(self, other: Waits) -> Waits:
        return Waits(self.emulator + other.emulator, self.prober + other.prober, self.stolen + other.stolen)


def _run_delay(task: str) -> float:
    return int(Path("/proc", task, "schedstat").read_text(encoding="ascii").split()[1]) / 1e6


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[math.ceil(share * len(values)) - 1]


@dataclass(frozen=True)
class Share:
    """A part of all echoes in ms, or their whole error, and what it has of that which the slowest 1 % took more."""

    what: str
    values: Sequence[float]
    of_the_slowest: str

    def quoted(self) -> dict[str, str]:
        """A row of the figures that documents quote."""
        told = statistics.median(self.values), quantile(self.values, 0.99), max(self.values)
        spans = dict(zip(("median_ms", "p99_ms", "most_ms"), (f"{ms:.3f}" for ms in told), strict=True))
        return {"figure": self.what, **spans, "of_the_slowest": self.of_the_slowest}

    def __str__(self) -> str:
        what, *spans, of_the_slowest = self.quoted().values()
        return f"  {what:60} {' '.join(f'{ms:>8}' for ms in spans)}  {of_the_slowest}"


def shares(splits: Sequence[Split], where: str = "") -> Iterator[Share]:
    """Every part, and what all of the round trip come to; `where` is said behind the name of each."""
    usual = {name: statistics.median(echo.parts[name] for echo in splits) for name in PARTS}
    worst = sorted(splits, key=lambda each: each.error_ms)[-max(1, len(splits) // 100) :]
    excess = {name: sum(echo.parts[name] - usual[name] for echo in worst) for name in PARTS}
    total = sum(excess[name] for name in PARTS if name not in OUTSIDE)
    for name, what in PARTS.items():
        share = "no part of the RTT" if name in OUTSIDE else f"{round(100 * excess[name] / total)} %"
        yield Share(f"{what}{where}", [echo.parts[name] for echo in splits], share)
    yield Share(f"error of the RTT{where}", [echo.error_ms for echo in splits], f"{total:.3f} ms")

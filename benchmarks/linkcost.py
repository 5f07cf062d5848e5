"""What the link emulator costs and how exact it is, in one run; also by turns with another build of it.

    .venv/bin/python -m benchmarks.linkcost [--runs 5] [--only idle 10 100 1000 1000-room]
                                            [--beside PROGRAM | --into DIR]

Of each case and build: echoes over the link at rest, then one TCP stream down, each run over a link of its own. Printed
are the median and the range of the runs and, with `--beside`, the ratio of the medians, this build to the other one.
PROGRAM is another `linkem`, in a folder that the enclosure shows (not in /run).

`1000-room` is 1000 Mbit/s between hosts whose TCP may buffer more than Linux lets it. Where `1000` falls short and
`1000-room` does not, the sender's buffer is what limits, not the link; the line "sender limited" tells, too.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import statistics
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from benchmarks import common, quoted
from benchmarks.link import ECHO_GAP_S, ECHOES, TCP_BUFFERS, cpu_share, real_time, with_queue
from harness.lab import emulated
from harness.lab.calibrate import TCP_SHARE
from harness.lab.calibration import PROBE_ADDRESS
from harness.lab.emulated import EmulatedLink, LinkDevice, linkem_program, usable_device
from harness.lab.passages import ECHO_BYTES, OneWay, echoes, goodput_mbps
from harness.lab.testbed import Client, Testbed, testbed
from harness.model.link import Link, Way
from harness.system.enclosure import enclosed
from harness.system.program import Command, run

SETTLE_S, SECONDS = 3.0, 6.0
WATCHED_S = 5.0  # of them, between two readings of the counters
RTT_MS = 20
LIMITS = re.compile(r"(rwnd|sndbuf)_limited:\d+ms\(([\d.]+)%\)")  # of ss -i
SENT_AGAIN = re.compile(r"retrans:\d+/(\d+)")
INTERRUPTS = {"LOC": "timer interrupts", "RES": "interrupts that wake a core"}  # lines of /proc/interrupts


@dataclass(frozen=True)
class Case:
    """A link at rest, and the stream that then fills it; none at rate 0."""

    rate: int
    kernel: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def link(self) -> Link:
        rate = self.rate or 1000
        return with_queue(Link.of(rate, RTT_MS if self.rate else 50), max(45_000, rate * 2500))


CASES = {
    "idle": Case(0),
    "10": Case(10),
    "100": Case(100),
    "1000": Case(1000),
    "1000-room": Case(1000, TCP_BUFFERS),
}


@dataclass(frozen=True)
class Count:
    """What the emulator and the machine had done at one moment."""

    reading: Mapping[str, Any]
    sleeps: int
    interrupts: Mapping[str, int]


@contextlib.contextmanager
def emulator(program: Path) -> Iterator[None]:
    """Links made in the block are emulated by this program."""
    with (
        mock.patch.object(emulated, "linkem_program", return_value=program),
        mock.patch("harness.lab.testbed.refuse_stale_emulator"),  # it may be of other sources
    ):
        yield


def measured(case: Case, device: LinkDevice | None) -> dict[str, float]:
    """One run: each figure by its name."""
    with testbed(device=device) as made:
        made.server.configure(f"addr add {PROBE_ADDRESS}/32 dev lo")
        made.server.set_kernel(case.kernel)
        with made.client(case.link) as client:
            client.host.set_kernel(case.kernel)
            figures = precision(client, case.link)
            if case.rate:
                figures |= stream(made, client, case.rate)
            return figures


def precision(client: Client, link: Link) -> dict[str, float]:
    """Errors of round trips over a link that carries nothing else."""
    before = client.link.reading()
    with real_time():
        seen = echoes(client.host, (PROBE_ADDRESS,), ECHOES + 1, ECHO_GAP_S, 3)[1:]
    after = client.link.reading()
    own_ms = 2 * ECHO_BYTES * 8 / (link.down.rate.mean_mbps * 1e3)
    signed = sorted(echo.ms - own_ms - link.rtt_ms for echo in seen)
    errors = sorted(abs(error) for error in signed)
    return {
        "RTT error, median, ms": statistics.median(errors),
        "RTT error, p99, ms": errors[math.ceil(0.99 * len(errors)) - 1],
        "RTT error, least, ms": signed[0],
        "CPU of the emulator with 97 echoes/s, %": 100 * cpu_share(before, after),
    }


def stream(made: Testbed, client: Client, rate: int) -> dict[str, float]:
    """One TCP stream down: goodput, what the emulator needs for it, and what limits the sender."""
    counts: list[Count] = []
    limits: dict[str, float] = {}

    def watch() -> None:
        time.sleep(SETTLE_S)
        counts.append(counted(client))
        time.sleep(WATCHED_S)
        counts.append(counted(client))
        limits.update(limited(made, client))

    watcher = threading.Thread(target=watch)
    watcher.start()
    way = OneWay(made.server, client.host, client.address)
    got = goodput_mbps(way, settle_s=SETTLE_S, seconds=SECONDS)
    watcher.join()
    return {"goodput, % off": 100 * (got / (rate * TCP_SHARE) - 1), **costs(*counts), **limits}


def counted(client: Client) -> Count:
    assert isinstance(client.link, EmulatedLink)
    status = Path(f"/proc/{client.link.pid}/task/{client.link.pid}/status").read_text(encoding="ascii")
    sleeps = next(line for line in status.splitlines() if line.startswith("voluntary"))
    lines = [line.split() for line in Path("/proc/interrupts").read_text(encoding="ascii").splitlines()]
    interrupts = {
        words[0][:-1]: sum(int(word) for word in words[1:] if word.isdigit())
        for words in lines
        if words[0][:-1] in INTERRUPTS
    }
    return Count(client.link.reading(), int(sleeps.split()[1]), interrupts)


def costs(before: Count, after: Count) -> dict[str, float]:
    """What the emulator needed between two counts, also of each packet that it delivered, whatever way."""
    first, last = dict(before.reading), dict(after.reading)
    share = cpu_share(first, last)
    packets = sum(last[way]["packets_out"] - first[way]["packets_out"] for way in Way)
    seconds = last["elapsed_s"] - first["elapsed_s"]
    return {
        "CPU of the emulator, % of a core": 100 * share,
        "CPU of a packet, us": 1e6 * share * seconds / packets,
        "sleeps per 1000 packets": 1000 * (after.sleeps - before.sleeps) / packets,
        **{
            f"{what} per 1000 packets": 1000 * (after.interrupts[line] - before.interrupts[line]) / packets
            for line, what in INTERRUPTS.items()
        },
        "packets late by, p99, us": max(last[way]["lateness_p99_us"] for way in Way),
        "packets dropped outside the model": sum(last[way]["drops_device"] or 0 for way in Way),
    }


def limited(made: Testbed, client: Client) -> dict[str, float]:
    """The share of the time in which the sender waited for the receiver's window, and for its own buffer."""
    with made.server.entered():
        told = run(Command.of("ss", "-tinH", "dst", client.address))
    shares = {kind: float(share) for kind, share in LIMITS.findall(told)}
    return {
        "sender limited by the window, %": shares.get("rwnd", 0.0),
        "sender limited by its buffer, %": shares.get("sndbuf", 0.0),
        "packets sent again": sum(int(count) for count in SENT_AGAIN.findall(told)),
    }


Runs = Sequence[Mapping[str, float]]


def kept(taken: Mapping[str, Runs]) -> list[dict[str, str]]:
    """A row for each figure, with its median and range over each link; nothing where a link has no such figure."""
    figures = dict.fromkeys(figure for runs in taken.values() for figure in runs[0])
    return [
        {
            "figure": figure,
            **{
                f"at_{name.replace('-', '_')}": spread([run[figure] for run in runs])
                if figure in runs[0]
                else ""
                for name, runs in taken.items()
            },
        }
        for figure in figures
    ]


def lines(name: str, ours: Runs, others: Runs) -> Iterator[str]:
    """A case as a table: each figure here, there, and as a ratio."""
    yield f"\n{name:42} {'here':>28} {'there':>28} {'ratio':>7}"
    for figure in ours[0]:
        here, there = ([run[figure] for run in runs] for runs in (ours, others))
        middle = [statistics.median(values) for values in (here, there) if values]
        ratio = f"{middle[0] / middle[1]:7.2f}" if len(middle) == 2 and middle[1] else ""
        yield f"{figure:42} {spread(here):>28} {spread(there):>28} {ratio:>7}"


def spread(values: Sequence[float]) -> str:
    if not values:
        return "-"
    size = abs(statistics.median(values))
    return common.spread(values, 0 if size >= 100 else 1 if size >= 10 else 3)


def main() -> int:
    parser = common.parser(__doc__)
    parser.add_argument("--device", type=LinkDevice, choices=list(LinkDevice), metavar="|".join(LinkDevice))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--beside", type=Path, metavar="PROGRAM")
    quoted.add_into(parser)
    given = parser.parse_args()
    if given.beside and given.into:
        parser.error("--into keeps the figures of this build alone: not with --beside")
    programs = [linkem_program().resolve(), *([given.beside.resolve()] if given.beside else [])]

    def measure() -> int:
        clock = Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
        print(f"{common.machine()}, clock {clock.read_text().strip()}")
        print(f"device {given.device or usable_device()}; {given.runs} runs each")
        part, ours = quoted.Part("linkcost", "cases"), dict[str, Runs]()
        for name in given.only:
            taken: list[list[dict[str, float]]] = [[], []]
            for turn in range(given.runs):
                turns = list(enumerate(programs))
                for which, program in turns[:: -1 if turn % 2 else 1]:
                    with emulator(program):
                        taken[which].append(measured(CASES[name], given.device))
            for line in lines(name, *taken):
                print(line, flush=True)
            ours[name] = taken[0]
        if given.into:
            part.keep(given.into, kept(ours), ["figure"])
        print(f"load average at the end {os.getloadavg()[0]:.1f}")
        return 0

    return enclosed(measure)


if __name__ == "__main__":
    sys.exit(main())

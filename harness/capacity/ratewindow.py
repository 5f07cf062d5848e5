"""What server, emulator and machine use while a closed loop counts: read at its beginning and at its end, not between.

Who reads once a second (`harness.capacity.serverside`) takes from the cores that are measured, and a closed loop has no
course to show: the same is asked from its first second to its last.

Whether a tool sends requests without waiting for answers is seen before the trial: two are asked for, and packets
counted. Of a tool that sends a request as soon as one is answered, the packets of a long run tell nothing where the
server answers one by one: every answer lets one request go, however many are under way. But the first requests of a
connection go out together, in fewer packets than one at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.capacity.limit import Bottleneck, Capacity, limit_of_second
from harness.capacity.ratetool import PATIENCE_S, ClosedLoop, RateTool
from harness.capacity.series import Second
from harness.capacity.serverside import MachineReading
from harness.lab.testbed import Client
from harness.model.link import Way
from harness.system.accounts import Account, usage
from harness.system.netns import Host
from harness.system.processtree import ForeignCpu
from harness.system.program import run

Reading = Mapping[str, Any]
BURST_REQUESTS = 2  # the fewest that tell: on a slow link more of a large file would take long


@dataclass(frozen=True, kw_only=True)
class Used:
    """What was used between the beginning and the end; None where nobody tells.

    `data_packets` is how many packets with data the client's host has sent by TCP since it was made, those of the
    warm-up included.
    """

    server_cpu_s: float | None
    foreign_cpu_share: float
    machine_idle_share: float | None
    idle_by_core: tuple[float, ...] | None
    data_packets: int
    link_before: Reading
    link_reading: Reading

    @property
    def emulator_cpu_s(self) -> float | None:
        """None of a link that no process of ours emulates."""
        keys = ("cpu_user_s", "cpu_system_s")
        if any(key not in self.link_reading for key in keys):
            return None
        return float(sum(self.link_reading[key] - self.link_before[key] for key in keys))

    def carried(self, way: Way) -> int:
        """How many bytes the link has passed on."""
        return int(self.link_reading[way]["bytes_out"] - self.link_before[way]["bytes_out"])


class Window:
    """The time from now to `close`."""

    def __init__(self, accounts: Sequence[Account], client: Client) -> None:
        self._accounts, self._client = accounts, client
        self._link_before = client.link.reading()  # takes the longest, so it comes first
        self._foreign, self._machine = ForeignCpu(), MachineReading()
        self._cpu_before_s = cpu_seconds(accounts)

    def close(self) -> Used:
        """What has been used since."""
        now_s, machine = cpu_seconds(self._accounts), self._machine.read()
        before_s = self._cpu_before_s
        return Used(
            server_cpu_s=None if now_s is None or before_s is None else round(now_s - before_s, 6),
            foreign_cpu_share=self._foreign.share(),
            machine_idle_share=machine["machine_idle_share"],
            idle_by_core=machine["idle_by_core"],
            data_packets=data_packets(self._client.host),
            link_before=self._link_before,
            link_reading=self._client.link.reading(),
        )


def data_packets(host: Host) -> int:
    """How many packets with data a host has sent by TCP, none twice, by its kernel (TcpExt: TCPOrigDataSent)."""
    with host.entered():
        names, values = (
            line.split()
            for line in Path("/proc/thread-self/net/netstat").read_text().splitlines()
            if line.startswith("TcpExt:")
        )
    return int(values[names.index("TCPOrigDataSent")])


def cpu_seconds(accounts: Sequence[Account]) -> float | None:
    """Of all of them together; None when one does not tell."""
    found = [each.cpu_seconds(usage(each.pids())) for each in accounts]
    known = [seconds for seconds in found if seconds is not None]
    return sum(known) if len(known) == len(found) else None


def limited_by(used: Used, generator_cpu_s: float | None, seconds: float, capacity: Capacity) -> Bottleneck:
    """What ran out, from what was used in all the seconds that count."""
    whole = Second(
        t_s=seconds,
        server_cpu_s=used.server_cpu_s,
        generator_cpu_s=generator_cpu_s,
        emulator_cpu_s=used.emulator_cpu_s,
        machine_idle_share=used.machine_idle_share,
        idle_by_core=used.idle_by_core,
        down_bytes=used.carried(Way.DOWN),
        up_bytes=used.carried(Way.UP),
    )
    return limit_of_second(whole, seconds, capacity)


@dataclass(frozen=True)
class Burst:
    """How many packets with data the client sent for so many requests on one connection: all at once, one at a time."""

    requests: int
    at_once: int
    one_at_a_time: int

    @property
    def pipelined(self) -> bool:
        return self.at_once < self.one_at_a_time

    def __str__(self) -> str:
        return (
            f"{self.requests} requests on a connection took {self.at_once} packets at once and "
            f"{self.one_at_a_time} one at a time"
        )


def burst(tool: RateTool, loop: ClosedLoop, host: Host) -> Burst | None:
    """Of two requests on a connection; None where that proves nothing, or is not needed.

    TestbedFailed when the tool fails or does not end.
    """
    if tool.few is None or loop.depth == 1 or loop.protocol.wire != "http/1.1":
        return None
    packets = []
    for depth in (BURST_REQUESTS, 1):
        before = data_packets(host)
        command = tool.few(replace(loop, connections=1, threads=1, depth=depth), BURST_REQUESTS)
        run(command.on(host.path), timeout_s=PATIENCE_S)
        packets.append(data_packets(host) - before)
    return Burst(BURST_REQUESTS, *packets)

"""Whether a tool sends requests without waiting for answers: two are asked for before the trial, and packets counted.

Of a tool that sends a request as soon as one is answered, the packets of a long run tell nothing where the server
answers one by one: every answer lets one request go, however many are under way. But the first requests of a connection
go out together, in fewer packets than one at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.capacity.closedloop import ClosedLoop
from harness.capacity.ratetool import PATIENCE_S, RateTool
from harness.capacity.ratewindow import data_packets
from harness.system.netns import Host
from harness.system.program import run

REQUESTS = 2  # the fewest that tell: on a slow link more of a large file would take long


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
    for depth in (REQUESTS, 1):
        before = data_packets(host)
        command = tool.few(replace(loop, connections=1, threads=1, depth=depth), REQUESTS)
        run(command.on(host.path), timeout_s=PATIENCE_S)
        packets.append(data_packets(host) - before)
    return Burst(REQUESTS, *packets)

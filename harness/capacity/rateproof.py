"""What came of a trial of kind `requests`: what was used, whether it may count, and the numbers of its record.

What server, emulator and machine use while a closed loop counts is read at its beginning and at its end, not between.
Who reads once a second (`harness.capacity.serverside`) takes from the cores that are measured, and a closed loop has no
course to show: the same is asked from its first second to its last.

Whether a tool sends requests without waiting for answers is seen before the trial: two are asked for, and packets
counted. Of a tool that sends a request as soon as one is answered, the packets of a long run tell nothing where the
server answers one by one: every answer lets one request go, however many are under way. But the first requests of a
connection go out together, in fewer packets than one at a time.

The judgement and the numbers are pure. The tool's own word and the server's log must agree that the requests used the
protocol of the condition. A server logs only some of them (`sites.servers.serving.Deployment.closed_loop`), but a
connection has one protocol and one version of TLS for as long as it lasts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness.capacity.limit import Bottleneck, Capacity, limit_of_second
from harness.capacity.loadtool import PATIENCE_S, ClosedLoop, RateReading, RateTool
from harness.capacity.series import Second
from harness.capacity.serverside import MachineReading
from harness.errors import Outcome, TestbedFailed
from harness.lab.testbed import Client
from harness.model.link import Way
from harness.model.underload import RateObservation
from harness.probes.evidence import listed
from harness.probes.link import lost_outside
from harness.system.accounts import Account, usage
from harness.system.netns import Host
from harness.system.processtree import ForeignCpu
from harness.system.program import run
from sites.servers.server import Match, ServedRequest

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
    times = [account.cpu_seconds(usage(account.pids())) for account in accounts]
    known = [seconds for seconds in times if seconds is not None]
    return sum(known) if len(known) == len(times) else None


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


@dataclass(frozen=True)
class RateEvidence:
    """All that one trial left behind; None for what it did not get to.

    `accounting` is how the server's CPU time was told, `burst` what a few requests of the tool before it showed.
    """

    loop: ClosedLoop
    tls: str
    reading: RateReading | None = None
    served: tuple[ServedRequest, ...] | None = None
    used: Used | None = None
    generator_cpu_s: float | None = None
    accounting: str | None = None
    burst: Burst | None = None


def ending(evidence: RateEvidence, failed: TestbedFailed | None) -> tuple[Outcome, str | None]:
    """The outcome of a trial with its reason; `failed` is what ended it early."""
    if failed is not None:
        return Outcome.TESTBED_FAILED, str(failed)
    lost = lost_outside(evidence.used.link_reading if evidence.used else None)
    if lost:
        return Outcome.TESTBED_FAILED, lost
    for outcome, find in (
        (Outcome.PAGE_ERROR, nothing_answered),
        (Outcome.MISSING_OBJECTS, not_found),
        (Outcome.WRONG_PROTOCOL, wrong_by_tool),
        (Outcome.WRONG_PROTOCOL, wrong_at_server),
        (Outcome.WRONG_PROTOCOL, not_pipelined),
    ):
        reason = find(evidence)
        if reason:
            return outcome, reason
    return Outcome.OK, None


def nothing_answered(evidence: RateEvidence) -> str | None:
    reading = evidence.reading
    if reading is None:
        return "the tool left no reading"
    if reading.requests or reading.errors.get("status"):
        return None
    errors = ", ".join(f"{count} {kind}" for kind, count in reading.errors.items()) or "no error told"
    return f"no request was answered ({errors})"


def not_found(evidence: RateEvidence) -> str | None:
    count = evidence.reading.errors.get("status", 0) if evidence.reading else 0
    return f"{count:,} answers had a status of 400 or above" if count else None


def wrong_by_tool(evidence: RateEvidence) -> str | None:
    """What the tool says of its connections; None also where it says nothing."""
    reading, protocol = evidence.reading, evidence.loop.protocol
    if reading is None:
        return None
    if reading.protocol not in (None, protocol.wire):
        return f"the tool did not use {protocol}, but {reading.protocol}"
    wanted = f"TLSv{evidence.tls}" if protocol.encrypted else None
    if reading.tls is not None and reading.tls != wanted:
        return f"the tool did not use {wanted or 'a connection without TLS'}, but {reading.tls}"
    return None


def wrong_at_server(evidence: RateEvidence) -> str | None:
    """What the server logged of the client: by another protocol, another version of TLS, or for something else."""
    protocol = evidence.loop.protocol
    if not evidence.served:
        return "the server logged no request of the client"
    wrong = [
        f"{request.url} by {request.protocol}"
        for request in evidence.served
        if request.protocol != protocol.wire
    ]
    tls = f"TLSv{evidence.tls}" if protocol.encrypted else None
    wrong += [
        f"{request.url} by {request.tls or 'no TLS'}" for request in evidence.served if request.tls != tls
    ]
    others = [
        f"{request.url} ({request.match})"
        for request in evidence.served
        if not request.given_up  # at its end the tool no longer wants some
        and (request.url != evidence.loop.url or request.match is not Match.EXACT)
    ]
    return listed(f"the server did not use {protocol} for", wrong) or listed(
        f"the server was not asked for {evidence.loop.url} alone, but for", others
    )


def not_pipelined(evidence: RateEvidence) -> str | None:
    """Pipelining that nothing proves, or pipelining where there should be none.

    Each of three things proves it: the server's log, where it tells; fewer packets with data than requests, because
    then one packet brought several; and a burst of the same tool before the trial (`burst`), if the
    tool's own times then say that more requests were under way than there are connections.
    """
    loop, reading, used = evidence.loop, evidence.reading, evidence.used
    if loop.protocol.wire != "http/1.1" or reading is None or used is None:
        return None
    deepest = max((request.depth or 1 for request in evidence.served or ()), default=1)
    sent = f"{reading.requests:,} requests in {used.data_packets:,} packets"
    if loop.depth == 1:
        told = [f"{deepest} at once on a connection"] if deepest > 1 else []
        seen = [sent] if used.data_packets < reading.requests else []
        return listed("requests were pipelined:", [*told, *seen])
    burst, under_way = evidence.burst, reading.under_way or 0.0
    by_burst = burst is not None and burst.pipelined and under_way > loop.connections
    if deepest > 1 or used.data_packets < reading.requests or by_burst:
        return None
    reasons = [f"the server's log tells of none, and there were {sent}"]
    if burst is not None:
        reasons += [str(burst), f"{under_way:.3g} were under way on {loop.connections} connections"]
    return f"nothing proves that requests were pipelined: {'; '.join(reasons)}"


def observe(evidence: RateEvidence, limited_by: str | None) -> RateObservation:
    """The numbers; those of the tool are null where it left no reading."""
    reading, used = evidence.reading, evidence.used
    latency = reading.latency if reading else None
    batch = reading.batch if reading else None
    cpu_s = used.server_cpu_s if used else None
    return RateObservation(
        requests_per_s=round(reading.requests_per_s, 3) if reading else None,
        requests=reading.requests if reading else None,
        latency_p50_ms=latency.p50_ms if latency else None,
        latency_p90_ms=latency.p90_ms if latency else None,
        latency_p99_ms=latency.p99_ms if latency else None,
        latency_p999_ms=latency.p999_ms if latency else None,
        batch_p50_ms=batch.p50_ms if batch else None,
        batch_p99_ms=batch.p99_ms if batch else None,
        errors=dict(reading.errors) if reading else {},
        bytes_body=bytes_body(evidence),
        bytes_per_s=round(reading.bytes_read / reading.seconds, 3) if reading else None,
        server_cpu_s=cpu_s,
        server_cpu_us_per_request=round(1e6 * cpu_s / reading.requests, 3)
        if cpu_s is not None and reading and reading.requests
        else None,
        generator_cpu_s=evidence.generator_cpu_s,
        limited_by=limited_by,
        requests_by_protocol=requests_by_protocol(evidence),
        tls_versions=tls_versions(evidence),
        link_reading=used.link_reading if used else None,
        duration_s=round(reading.seconds, 3) if reading else None,
        foreign_cpu_share=used.foreign_cpu_share if used else None,
        accounting=evidence.accounting,
    )


def bytes_body(evidence: RateEvidence) -> int | None:
    """All answers have the same body. The server's log tells its size, and also what became of the last requests, which
    the tool left unread.
    """
    sizes = Counter(request.body_bytes for request in evidence.served or ())
    if not sizes or evidence.reading is None:
        return None
    ((size, _),) = sizes.most_common(1)
    return size * evidence.reading.requests


def requests_by_protocol(evidence: RateEvidence) -> dict[str, int]:
    """All requests, by the protocol of those that were logged; none where there were several."""
    protocols = {request.protocol for request in evidence.served or ()}
    if len(protocols) != 1 or evidence.reading is None:
        return {}
    return {protocols.pop(): evidence.reading.requests}


def tls_versions(evidence: RateEvidence) -> dict[str, int]:
    """Connections that were logged, by version of TLS."""
    versions = {request.connection: request.tls for request in evidence.served or () if request.tls}
    return dict(Counter(version for version in versions.values() if version))

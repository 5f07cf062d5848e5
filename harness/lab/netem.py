"""The kernel's own emulator (sch_netem, sch_tbf, sch_codel) on a veth pair between client and server, where it exists.

Per direction, on the sender's device: netem loses and delays, its child tbf queues in bytes and serialises. Where a
constant delay stands does not change when a packet arrives, so the model is that of our own emulator, with these
differences: tbf counts 14 bytes of Ethernet header per packet, which the rate makes up for with full packets;
losses are not seeded; lateness of deliveries is not known.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from harness.errors import EnvironmentLacks, StudyError, TestbedFailed
from harness.model.direction import MTU_BYTES, Direction, Discipline, GilbertElliott
from harness.model.link import Backend, Link
from harness.model.rate import ConstantRate
from harness.system.command import Command
from harness.system.netns import Host, host
from harness.system.program import run

ETHERNET_BYTES = 14
FULL_FRAME = MTU_BYTES + ETHERNET_BYTES
DELAYED_PACKETS = 1_000_000  # what netem may hold while it delays: no limit of the emulated link
UNLIMITED_BYTES = 2**30


class NetemLink:
    """A running link made of queueing disciplines."""

    backend = Backend.NETEM
    epoch_ns = 0  # constant rates have no time zero

    def __init__(self, client: Host, server: Host, device: str) -> None:
        self._ends = {"down": server, "up": client}
        self._device = device

    @property
    def alive(self) -> bool:
        return all("netem" in self._disciplines(end) for end in self._ends.values())

    def check(self) -> None:
        """Raise TestbedFailed when somebody has removed the disciplines."""
        if not self.alive:
            raise TestbedFailed("the link is no longer shaped: its netem discipline is gone")

    def examine(self) -> None:
        """`check`: the kernel always answers."""
        self.check()

    def reading(self) -> dict[str, Any]:
        """The kernel's counters now, as our own emulator names them."""
        self.check()
        ways = {way: self._account(end) for way, end in self._ends.items()}
        return {"backend": self.backend.value, "scheduling": "kernel", **ways}

    def account(self) -> None:
        """The kernel tells how many packets there were, and not when."""
        return

    def _account(self, end: Host) -> dict[str, Any]:
        found = self._disciplines(end)
        sent = found["tbf"]
        return {
            "packets_out": sent["packets"],
            "bytes_out": sent["bytes"] - ETHERNET_BYTES * sent["packets"],
            "drops_queue": sent["drops"],
            "drops_loss": found["netem"]["drops"],
            "drops_codel": found.get("codel", {}).get("drops", 0),
            **dict.fromkeys(
                (
                    "drops_device",
                    "oversize",
                    "write_errors",
                    "lateness_p50_us",
                    "lateness_p99_us",
                    "stalled_us",
                )
            ),
        }

    def _disciplines(self, end: Host) -> dict[str, dict[str, Any]]:
        said = run(Command.of("tc", "-s", "-j", "qdisc", "show", "dev", self._device).on(end.path))
        return {each["kind"]: each for each in json.loads(said)}


@contextlib.contextmanager
def netem_link(link: Link, client: Host, server: Host, device: str, mac: str) -> Iterator[NetemLink]:
    """A veth pair between the hosts, shaped at both ends; it vanishes with them."""
    ends = f"address {mac} mtu {MTU_BYTES} arp off gso_max_segs 1"
    if link.per_client:
        raise StudyError(f"link {link.name}: netem has no link per client; use our own emulator")
    for direction in link.directions:
        _refuse_foreign(link, direction)
    client.configure(
        f"link add {device} {ends} type veth peer name {device} {ends} netns {server.name}",
    )
    try:
        for end, direction in ((server, link.down), (client, link.up)):
            lines = disciplines(direction, link.delay_ms(direction.way), device)
            run(Command.of("tc", "-batch", "-").on(end.path), stdin="".join(f"{line}\n" for line in lines))
        yield NetemLink(client, server, device)
    finally:
        with contextlib.suppress(TestbedFailed):  # gone already when making it failed
            client.configure(f"link del {device}")


def disciplines(direction: Direction, delay_ms: float, device: str) -> list[str]:
    """The `tc` commands of one direction."""
    loss, queue = direction.loss, direction.queue
    if isinstance(loss, GilbertElliott):
        chances = (loss.p, loss.r, 1 - loss.h, 1 - loss.k)
        lost = "loss gemodel " + " ".join(f"{100 * chance:.6f}%" for chance in chances)
    else:
        lost = f"loss random {loss.percent:.6f}%" if loss.percent else ""
    rate = round(direction.rate.mean_mbps * 1e6 * FULL_FRAME / MTU_BYTES)
    packets = (UNLIMITED_BYTES if queue.limit_bytes is None else queue.limit_bytes) // MTU_BYTES
    lines = [
        f"qdisc add dev {device} root handle 1: netem delay {delay_ms * 1000:.0f}us limit {DELAYED_PACKETS} {lost}",
        f"qdisc add dev {device} parent 1:1 handle 2: tbf rate {rate}bit burst {FULL_FRAME} "
        f"limit {packets * FULL_FRAME + FULL_FRAME}",
    ]
    if queue.discipline is Discipline.CODEL:
        lines.append(
            f"qdisc add dev {device} parent 2:1 handle 3: codel limit {packets} target 5ms interval 100ms"
        )
    return lines


def refuse_without_netem() -> None:
    """Raise EnvironmentLacks unless this kernel has what a link of this kind needs."""
    with host("netem-check") as made:
        for line in (
            "root handle 1: netem delay 1ms",
            "parent 1:1 handle 2: tbf rate 1mbit burst 1514 limit 3028",
        ):
            try:
                run(Command.of("tc", "qdisc", "add", "dev", "lo", *line.split()).on(made.path))
            except TestbedFailed as error:
                raise EnvironmentLacks(
                    f"this kernel lacks sch_{'netem' if 'netem' in line else 'tbf'}, which the backend netem needs; "
                    "leave link_backend out to use coldload's own emulator"
                ) from error


def _refuse_foreign(link: Link, direction: Direction) -> None:
    """StudyError for what netem cannot do, or not without reordering packets."""
    if not isinstance(direction.rate, ConstantRate):
        raise StudyError(f"link {link.name}: netem has no {direction.rate.format}; use our own emulator")
    if direction.jitter_ms:
        raise StudyError(f"link {link.name}: netem reorders packets when it jitters; use our own emulator")

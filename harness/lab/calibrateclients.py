"""Whether each of many clients gets the link that it should, whoever else is there.

Over one host with an address per client, as a crowd has it: trains of full packets for the rate of each client, each
way, as many clients at once as the machine carries beside each other; small packets of all clients for the delay.
As in harness.lab.calibrate the oracle of the transmitter tells what a packet should have taken.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import StudyError, TestbedFailed
from harness.lab.calibration import (
    CODEL_TRAIN_SECONDS,
    PROBE_ADDRESS,
    PROBE_BYTES,
    RATE_TOLERANCE_SHARE,
    TRAIN_TOLERANCE_MS,
    CalibratedFigure,
    CalibratedFigures,
    Calibration,
    Patience,
    fitting_packets,
    measured,
)
from harness.lab.passages import MOST_PAIRS, TRAIN_PACKETS, ManyPairs, Pair, Passage
from harness.lab.testbed import Client, Testbed
from harness.model.link import MTU_BYTES, Direction, Discipline, Link, Way
from harness.model.rate import ConstantRate, transmitter
from harness.system.netns import Host

PACKETS_PER_S = 12_000  # of all trains together, so that two cores carry them beside other work
OVERLOAD = 1.2  # of a client's rate, so that its transmitter never waits for the train
SHARED_LOAD = 0.8  # of the shared rate, so that it is no one's limit
DELAY_PACKETS, LEAST_PER_CLIENT = 200, 4  # of all clients together, and of each
DELAY_GAP_S = 0.0013
DELAYS_S = 10.0  # that packets for the delay take at most, about: where gaps must be long there are fewer
DELAY_TOLERANCE_MS = 0.5
UNFAIRNESS = 0.001  # of Jain's index; 2 % of spread make 0.0004


def calibrate_clients(testbed: Testbed, link: Link, count: int) -> Calibration:
    """Measure what each of `count` clients gets of a link per client."""
    if not link.per_client:
        raise StudyError(
            f"link {link.name} is one for all; give it per_client = true to measure many clients"
        )
    return measured(
        testbed, link, lambda client: _MeasuredClients(link, client, testbed.server).figures(), clients=count
    )


def jain(shares: Sequence[float]) -> float:
    """Jain's index of fairness: 1 when all have the same, 1/n when one has all (Jain, Chiu and Hawe, 1984)."""
    return sum(shares) ** 2 / (len(shares) * sum(share**2 for share in shares))


def share_of_rate(arrived_ns: Sequence[int], due_ns: Sequence[int]) -> float:
    """The rate of a train in units of the oracle's: the median over pairs of packets half a train apart.

    So a moment in which packets are late, at one end of the train, is not taken for another rate.
    """
    half = len(due_ns) // 2
    spans = [
        (due_ns[number + half] - due_ns[number], arrived_ns[number + half] - arrived_ns[number])
        for number in range(len(due_ns) - half)
    ]
    shares = [due / arrived for due, arrived in spans if due > 0 and arrived > 0]
    return statistics.median(shares) if shares else math.nan


def delay_packets(direction: Direction, clients: int, at_once: int) -> tuple[int, float]:
    """How many packets tell the delay of each client, and the gap in s from one client's to the next one's.

    It is long enough that a client's packets do not wait for each other, nor for each other's jitter.
    """
    own_s = PROBE_BYTES * 8 / (direction.rate.mean_mbps * 1e6)
    each_s = max(2 * own_s, direction.jitter_ms / 1e3, DELAY_GAP_S * at_once)
    count = min(DELAY_PACKETS // clients, int(DELAYS_S / each_s))
    return max(LEAST_PER_CLIENT, count), each_s / at_once


def client_readings(
    testbed: Testbed, link: Link, count: int, *, patience: Patience | None = None
) -> Iterator[Calibration]:
    """Measurements until each client gets what it should, or the patience is at its end; the last one counts."""
    yield from (patience or Patience()).until_right(lambda: calibrate_clients(testbed, link, count))


@dataclass(frozen=True)
class _MeasuredClients:
    """The link of many clients under measurement."""

    link: Link
    client: Client
    server: Host

    def figures(self) -> CalibratedFigures:
        for direction in self.link.directions:
            yield from self.rates(direction)
            yield self.delay(direction)

    def rates(self, direction: Direction) -> CalibratedFigures:
        """The median client's rate, how far the worst is off, and how equal all are; in units of the oracle's.

        Nothing where no train tells a rate: of a trace whose queue holds one packet, or whose bursts take a train.
        """
        if fitting_packets(direction) == 1:
            return
        way, configured = direction.way, direction.rate.mean_mbps
        shares, spans_ms = [], []
        for pairs in self._groups(direction):
            for seen in self._full_packets(direction, pairs):
                due = self._due(direction, seen, MTU_BYTES)
                if due[-1] > due[0]:
                    shares.append(share_of_rate([passage.arrived_ns for passage in seen], due))
                    spans_ms.append((due[-1] - due[0]) / 1e6)
        if not shares:
            return
        slack = (TRAIN_TOLERANCE_MS + direction.jitter_ms) / statistics.median(spans_ms)
        tolerance, n = RATE_TOLERANCE_SHARE + slack, len(shares)
        yield (
            f"client_{way}_mbps",
            CalibratedFigure(
                f"{way} rate, median client",
                "Mbit/s",
                configured,
                configured * statistics.median(shares),
                n,
                configured * tolerance,
            ),
        )
        worst = 100 * max(abs(share - 1) for share in shares)
        yield (
            f"client_{way}_off_percent",
            CalibratedFigure(f"{way} rate, worst client", "%", 0, worst, n, 200 * tolerance),
        )
        yield (
            f"fairness_{way}",
            CalibratedFigure(f"{way} fairness (Jain)", "", 1, jain(shares), n, UNFAIRNESS + 2 * slack**2),
        )

    def delay(self, direction: Direction) -> tuple[str, CalibratedFigure]:
        """One way, of small packets of all clients; without what their bits take."""
        addresses = list(self.client.addresses)
        taken = []
        for first in range(0, len(addresses), MOST_PAIRS):
            group = addresses[first : first + MOST_PAIRS]
            count, gap_s = delay_packets(direction, len(addresses), len(group))
            trains = self._pairs(direction, group).trains(
                count, size_bytes=PROBE_BYTES, gap_s=gap_s, patience_s=self._patience_s
            )
            for seen in trains:
                due = self._due(direction, seen, PROBE_BYTES)
                taken += [
                    (each.arrived_ns - out) / 1e6 - direction.jitter_ms / 2
                    for each, out in zip(seen, due, strict=True)
                ]
        if not taken:
            raise TestbedFailed(f"link {self.link.name} carried no packet {direction.way}")
        taken.sort()
        configured = self.link.delay_ms(direction.way)
        return f"client_delay_{direction.way}_ms", CalibratedFigure(
            what=f"delay {direction.way}, median",
            unit="ms",
            configured=configured,
            measured=statistics.median(taken),
            n=len(taken),
            tolerance=DELAY_TOLERANCE_MS + 5 * direction.jitter_ms / math.sqrt(12 * len(taken)),
            p99=taken[math.ceil(0.99 * len(taken)) - 1],
        )

    def _groups(self, direction: Direction) -> Iterator[list[str]]:
        """All clients, as many at a time as the machine and the shared link carry."""
        rate = direction.rate.mean_mbps
        most = PACKETS_PER_S * MTU_BYTES * 8 / 1e6
        shared = self.link.shared_mbps(direction.way)
        if shared is not None:
            most = min(most, SHARED_LOAD * shared)
        size = min(MOST_PAIRS, max(1, int(most / rate)))
        addresses = list(self.client.addresses)
        for first in range(0, len(addresses), size):
            yield addresses[first : first + size]

    def _full_packets(self, direction: Direction, addresses: Sequence[str]) -> list[list[Passage]]:
        """A train to each of the clients, all at once. Those must arrive whole, but for random loss."""
        rate, fitting = direction.rate.mean_mbps, fitting_packets(direction)
        count = TRAIN_PACKETS if fitting is None else min(TRAIN_PACKETS, fitting)
        if direction.queue.discipline is Discipline.CODEL:
            count = min(count, int(rate * 1e6 / 8 * CODEL_TRAIN_SECONDS / MTU_BYTES))
        count = max(2, count)
        gap_s = MTU_BYTES * 8 / (rate * 1e6 * OVERLOAD * len(addresses))
        trains = self._pairs(direction, addresses).trains(
            count, size_bytes=MTU_BYTES, gap_s=gap_s, patience_s=self._patience_s
        )
        for address, seen in zip(addresses, trains, strict=True):
            if len(seen) < 2 or (len(seen) < count and not direction.loss.mean_percent):
                raise TestbedFailed(
                    f"link {self.link.name} lost {count - len(seen)} of {count} packets {direction.way} of client "
                    f"{address} that fit its queue"
                )
        return trains

    def _pairs(self, direction: Direction, addresses: Sequence[str]) -> ManyPairs:
        if direction.way is Way.DOWN:
            pairs = [Pair(PROBE_ADDRESS, address) for address in addresses]
            return ManyPairs(self.server, self.client.host, pairs)
        return ManyPairs(
            self.client.host, self.server, [Pair(address, PROBE_ADDRESS) for address in addresses]
        )

    def _due(self, direction: Direction, seen: Sequence[Passage], size_bytes: int) -> list[int]:
        """When the packets of one client should be out of its transmitter, and out of the shared one, which is idle."""
        offset = time.time_ns() - time.monotonic_ns()
        own = transmitter(direction.rate, self.client.link.epoch_ns + offset)
        rate = self.link.shared_mbps(direction.way)
        shared = None if rate is None else transmitter(ConstantRate(rate), 0)
        due = [own.send(passage.sent_ns, size_bytes) for passage in seen]
        return due if shared is None else [shared.send(out, size_bytes) for out in due]

    @property
    def _patience_s(self) -> float:
        """How long the link may be silent with a packet under way, on the slowest machine."""
        own_s = sum(
            TRAIN_PACKETS * MTU_BYTES * 8 / (direction.rate.mean_mbps * 1e6)
            for direction in self.link.directions
        )
        return (
            self.link.rtt_ms / 1e3
            + own_s
            + sum(direction.jitter_ms for direction in self.link.directions) / 1e3
            + 2
        )

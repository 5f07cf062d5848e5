"""Whether each of many clients gets the link that it should, whoever else is there.

Over one host with an address per client, as a crowd has it: trains of full packets for the rate of each client, each
way, as many clients at once as the machine carries beside each other; small packets of all clients for the delay, and
for the loss where there is any; of a shared link a train of so many clients that they fill it.
As in harness.lab.calibrate the oracle of the transmitter tells what a packet should have taken.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.errors import StudyError
from harness.lab.calibration import (
    CODEL_TRAIN_SECONDS,
    LOSS_GAP_S,
    LOSS_LOAD,
    LOSS_PACKET_BYTES,
    PROBE_ADDRESS,
    PROBE_BYTES,
    RATE_TOLERANCE_SHARE,
    TRAIN_TOLERANCE_MS,
    CalibratedFigure,
    CalibratedFigures,
    Calibration,
    PacketsLost,
    Patience,
    fitting_packets,
    loss_figure,
    loss_pace,
    measured,
)
from harness.lab.passages import MOST_PAIRS, TRAIN_PACKETS, ManyPairs, Pair, Passage
from harness.lab.testbed import Client, Testbed
from harness.model.link import MTU_BYTES, QUEUE_FLOOR_BYTES, Direction, Discipline, Link, Way
from harness.model.rate import ConstantRate, transmitter
from harness.system.netns import Host

PACKETS_PER_S = 12_000  # of all trains together, so that two cores carry them beside other work
OVERLOAD = 1.2  # of a client's rate, so that its transmitter never waits for the train
SHARED_LOAD = 0.8  # of the shared rate, so that it is no one's limit
SHARED_OVERLOAD = 1.25  # of it, so that it is the limit of all
QUEUE_USED = 0.8  # of the shared queue
LOSS_TRAIN = 300  # small packets of a client: a socket of an ordinary user holds so many until it is read
LOSS_TRAINS = 4  # of each client at most: where clients are few
LOSS_S = 6.0
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


def filling(direction: Direction, shared_mbps: float, clients: int) -> tuple[int, int] | None:
    """How many of the clients fill the shared link, and the full packets of each; None where they cannot.

    What they send too much fits its queue, and a client's packets fit its own.
    """
    rate, fitting = direction.rate.mean_mbps, fitting_packets(direction)
    size = math.ceil(SHARED_OVERLOAD * shared_mbps / rate)
    if size > min(clients, MOST_PAIRS) or size * rate > PACKETS_PER_S * MTU_BYTES * 8 / 1e6:
        return None
    if not isinstance(direction.rate, ConstantRate) or direction.queue.discipline is Discipline.CODEL:
        return None
    spared = 1 - shared_mbps / (size * rate)
    fits = int(QUEUE_USED * QUEUE_FLOOR_BYTES / MTU_BYTES / (size * spared))
    count = min(TRAIN_PACKETS, fits, fitting or TRAIN_PACKETS)
    return (size, count) if count > 1 else None


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
            yield from self.shared_rate(direction)
            yield self.delay(direction)
            if direction.loss.mean_percent:
                yield f"loss_{direction.way}_percent", self.loss(direction)

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
            raise PacketsLost(f"packets {direction.way}", len(addresses), 0)
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

    def shared_rate(self, direction: Direction) -> CalibratedFigures:
        """What as many clients get together as fill the shared link; in units of the oracle's.

        Nothing where there is none, and where the clients or the machine are too slow to fill it.
        """
        shared = self.link.shared_mbps(direction.way)
        if shared is None:
            return
        size = filling(direction, shared, len(self.client.addresses))
        if size is None:
            return
        clients, count = size
        seen = self._trains(direction, list(self.client.addresses)[:clients], count)
        due = sorted(itertools.chain.from_iterable(self._sent(direction, each, MTU_BYTES) for each in seen))
        common = transmitter(ConstantRate(shared), 0)
        due = [common.send(out, MTU_BYTES) for out in due]
        arrived = sorted(passage.arrived_ns for each in seen for passage in each)
        slack = (TRAIN_TOLERANCE_MS + direction.jitter_ms) / ((due[-1] - due[0]) / 1e6)
        yield (
            f"shared_{direction.way}_mbps",
            CalibratedFigure(
                f"{direction.way} rate, shared",
                "Mbit/s",
                shared,
                shared * share_of_rate(arrived, due),
                len(arrived),
                shared * (RATE_TOLERANCE_SHARE + slack),
            ),
        )

    def loss(self, direction: Direction) -> CalibratedFigure:
        """Of small packets of all clients, each of which loses its own; fewer packets where clients are few."""
        addresses = list(self.client.addresses)
        wanted, own_gap_s = loss_pace(direction, LEAST_PER_CLIENT * len(addresses), LOSS_S)
        each = min(math.ceil(wanted / len(addresses)), LOSS_TRAIN * LOSS_TRAINS)
        shared = self.link.shared_mbps(direction.way)
        least_gap_s = 0.0 if shared is None else LOSS_PACKET_BYTES * 8 / (shared * 1e6 * LOSS_LOAD)
        arrived = 0
        for first in range(0, len(addresses), MOST_PAIRS):
            group = addresses[first : first + MOST_PAIRS]
            gap_s = max(LOSS_GAP_S, least_gap_s, own_gap_s / len(group))
            for sent in range(0, each, LOSS_TRAIN):
                trains = self._pairs(direction, group).trains(
                    min(LOSS_TRAIN, each - sent),
                    size_bytes=LOSS_PACKET_BYTES,
                    gap_s=gap_s,
                    patience_s=self._patience_s,
                )
                arrived += sum(map(len, trains))
        return loss_figure(direction, each * len(addresses), arrived, len(addresses))

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
        return self._trains(direction, addresses, count)

    def _trains(self, direction: Direction, addresses: Sequence[str], count: int) -> list[list[Passage]]:
        gap_s = MTU_BYTES * 8 / (direction.rate.mean_mbps * 1e6 * OVERLOAD * len(addresses))
        trains = self._pairs(direction, addresses).trains(
            count, size_bytes=MTU_BYTES, gap_s=gap_s, patience_s=self._patience_s
        )
        for address, seen in zip(addresses, trains, strict=True):
            if len(seen) < 2 or (len(seen) < count and not direction.loss.mean_percent):
                what = f"full packets {direction.way} of client {address} that fit the queue"
                raise PacketsLost(what, count, len(seen))
        return trains

    def _pairs(self, direction: Direction, addresses: Sequence[str]) -> ManyPairs:
        if direction.way is Way.DOWN:
            pairs = [Pair(PROBE_ADDRESS, address) for address in addresses]
            return ManyPairs(self.server, self.client.host, pairs)
        return ManyPairs(
            self.client.host, self.server, [Pair(address, PROBE_ADDRESS) for address in addresses]
        )

    def _sent(self, direction: Direction, seen: Sequence[Passage], size_bytes: int) -> list[int]:
        """When the packets of one client should be out of its transmitter."""
        offset = time.time_ns() - time.monotonic_ns()
        own = transmitter(direction.rate, self.client.link.epoch_ns + offset)
        return [own.send(passage.sent_ns, size_bytes) for passage in seen]

    def _due(self, direction: Direction, seen: Sequence[Passage], size_bytes: int) -> list[int]:
        """When the packets of one client should be out of its transmitter, and out of the shared one, which is idle."""
        due = self._sent(direction, seen, size_bytes)
        rate = self.link.shared_mbps(direction.way)
        if rate is None:
            return due
        shared = transmitter(ConstantRate(rate), 0)
        return [shared.send(out, size_bytes) for out in due]

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

"""Does the link do what it is configured to do? Measured through the whole path, client host to server host.

The short form takes about a second, and every run does it for each link before its first trial, over a link made just
as a trial's: round-trip time by ICMP echoes, also to each server address at a distance of its own, rates by trains of
full packets (packet-train dispersion, Dovrolis et al., INFOCOM 2001). Where the link loses packets, small ones tell how
many, which takes some seconds more. The long form adds many more echoes, a TCP stream each way, a full queue, and loss
on every link. What a packet should have taken is told by an oracle of the transmitter (harness.model.rate) that shares
nothing with the emulator.
"""

from __future__ import annotations

import math
import statistics
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from harness.errors import TestbedFailed
from harness.lab.calibration import (
    CODEL_TRAIN_SECONDS,
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
    refuse_if_off,
)
from harness.lab.passages import ECHO_BYTES, Echo, OneWay, Passage, echoes, goodput_mbps, train
from harness.lab.testbed import Client, Testbed
from harness.model.link import MTU_BYTES, Direction, Discipline, Link, Way
from harness.model.rate import ConstantRate, Transmitter, transmitter
from harness.system.netns import Host

PROBE_GAP_MS, PAST_WHOLE_MS = 10.3, 0.3  # no multiple of the whole ms at which a trace delivers
SHORT_PROBES, LONG_PROBES = 20, 300
SHORT_PROBES_S, LONG_PROBES_S = 10.0, 60.0  # where jitter makes gaps long there are fewer, but never below:
PROBES_EACH = 5  # and of each server address at a distance
PROBE_GAP_EACH_S = 0.0023
PROBED_S = 5.0  # the echoes to addresses at a distance take at most, about
ALL_LOST = 1e-9  # the chance, at most, that a link that is right loses every echo to an address
ECHO_LOAD = 0.5  # of the rate, at most
MOST_ECHOES = 2**16  # that have numbers
TRAIN_SECONDS = 0.3
TRAIN_PACKETS = (10, 600)
SHORT_LOSS, LONG_LOSS = (300, 6.0), (2000, 30.0)  # packets at least; seconds, unless these take longer
TCP_SHARE = 1448 / 1500  # payload of a full packet over IPv4 with time stamps
TCP_SECONDS = 4.0
# Of the round trip: at a quarter a stream still fills a link in the time that it gets, at 0.8 it has three quarters.
MOST_JITTER_FILLED = 0.2
DRAIN_POLL_S = 0.1
ROOM_FOR_TCP_BYTES = 10 * MTU_BYTES
QUEUE_OVERFLOW_PACKETS = 30

# How far a reading may be off, as in harness.lab.calibration.
RTT_TOLERANCE_MS = 1.0
RTT_TOLERANCE_SHARE = 0.02
QUEUE_TOLERANCE_MS = 1.0


def calibrate(
    testbed: Testbed, link: Link, *, thorough: bool = False, distances_ms: Mapping[str, float] | None = None
) -> Calibration:
    """Measure a link that was made for this purpose, exactly as one for a trial is made.

    `distances_ms` are those of the server addresses that loads will meet behind it; of many, some at each distance,
    or at distances from the least to the largest, are measured.
    """
    far = _probed(distances_ms or {}, _Pace.of(link))
    return measured(
        testbed,
        link,
        lambda client: _MeasuredLink(link, client, testbed.server, thorough, far).figures(),
        distances_ms=far,
    )


@dataclass(frozen=True)
class _Pace:
    """How many echoes each server address at a distance is sent, one every `gap_s`, and how many addresses in all."""

    each: int
    gap_s: float
    addresses: int

    @classmethod
    def of(cls, link: Link) -> _Pace:
        """So that the link is never full, no packet has to wait for the jitter of one before it, and some arrive."""
        slowest_mbps = min(direction.rate.mean_mbps for direction in link.directions)
        jitter_s = _jitter_ms(*link.directions) / 1e3
        gap_s = max(PROBE_GAP_EACH_S, jitter_s, ECHO_BYTES * 8 / (slowest_mbps * 1e6 * ECHO_LOAD))
        arrive = math.prod(1 - direction.loss.mean_percent / 100 for direction in link.directions)
        lossy = math.log(ALL_LOST) / math.log1p(-arrive) if arrive < 1 else 0.0
        each = min(max(PROBES_EACH, math.ceil(lossy)), MOST_ECHOES)
        return cls(each, gap_s, max(1, int(min(PROBED_S / gap_s, MOST_ECHOES) / each)))


def _probed(distances_ms: Mapping[str, float], pace: _Pace) -> dict[str, float]:
    """The addresses that are measured: as many at each distance, or, of too many distances, evenly chosen."""
    at: defaultdict[float, list[str]] = defaultdict(list)
    for address, distance_ms in distances_ms.items():
        at[distance_ms].append(address)
    distances = sorted(at)
    if len(distances) > pace.addresses:
        last = len(distances) - 1
        chosen = {round(index * last / max(pace.addresses - 1, 1)) for index in range(pace.addresses)}
        distances = [distances[index] for index in sorted(chosen)]
    there = max(1, pace.addresses // max(len(distances), 1))
    return {address: distance for distance in distances for address in at[distance][:there]}


def readings(
    testbed: Testbed,
    link: Link,
    *,
    patience: Patience | None = None,
    distances_ms: Mapping[str, float] | None = None,
) -> Iterator[Calibration]:
    """Measurements until the link is right, or the patience is at its end; the last one counts."""
    yield from (patience or Patience()).until_right(
        lambda: calibrate(testbed, link, distances_ms=distances_ms)
    )


def check_link(testbed: Testbed, link: Link, distances_ms: Mapping[str, float] | None = None) -> None:
    """Raise MeasurementRefused when the link is out of tolerance however often it is measured."""
    refuse_if_off([*readings(testbed, link, distances_ms=distances_ms)][-1:])


@dataclass(frozen=True)
class _MeasuredLink:
    """A link under measurement."""

    link: Link
    client: Client
    server: Host
    thorough: bool
    distances_ms: Mapping[str, float]

    def figures(self) -> CalibratedFigures:
        yield "rtt_ms", self._round_trip()
        yield from self._distances()
        if not self.link.emulated:  # no rate, loss or queue is promised
            return
        if self.link.has_own_delays:
            for direction in self.link.directions:
                yield f"delay_{direction.way}_ms", self._delay(direction)
        for direction in self.link.directions:
            rate = self._rate(direction)
            if rate is not None:
                yield f"{direction.way}_mbps", rate
        for direction in self.link.directions:
            if self.thorough or direction.loss.mean_percent:
                yield f"loss_{direction.way}_percent", self._loss(direction)
        if self.thorough:
            for direction in self.link.directions:
                if _can_be_filled(self.link, direction):
                    yield f"goodput_{direction.way}_mbps", self._goodput(direction)
                if direction.queue.discipline is Discipline.DROP_TAIL and isinstance(
                    direction.rate, ConstantRate
                ):
                    yield f"queue_{direction.way}_ms", self._full_queue(direction)

    def _round_trip(self) -> CalibratedFigure:
        """The first echo is not counted. What the probe's own bits and the trace's gaps cost is taken off."""
        count, gap_s = _probes(*self.link.directions, thorough=self.thorough)
        seen = echoes(self.client.host, (PROBE_ADDRESS,), count, gap_s, self._patience_s(ECHO_BYTES))
        errors = _errors_ms(self.link, self._oracles(), seen)
        counted = sorted(error for number, error in errors.items() if number > 0)
        if len(counted) < 2:
            raise PacketsLost("echoes", count, len(seen))
        return CalibratedFigure(
            what="round-trip time",
            unit="ms",
            configured=self.link.rtt_ms,
            measured=self.link.rtt_ms + statistics.median(counted),
            n=len(counted),
            tolerance=_rtt_tolerance_ms(self.link, self.link.rtt_ms, len(counted)),
            p99=self.link.rtt_ms + counted[math.ceil(0.99 * len(counted)) - 1],
        )

    def _distances(self) -> CalibratedFigures:
        """The round trip at each distance: of the server addresses there, the one that is off most.

        Where the link has jitter, the median of all echoes there: of few to each, the one off most tells of chance.
        """
        addresses = tuple(self.distances_ms)
        if not addresses:
            return
        pace = _Pace.of(self.link)
        patience_s = self._patience_s(ECHO_BYTES) + max(self.distances_ms.values()) / 1e3
        seen = echoes(self.client.host, addresses, pace.each * len(addresses), pace.gap_s, patience_s)
        errors: defaultdict[str, list[float]] = defaultdict(list)
        beyond_ms = [self.distances_ms[address] for address in addresses]
        for number, error in _errors_ms(self.link, self._oracles(), seen, beyond_ms).items():
            errors[addresses[number % len(addresses)]].append(error)
        for distance_ms in sorted(set(self.distances_ms.values())):
            there = [address for address in addresses if self.distances_ms[address] == distance_ms]
            silent = next((address for address in there if not errors[address]), None)
            if silent is not None:
                raise PacketsLost(f"echoes of {silent}", pace.each, 0)
            jittery = any(direction.jitter_ms for direction in self.link.directions)
            alike = [there] if jittery else [[address] for address in there]
            samples = [[error for address in group for error in errors[address]] for group in alike]
            worst = max((statistics.median(group) for group in samples), key=abs)
            configured = self.link.rtt_ms + distance_ms
            yield (
                f"distance_{distance_ms:g}_ms",
                CalibratedFigure(
                    what=f"round-trip time at a distance of {distance_ms:g} ms",
                    unit="ms",
                    configured=configured,
                    measured=configured + worst,
                    n=sum(len(errors[address]) for address in there),
                    tolerance=_rtt_tolerance_ms(self.link, configured, min(map(len, samples))),
                ),
            )

    def _delay(self, direction: Direction) -> CalibratedFigure:
        """One way, of small packets; both hosts have the machine's clock. The first one is not counted."""
        count, gap_s = _probes(direction, thorough=self.thorough)
        seen = self._train(direction, count, size_bytes=PROBE_BYTES, gap_s=gap_s)
        delays = _delays_ms(direction, self._transmitter(direction), seen)
        taken = sorted(delay for number, delay in delays.items() if number > 0)
        if not taken:
            raise PacketsLost(f"packets {direction.way}", count, len(seen))
        configured = self.link.delay_ms(direction.way)
        spread = direction.jitter_ms / math.sqrt(12 * len(taken))
        return CalibratedFigure(
            what=f"delay {direction.way}",
            unit="ms",
            configured=configured,
            measured=statistics.median(taken),
            n=len(taken),
            tolerance=max(RTT_TOLERANCE_MS, RTT_TOLERANCE_SHARE * configured) + 5 * spread,
            p99=taken[math.ceil(0.99 * len(taken)) - 1],
        )

    def _rate(self, direction: Direction) -> CalibratedFigure | None:
        """The rate at which trains of full packets leave the link, see `_rate_of`; several where they must be short.

        None where no two packets fit, as with a trace and a queue of one packet.
        """
        count = _train_packets(direction)
        if count < 2:
            return None
        trains = [self._full_packets(direction, count) for _ in range(max(1, TRAIN_PACKETS[0] // count))]
        return _rate_of(direction, trains, self._transmitter(direction))

    def _full_packets(self, direction: Direction, count: int) -> list[Passage]:
        """What arrives of a train that the link must carry, but for random loss."""
        seen = self._train(direction, count, size_bytes=MTU_BYTES)
        if len(seen) < 2 or (len(seen) < count and not direction.loss.mean_percent):
            raise PacketsLost(f"full packets {direction.way} that fit the queue", count, len(seen))
        return seen

    def _loss(self, direction: Direction) -> CalibratedFigure:
        """Of small packets, see `loss_pace`."""
        count, gap_s = loss_pace(direction, *(LONG_LOSS if self.thorough else SHORT_LOSS))
        seen = self._train(direction, count, size_bytes=LOSS_PACKET_BYTES, gap_s=gap_s)
        return loss_figure(direction, count, len(seen))

    def _drain(self) -> None:
        """Wait until nothing of an earlier measurement is left in the link: a full queue may hold many seconds."""
        slowest = min(direction.rate.mean_mbps for direction in self.link.directions)
        most = max(direction.queue.limit_bytes or 0 for direction in self.link.directions)
        end = time.monotonic() + 2 * most * 8 / (slowest * 1e6) + self._patience_s(MTU_BYTES)
        while any(self.client.link.reading()[way].get("held_packets") for way in Way):
            if time.monotonic() > end:
                raise TestbedFailed(f"link {self.link.name} does not get empty")
            time.sleep(DRAIN_POLL_S)

    def _goodput(self, direction: Direction) -> CalibratedFigure:
        self._drain()
        expected = direction.rate.mean_mbps * TCP_SHARE
        settle_s = 1.0 + 20 * self.link.rtt_ms / 1e3
        got = goodput_mbps(self._one_way(direction), settle_s=settle_s, seconds=TCP_SECONDS)
        tolerance = RATE_TOLERANCE_SHARE * expected + MTU_BYTES * 8 / TCP_SECONDS / 1e6
        return CalibratedFigure(f"TCP goodput {direction.way}", "Mbit/s", expected, got, 1, tolerance)

    def _full_queue(self, direction: Direction) -> CalibratedFigure:
        """What a full queue adds to the delay of the last packet that it takes."""
        self._drain()
        limit = direction.queue.limit_bytes or 0
        waiting = limit // MTU_BYTES
        seen = self._train(direction, waiting * 2 + QUEUE_OVERFLOW_PACKETS, size_bytes=MTU_BYTES)
        packet_ms = MTU_BYTES * 8 / (direction.rate.mean_mbps * 1e3)
        if not seen:
            raise PacketsLost(f"packets {direction.way} that fill the queue", waiting, 0)
        own_ms = self.link.delay_ms(direction.way) + direction.jitter_ms + packet_ms
        longest = max(passage.ms for passage in seen) - own_ms
        expected = waiting * packet_ms
        tolerance = packet_ms + QUEUE_TOLERANCE_MS + RATE_TOLERANCE_SHARE * expected + direction.jitter_ms
        return CalibratedFigure(f"full queue {direction.way}", "ms", expected, longest, len(seen), tolerance)

    def _train(
        self, direction: Direction, count: int, *, size_bytes: int, gap_s: float = 0.0
    ) -> list[Passage]:
        patience_s = self._patience_s(size_bytes)
        return train(
            self._one_way(direction), count, size_bytes=size_bytes, gap_s=gap_s, patience_s=patience_s
        )

    def _one_way(self, direction: Direction) -> OneWay:
        if direction.way is Way.DOWN:
            return OneWay(self.server, self.client.host, self.client.address)
        return OneWay(self.client.host, self.server, PROBE_ADDRESS)

    def _patience_s(self, size_bytes: int) -> float:
        """How long the link may be silent with a packet under way, on the slowest machine."""
        own_s = sum(size_bytes * 8 / (direction.rate.mean_mbps * 1e6) for direction in self.link.directions)
        return self.link.rtt_ms / 1e3 + own_s + _jitter_ms(*self.link.directions) / 1e3 + 2

    def _oracles(self) -> Mapping[Way, Transmitter]:
        return {direction.way: self._transmitter(direction) for direction in self.link.directions}

    def _transmitter(self, direction: Direction) -> Transmitter:
        """The oracle of a direction on the clock of the probes."""
        offset = time.time_ns() - time.monotonic_ns()
        return transmitter(direction.rate, self.client.link.epoch_ns + offset)


def _probes(*directions: Direction, thorough: bool) -> tuple[int, float]:
    """How many packets cross these directions to tell a delay, the first of which is not counted, and their gap in s.

    No packet overtakes another: in a shorter gap it would wait for the jitter of the one before it, and jitter would
    add more than its mean.
    """
    gap_s = max(PROBE_GAP_MS, math.ceil(_jitter_ms(*directions)) + PAST_WHOLE_MS) / 1e3
    most, most_s = (LONG_PROBES, LONG_PROBES_S) if thorough else (SHORT_PROBES, SHORT_PROBES_S)
    return min(most, max(PROBES_EACH, int(most_s / gap_s))) + 1, gap_s


def _errors_ms(
    link: Link,
    oracles: Mapping[Way, Transmitter],
    seen: Sequence[Echo],
    beyond_ms: Sequence[float] = (0.0,),
) -> dict[int, float]:
    """How much later than the oracles say each echo was answered, by its number; what jitter adds is taken off.

    `beyond_ms`: how far the addresses are that took turns. The answers of far ones come to the link down later than
    those of near ones.
    """
    way_up_ns, way_down_ns = (round(link.delay_ms(way) * 1e6) for way in (Way.UP, Way.DOWN))
    answered = []
    for echo in seen:
        far_ns = round(beyond_ms[echo.number % len(beyond_ms)] * 1e6)
        there_ns = oracles[Way.UP].send(echo.sent_ns, ECHO_BYTES) + way_up_ns + far_ns
        answered.append((there_ns, echo))
    down, jitter_ms = oracles[Way.DOWN], _jitter_ms(*link.directions) / 2
    return {
        each.number: (each.arrived_ns - down.send(there_ns, ECHO_BYTES) - way_down_ns) / 1e6 - jitter_ms
        for there_ns, each in sorted(answered, key=lambda pair: pair[0])
    }


def _delays_ms(direction: Direction, oracle: Transmitter, seen: Sequence[Passage]) -> dict[int, float]:
    """How long after the oracle had sent it a small packet was there, by its number; what jitter adds is taken off."""
    return {
        passage.number: (passage.arrived_ns - oracle.send(passage.sent_ns, PROBE_BYTES)) / 1e6
        - _jitter_ms(direction) / 2
        for passage in seen
    }


def _train_packets(direction: Direction) -> int:
    """As many full packets as fit the queue and take a reasonable time."""
    seconds = CODEL_TRAIN_SECONDS if direction.queue.discipline is Discipline.CODEL else TRAIN_SECONDS
    wanted = int(direction.rate.mean_mbps * 1e6 / 8 * seconds / MTU_BYTES)
    reasonable = max(TRAIN_PACKETS[0], min(wanted, TRAIN_PACKETS[1]))
    fitting = fitting_packets(direction)
    return reasonable if fitting is None else min(fitting, reasonable)


def _rate_of(
    direction: Direction, trains: Sequence[Sequence[Passage]], oracle: Transmitter
) -> CalibratedFigure | None:
    """The median rate of trains of full packets; None where each train is due at one instant, as a burst of a trace.

    A starved sender leaves gaps in its train; the oracle has them, too, and they are taken off. Where the rate is not
    constant, the oracle's own is the configured one.
    """
    due = [[oracle.send(passage.sent_ns, MTU_BYTES) for passage in seen] for seen in trains]
    lasting = [(seen, times) for seen, times in zip(trains, due, strict=True) if times[-1] > times[0]]
    if not lasting:
        return None
    expected = statistics.median(rate_between(times) for _, times in lasting)
    shares = [
        rate_between([passage.arrived_ns for passage in seen]) / rate_between(times)
        for seen, times in lasting
    ]
    configured = direction.rate.mean_mbps if isinstance(direction.rate, ConstantRate) else expected
    duration_ms = statistics.median(times[-1] - times[0] for _, times in lasting) / 1e6
    return CalibratedFigure(
        what=f"{direction.way} rate",
        unit="Mbit/s",
        configured=configured,
        measured=configured * statistics.median(shares),
        n=sum(len(seen) for seen, _ in lasting),
        tolerance=configured
        * (RATE_TOLERANCE_SHARE + (TRAIN_TOLERANCE_MS + direction.jitter_ms) / duration_ms),
    )


def _rtt_tolerance_ms(link: Link, configured_ms: float, echoes_seen: int) -> float:
    spread = math.sqrt(sum(direction.jitter_ms**2 / 12 for direction in link.directions) / echoes_seen)
    return max(RTT_TOLERANCE_MS, RTT_TOLERANCE_SHARE * configured_ms) + 5 * spread


def _jitter_ms(*directions: Direction) -> float:
    """What jitter adds at most to a packet that crosses these directions."""
    return sum(direction.jitter_ms for direction in directions)


def _can_be_filled(link: Link, direction: Direction) -> bool:
    """Whether one TCP stream should use the whole rate: drop-tail of a bandwidth-delay product or more, no loss, and
    not so much jitter that the stream takes it for a queue.
    """
    if _jitter_ms(*link.directions) > MOST_JITTER_FILLED * link.rtt_ms:
        return False
    if direction.queue.discipline is Discipline.CODEL or not isinstance(direction.rate, ConstantRate):
        return False
    limit, product = direction.queue.limit_bytes, direction.rate.mean_mbps * link.rtt_ms * 1e3 / 8
    return not direction.loss.mean_percent and (limit is None or limit >= product + ROOM_FOR_TCP_BYTES)


def rate_between(times_ns: Sequence[int]) -> float:
    """Mbit/s of full packets that leave at these times; the first only starts the clock."""
    return (len(times_ns) - 1) * MTU_BYTES * 8 / (times_ns[-1] - times_ns[0]) * 1e3

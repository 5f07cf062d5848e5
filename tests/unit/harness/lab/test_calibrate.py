"""Which server addresses at a distance are measured, and how; that a link with jitter is told to be right."""

from __future__ import annotations

import random
import statistics
from collections.abc import Sequence
from dataclasses import replace

import pytest

from harness.lab.calibrate import (
    LONG_PROBES,
    LONG_PROBES_S,
    MOST_ECHOES,
    PROBE_GAP_EACH_S,
    PROBE_GAP_MS,
    PROBED_S,
    PROBES_EACH,
    SHORT_PROBES,
    _can_be_filled,
    _delays_ms,
    _errors_ms,
    _Pace,
    _probed,
    _probes,
    _rate_of,
    _rtt_tolerance_ms,
    _train_packets,
)
from harness.lab.passages import ECHO_BYTES, Echo, Passage
from harness.model.link import Direction, Discipline, Link, Queue, RandomLoss, Way
from harness.model.rate import ConstantRate, RateFormat, RecordedRate, transmitter

CABLE = Link.of(20, 30)


def changed(link: Link, **direction: object) -> Link:
    return replace(link, down=replace(link.down, **direction), up=replace(link.up, **direction))  # type: ignore[arg-type]


def test_of_a_link_without_loss_and_jitter_each_address_is_sent_few_at_once() -> None:
    pace = _Pace.of(CABLE)
    assert (pace.each, pace.gap_s) == (PROBES_EACH, PROBE_GAP_EACH_S)


def test_no_echo_waits_for_the_jitter_of_the_one_before() -> None:
    pace = _Pace.of(changed(CABLE, jitter_ms=20.0))
    assert pace.gap_s == pytest.approx(0.04)
    assert pace.addresses * pace.each * pace.gap_s <= PROBED_S


def test_on_a_lossy_link_so_many_are_sent_that_some_arrive() -> None:
    pace = _Pace.of(changed(CABLE, loss=RandomLoss(20.0)))
    lost_ways = 1 - 0.8**2
    assert lost_ways**pace.each <= 1e-9 < lost_ways ** (pace.each - 2)
    hopeless = _Pace.of(changed(CABLE, loss=RandomLoss(99.9)))
    assert hopeless.each <= MOST_ECHOES
    assert hopeless.addresses == 1


def test_of_many_addresses_some_at_each_distance_are_measured() -> None:
    far = {f"10.0.{ms}.{n}": float(ms) for ms in (5, 20) for n in range(200)}
    chosen = _probed(far, _Pace(each=5, gap_s=0.01, addresses=100))
    assert sorted(chosen.values()) == [5.0] * 50 + [20.0] * 50
    assert chosen.items() <= far.items()


def test_of_more_distances_than_can_be_measured_the_nearest_the_farthest_and_some_between() -> None:
    far = {f"10.0.{n // 250}.{n % 250}": n / 10 for n in range(1, 1001)}
    chosen = sorted(_probed(far, _Pace(each=5, gap_s=0.01, addresses=11)).values())
    assert (len(chosen), chosen[0], chosen[-1]) == (11, 0.1, 100.0)
    assert _probed({}, _Pace(5, 0.01, 11)) == {}
    assert len(_probed(far, _Pace(5, 0.01, 1))) == 1


def carried(direction: Direction, delay_ms: float, sent_ns: Sequence[int], draws: random.Random) -> list[int]:
    """When packets are there: sent bit by bit, late by a delay with jitter, none before the one ahead of it."""
    wire, last, arrived = transmitter(direction.rate, 0), 0, []
    for each in sent_ns:
        late_ms = delay_ms + draws.uniform(0, direction.jitter_ms)
        last = max(last, wire.send(each, ECHO_BYTES) + round(late_ms * 1e6))
        arrived.append(last)
    return arrived


JITTER = ((40.0, 40.0), (0.0, 100.0), (100.0, 0.0), (4.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize(("up_ms", "down_ms"), JITTER)
@pytest.mark.parametrize(("thorough", "share"), [(True, 0.1), (False, 0.4)])
def test_a_right_link_with_jitter_is_within_tolerance(
    up_ms: float, down_ms: float, thorough: bool, share: float
) -> None:
    plain, draws = Link.of(10, 100), random.Random(1)  # noqa: S311 - no secret
    link = replace(plain, up=replace(plain.up, jitter_ms=up_ms), down=replace(plain.down, jitter_ms=down_ms))
    oracles = {direction.way: transmitter(direction.rate, 0) for direction in link.directions}
    count, gap_s = _probes(*link.directions, thorough=thorough)
    sent = [round(number * gap_s * 1e9) for number in range(count)]
    there = carried(link.up, link.delay_ms(Way.UP), sent, draws)
    back = carried(link.down, link.delay_ms(Way.DOWN), there, draws)
    seen = [
        Echo(n, out, arrived, out, arrived) for n, (out, arrived) in enumerate(zip(sent, back, strict=True))
    ]
    errors = [error for number, error in _errors_ms(link, oracles, seen).items() if number > 0]
    assert len(errors) == (LONG_PROBES if thorough else SHORT_PROBES)
    off_ms = abs(statistics.median(errors))
    assert off_ms <= _rtt_tolerance_ms(link, link.rtt_ms, len(errors))
    assert off_ms <= 0.001 + share * max(up_ms, down_ms)  # of 300 echoes less than the tolerance would hide


@pytest.mark.parametrize("jitter_ms", [0.0, 5.0, 60.0, 100.0])
def test_jitter_adds_its_mean_to_a_delay_one_way(jitter_ms: float) -> None:
    direction = replace(Link.of(10, 100).up, jitter_ms=jitter_ms)
    draws = random.Random(2)  # noqa: S311 - no secret
    count, gap_s = _probes(direction, thorough=True)
    sent = [round(number * gap_s * 1e9) for number in range(count)]
    arrived = carried(direction, 50.0, sent, draws)
    seen = [Passage(number, *times) for number, times in enumerate(zip(sent, arrived, strict=True))]
    delays = list(_delays_ms(direction, transmitter(direction.rate, 0), seen).values())
    assert statistics.median(delays) == pytest.approx(50.0, abs=0.1 + 0.1 * jitter_ms)


@pytest.mark.parametrize(
    ("jitter_ms", "loss_percent", "filled"), [(0, 0, True), (3, 0, True), (15, 0, False), (0, 1, False)]
)
def test_a_tcp_stream_need_not_fill_a_link_with_loss_or_much_jitter(
    jitter_ms: float, loss_percent: float, filled: bool
) -> None:
    link = changed(CABLE, jitter_ms=jitter_ms, loss=RandomLoss(loss_percent))
    assert {_can_be_filled(link, direction) for direction in link.directions} == {filled}


def test_little_jitter_leaves_the_gap_and_much_takes_no_more_than_a_minute() -> None:
    assert _probes(*CABLE.directions, thorough=True) == (LONG_PROBES + 1, PROBE_GAP_MS / 1e3)
    assert _probes(*CABLE.directions, thorough=False) == (SHORT_PROBES + 1, PROBE_GAP_MS / 1e3)
    count, gap_s = _probes(*changed(CABLE, jitter_ms=400.0).directions, thorough=True)
    assert gap_s == pytest.approx(0.8003)
    assert LONG_PROBES > count > SHORT_PROBES
    assert count * gap_s == pytest.approx(LONG_PROBES_S, rel=0.05)
    assert _probes(*changed(CABLE, jitter_ms=60_000.0).directions, thorough=False)[0] == PROBES_EACH + 1


TRACE = RecordedRate.of(RateFormat.TRACE, "even", "1\n2\n")
BURSTS = RecordedRate.of(RateFormat.TRACE, "bursts", "100\n" * 20)


@pytest.mark.parametrize(
    ("rate", "packets", "sent"),
    [(TRACE, 10, 10), (TRACE, 2, 2), (TRACE, 1, 1), (ConstantRate(10), 10, 11), (ConstantRate(10), 1, 2)],
)
def test_with_a_trace_no_packet_of_a_train_has_left_the_queue(
    rate: ConstantRate | RecordedRate, packets: int, sent: int
) -> None:
    queue = Queue(Discipline.DROP_TAIL, packets * 1500)
    assert _train_packets(replace(CABLE.down, rate=rate, queue=queue)) == sent


def train_of(rate: RecordedRate, packets: int) -> list[Passage]:
    """Packets sent at once a little after time zero, there when the oracle says."""
    oracle, sent_ns = transmitter(rate, 0), 500
    return [Passage(number, sent_ns, oracle.send(sent_ns, 1500)) for number in range(packets)]


def test_the_rate_of_a_trace_is_that_of_its_opportunities() -> None:
    direction = replace(CABLE.down, rate=TRACE)
    figure = _rate_of(direction, [train_of(TRACE, 10)], transmitter(TRACE, 0))
    assert figure is not None
    assert [figure.measured, figure.configured] == pytest.approx([12.0, 12.0])


def test_a_train_that_leaves_in_one_burst_tells_no_rate() -> None:
    direction = replace(CABLE.down, rate=BURSTS)
    assert _rate_of(direction, [train_of(BURSTS, 10)], transmitter(BURSTS, 0)) is None
    longer = _rate_of(direction, [train_of(BURSTS, 10), train_of(BURSTS, 30)], transmitter(BURSTS, 0))
    assert longer is not None
    assert longer.n == 30

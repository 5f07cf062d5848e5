"""A link that seems off is measured again, as long as that can help; what a right link may lose."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from harness.lab.calibration import (
    AT_ONCE,
    LOSS_GAP_S,
    LOSS_REFUSED,
    PATIENCE_S,
    WHILE_CALM,
    CalibratedFigure,
    Calibration,
    Patience,
    loss_figure,
    loss_pace,
    lost_packets,
)
from harness.lab.machine import Calm, Glance
from harness.model.link import Direction, Discipline, GilbertElliott, Link, Loss, Queue, RandomLoss
from harness.model.rate import RateFormat, RecordedRate

QUIET, BUSY = Glance(0.05, 0.3), Glance(0.9, 40.0)
LINK = Link.of(20, 10)


def reading(rtt_ms: float) -> Calibration:
    figure = CalibratedFigure("round-trip time", "ms", 20, rtt_ms, 20, 1)
    return Calibration(LINK, "veth", "fifo", "2026-01-01T00:00:00Z", {"rtt_ms": figure})


class Machine:
    """A machine that is busy for so many seconds and makes the link late while it is, and its clock."""

    def __init__(self, busy_s: float, off_ms: float = 0.0) -> None:
        self._busy_s = busy_s
        self._off_ms = off_ms
        self.now = 0.0
        self.said: list[float] = []

    def glance(self) -> Glance:
        self.now += 1.0
        return BUSY if self.now <= self._busy_s else QUIET

    def measure(self) -> Calibration:
        self.now += 1.0
        return reading(20 + self._off_ms + (5 if self.now <= self._busy_s else 0))

    def readings(self) -> Iterator[Calibration]:
        calm = Calm(left_s=PATIENCE_S, glance=self.glance, clock=lambda: self.now)
        return Patience(calm, self.said.append).until_right(self.measure)


def test_a_link_that_is_right_is_measured_once() -> None:
    machine = Machine(busy_s=0)
    assert len(list(machine.readings())) == 1
    assert not machine.said


@pytest.mark.parametrize("busy_s", [2, 20, 200])
def test_a_busy_machine_is_waited_for(busy_s: float) -> None:
    machine = Machine(busy_s)
    *earlier, last = machine.readings()
    assert not last.complaints
    assert all(each.complaints for each in earlier)
    assert machine.now >= busy_s
    assert bool(machine.said) == (busy_s > AT_ONCE)


def test_a_link_that_is_off_on_a_calm_machine_is_the_links_own_fault() -> None:
    machine = Machine(busy_s=0, off_ms=3)
    taken = list(machine.readings())
    assert len(taken) == AT_ONCE + WHILE_CALM
    assert taken[-1].complaints
    assert machine.now < PATIENCE_S / 10


def test_patience_has_an_end_on_a_machine_that_stays_busy() -> None:
    machine = Machine(busy_s=10 * PATIENCE_S)
    *_, last = machine.readings()
    assert last.complaints
    assert PATIENCE_S <= machine.now < 1.2 * PATIENCE_S


def losing(loss: Loss) -> Direction:
    return replace(LINK.down, loss=loss)


def binomial(chance: float, sent: int, lost: range) -> float:
    """The probability that so many of the packets are lost."""
    return math.fsum(math.comb(sent, each) * chance**each * (1 - chance) ** (sent - each) for each in lost)


@pytest.mark.parametrize(("percent", "sent"), [(1, 1000), (5, 300), (30, 200), (0.1, 1000)])
def test_a_right_link_is_refused_once_in_sixteen_thousand_readings(percent: float, sent: int) -> None:
    fewest, most = lost_packets(RandomLoss(percent), sent)
    chance, tail = percent / 100, LOSS_REFUSED / 2
    assert binomial(chance, sent, range(fewest)) <= tail < binomial(chance, sent, range(fewest + 1))
    assert binomial(chance, sent, range(most + 1, sent + 1)) <= tail
    assert binomial(chance, sent, range(most, sent + 1)) > tail


def test_of_a_link_that_loses_nothing_no_packet_is_lost() -> None:
    assert lost_packets(RandomLoss(0), 2000) == (0, 0)
    assert loss_figure(LINK.down, 2000, 1999).off
    assert not loss_figure(LINK.down, 2000, 2000).off


@pytest.mark.parametrize("percent", [10, 1, 0.09])
def test_a_link_that_loses_nothing_but_should_is_refused(percent: float) -> None:
    direction = losing(RandomLoss(percent))
    count, gap_s = loss_pace(direction, 300, 6)
    assert loss_figure(direction, count, count).off
    assert count * gap_s <= 6


@pytest.mark.parametrize("percent", [20, 5, 1])
@pytest.mark.parametrize("share", [0.5, 2])
def test_half_the_loss_and_twice_the_loss_are_seen(percent: float, share: float) -> None:
    direction = losing(RandomLoss(percent))
    count, _ = loss_pace(direction, 300, 6)
    fewest, most = lost_packets(direction.loss, count)
    mean = count * percent * share / 100
    assert mean + 2 * math.sqrt(mean) < fewest or mean - 2 * math.sqrt(mean) > most
    assert not loss_figure(direction, count, count - round(count * percent / 100)).off


def bursty(loss: GilbertElliott, sent: int, draws: random.Random) -> int:
    """How many of the packets one channel loses."""
    is_bad, lost = draws.random() < loss.p / (loss.p + loss.r), 0
    for _ in range(sent):
        lost += draws.random() >= (loss.h if is_bad else loss.k)
        is_bad = draws.random() >= loss.r if is_bad else draws.random() < loss.p
    return lost


def test_losses_in_bursts_spread_as_far_as_those_of_a_channel() -> None:
    loss, draws, clients, each = GilbertElliott(0.01, 0.3), random.Random(3), 2, 100  # noqa: S311 - no secret
    fewest, most = lost_packets(loss, each, clients)
    seen = [sum(bursty(loss, each, draws) for _ in range(clients)) for _ in range(1000)]
    assert all(fewest <= lost <= most for lost in seen)
    assert most < 1.8 * max(seen)
    assert most > 1.5 * lost_packets(RandomLoss(loss.mean_percent), each * clients)[1]
    assert loss_pace(losing(loss), 300, 60)[0] > loss_pace(losing(RandomLoss(loss.mean_percent)), 300, 60)[0]


def test_small_packets_are_no_load_for_a_slow_link() -> None:
    slow = replace(Link.of(0.02, 300).down, loss=RandomLoss(1))
    count, gap_s = loss_pace(slow, 300, 6)
    assert count == 300
    assert gap_s == pytest.approx(60 * 8 / 0.02e6 / 0.5)
    assert loss_pace(LINK.down, 300, 6) == (300, LOSS_GAP_S)


def test_small_packets_fit_the_queue_of_a_trace_that_pauses() -> None:
    lossy = losing(RandomLoss(1))
    paused = replace(lossy, rate=RecordedRate.of(RateFormat.TRACE, "t", "1\n" * 5000 + "5000\n"))
    for discipline, count in ((Discipline.DROP_TAIL, 1000), (Discipline.CODEL, 300)):
        short = replace(paused, queue=Queue(discipline, 60_000))
        assert loss_pace(short, 300, 60)[0] == count
    assert loss_pace(replace(lossy, queue=Queue(Discipline.DROP_TAIL, 60_000)), 300, 6)[0] == 12_000

"""What is computed of the trains of many clients."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.lab.calibrateclients import DELAY_GAP_S, DELAYS_S, delay_packets, filling, jain, share_of_rate
from harness.model.link import Link

DUE = [1000 * number for number in range(60)]


def test_jains_index_is_1_for_equals_and_1_nth_when_one_has_all() -> None:
    assert jain([3.0] * 7) == pytest.approx(1)
    assert jain([5.0, 0, 0, 0]) == pytest.approx(1 / 4)


def test_a_train_at_half_the_rate_has_half_the_share() -> None:
    assert share_of_rate([77 + 2 * due for due in DUE], DUE) == pytest.approx(0.5)


def test_a_moment_in_which_packets_were_late_is_no_other_rate() -> None:
    arrived = [max(due, 9000) for due in DUE]
    assert share_of_rate(arrived, DUE) == pytest.approx(1)
    assert (arrived[-1] - arrived[0]) / (DUE[-1] - DUE[0]) < 0.9


def test_packets_that_all_come_at_once_tell_no_rate() -> None:
    assert math.isnan(share_of_rate([5, 5, 5], [1, 2, 3]))


def test_no_packet_of_a_client_waits_for_the_jitter_of_the_one_before() -> None:
    plain = Link.of(20, 30).down
    count, gap_s = delay_packets(plain, clients=10, at_once=10)
    assert count == 20
    assert gap_s == pytest.approx(DELAY_GAP_S)
    count, gap_s = delay_packets(replace(plain, jitter_ms=100.0), clients=10, at_once=10)
    assert count == 20
    assert 10 * gap_s == pytest.approx(0.1)
    count, gap_s = delay_packets(replace(plain, jitter_ms=100.0), clients=1, at_once=1)
    assert count * gap_s <= DELAYS_S


def test_so_many_clients_fill_the_shared_link_as_the_machine_carries() -> None:
    each = Link.of(5, 40).down
    clients, count = filling(each, 50, 50) or (0, 0)
    assert (clients, count) == (13, 60)
    assert filling(each, 50, 12) is None  # too few
    assert filling(each, 500, 500) is None  # too fast


def test_what_slow_clients_send_too_much_fits_the_shared_queue() -> None:
    each = Link.of(0.2, 40).down
    clients, count = filling(each, 75, 500) or (0, 0)
    assert clients == 469
    assert clients * count * (1 - 75 / (clients * 0.2)) < 1000

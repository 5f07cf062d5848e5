"""What is computed of the trains of many clients."""

from __future__ import annotations

import math

import pytest

from harness.lab.calibrateclients import jain, share_of_rate

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

"""Which server addresses at a distance are measured, and how."""

from __future__ import annotations

from dataclasses import replace

import pytest

from harness.lab.calibrate import MOST_ECHOES, PROBE_GAP_EACH_S, PROBED_S, PROBES_EACH, _Pace, _probed
from harness.model.link import Link, RandomLoss

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

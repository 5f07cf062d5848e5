"""The oracle of the transmitter: what a packet should take, worked out by hand."""

from __future__ import annotations

from harness.rates import ConstantRate, RateFormat, RecordedRate

MS = 1_000_000


def test_a_packet_takes_its_bits_over_the_rate_and_waits_for_the_one_before() -> None:
    wire = ConstantRate(12).transmitter(0)
    assert wire.send(5 * MS, 1500) == 6 * MS
    assert wire.send(5 * MS, 750) == 6.5 * MS
    assert wire.send(100 * MS, 1500) == 101 * MS


def test_a_step_takes_effect_in_the_middle_of_a_packet() -> None:
    steps = RecordedRate.of(RateFormat.STEPS, "s", "0 12\n1000 6\n")
    wire = steps.transmitter(7 * MS)
    assert wire.send(7 * MS, 1500) == 8 * MS
    # Half a packet at 12 Mbit/s until the step, the other half at 6.
    assert wire.send(1006 * MS + MS // 2, 1500) == 1008 * MS
    assert steps.mean_mbps == 12


def test_a_packet_leaves_at_the_next_opportunity_and_small_ones_share_it() -> None:
    trace = RecordedRate.of(RateFormat.TRACE, "t", "2\n5\n5\n10\n")
    wire = trace.transmitter(0)
    assert wire.send(0, 1000) == 2 * MS
    assert wire.send(1 * MS, 500) == 2 * MS  # what is left of the same opportunity
    assert wire.send(1 * MS, 1500) == 5 * MS
    assert wire.send(1 * MS, 1500) == 5 * MS
    assert wire.send(1 * MS, 1500) == 10 * MS
    assert wire.send(13 * MS, 1500) == 15 * MS  # the trace repeats after its last line
    assert trace.mean_mbps == 4.8


def test_an_opportunity_that_nobody_waited_for_is_lost() -> None:
    wire = RecordedRate.of(RateFormat.TRACE, "t", "2\n4\n").transmitter(0)
    assert wire.send(2 * MS, 100) == 4 * MS
    assert wire.send(4 * MS, 100) == 6 * MS

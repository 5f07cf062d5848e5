"""CPU time as the kernel counts it."""

from __future__ import annotations

import os
import time

import pytest

from harness.system.cputime import TICKS_PER_S, CpuTime, own_cpus, time_of

STAT = """\
cpu  1100 40 220 90000 10 5 6 77 0 0
cpu0 100 10 20 40000 5 3 3 7 0 0
cpu2 1000 30 200 50000 5 2 3 70 0 0
intr 1234
"""


def test_only_the_cpus_that_are_asked_for_count() -> None:
    assert time_of({2}, STAT) == CpuTime(1230 / TICKS_PER_S, 70 / TICKS_PER_S)
    assert time_of({0, 1}, STAT) == CpuTime(130 / TICKS_PER_S, 7 / TICKS_PER_S)
    assert time_of({0, 2}, STAT).busy_s == pytest.approx((1100 + 40 + 220 + 77) / TICKS_PER_S)


def test_work_on_a_cpu_is_seen_there() -> None:
    before = os.sched_getaffinity(0)
    cpu = max(before)
    os.sched_setaffinity(0, {cpu})
    try:
        was = time_of({cpu})
        end = time.process_time() + 0.1
        while time.process_time() < end:
            pass
        assert time_of({cpu}).programs_s - was.programs_s >= 0.08  # in ticks of 10 ms
    finally:
        os.sched_setaffinity(0, before)


def test_our_cpus_are_those_of_the_first_process() -> None:
    assert own_cpus() == os.sched_getaffinity(1)

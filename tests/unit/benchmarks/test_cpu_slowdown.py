"""What a thread ran and waited for between two instants, by counts that were read now and then."""

from __future__ import annotations

from benchmarks.cpu_slowdown import MAIN, Thread


def test_between_two_looks_a_thread_is_taken_to_run_evenly() -> None:
    thread = Thread(1, MAIN, 0, [100.0, 110.0, 120.0], [(5.0, 1.0), (15.0, 1.0), (15.0, 9.0)])
    assert thread.between(100, 110) == (10, 0)
    assert thread.between(105, 115) == (5, 4)
    assert thread.between(110, 120) == (0, 8)


def test_nothing_is_known_before_the_first_look_and_after_the_last() -> None:
    thread = Thread(1, MAIN, 0, [100.0, 110.0], [(5.0, 1.0), (15.0, 1.0)])
    assert thread.between(0, 100) == (0, 0)
    assert thread.between(110, 500) == (0, 0)
    assert thread.between(0, 500) == (10, 0)

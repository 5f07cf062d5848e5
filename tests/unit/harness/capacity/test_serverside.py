"""What grows is told as what it has grown by."""

from __future__ import annotations

import time

from harness.capacity.serverside import Growth, MachineReading, Sparing, by_kernel_number


def test_growth_since_it_was_last_known() -> None:
    cpu = Growth(10.0)
    assert [cpu.to(value) for value in (10.5, None, 11.25, 11.25)] == [0.5, None, 0.75, 0.0]


def test_what_was_not_known_before_has_not_grown() -> None:
    hits = Growth()
    assert [hits.to_whole(value) for value in (None, 5, 8)] == [None, None, 3]


def test_what_is_dear_is_read_as_often_as_its_share_allows() -> None:
    cheap, dear = Sparing(0.5), Sparing(0.001)
    assert [cheap.read(lambda: 1) for _ in range(3)] == [1, 1, 1]
    assert dear.read(lambda: sum(range(10**6))) is not None
    assert dear.read(lambda: 1) is None


def test_the_machine_tells_of_itself() -> None:
    reading = MachineReading()
    end = time.monotonic() + 0.3
    while time.monotonic() < end:  # a core of it is busy
        pass
    told = reading.read()
    assert 0 <= told["machine_idle_share"] < 1
    assert min(told["idle_by_core"]) < 0.9
    assert told["machine_memory_bytes"] > 10**7


def test_cores_stand_by_the_numbers_of_the_kernel() -> None:
    """A CPU that is off is not told of, and those after it are not moved to its place."""
    assert by_kernel_number([(1.0, 2.0), (3.0, 4.0)], (1, 3)) == [
        (None, None),
        (1.0, 2.0),
        (None, None),
        (3.0, 4.0),
    ]


def test_cores_stand_as_they_are_told_where_nobody_tells_which_are_on() -> None:
    told = [(1.0, 2.0), (3.0, 4.0)]
    assert by_kernel_number(told, ()) == told
    assert by_kernel_number(told, (0, 1, 2)) == told

"""What the benchmark of many machines keeps for documents."""

from __future__ import annotations

from benchmarks.cluster import Efficiency, carried_by_a_core


def test_a_core_carries_as_many_machines_as_further_ones_leave_room_for() -> None:
    few = Efficiency(1, 40, [99.0, 99.5, 98.0], [97.0, 98.0, 99.0], [0.1, 0.1, 0.2], [0.2, 0.2, 0.2])
    many = Efficiency(10, 400, [98.0], [96.0], [1.0], [0.4])
    coordinator, scheduler = carried_by_a_core(few, many).values()
    assert coordinator == "10"  # 0.1 of a core for one, and 0.1 for each of the others
    assert scheduler == "37"
    assert few.quoted()["at_trials_percent"] == "99.0 (98.0 to 99.5)"
    assert few.quoted()["cores_of_the_coordinator"] == "0.100 (0.100 to 0.200)"

"""The emulator's counters as values."""

from __future__ import annotations

from harness.capacity.linkwatch import Counters, counters

DOWN = {
    "packets_out": 10,
    "bytes_out": 9000,
    "drops_queue": 1,
    "drops_loss": 2,
    "drops_codel": 0,
    "drops_device": 3,
}
UP = {
    "packets_out": 8,
    "bytes_out": 400,
    "drops_queue": 0,
    "drops_loss": 1,
    "drops_codel": 0,
    "drops_device": None,
}


def test_drops_of_all_kinds_are_added_up() -> None:
    told = {"event": "stats", "down": DOWN, "up": UP, "cpu_user_s": 0.25, "cpu_system_s": 0.5}
    assert counters(told) == Counters(0.75, 10, 8, 9000, 400, 6, 1)

"""The speed of the machine is measured once for each block."""

from __future__ import annotations

from harness.lab.machinespeed import MachineSpeed


def test_the_trials_of_a_block_have_one_speed() -> None:
    speed = MachineSpeed()
    first = speed.of_block(1)
    assert first > 0
    assert speed.of_block(1) == first
    assert speed.of_block(2) > 0

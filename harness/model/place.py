"""Where an attempt was made: on which machine, in which of its lanes. What is compared is made in one place."""

from __future__ import annotations


def lane_name(number: int) -> str:
    """As in `lane 2`."""
    return f"lane {number}"


def lane_of(number: int, lanes: int) -> str:
    """As in `lane 2 of 4`: of another number of lanes the second has other cores."""
    return f"{lane_name(number)} of {lanes}"


def place_of(machine: str | None, lane: int | None, lanes: int | None) -> str | None:
    """The machine, the lane, or both; None where there is one place."""
    if lane is None:
        return machine
    name = lane_name(lane) if lanes is None else lane_of(lane, lanes)
    return name if machine is None else f"{machine}, {name}"

"""Packets that a link lost outside its model. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.model.direction import Way

LOST_OUTSIDE = ("drops_device", "oversize", "write_errors")  # of its counters, each way


def lost_outside(reading: Mapping[str, Any]) -> list[str]:
    """How many of what kind each way, as `4 write_errors up`; none of a link that is sound."""
    return [
        f"{count:,} {kind} {way}"
        for way in Way
        for kind in LOST_OUTSIDE
        if (count := reading.get(way, {}).get(kind))
    ]

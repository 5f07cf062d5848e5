"""How a reader meets what was done to a browser: its processor slowed, its cache filled."""

from __future__ import annotations

from typing import Any

from analysis.labels.words import plain
from harness.model.condition import FULL_SPEED
from harness.model.dimensions import CACHE, CPU_SLOWDOWN

OF_BROWSERS = (CPU_SLOWDOWN, CACHE)


def setting(dimension: str, value: Any) -> str:
    """`CPU slowed 4 times`, `full CPU speed`, `warm cache`."""
    if dimension == CACHE:
        return f"{value} cache"
    return "full CPU speed" if value == FULL_SPEED else f"CPU slowed {plain(value)} times"

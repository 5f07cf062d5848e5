"""How busy link and main thread were while a page loaded, from the addition of a HAR. It is of unknown origin."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

MOST_STEPS = 2000
MOST_MS, MOST_MBPS = 1e8, 1e5
WAYS = {"linkDown": ("link down", "downMbps"), "linkUp": ("link up", "upMbps")}
MAIN_THREAD = "mainThread"
TELLERS = {"trace": "main thread", "kernel": "main thread, by the kernel"}


@dataclass(frozen=True)
class ActivityRow:
    """For what share of each step something was busy, in per cent, from navigation start on.

    `whole_mbps` is what 100 per cent are, None where that is no rate, or not always the same.
    """

    name: str
    percent: tuple[int, ...]
    whole_mbps: float | None = None


@dataclass(frozen=True)
class Activity:
    """At least one row; all have the same steps."""

    step_ms: float
    rows: tuple[ActivityRow, ...]


def activity_of(told: Mapping[str, Any]) -> Activity | None:
    """What can be read of it; None when that is nothing."""
    step = _number(told.get("stepMs"), MOST_MS)
    if not step:
        return None
    rows = [
        ActivityRow(name, percent, _number(told.get(rate), MOST_MBPS) or None)
        for key, (name, rate) in WAYS.items()
        if (percent := _row(told.get(key)))
    ]
    by = told.get("mainThreadBy")
    thread = _row(told.get(MAIN_THREAD))
    if thread:
        rows.append(ActivityRow(TELLERS.get(by if isinstance(by, str) else "", "main thread"), thread))
    return Activity(step, tuple(rows)) if rows else None


def _row(values: Any) -> tuple[int, ...]:
    """Empty where it is none."""
    if not isinstance(values, list) or len(values) > MOST_STEPS:
        return ()
    numbers = [_number(each, 100) for each in values]
    return () if None in numbers else tuple(round(each or 0) for each in numbers)


def _number(value: Any, most: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= most else None

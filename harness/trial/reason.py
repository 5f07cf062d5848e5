"""How a reason for an outcome is put into words."""

from __future__ import annotations

from collections.abc import Iterable

from harness.input.shown import clipped, shortened

LONGEST_NAMED = 300


def listed(what: str, items: Iterable[str]) -> str | None:
    found = list(items)
    if not found:
        return None
    return f"{what} {shortened([clipped(each, LONGEST_NAMED) for each in found], 3)}"

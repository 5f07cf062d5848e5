"""What a text must tell, whatever its words."""

from __future__ import annotations

from collections.abc import Iterable


def tells(lines: Iterable[str], *facts: str) -> bool:
    """Whether one of the lines holds all of these facts."""
    return any(all(fact in line for fact in facts) for line in lines)
